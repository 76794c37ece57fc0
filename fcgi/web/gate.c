/*
 * The gate: N threads that each accept one request at a time, and the main
 * thread, which waits for signals, for super's end and for news of a restarted
 * boxer. Free requests and 402s must be answered while every run slot is busy,
 * hence the spare threads.
 */
#include "web/gate.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "base/steady.h"
#include "box/client.h"
#include "pay/keyring.h"
#include "pay/ledger.h"
#include "web/context.h"
#include "web/flight.h"
#include "web/http.h"
#include "web/leftover.h"
#include "web/mender.h"
#include "web/metrics.h"
#include "web/outlet.h"
#include "web/quota.h"
#include "web/reconcile.h"
#include "web/room.h"
#include "web/route.h"
#include "web/sites.h"

#define SPARE_THREADS 24
#define FREE_THREADS 8 /* of these never taken by payments */
/* More that may all wait for twins: a client's retries, or an agent's many
 * copies of one request (half of them, see flight.h), get the answer and not a
 * 503. A waiting thread costs some 20 KB. */
#define TWIN_THREADS 128
/* More, for those that wait for a slow reader: that many, and a few that have
 * not found out yet. */
#define READER_THREADS (OUTLET_WAITING + 8)
#define THREAD_STACK (512u << 10)
#define SMALL_BODY (512u << 10)
#define LARGE_BLOCK (1 << 20)
#define EXPIRE_EVERY_MS 60000
#define N_LIMITS 3
#define ANSWER_AGE_S 86400u
#define FIRST_LOOK_MS 3000 /* how long a start waits for facilitators */

struct worker {
	pthread_t thread;
	bool running;
	struct gate *gate;
	struct http_conn *conn;
	_Atomic bool accepting; /* and not in the middle of a request */
};

struct gate {
	struct context ctx;
	volatile bool stop;
	_Atomic size_t alive; /* threads that have not ended */
	struct mender *mender;
	struct worker *workers;
	size_t n_workers;
	struct steady clock;
	uint64_t refused[N_LIMITS]; /* by each, as told last */
};

/* ---- threads ---- */

/* One request from its routing to its end. */
static void
serve(struct context *g, struct http_request *q)
{
	int64_t begin = io_now_us();
	struct http_reply a;
	int sent;

	http_reply_init(&a, SMALL_BODY);
	route_answer(&a, g, q);
	http_reply_close(&a);
	/* Before the client has it: who looks at the counters then finds it
	 * there. */
	sent = http_sent(q) != 0 ? http_sent(q) : a.status;
	metrics_request(q->path, sent, a.told);
	if (!http_send(q, &a))
		log_info(
		    "id=%s: the client went away before its answer", q->id);
	if (!a.noted) {
		const struct log_field f[] = {
			{ .name = "id", .text = q->id },
			{ .name = "route", .text = metrics_route_of(q->path) },
			{ "http", LOG_NUMBER, NULL, sent },
			{ .name = "code", .text = status_name(a.told) },
			{ .name = "us", .kind = LOG_GROUP },
			{ "whole", LOG_NUMBER, NULL, io_now_us() - begin },
		};

		log_event(
		    LOG_LEVEL_DEBUG, "request", f, sizeof(f) / sizeof(f[0]));
	}
	http_reply_free(&a);
}

static void *
worker_main(void *arg)
{
	struct worker *w = arg;
	struct http_request q;

	for (;;) {
		enum status st;

		atomic_store(&w->accepting, true);
		st = http_accept(w->conn, &q, &w->gate->stop);
		atomic_store(&w->accepting, false);

		if (st == ST_IO)
			log_err("the listening socket is gone");
		if (st != ST_OK)
			break;
		serve(&w->gate->ctx, &q);
	}
	atomic_fetch_sub(&w->gate->alive, 1);
	return NULL;
}

/* Interrupts accept(2) so that a thread sees stop. */
static void
on_wake(int sig)
{
	(void)sig;
}

