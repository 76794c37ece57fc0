/* How many sandboxes are wanted, and when to try again. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/io.h"
#include "box/shelf.h"

#define SECOND 1000000ll

static char hook[] = "Z28K"; /* "go\n" */
static char name[] = "x";
static char gate[] = "fifo";
static char env[] = "A=b";

static const struct conf_runtime runtime = { .name = name,
	.pool = 3,
	.hook_text = hook,
	.hook_env = env,
	.gate = gate };

static void
demand(void **state)
{
	struct shelf s;
	int64_t now;

	(void)state;
	assert_int_equal(shelf_init(&s, &runtime, "main.x"), ST_OK);
	assert_int_equal(s.want, 1);
	assert_int_equal(shelf_alarm_us(&s, io_now_us()), 0);
	for (int i = 0; i < 5; i++)
		shelf_short(&s);
	assert_int_equal(s.want, 3);
	now = io_now_us();
	assert_in_range(shelf_alarm_us(&s, now), now, now + 61 * SECOND);
	shelf_calm(&s, now + 59 * SECOND);
	assert_int_equal(s.want, 3);
	shelf_calm(&s, now + 61 * SECOND);
	assert_int_equal(s.want, 2);
	shelf_calm(&s, now + 62 * SECOND);
	assert_int_equal(s.want, 2);
	shelf_calm(&s, now + 200 * SECOND);
	shelf_calm(&s, now + 900 * SECOND);
	assert_int_equal(s.want, 1);
	shelf_free(&s);
}

static void
failures(void **state)
{
	struct shelf s;
	int64_t now, wait, last = 0;

	(void)state;
	assert_int_equal(shelf_init(&s, &runtime, "main.x"), ST_OK);
	for (int i = 0; i < 20; i++) {
		shelf_failed(&s);
		now = io_now_us();
		wait = s.retry_us - now;
		assert_true(wait > last - SECOND / 10);
		assert_true(wait <= 300 * SECOND);
		assert_int_equal(shelf_alarm_us(&s, now), s.retry_us);
		last = wait;
	}
	assert_true(last > 299 * SECOND);
	shelf_succeeded(&s, 1234);
	assert_int_equal(s.bytes, 1234);
	assert_int_equal(s.failures, 0);
	shelf_succeeded(&s, 0);
	assert_int_equal(s.bytes, 1234);
	shelf_free(&s);
}

static void
no_pool_and_no_hook(void **state)
{
	struct conf_runtime r = runtime;
	struct shelf s;

	(void)state;
	r.pool = 0;
	assert_int_equal(shelf_init(&s, &r, "main.x"), ST_OK);
	shelf_short(&s);
	assert_int_equal(s.want, 0);
	shelf_free(&s);
	hook[0] = '*';
	assert_int_not_equal(shelf_init(&s, &r, "main.x"), ST_OK);
	hook[0] = 'Z';
}

static void
the_order(void **state)
{
	struct wire_init_warm m;
	struct shelf s;

	(void)state;
	assert_int_equal(shelf_init(&s, &runtime, "main.x"), ST_OK);
	assert_int_equal(s.hook.text.len, 3);
	hook_order(&m, &s.hook, "main.x");
	assert_int_equal(m.type, WIRE_INIT_WARM);
	assert_int_equal(m.gate, WIRE_GATE_FIFO);
	assert_string_equal(m.entry, "main.x");
	assert_string_equal(m.env, "A=b");
	shelf_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demand),
		cmocka_unit_test(failures),
		cmocka_unit_test(no_pool_and_no_hook),
		cmocka_unit_test(the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
