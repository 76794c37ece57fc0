#include "box/verdict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define MIB (1ull << 20)
#define EXITED(code) ((code) << 8)
#define KILLED_BY(sig) (sig)

/* A run that printed something and ended well, within all limits. */
static const struct verdict_evidence well = {
	.limits = { .timeout_ms = 1000,
	    .memory_bytes = 64 * MIB,
	    .output_bytes = 1000,
	    .work_bytes = 16 * MIB },
	.cores = 1,
	.reported = true,
	.wait_status = EXITED(0),
	.duration_us = 30000,
	.start_us = 20000,
	.cpu_us = 25000,
	.memory_used = 10 * MIB,
	.memory_peak = 12 * MIB,
	.memory_wall = 96 * MIB,
};

struct row {
	const char *name;
	enum verdict_stop stop;
	bool reported;
	int wait_status;
	uint64_t duration_us;
	uint64_t cpu_us;
	uint64_t peak_mib;
	uint64_t oom_kills;
	uint64_t lost;
	/* wanted */
	enum status st;
	enum status status;
	int exit_code;
	int signal;
	const char *text; /* part of the message */
};

#define NO 0
#define REPORTED true
#define SILENT false

static const struct row rows[] = {
	/* ends of its own */
	{ "exit 0", NO, REPORTED, EXITED(0), 30000, 1, 12, 0, 0, ST_OK, ST_OK,
	    0, 0, "" },
	{ "exit 1", NO, REPORTED, EXITED(1), 30000, 1, 12, 0, 0, ST_OK,
	    ST_EXECUTION_RUNTIME_ERROR, 1, 0, "exit code 1" },
	{ "exit 137", NO, REPORTED, EXITED(137), 30000, 1, 12, 0, 0, ST_OK,
	    ST_EXECUTION_RUNTIME_ERROR, 137, 0, "exit code 137" },
	{ "exit 139", NO, REPORTED, EXITED(139), 30000, 1, 12, 0, 0, ST_OK,
	    ST_EXECUTION_RUNTIME_ERROR, 139, 0, "exit code 139" },
	{ "exit 255", NO, REPORTED, EXITED(255), 30000, 1, 12, 0, 0, ST_OK,
	    ST_EXECUTION_RUNTIME_ERROR, 255, 0, "exit code 255" },
	{ "SIGSEGV", NO, REPORTED, KILLED_BY(SIGSEGV), 30000, 1, 12, 0, 0,
	    ST_OK, ST_EXECUTION_RUNTIME_ERROR, -1, SIGSEGV, "SIGSEGV" },
	{ "with core flag", NO, REPORTED, KILLED_BY(SIGABRT) | 0x80, 30000, 1,
	    12, 0, 0, ST_OK, ST_EXECUTION_RUNTIME_ERROR, -1, SIGABRT,
	    "SIGABRT" },
	{ "kill -9 of its own", NO, REPORTED, KILLED_BY(SIGKILL), 30000, 1, 12,
	    0, 0, ST_OK, ST_EXECUTION_RUNTIME_ERROR, -1, SIGKILL, "SIGKILL" },
	{ "foreign call", NO, REPORTED, KILLED_BY(SIGSYS), 30000, 1, 12, 0, 0,
	    ST_OK, ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL, -1,
	    SIGSYS, "SIGSYS" },
	/* time */
	{ "time limit", VERDICT_STOP_TIME, REPORTED, KILLED_BY(SIGKILL),
	    1000300, 1, 12, 0, 0, ST_OK, ST_SANDBOX_TIMEOUT, -1, 0,
	    "time limit of 1000 ms exceeded: ran for 1000 ms" },
	{ "time limit, no report", VERDICT_STOP_TIME, SILENT, 0, 1300000, 1, 12,
	    0, 0, ST_OK, ST_SANDBOX_TIMEOUT, -1, 0, "ran for 1300 ms" },
	{ "ended just before the kill", VERDICT_STOP_TIME, REPORTED, EXITED(3),
	    999900, 1, 12, 0, 0, ST_OK, ST_EXECUTION_RUNTIME_ERROR, 3, 0,
	    "exit code 3" },
	{ "ended late by itself", NO, REPORTED, EXITED(0), 1000001, 1, 12, 0, 0,
	    ST_OK, ST_SANDBOX_TIMEOUT, -1, 0, "time limit" },
	{ "exactly the time", NO, REPORTED, EXITED(0), 1000000, 1, 12, 0, 0,
	    ST_OK, ST_OK, 0, 0, "" },
	/* CPU time of the tree */
	{ "CPU limit", VERDICT_STOP_CPU, REPORTED, KILLED_BY(SIGKILL), 400000,
	    1010000, 12, 0, 0, ST_OK, ST_SANDBOX_TIMEOUT, -1, 0,
	    "CPU time limit of 1000 ms exceeded: 1010 ms used" },
	{ "CPU over at the end", NO, REPORTED, EXITED(0), 400000, 1000001, 12,
	    0, 0, ST_OK, ST_SANDBOX_TIMEOUT, -1, 0, "CPU time" },
	{ "exactly the CPU time", NO, REPORTED, EXITED(0), 400000, 1000000, 12,
	    0, 0, ST_OK, ST_OK, 0, 0, "" },
	{ "SIGXCPU backstop", NO, REPORTED, KILLED_BY(SIGXCPU), 900000, 1900000,
	    12, 0, 0, ST_OK, ST_SANDBOX_TIMEOUT, -1, 0, "CPU time" },
	/* memory */
	{ "meter", VERDICT_STOP_MEMORY, REPORTED, KILLED_BY(SIGKILL), 30000, 1,
	    70, 0, 0, ST_OK, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0,
	    "memory limit of 67108864 bytes exceeded: 10485760 bytes" },
	{ "meter, no report", VERDICT_STOP_MEMORY, SILENT, 0, 30000, 1, 70, 0,
	    0, ST_OK, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0,
	    "memory limit" },
	{ "kernel killed the program", NO, REPORTED, KILLED_BY(SIGKILL), 30000,
	    1, 96, 1, 0, ST_OK, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0,
	    "reached 100663296 bytes" },
	{ "kernel killed a child, exit 0", NO, REPORTED, EXITED(0), 30000, 1,
	    95, 1, 0, ST_OK, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, 0, 0,
	    "memory limit" },
	{ "kernel killed a child, SIGSEGV", NO, REPORTED, KILLED_BY(SIGSEGV),
	    30000, 1, 95, 1, 0, ST_OK, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1,
	    SIGSEGV, "memory limit" },
	{ "kernel killed PID 1", NO, SILENT, 0, 30000, 1, 96, 2, 0, ST_OK,
	    ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0, "memory limit" },
	{ "child killed, then time", VERDICT_STOP_TIME, REPORTED,
	    KILLED_BY(SIGKILL), 1000500, 1, 96, 1, 0, ST_OK,
	    ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0, "memory limit" },
	/* output */
	{ "output", VERDICT_STOP_OUTPUT, REPORTED, KILLED_BY(SIGKILL), 30000, 1,
	    12, 0, 24, ST_OK, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0,
	    "output limit of 1000 bytes exceeded: at least 1024 written" },
	{ "output, ended by itself", VERDICT_STOP_OUTPUT, REPORTED, EXITED(0),
	    30000, 1, 12, 0, 1, ST_OK, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1,
	    0, "at least 1001" },
	{ "output, then killed by memory", VERDICT_STOP_OUTPUT, REPORTED,
	    KILLED_BY(SIGKILL), 30000, 1, 96, 1, 1, ST_OK,
	    ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0, "output limit" },
	/* ours */
	{ "no report", NO, SILENT, 0, 30000, 1, 12, 0, 0,
	    ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_SETUP_FAILED, -1, 0,
	    "without a report" },
	{ "report of a stop", NO, REPORTED, 0x137f, 30000, 1, 12, 0, 0,
	    ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_SETUP_FAILED, -1, 0,
	    "without a report" },
	{ "the host's memory", NO, REPORTED, KILLED_BY(SIGKILL), 30000, 1, 12,
	    1, 0, ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_SETUP_FAILED, -1, 0,
	    "host ran out of memory" },
	{ "a child, the host's memory", NO, REPORTED, EXITED(0), 30000, 1, 12,
	    1, 0, ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_SETUP_FAILED, -1, 0,
	    "host ran out of memory" },
};