static enum status
workers_start(struct gate *g, const struct gate_fds *fds)
{
	size_t tcp = fds->listen_tcp >= 0 ? g->ctx.conf->max_runs + 8 : 0;
	size_t unix_n = g->ctx.conf->max_runs + SPARE_THREADS + TWIN_THREADS +
			READER_THREADS;
	pthread_attr_t attr;
	enum status st = ST_OK;

	g->workers = calloc(unix_n + tcp, sizeof(g->workers[0]));
	if (g->workers == NULL)
		return ST_NOMEM;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	for (size_t i = 0; i < unix_n + tcp && st == ST_OK; i++) {
		struct worker *w = &g->workers[i];

		w->gate = g;
		st = http_open(
		    &w->conn, i < unix_n ? fds->listen : fds->listen_tcp);
		if (st != ST_OK)
			break;
		g->n_workers++;
		atomic_fetch_add(&g->alive, 1);
		if (pthread_create(&w->thread, &attr, worker_main, w) != 0) {
			atomic_fetch_sub(&g->alive, 1);
			st = ST_IO;
			break;
		}
		w->running = true;
	}
	pthread_attr_destroy(&attr);
	return st;
}

/* Wake threads out of accept(2) until all have ended. A signal can fall between
 * a thread's look at stop and its accept, so it is repeated. */
static void
workers_stop(struct gate *g, const struct gate_fds *fds, bool for_good)
{
	const struct timespec pause = { .tv_nsec = 20000000 };

	g->stop = true;
	/* New peers are refused at once; super has closed its copies. If there
	 * is a next gate they wait for it: this shuts super's copies too. */
	if (for_good)
		shutdown(fds->listen, SHUT_RDWR);
	if (for_good && fds->listen_tcp >= 0)
		shutdown(fds->listen_tcp, SHUT_RDWR);
	while (atomic_load(&g->alive) > 0) {
		for (size_t i = 0; i < g->n_workers; i++)
			if (g->workers[i].running &&
			    atomic_load(&g->workers[i].accepting))
				pthread_kill(g->workers[i].thread, SIGUSR1);
		nanosleep(&pause, NULL);
	}
	for (size_t i = 0; i < g->n_workers; i++) {
		if (g->workers[i].running)
			pthread_join(g->workers[i].thread, NULL);
		http_close(g->workers[i].conn);
	}
	free(g->workers);
}

/* ---- main thread ---- */

static void
boxer_news(struct gate *g, int control)
{
	char byte;
	size_t len;
	int fd = -1;

	if (io_recv_msg(control, &byte, 1, &len, &fd, MSG_DONTWAIT) != ST_OK ||
	    fd < 0)
		return;
	log_info("using the restarted boxer");
	client_attach(g->ctx.boxer, fd);
}

/* Who is refused by the limits without having paid leaves no line of his own:
 * a flood of them must not become one of lines. */
static void
tell_limits(struct gate *g)
{
	static const enum status limits[N_LIMITS] = {
		ST_EXECUTE_IP_RATE_LIMITED,
		ST_PAYER_RATE_LIMITED,
		ST_PAYER_CONCURRENCY_LIMITED,
	};
	uint64_t now[N_LIMITS];

	for (size_t i = 0; i < N_LIMITS; i++)
		now[i] = metrics_refused(limits[i]);
	if (memcmp(now, g->refused, sizeof(now)) != 0)
		log_warn("limits refused in the last minute: %llu by address, "
			 "%llu by a payer's rate, %llu by a payer's runs",
		    (unsigned long long)(now[0] - g->refused[0]),
		    (unsigned long long)(now[1] - g->refused[1]),
		    (unsigned long long)(now[2] - g->refused[2]));
	memcpy(g->refused, now, sizeof(now));
}

/* Does not stand still while the host sleeps, nor is it set. */
static int64_t
running_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec;
}

static void
expire(struct gate *g)
{
	time_t now = time(NULL);

	/* Answers that were paid for do not go because of a wrong clock. */
	if (steady_look(&g->clock, (int64_t)now, running_s()) &&
	    ledger_expire(g->ctx.ledger, (uint64_t)now, ANSWER_AGE_S) != ST_OK)
		log_warn("the ledger could not expire old answers");
	/* Large bodies come and go; what they took is given back. */
	(void)malloc_trim(0);
}

/* Of those that are there: a second one may be the stop. */
static int
last_signal(int signals)
{
	struct signalfd_siginfo info;
	int sig = 0;

	while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
		sig = (int)info.ssi_signo;
	return sig;
}

