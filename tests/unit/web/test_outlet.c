/* The way out of a live answer: records as the protocol wants them, and no
 * waiting but in outlet_drain(). */
#include "web/outlet.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

#define ID 0x1234
#define MUCH (400u << 10)

struct pipe {
	struct outlet o;
	int peer;
	struct buf got;	    /* bytes as they came */
	struct buf content; /* of the records */
};

static int
setup(void **state)
{
	struct pipe *p = calloc(1, sizeof(*p));
	int pair[2];

	assert_non_null(p);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	outlet_open(&p->o, pair[0], ID);
	p->peer = pair[1];
	buf_init(&p->got, 4u << 20);
	buf_init(&p->content, 4u << 20);
	*state = p;
	return 0;
}

static int
teardown(void **state)
{
	struct pipe *p = *state;

	outlet_free(&p->o);
	buf_free(&p->got);
	buf_free(&p->content);
	close(p->o.fd);
	if (p->peer >= 0)
		close(p->peer);
	free(p);
	return 0;
}

/* Read what is there. */
static void
listen_now(struct pipe *p)
{
	uint8_t block[65536];
	ssize_t n;

	while ((n = recv(p->peer, block, sizeof(block), MSG_DONTWAIT)) > 0)
		buf_add(&p->got, block, (size_t)n);
	assert_int_equal(buf_status(&p->got), ST_OK);
}

static void
unpack(struct pipe *p)
{
	size_t at = 0;

	while (at < p->got.len) {
		const uint8_t *r = p->got.data + at;
		size_t n;

		assert_true(p->got.len - at > 8);
		assert_int_equal(r[0], 1);
		assert_int_equal(r[1], 6);
		assert_int_equal(r[2] << 8 | r[3], ID);
		n = (size_t)(r[4] << 8 | r[5]);
		/* An empty one would be the end of the answer. */
		assert_true(n > 0 && p->got.len - at >= 8 + n);
		assert_int_equal(r[6], 0);
		buf_add(&p->content, r + 8, n);
		at += 8 + n;
	}
}

static uint8_t *
pattern(size_t len)
{
	uint8_t *data = malloc(len);

	assert_non_null(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	return data;
}

static void
records(void **state)
{
	static const size_t sizes[] = { 1, 8, 16383, 16384, 16385, 100000 };
	struct pipe *p = *state;
	uint8_t *data = pattern(100000);
	size_t total = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		outlet_put(&p->o, data, sizes[i]);
		while (!outlet_push(&p->o)) {
			assert_false(p->o.gone);
			listen_now(p);
		}
		total += sizes[i];
	}
	outlet_put(&p->o, data, 0);
	assert_true(outlet_push(&p->o));
	listen_now(p);
	unpack(p);
	assert_int_equal(p->content.len, total);
	assert_memory_equal(p->content.data + total - 100000, data, 100000);
	free(data);
}

static void
never_waits(void **state)
{
	struct pipe *p = *state;
	uint8_t *data = pattern(MUCH);
	int64_t begin = io_now_ms();

	outlet_put(&p->o, data, MUCH);
	for (int i = 0; i < 1000; i++)
		assert_false(outlet_push(&p->o));
	assert_true(io_now_ms() - begin < OUTLET_STALL_MS - 2000);
	assert_false(p->o.gone);
	while (!outlet_push(&p->o))
		listen_now(p);
	listen_now(p);
	unpack(p);
	assert_int_equal(p->content.len, MUCH);
	assert_memory_equal(p->content.data, data, MUCH);
	free(data);
}

static void
peer_gone(void **state)
{
	struct pipe *p = *state;

	outlet_put(&p->o, "x", 1);
	close(p->peer);
	p->peer = -1;
	assert_false(outlet_push(&p->o));
	assert_true(p->o.gone);
	outlet_put(&p->o, "y", 1);
	assert_false(outlet_push(&p->o));
	assert_false(outlet_drain(&p->o, io_now_ms() + 5000));
}

static void
drain_in_time(void **state)
{
	struct pipe *p = *state;
	uint8_t *data = pattern(MUCH);
	int64_t begin = io_now_ms();

	outlet_put(&p->o, data, 1000);
	assert_true(outlet_drain(&p->o, begin + 5000));
	outlet_put(&p->o, data, MUCH);
	assert_false(outlet_drain(&p->o, begin + 200));
	assert_true(p->o.gone);
	assert_in_range(io_now_ms() - begin, 199, 3000);
	free(data);
}

