#include "box/work.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

/* That it works in a sandbox is tests/escape's to show. Here: that it touches
 * nothing else. */

static void
our_own_mounts_are_refused(void **state)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)state;
	assert_true(pidfd >= 0);
	/* The user namespace we are in already cannot be entered again, so
	 * nothing is ever mounted over the host's folders. */
	assert_int_equal(work_mount(getpid(), pidfd, 1 << 20), ST_IO);
	assert_int_equal(access("/tmp/box", F_OK), -1);
	close(pidfd);
}

static void
a_process_that_ended(void **state)
{
	pid_t pid = fork();
	int pidfd;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(work_mount(pid, pidfd, 1 << 20), ST_CLOSED);
	/* Its number may be another's now: ours stands for that one. */
	assert_int_equal(work_mount(getpid(), pidfd, 1 << 20), ST_CLOSED);
	close(pidfd);
}

static void
no_child_is_left(void **state)
{
	(void)state;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_mounts_are_refused),
		cmocka_unit_test(a_process_that_ended),
		cmocka_unit_test(no_child_is_left),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
