#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "parts.h"
#include "rig.h"
#include "say.h"

#define CLIENTS 64
#define SAMPLES 65536
/* Blocks of each way; the pool grows in a short one before them. */
#define BLOCKS 2
#define GROW_S 1.0
/* The host without a run, to know what else it does. */
#define IDLE_S 2

struct block {
	const struct rig *r;
	enum rig_way way;
	int64_t until_us;
	pthread_mutex_t lock;
	double us[SAMPLES];
	size_t n;
};

/* Seconds that all cores of this host have been busy. */
static double
busy_s(void)
{
	/* user nice system idle iowait irq softirq; the rest is others'. */
	static const bool counts[] = { 1, 1, 1, 0, 0, 1, 1 };
	FILE *f = fopen("/proc/stat", "r");
	char line[512] = "", *at = line + 3;
	double sum = 0, ticks;

	if (f == NULL || fgets(line, sizeof(line), f) == NULL)
		say_stop("/proc/stat cannot be read");
	fclose(f);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		ticks = strtod(at, &at);
		sum += counts[i] ? ticks : 0;
	}
	return sum / (double)sysconf(_SC_CLK_TCK);
}

/* Cores that something else keeps busy. */
static double
idle_cores(const struct rig *r)
{
	double before;
	int64_t begin;

	rig_calm(r);
	before = busy_s();
	begin = io_now_us();
	(void)nanosleep(&(struct timespec){ .tv_sec = IDLE_S }, NULL);
	return (busy_s() - before) * 1e6 / (double)(io_now_us() - begin);
}

static void *
client(void *arg)
{
	struct block *b = arg;
	struct rig_time t;

	while (io_now_us() < b->until_us) {
		rig_hello(&t, b->r, b->way);
		pthread_mutex_lock(&b->lock);
		if (b->n < SAMPLES)
			b->us[b->n++] = t.us;
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

/* How long it took, until the last run had ended. */
static double
saturate(struct block *b, int clients, double seconds)
{
	pthread_t threads[CLIENTS];
	int64_t begin = io_now_us();

	b->n = 0;
	b->until_us = begin + (int64_t)(seconds * 1e6);
	for (int i = 0; i < clients; i++) {
		if (pthread_create(&threads[i], NULL, client, b) != 0)
			say_stop("no more threads");
	}
	for (int i = 0; i < clients; i++)
		pthread_join(threads[i], NULL);
	return (double)(io_now_us() - begin) / 1e6;
}

static void
measure(
    struct block *b, const char *name, int clients, double seconds, double idle)
{
	double busy, tree, took;
	int64_t begin;

	rig_calm(b->r);
	begin = io_now_us();
	busy = busy_s();
	tree = rig_cpu_s(b->r);
	took = saturate(b, clients, seconds);
	/* The sandboxes taken are replaced: that is part of the price. */
	rig_calm(b->r);
	busy = busy_s() - busy;
	busy -= idle * (double)(io_now_us() - begin) / 1e6;
	tree = rig_cpu_s(b->r) - tree;
	say_open("throughput", name);
	say_text("way", rig_way_name(b->way));
	say_number("clients", clients);
	say_number("seconds", took);
	say_number("runs", (double)b->n);
	say_number("busySeconds", busy);
	say_number("treeSeconds", tree);
	say_number("idleCores", idle);
	say_numbers("us", b->us, b->n);
	say_end();
}

static void
with_clients(struct block *b, const char *name, int clients, double seconds)
{
	double idle;

	b->way = RIG_WARM;
	(void)saturate(b, clients, GROW_S);
	idle = idle_cores(b->r);
	for (int round = 0; round < BLOCKS; round++) {
		for (int i = 0; i < RIG_WAYS; i++) {
			b->way = (enum rig_way)(
			    round % 2 == 0 ? i : RIG_WAYS - 1 - i);
			measure(b, name, clients, seconds / BLOCKS, idle);
		}
	}
}

void
throughput(const char *name, double seconds)
{
	struct block *b = calloc(1, sizeof(*b));
	int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct rig *r = rig_open(name);

	if (b == NULL)
		say_stop("no memory");
	if (cores > CLIENTS / 2)
		cores = CLIENTS / 2;
	b->r = r;
	pthread_mutex_init(&b->lock, NULL);
	with_clients(b, name, cores, seconds);
	with_clients(b, name, 2 * cores, seconds);
	rig_close(r);
	free(b);
}