/* Returns when it is time to stop: true if nobody listens after us. */
static bool
watch(struct gate *g, const struct gate_fds *fds, int signals)
{
	struct pollfd p[3] = { { .fd = signals, .events = POLLIN },
		{ .fd = fds->life, .events = POLLIN },
		{ .fd = fds->control, .events = POLLIN } };

	for (;;) {
		int n = poll(p, 3, EXPIRE_EVERY_MS);

		if (n < 0 && errno != EINTR)
			return false;
		if (n == 0) {
			leftover_round(&g->ctx);
			expire(g);
			tell_limits(g);
		}
		if (n <= 0)
			continue;
		if (p[0].revents != 0) {
			log_info("draining");
			return last_signal(signals) != SIGHUP;
		}
		if (p[1].revents != 0) {
			/* Without super nobody restarts what fails and the
			 * sockets are stale: the next start takes over. */
			log_err("super is gone; leaving");
			_exit(1);
		}
		if (p[2].revents & POLLIN)
			boxer_news(g, fds->control);
		else if (p[2].revents != 0)
			p[2].fd = -1;
	}
}

static enum status
open_all(struct gate *g, const struct conf *c, int boxer)
{
	const struct site *s = NULL;
	struct fault f = { .st = ST_BUG };
	char url[4096];
	enum status st = http_init();

	if (st != ST_OK)
		return st;
	snprintf(url, sizeof(url), "sqlite:%s/ledger.db", c->state_dir);
	st = ledger_open(&g->ctx.ledger, c->store != NULL ? c->store : url);
	if (st != ST_OK)
		return st;
	st = keyring_open(&g->ctx.keys, c->state_dir, c->offer_signing_key, &f);
	if (st != ST_OK) {
		log_err("keys: %s", f.message);
		return st;
	}
	st = sites_open(&g->ctx.sites, c, g->ctx.keys);
	if (st == ST_OK)
		st = sites_default(&s, g->ctx.sites);
	if (st == ST_OK && s->broken.st != ST_OK)
		st = ST_FORMAT;
	if (st == ST_OK)
		(void)leftover_elsewhere(g->ctx.ledger, s->conf.public_url);
	if (st == ST_OK)
		st = sites_watch(g->ctx.sites, s, FIRST_LOOK_MS);
	if (st == ST_OK)
		st = reconcile_open(
		    &g->ctx.reconcile, c, g->ctx.ledger, g->ctx.sites);
	if (st == ST_OK)
		st = flight_open(
		    &g->ctx.flight, TWIN_THREADS, c->body_bytes / 2);
	if (st == ST_OK)
		st = quota_open(&g->ctx.quota, c, g->ctx.max_paying);
	if (st == ST_OK)
		st = room_open(&g->ctx.room, c->answer_bytes);
	if (st == ST_OK)
		st = client_open(&g->ctx.boxer, boxer);
	return st;
}

static int
take_signals(void)
{
	struct sigaction wake = { .sa_handler = on_wake };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	/* Threads inherit the mask: only the signalfd hears these. */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR1, &wake, NULL);
	wake.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &wake, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

enum status
gate_serve(const struct conf *c, const struct gate_fds *fds)
{
	struct gate g = { .ctx = { .conf = c,
			      .started = (uint64_t)time(NULL),
			      .max_paying = (size_t)c->max_runs +
					    SPARE_THREADS - FREE_THREADS } };
	OWN_FD int signals = take_signals();
	bool for_good = false;
	enum status st = ST_IO;

	steady_begin(&g.clock, (int64_t)time(NULL), running_s());
	/* Large blocks straight from the kernel and back to it. */
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);

	if (signals < 0)
		return st;
	metrics_open(c);
	route_each(metrics_route);
	st = open_all(&g, c, fds->boxer);
	if (st == ST_OK)
		st = mender_start(&g.mender, &g.ctx);
	if (st == ST_OK)
		st = workers_start(&g, fds);
	if (st == ST_OK) {
		if (io_write_all(fds->ready, "R", 1) != ST_OK)
			log_warn("super does not listen for readiness");
		close(fds->ready);
		for_good = watch(&g, fds, signals);
	}
	workers_stop(&g, fds, for_good);
	mender_stop(g.mender);
	client_close(g.ctx.boxer);
	flight_close(g.ctx.flight);
	quota_close(g.ctx.quota);
	room_close(g.ctx.room);
	reconcile_close(g.ctx.reconcile);
	sites_close(g.ctx.sites);
	keyring_close(g.ctx.keys);
	ledger_close(g.ctx.ledger);
	return st;
}