static void
table(void **state)
{
	struct verdict_evidence ev;
	struct wire_result r;
	enum status st;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *w = &rows[i];

		ev = well;
		ev.stop = w->stop;
		ev.reported = w->reported;
		ev.wait_status = w->wait_status;
		ev.duration_us = w->duration_us;
		ev.cpu_us = w->cpu_us;
		ev.memory_peak = w->peak_mib * MIB;
		ev.oom_kills = w->oom_kills;
		ev.lost[0] = w->lost;
		memset(&r, 0xff, sizeof(r));
		st = verdict_judge(&r, &ev);
		if (st != w->st || r.status != (uint32_t)w->status ||
		    r.exit_code != w->exit_code || r.signal != w->signal ||
		    strstr(r.text, w->text) == NULL ||
		    (*w->text == '\0' && r.text[0] != '\0'))
			fail_msg("%s: %s, status %u, exit %d, signal %d, '%s'",
			    w->name, status_name(st), r.status, r.exit_code,
			    r.signal, r.text);
		assert_int_equal(r.type, WIRE_RESULT);
		assert_true(r.duration_us == w->duration_us);
		assert_true(r.lost[0] == w->lost && r.lost[1] == 0);
	}
}

static void
figures(void **state)
{
	struct verdict_evidence ev = well;
	struct wire_result r;

	(void)state;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_true(r.cpu_us == 25000);
	assert_true(r.start_us == 20000);
	assert_true(r.max_memory_bytes == 12 * MIB);
	/* Without a cgroup the meter's figure stands in. */
	ev.memory_peak = 0;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_true(r.max_memory_bytes == 10 * MIB);
	ev.lost[1] = 1ull << 40;
	ev.stop = VERDICT_STOP_OUTPUT;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_true(r.lost[1] == UINT32_MAX);
}

