/* The circuit breaker: when it opens, when it is tried, when it closes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pay/breaker.h"

static void
bad_calls(struct breaker *b, int n, int64_t now)
{
	while (n-- > 0)
		assert_false(breaker_call(b, BREAKER_BAD, now));
}

static void
opens_after_bad_calls_in_a_row(void **state)
{
	struct breaker b = { 0 };

	(void)state;
	assert_int_equal(breaker_due(&b, 0), -1);
	bad_calls(&b, BREAKER_BAD_CALLS - 1, 0);
	/* One verdict, and the row is over. */
	assert_false(breaker_call(&b, BREAKER_GOOD, 0));
	bad_calls(&b, BREAKER_BAD_CALLS - 1, 0);
	/* What tells nothing neither counts nor ends it. */
	assert_false(breaker_call(&b, BREAKER_NONE, 0));
	assert_true(breaker_call(&b, BREAKER_BAD, 7));
	assert_true(b.open);
	assert_int_equal(breaker_due(&b, 7), BREAKER_PAUSE_MS);
	assert_int_equal(breaker_due(&b, 7 + BREAKER_PAUSE_MS), 0);
	assert_int_equal(breaker_due(&b, 8 + BREAKER_PAUSE_MS), 0);
	/* Calls that were under way change nothing, but a good one does. */
	bad_calls(&b, 3, 8);
	assert_true(breaker_call(&b, BREAKER_GOOD, 8));
	assert_false(b.open);
}

static void
a_probe_half_opens(void **state)
{
	struct breaker b = { 0 };

	(void)state;
	bad_calls(&b, BREAKER_BAD_CALLS - 1, 0);
	assert_true(breaker_call(&b, BREAKER_BAD, 0));
	assert_true(breaker_probe(&b, true, 0));
	assert_false(b.open);
	assert_int_equal(breaker_due(&b, 0), -1);
	/* The first bad call is enough now, and the pause is longer. */
	assert_true(breaker_call(&b, BREAKER_BAD, 0));
	assert_int_equal(breaker_due(&b, 0), 2 * BREAKER_PAUSE_MS);
	assert_true(breaker_probe(&b, true, 0));
	/* A good one closes it for good. */
	assert_false(breaker_call(&b, BREAKER_GOOD, 0));
	bad_calls(&b, BREAKER_BAD_CALLS - 1, 0);
	assert_true(breaker_call(&b, BREAKER_BAD, 0));
	assert_int_equal(breaker_due(&b, 0), BREAKER_PAUSE_MS);
}

static void
probes_in_vain_come_less_often(void **state)
{
	struct breaker b = { 0 };
	int64_t now = 0, last = BREAKER_PAUSE_MS;

	(void)state;
	assert_false(breaker_probe(&b, false, now));
	assert_false(b.open);
	bad_calls(&b, BREAKER_BAD_CALLS - 1, now);
	assert_true(breaker_call(&b, BREAKER_BAD, now));
	for (int i = 0; i < 20; i++) {
		int64_t due;

		now += breaker_due(&b, now);
		assert_false(breaker_probe(&b, false, now));
		assert_true(b.open);
		due = breaker_due(&b, now);
		assert_true(due == 2 * last || due == BREAKER_PAUSE_MOST_MS);
		last = due;
	}
	assert_int_equal(last, BREAKER_PAUSE_MOST_MS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opens_after_bad_calls_in_a_row),
		cmocka_unit_test(a_probe_half_opens),
		cmocka_unit_test(probes_in_vain_come_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
