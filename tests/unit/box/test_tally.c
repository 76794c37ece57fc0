/* What is taken of a report that may be an attacker's. */
#include "box/tally.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

static const struct limits usual = { .timeout_ms = 1000,
	.memory_bytes = 64 << 20,
	.output_bytes = 1 << 20,
	.work_bytes = 1 << 20 };

/* A run without a group, its PID 1 gone. */
static enum status
report(struct tally *t, const struct wire_init_report *m)
{
	const struct hull h = { .init_pid = getpid() };

	tally_init(t, &usual, 1);
	tally_release(t, &h, -1);
	return tally_report(t, &h, -1, m);
}

static void
ends_that_there_are(void **state)
{
	static const int ends[] = { 0, 0x0100, 0xff00, SIGKILL, SIGSEGV | 0x80,
		34, 64 };
	struct wire_init_report m = { .type = WIRE_INIT_REPORT };
	struct tally t;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		m.wait_status = ends[i];
		assert_int_equal(report(&t, &m), ST_OK);
		assert_true(t.ev.reported);
		assert_int_equal(t.ev.wait_status, ends[i]);
	}
}

/* Stopped, continued, and signals that no Linux has: the gate would take no
 * answer made of them. */
static void
ends_that_there_are_not(void **state)
{
	static const int ends[] = { 0x137f, 0xffff, 65, 100, 126 };
	struct wire_init_report m = { .type = WIRE_INIT_REPORT };
	struct tally t;

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		m.wait_status = ends[i];
		assert_int_equal(report(&t, &m), ST_FORMAT);
		assert_false(t.ev.reported);
	}
}

/* Times that cannot be are not taken; ours are. */
static void
times_that_cannot_be(void **state)
{
	struct wire_init_report m = { .type = WIRE_INIT_REPORT };
	uint64_t now = (uint64_t)io_now_us();
	struct tally t;

	(void)state;
	m.started_us = 1;
	m.ended_us = now;
	assert_int_equal(report(&t, &m), ST_OK);
	assert_true(t.ev.duration_us < 10000000);
	m.started_us = now;
	m.ended_us = UINT64_MAX;
	assert_int_equal(report(&t, &m), ST_OK);
	assert_true(t.ev.duration_us < 10000000);
	m.started_us = UINT64_MAX;
	m.ended_us = 0;
	assert_int_equal(report(&t, &m), ST_OK);
	assert_true(t.ev.duration_us < 10000000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_that_there_are),
		cmocka_unit_test(ends_that_there_are_not),
		cmocka_unit_test(times_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