static void
two_cores_grant_twice_the_time(void **state)
{
	struct verdict_evidence ev = well;
	struct wire_result r;

	(void)state;
	ev.cores = 2;
	ev.cpu_us = 2000000;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_OK);
	ev.cpu_us = 2000001;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_SANDBOX_TIMEOUT);
}

static void
full_work_folder_is_named(void **state)
{
	struct verdict_evidence ev = well;
	struct wire_result r;

	(void)state;
	ev.wait_status = EXITED(1);
	ev.box_full = true;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_non_null(strstr(r.text, "no room was left"));
	/* A program that copes with it has done nothing wrong. */
	ev.wait_status = EXITED(0);
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_OK);
	assert_string_equal(r.text, "");
}

/* What PID 1 was asked about names the reason, where there is a failure. */
static void
what_was_refused_is_named(void **state)
{
	static const struct {
		struct wire_seen seen;
		int wait_status;
		enum status status;
		const char *text;
	} cases[] = {
		{ { .network = 3 }, EXITED(1),
		    ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
		    "there is no network: the program tried to reach it 3 "
		    "times, and it ended with exit code 1" },
		{ { .network = 1 }, KILLED_BY(SIGABRT),
		    ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
		    "tried to reach it 1 time, and it was ended by signal 6 "
		    "(SIGABRT)" },
		{ { .denied = 2, .first_denied = SYS_ptrace }, EXITED(4),
		    ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
		    "the sandbox refused a system call 2 times, ptrace first, "
		    "and it ended with exit code 4" },
		/* The number is PID 1's claim; it need not be one. */
		{ { .denied = 1, .first_denied = -7 }, EXITED(4),
		    ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
		    "a system call 1 time, ? first" },
		{ { .writes = 1 }, EXITED(1),
		    ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
		    "tried to write outside /box and /tmp 1 time, and it "
		    "ended with exit code 1" },
		/* The network is the more telling one. */
		{ { .network = 1, .writes = 9, .denied = 9 }, EXITED(1),
		    ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED, "network" },
		{ { .writes = 9, .denied = 9, .first_denied = SYS_mount },
		    EXITED(1),
		    ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
		    "mount first" },
		/* It coped. */
		{ { .network = 1, .writes = 1, .denied = 1 }, EXITED(0), ST_OK,
		    "" },
		{ { 0 }, EXITED(1), ST_EXECUTION_RUNTIME_ERROR,
		    "the program ended with exit code 1" },
	};
	struct verdict_evidence ev = well;
	struct wire_result r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ev.seen = cases[i].seen;
		ev.wait_status = cases[i].wait_status;
		assert_int_equal(verdict_judge(&r, &ev), ST_OK);
		assert_int_equal(r.status, cases[i].status);
		if (strstr(r.text, cases[i].text) == NULL ||
		    (*cases[i].text == '\0' && r.text[0] != '\0'))
			fail_msg("'%s' for '%s'", r.text, cases[i].text);
	}
	/* A limit that was hit says more than either. */
	ev.seen = (struct wire_seen){ .network = 5, .denied = 5 };
	ev.wait_status = KILLED_BY(SIGKILL);
	ev.stop = VERDICT_STOP_TIME;
	ev.duration_us = 1000300;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_SANDBOX_TIMEOUT);
}

