/* Token buckets, places, shares, and a table that floods cannot grow. */
#include "web/limiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct limiter *
make(struct limiter_rule rule, size_t entries)
{
	struct limiter *l = NULL;

	assert_int_equal(limiter_open(&l, &rule, entries), ST_OK);
	return l;
}

static uint64_t wait_s;

static void
go(struct limiter *l, const char *name, int64_t now)
{
	assert_int_equal(
	    limiter_enter(l, name, false, now, &wait_s), LIMITER_GO);
}

static void
no(struct limiter *l, const char *name, int64_t now, enum limiter_verdict v)
{
	assert_int_equal(limiter_enter(l, name, false, now, &wait_s), v);
}

static void
rates(void **state)
{
	/* One each 500 ms, three at once. */
	struct limiter *l =
	    make((struct limiter_rule){ .per_minute = 120, .burst = 3 }, 64);

	(void)state;
	for (int i = 0; i < 3; i++)
		go(l, "a", 1000);
	no(l, "a", 1000, LIMITER_TOO_OFTEN);
	assert_int_equal(wait_s, 1);
	go(l, "b", 1000); /* somebody else's is untouched */
	no(l, "a", 1499, LIMITER_TOO_OFTEN);
	go(l, "a", 1500);
	no(l, "a", 1500, LIMITER_TOO_OFTEN);
	/* Asking does not cost, and a clock that stands or falls gives none. */
	no(l, "a", 0, LIMITER_TOO_OFTEN);
	go(l, "a", 2000);
	/* A rest fills it, and no further. */
	for (int i = 0; i < 3; i++)
		go(l, "a", INT64_C(1) << 50);
	no(l, "a", INT64_C(1) << 50, LIMITER_TOO_OFTEN);
	limiter_close(l);

	l = make((struct limiter_rule){ .per_minute = 1, .burst = 1 }, 8);
	go(l, "a", 0);
	no(l, "a", 1, LIMITER_TOO_OFTEN);
	assert_int_equal(wait_s, 60);
	no(l, "a", 58000, LIMITER_TOO_OFTEN);
	assert_int_equal(wait_s, 2);
	go(l, "a", 60000);
	/* What did not happen does not count. */
	limiter_undo(l, "a");
	go(l, "a", 60000);
	limiter_leave(l, "a");
	no(l, "a", 60000, LIMITER_TOO_OFTEN);
	limiter_close(l);
}

static void
places(void **state)
{
	struct limiter *l = make((struct limiter_rule){ .at_a_time = 2 }, 64);

	(void)state;
	go(l, "a", 0);
	go(l, "a", 0);
	no(l, "a", 0, LIMITER_TOO_MANY);
	go(l, "b", 0);
	limiter_leave(l, "a");
	go(l, "a", 0);
	/* A place that is not there cannot be given back. */
	limiter_leave(l, "c");
	limiter_leave(l, "b");
	limiter_leave(l, "b");
	go(l, "b", 0);
	go(l, "b", 0);
	no(l, "b", 0, LIMITER_TOO_MANY);
	limiter_close(l);
}

/* 12 places, 4 of them at work: who waits is let in evenly. */
static void
shares(void **state)
{
	struct limiter *l =
	    make((struct limiter_rule){ .shared = 12, .busy_from = 4 }, 64);
	int held = 0;

	(void)state;
	while (limiter_enter(l, "greedy", false, 0, &wait_s) == LIMITER_GO)
		held++;
	assert_int_equal(held, 6); /* half, as long as nobody else comes */
	for (held = 0;
	     limiter_enter(l, "second", false, 0, &wait_s) == LIMITER_GO;)
		held++;
	assert_int_equal(held, 4); /* a third */
	go(l, "third", 0);
	/* The greedy one gets no more until it is under its share. */
	limiter_leave(l, "greedy");
	limiter_leave(l, "greedy");
	no(l, "greedy", 0, LIMITER_TOO_MANY);
	limiter_leave(l, "greedy");
	limiter_leave(l, "greedy");
	go(l, "greedy", 0);
	limiter_close(l);
	/* With nobody waiting there are no shares. */
	l = make((struct limiter_rule){ .shared = 12, .busy_from = 8 }, 64);
	for (int i = 0; i < 8; i++)
		go(l, "a", 0);
	no(l, "a", 0, LIMITER_TOO_MANY);
	limiter_close(l);
}

/* Whoever makes many cheap names takes the share of one from the others, and
 * shares it among his. */
static void
cheap_names(void **state)
{
	struct limiter *l =
	    make((struct limiter_rule){ .shared = 12, .busy_from = 4 }, 64);
	char name[2] = "a";

	(void)state;
	for (; name[0] <= 'h'; name[0]++)
		assert_int_equal(
		    limiter_enter(l, name, true, 0, &wait_s), LIMITER_GO);
	assert_int_equal(
	    limiter_enter(l, "a", true, 0, &wait_s), LIMITER_TOO_MANY);
	for (int held = 0; held < 4; held++)
		go(l, "known", 0);
	no(l, "known", 0, LIMITER_TOO_MANY);
	/* When they are gone there is more of it. */
	while (--name[0] >= 'a')
		limiter_leave(l, name);
	for (int held = 4; held < 6; held++)
		go(l, "known", 0);
	no(l, "known", 0, LIMITER_TOO_MANY);
	limiter_close(l);
}

/* Names without end: memory stays, who is limited stays so, and what is held
 * is never forgotten. */
static void
floods(void **state)
{
	struct limiter *l = make(
	    (struct limiter_rule){
		.per_minute = 1, .burst = 2, .at_a_time = 2 },
	    1024);
	char name[32];

	(void)state;
	go(l, "busy", 0);
	go(l, "busy", 0);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "flood %d", i);
		if (limiter_enter(l, name, false, 0, &wait_s) == LIMITER_GO)
			limiter_leave(l, name);
	}
	no(l, "busy", 0, LIMITER_TOO_MANY);
	limiter_leave(l, "busy");
	no(l, "busy", 0, LIMITER_TOO_OFTEN);
	limiter_leave(l, "busy");
	limiter_close(l);
	/* All places of a full table held: nobody new, and nothing breaks. */
	l = make((struct limiter_rule){ .at_a_time = 1 }, 8);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		go(l, name, 0);
	}
	no(l, "one more", 0, LIMITER_TOO_MANY);
	limiter_leave(l, "n3");
	go(l, "one more", 0);
	limiter_close(l);
}

static void
no_rule_no_limit(void **state)
{
	struct limiter *l = make((struct limiter_rule){ 0 }, 8);

	(void)state;
	for (int i = 0; i < 100000; i++)
		go(l, "a", 0);
	limiter_close(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),
		cmocka_unit_test(places),
		cmocka_unit_test(shares),
		cmocka_unit_test(cheap_names),
		cmocka_unit_test(floods),
		cmocka_unit_test(no_rule_no_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
