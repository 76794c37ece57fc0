/* One at a time for each key; the rest wait, but not too many. */
#include "web/flight.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#define THREADS 16

static struct flight *flight;
static _Atomic int inside;
static _Atomic int most;
static _Atomic int done;

static void
pause_ms(long ms)
{
	const struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

static void *
enter_and_leave(void *key)
{
	int n;

	if (flight_enter(flight, key, 20000, 0) != ST_OK)
		return NULL;
	n = atomic_fetch_add(&inside, 1) + 1;
	if (n > atomic_load(&most))
		atomic_store(&most, n);
	pause_ms(2);
	atomic_fetch_sub(&inside, 1);
	atomic_fetch_add(&done, 1);
	flight_leave(flight, key);
	return NULL;
}

static void
run_threads(const char *const keys[], size_t n_keys)
{
	pthread_t t[THREADS];
	static char copy[THREADS][2];

	atomic_store(&most, 0);
	atomic_store(&done, 0);
	for (size_t i = 0; i < THREADS; i++) {
		copy[i][0] = keys[i % n_keys][0];
		assert_int_equal(
		    pthread_create(&t[i], NULL, enter_and_leave, copy[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void
one_at_a_time(void **state)
{
	(void)state;
	assert_int_equal(flight_open(&flight, 2 * THREADS, 0), ST_OK);
	run_threads((const char *const[]){ "a" }, 1);
	assert_int_equal(atomic_load(&most), 1);
	assert_int_equal(atomic_load(&done), THREADS);
	flight_close(flight);
}

static void
keys_are_independent(void **state)
{
	(void)state;
	assert_int_equal(flight_open(&flight, 4, 0), ST_OK);
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_OK);
	assert_int_equal(flight_enter(flight, "b", 0, 0), ST_OK);
	flight_leave(flight, "a");
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_OK);
	flight_leave(flight, "a");
	flight_leave(flight, "b");
	flight_close(flight);
}

static void
bounded(void **state)
{
	(void)state;
	assert_int_equal(flight_open(&flight, 0, 0), ST_OK);
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_OK);
	/* Nobody may wait at all. */
	assert_int_equal(flight_enter(flight, "a", 10000, 0), ST_SERVICE_BUSY);
	flight_leave(flight, "a");
	flight_close(flight);
	assert_int_equal(flight_open(&flight, 4, 0), ST_OK);
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_OK);
	/* The wait ends by itself. */
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_SERVICE_BUSY);
	flight_leave(flight, "a");
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_OK);
	flight_leave(flight, "a");
	flight_close(flight);
}

struct waiter {
	const char *key;
	uint64_t held;
	pthread_t thread;
	_Atomic int st;
};

static void *
wait_for_turn(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->st, (int)flight_enter(flight, w->key, 20000, w->held));
	if (atomic_load(&w->st) == ST_OK)
		flight_leave(flight, w->key);
	return NULL;
}

static size_t
refused(struct waiter *w, size_t n)
{
	size_t busy = 0;

	for (size_t i = 0; i < n; i++)
		busy += atomic_load(&w[i].st) == ST_SERVICE_BUSY;
	return busy;
}

/* Of 8 places: 4 for the first key, 8 / 3 for the second, and so on; whoever
 * comes later finds one. */
static void
shared(void **state)
{
	static const char *const keys[] = { "a", "b", "c" };
	static const size_t share[] = { 4, 2, 2 };
	static struct waiter w[3][6];

	(void)state;
	assert_int_equal(flight_open(&flight, 8, 0), ST_OK);
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(flight_enter(flight, keys[k], 0, 0), ST_OK);
		for (size_t i = 0; i < 6; i++) {
			w[k][i].key = keys[k];
			atomic_store(&w[k][i].st, -1);
			assert_int_equal(pthread_create(&w[k][i].thread, NULL,
					     wait_for_turn, &w[k][i]),
			    0);
		}
		/* These go at once; so the others wait by then. */
		while (refused(w[k], 6) < 6 - share[k])
			pause_ms(1);
	}
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(refused(w[k], 6), 6 - share[k]);
		flight_leave(flight, keys[k]);
	}
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < 6; i++)
			pthread_join(w[k][i].thread, NULL);
	for (size_t k = 0; k < 3; k++)
		assert_int_equal(refused(w[k], 6), 6 - share[k]);
	flight_close(flight);
}

/* Bodies that wait leave room for those that do not. Who has a small one waits
 * all the same, and who need not wait may have any. */
static void
bodies(void **state)
{
	static struct waiter w[5];
	size_t i;

	(void)state;
	assert_int_equal(flight_open(&flight, 20, 100), ST_OK);
	assert_int_equal(flight_enter(flight, "a", 0, 1000), ST_OK);
	assert_int_equal(flight_enter(flight, "b", 0, 1000), ST_OK);
	for (i = 0; i < 5; i++) {
		w[i].key = i < 3 ? "a" : "b";
		w[i].held = i < 4 ? 40 : 0;
		atomic_store(&w[i].st, -1);
		assert_int_equal(
		    pthread_create(&w[i].thread, NULL, wait_for_turn, &w[i]),
		    0);
		/* Two of the first three wait, and no more after them. */
		while (i >= 2 && refused(w, i + 1) < (i == 2 ? 1 : 2))
			pause_ms(1);
	}
	flight_leave(flight, "a");
	flight_leave(flight, "b");
	for (i = 0; i < 5; i++)
		pthread_join(w[i].thread, NULL);
	assert_int_equal(refused(w, 3), 1);
	assert_int_equal(atomic_load(&w[3].st), ST_SERVICE_BUSY);
	assert_int_equal(atomic_load(&w[4].st), ST_OK);
	/* What they held is free again. */
	assert_int_equal(flight_enter(flight, "a", 0, 0), ST_OK);
	w[0].held = 100;
	assert_int_equal(
	    pthread_create(&w[0].thread, NULL, wait_for_turn, &w[0]), 0);
	flight_leave(flight, "a");
	pthread_join(w[0].thread, NULL);
	assert_int_equal(atomic_load(&w[0].st), ST_OK);
	flight_close(flight);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(keys_are_independent),
		cmocka_unit_test(bounded),
		cmocka_unit_test(shared),
		cmocka_unit_test(bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