/* Where the kernel tells no peak, that the limit was hit must be enough. */
static void
a_wall_without_a_peak(void **state)
{
	struct verdict_evidence ev = well;
	struct wire_result r;

	(void)state;
	ev.wait_status = KILLED_BY(SIGKILL);
	ev.memory_peak = 0;
	ev.oom_kills = ev.wall_hits = 1;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED);
	assert_non_null(strstr(r.text, "the run reached 100663296 bytes"));
	/* It was to kill, and nothing was there to be killed. */
	ev.oom_kills = 0;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_EXECUTION_RUNTIME_ERROR);
	/* The host's own shortage. */
	ev.oom_kills = 1;
	ev.wall_hits = 0;
	assert_int_equal(verdict_judge(&r, &ev), ST_SANDBOX_SETUP_FAILED);
	assert_non_null(strstr(r.text, "host ran out of memory"));
}

/* The engine's own limit came first. */
static void
an_abort_for_memory(void **state)
{
	struct verdict_evidence ev = well;
	struct wire_result r;

	(void)state;
	ev.wait_status = KILLED_BY(SIGABRT);
	ev.memory_used = 48 * MIB;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED);
	assert_int_equal(r.signal, SIGABRT);
	assert_string_equal(r.text,
	    "the program was ended by signal 6 (SIGABRT) with 50331648 bytes "
	    "in use other than files, of a memory limit of 67108864");
	ev.memory_used--;
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_EXECUTION_RUNTIME_ERROR);
	ev.memory_used = 63 * MIB;
	ev.wait_status = KILLED_BY(SIGSEGV);
	assert_int_equal(verdict_judge(&r, &ev), ST_OK);
	assert_int_equal(r.status, ST_EXECUTION_RUNTIME_ERROR);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(figures),
		cmocka_unit_test(two_cores_grant_twice_the_time),
		cmocka_unit_test(full_work_folder_is_named),
		cmocka_unit_test(what_was_refused_is_named),
		cmocka_unit_test(a_wall_without_a_peak),
		cmocka_unit_test(an_abort_for_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
