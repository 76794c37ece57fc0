/* With groups of this host: runs as root. */
#include "box/hull.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

/* What the first look may wait, or a little less, in us. */
#define WAIT_US 200
/* Looks of which one at least is not disturbed. */
#define LOOKS 50

static enum cgroup_kind kind;
static char name[32];
static struct hull hull;

static int
setup(void **state)
{
	struct fault f = { 0 };

	(void)state;
	if (getuid() != 0) {
		print_error("must run as root\n");
		return -1;
	}
	kind = cgroup_detect();
	(void)snprintf(name, sizeof(name), "t-hull-%d", (int)getpid());
	if (kind == CGROUP_NONE ||
	    cgroup_prepare(kind, name, 0, 0, &f) != ST_OK ||
	    cgroup_open(&hull.group, kind, name, 0) != ST_OK) {
		print_error("no cgroups: %s\n", f.message);
		return -1;
	}
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 200 && !cgroup_close(hull.group); i++)
		usleep(5000);
	cgroup_remove(kind, name);
	return 0;
}

/* A process in the group that only waits, and is there already. */
static pid_t
sleeper(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (cgroup_enter(hull.group) < 0 || write(ready[1], "", 1) != 1)
			_exit(99);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
end(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
past_its_last_instruction(void **state)
{
	siginfo_t unused;
	pid_t other;

	(void)state;
	hull.monitor_pid = sleeper();
	hull.init_pid = sleeper();
	assert_true(hull_alone(&hull, true));
	other = sleeper();
	assert_false(hull_alone(&hull, true));
	assert_false(hull_alone(&hull, false));
	assert_int_equal(kill(other, SIGKILL), 0);
	/* Not reaped: that is PID 1's, later. */
	assert_int_equal(
	    waitid(P_PID, (id_t)other, &unused, WEXITED | WNOWAIT), 0);
	assert_true(hull_alone(&hull, false));
	assert_int_equal(waitpid(other, NULL, 0), other);
	end(hull.init_pid);
	end(hull.monitor_pid);
}

/* One that takes its time costs the boxer one wait, not one a look. */
static void
only_the_first_look_waits(void **state)
{
	int64_t before, took, least = INT64_MAX;
	pid_t busy;

	(void)state;
	hull.monitor_pid = sleeper();
	hull.init_pid = 0;
	busy = sleeper();
	before = io_now_us();
	assert_false(hull_alone(&hull, true));
	assert_true(io_now_us() - before >= WAIT_US);
	for (int i = 0; i < LOOKS; i++) {
		before = io_now_us();
		assert_false(hull_alone(&hull, false));
		took = io_now_us() - before;
		if (took < least)
			least = took;
	}
	assert_true(least < WAIT_US);
	end(busy);
	end(hull.monitor_pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(past_its_last_instruction),
		cmocka_unit_test(only_the_first_look_waits),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
