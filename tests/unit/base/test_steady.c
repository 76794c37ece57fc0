/* A clock beside one that nobody sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/steady.h"

#define WALL 1796000000
#define DAY 86400

static int64_t running;

/* Look after so many seconds, by a wall clock that is off by so many. */
static bool
after(struct steady *s, int64_t pass_s, int64_t off_s)
{
	running += pass_s;
	return steady_look(s, WALL + running + off_s, running);
}

static struct steady
begin(void)
{
	struct steady s;

	running = 5;
	steady_begin(&s, WALL + running, running);
	return s;
}

static void
believed_as_it_runs(void **state)
{
	struct steady s = begin();

	(void)state;
	for (int i = 0; i < 3 * DAY / 60; i++)
		assert_true(after(&s, 60, 0));
	/* Asleep for a week, set right by minutes, drifting on and on. */
	assert_true(after(&s, 7 * DAY, 0));
	assert_true(after(&s, 60, STEADY_JUMP_S));
	assert_true(after(&s, 60, 0));
	for (int i = 0; i < 100; i++)
		assert_true(after(&s, 60, -i * 60));
}

static void
not_for_an_hour_after_a_jump(void **state)
{
	static const int64_t jumps[] = { STEADY_JUMP_S + 1, -STEADY_JUMP_S - 1,
		30 * DAY, -30 * DAY };

	(void)state;
	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct steady s = begin();

		assert_true(after(&s, 60, 0));
		assert_false(after(&s, 60, jumps[i]));
		for (int t = 60; t < STEADY_HOLD_S; t += 60)
			assert_false(after(&s, 60, jumps[i]));
		assert_true(after(&s, 60, jumps[i]));
		assert_true(after(&s, 60, jumps[i]));
		/* Back again is a jump as well. */
		assert_false(after(&s, 60, 0));
		assert_true(after(&s, STEADY_HOLD_S, 0));
	}
}

static void
each_jump_begins_anew(void **state)
{
	struct steady s = begin();

	(void)state;
	assert_false(after(&s, 60, DAY));
	assert_false(after(&s, STEADY_HOLD_S - 60, 2 * DAY));
	assert_false(after(&s, STEADY_HOLD_S - 60, 2 * DAY));
	assert_true(after(&s, 60, 2 * DAY));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(believed_as_it_runs),
		cmocka_unit_test(not_for_an_hour_after_a_jump),
		cmocka_unit_test(each_jump_begins_anew),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
