/* What client_run() does besides listening: the times and descriptors that the
 * caller wants to be woken up for. */
#include "box/client.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

#define QUIET_MS 800
#define LONG_MS 10000
/* How often a caller is at least asked that wants to be every 20 ms. */
#define LEAST_IDLE 5

static char source[] = "1";
static char name[] = "python3";
static char entry[] = "main.py";
static struct conf_runtime python = { .name = name, .entry = entry };

struct scene {
	int common; /* the boxer's side */
	struct client *c;
	int wake[2];  /* a pipe */
	bool hang_up; /* the boxer goes instead of answering */
	/* what the caller saw */
	int idle;
	int64_t every_ms;
	bool watch; /* wait for the pipe */
	bool woken;
	int64_t woken_ms;
};

/* Wait until the caller was woken up as it wanted, for LONG_MS at most. */
static void
await_woken(struct scene *s)
{
	int64_t deadline = io_now_ms() + LONG_MS;

	while (io_now_ms() < deadline) {
		if ((!s->watch ||
			__atomic_load_n(&s->woken, __ATOMIC_SEQ_CST)) &&
		    (s->every_ms == 0 || __atomic_load_n(&s->idle,
					     __ATOMIC_SEQ_CST) >= LEAST_IDLE))
			return;
		usleep(1000);
	}
}

/* Says that the program runs, is quiet for a while, and ends. */
static void *
boxer(void *arg)
{
	static const struct wire_result end = { .type = WIRE_RESULT };
	const struct wire_simple reserved = { .type = WIRE_RESERVED };
	const struct wire_simple started = { .type = WIRE_STARTED };
	const struct timespec half = { .tv_nsec = QUIET_MS / 2 * 1000000l };
	struct scene *s = arg;
	struct wire_reserve ask;
	struct wire_job m;
	int job = -1, image = -1;
	size_t len;

	assert_int_equal(
	    io_recv_msg(s->common, &ask, sizeof(ask), &len, &job, 0), ST_OK);
	assert_int_equal(
	    io_send_msg(job, &reserved, sizeof(reserved), -1, 0), ST_OK);
	assert_int_equal(
	    io_recv_msg(job, &m, sizeof(m), &len, &image, 0), ST_OK);
	close(image);
	assert_int_equal(
	    io_send_msg(job, &started, sizeof(started), -1, 0), ST_OK);
	nanosleep(&half, NULL);
	assert_int_equal(write(s->wake[1], "x", 1), 1);
	await_woken(s);
	nanosleep(&half, NULL);
	if (!s->hang_up)
		assert_int_equal(
		    io_send_msg(job, &end, sizeof(end), -1, 0), ST_OK);
	close(job);
	return NULL;
}

static void
on_chunk(void *ctx, int stream, const uint8_t *data, size_t len)
{
	(void)ctx;
	(void)stream;
	(void)data;
	(void)len;
	fail();
}

static void
on_idle(void *ctx, struct client_wake *next)
{
	struct scene *s = ctx;
	struct pollfd p = { .fd = s->wake[0], .events = POLLIN };

	__atomic_add_fetch(&s->idle, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(next->fd, -1);
	assert_int_equal(next->at_ms, -1);
	if (s->every_ms > 0)
		next->at_ms = io_now_ms() + s->every_ms;
	if (s->watch && !s->woken && poll(&p, 1, 0) == 1) {
		s->woken_ms = io_now_ms();
		__atomic_store_n(&s->woken, true, __ATOMIC_SEQ_CST);
	}
	if (s->watch && !s->woken) {
		next->fd = s->wake[0];
		next->events = POLLIN;
	}
}

static enum status
play(struct scene *s)
{
	struct job j = { .runtime = &python,
		.entry = entry,
		.source = source,
		.source_len = 1,
		.limits = { 1000, 1 << 26, 10, 1 << 20 } };
	struct client_slot *slot = NULL;
	struct wire_result r;
	struct fault f;
	pthread_t thread;
	enum status st;
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(pipe(s->wake), 0);
	s->common = pair[1];
	assert_int_equal(client_open(&s->c, pair[0]), ST_OK);
	assert_int_equal(pthread_create(&thread, NULL, boxer, s), 0);
	assert_int_equal(client_reserve(&slot, s->c, &j, 1000, &f), ST_OK);
	client_idle(slot, on_idle);
	st = client_run(slot, &j, NULL, on_chunk, s, &r, &f);
	pthread_join(thread, NULL);
	client_close(s->c);
	close(s->common);
	close(s->wake[0]);
	close(s->wake[1]);
	return st;
}

static void
times(void **state)
{
	struct scene s = { .every_ms = 20 };
	int64_t start = io_now_ms();

	(void)state;
	assert_int_equal(play(&s), ST_OK);
	/* Forty on a machine that is not busy. */
	assert_in_range(s.idle, LEAST_IDLE, (io_now_ms() - start) / 20 + 5);
}

static void
descriptor(void **state)
{
	struct scene s = { .watch = true };
	int64_t end;

	(void)state;
	assert_int_equal(play(&s), ST_OK);
	end = io_now_ms();
	assert_true(s.woken);
	assert_true(end - s.woken_ms > QUIET_MS / 4);
	/* Called when there is a reason, not over and over. */
	assert_in_range(s.idle, 2, 5);
}

static void
boxer_goes(void **state)
{
	struct scene s = { .every_ms = 20, .hang_up = true };

	(void)state;
	assert_int_equal(play(&s), ST_SANDBOX_UNAVAILABLE);
	assert_true(s.idle >= LEAST_IDLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times),
		cmocka_unit_test(descriptor),
		cmocka_unit_test(boxer_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