/* More than may be queued must not become an answer with a hole. */
static void
too_much(void **state)
{
	struct pipe *p = *state;
	uint8_t *data = pattern(MUCH);

	outlet_put(&p->o, data, MUCH);
	assert_false(p->o.gone);
	outlet_put(&p->o, data, MUCH);
	assert_true(p->o.gone);
	assert_false(outlet_push(&p->o));
	free(data);
}

struct reader {
	pthread_t thread;
	struct outlet o;
	int peer;
	_Atomic int whole; /* -1: it is still being sent */
	bool joined;
};

static void *
send_much(void *arg)
{
	struct reader *r = arg;
	char *much = calloc(1, MUCH);

	assert_non_null(much);
	atomic_store(&r->whole,
	    outlet_send(&r->o, much, MUCH, io_now_ms() + OUTLET_DRAIN_MS));
	free(much);
	return NULL;
}

static void
start_reader(struct reader *r, size_t held)
{
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	outlet_open(&r->o, pair[0], ID);
	r->o.held = held;
	r->peer = pair[1];
	r->joined = false;
	atomic_store(&r->whole, -1);
	assert_int_equal(pthread_create(&r->thread, NULL, send_much, r), 0);
	/* Full to the brim: from here on it waits. */
	for (int queued = 0, before = -1; queued == 0 || queued != before;) {
		before = queued;
		usleep(20000);
		assert_int_equal(ioctl(r->peer, FIONREAD, &queued), 0);
	}
}

/* Let it go on, and see how it ended. */
static void
end_reader(struct reader *r, int whole)
{
	char block[65536];

	while (atomic_load(&r->whole) == -1)
		while (recv(r->peer, block, sizeof(block), MSG_DONTWAIT) > 0)
			;
	if (!r->joined)
		pthread_join(r->thread, NULL);
	assert_int_equal(atomic_load(&r->whole), whole);
	outlet_free(&r->o);
	close(r->o.fd);
	close(r->peer);
}

/* Few who wait, with answers that are too much for the memory: it is the same,
 * and who holds little is left alone. */
static void
the_slowest_makes_memory(void **state)
{
	static const size_t held[] = { 0, OUTLET_BYTES / 2, OUTLET_BYTES / 4,
		OUTLET_BYTES / 4, OUTLET_BYTES / 4, OUTLET_BYTES / 2 };
	static const int whole[] = { 1, 0, 0, 1, 1, 1 };
	static struct reader r[6];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		start_reader(&r[i], held[i]);
	/* All of them have stood still for long enough to be cut. */
	usleep(OUTLET_CUT_MS * 1000);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(atomic_load(&r[i].whole), -1);
	/* One is enough for the first that is too much. */
	start_reader(&r[4], held[4]);
	pthread_join(r[1].thread, NULL);
	r[1].joined = true;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(atomic_load(&r[i].whole), i == 1 ? 0 : -1);
	start_reader(&r[5], held[5]);
	for (size_t i = 0; i < 6; i++)
		end_reader(&r[i], whole[i]);
	/* Nobody waits: there is room for all of it again. */
	start_reader(&r[0], OUTLET_BYTES / 2);
	start_reader(&r[1], OUTLET_BYTES / 2);
	end_reader(&r[0], 1);
	end_reader(&r[1], 1);
}

/* One more than may wait: who has taken nothing for longest is cut off, those
 * who read get it all. */
static void
the_slowest_makes_room(void **state)
{
	static struct reader r[OUTLET_WAITING + 2];
	const size_t n = OUTLET_WAITING + 2;
	char block[65536];
	size_t left = n;

	(void)state;
	for (size_t i = 0; i < n; i++)
		start_reader(&r[i], 0);
	/* The first two, which have stood still for some hundred milliseconds.
	 */
	for (size_t i = 0; i < 2; i++)
		pthread_join(r[i].thread, NULL);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(atomic_load(&r[i].whole), i < 2 ? 0 : -1);
	while (left > 2) {
		left = 2;
		for (size_t i = 2; i < n; i++) {
			while (recv(r[i].peer, block, sizeof(block),
				   MSG_DONTWAIT) > 0)
				;
			left += atomic_load(&r[i].whole) == -1 ? 1 : 0;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (i >= 2)
			pthread_join(r[i].thread, NULL);
		assert_int_equal(atomic_load(&r[i].whole), i >= 2);
		outlet_free(&r[i].o);
		close(r[i].o.fd);
		close(r[i].peer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records, setup, teardown),
		cmocka_unit_test_setup_teardown(never_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(peer_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(drain_in_time, setup, teardown),
		cmocka_unit_test_setup_teardown(too_much, setup, teardown),
		cmocka_unit_test(the_slowest_makes_room),
		cmocka_unit_test(the_slowest_makes_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
