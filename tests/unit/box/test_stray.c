/* A bubblewrap whose child is left waiting for ever. Real ones: runs as root,
 * who can be any user. */
#include "box/stray.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "box/spawn.h"

#define BWRAP "/usr/bin/bwrap"
#define SOON_MS 10000

/* Nobody else's, so that the numbers are right whatever else runs, were it this
 * test once more: our process number is added. */
#define USER_BASE 100000
static uid_t user;

/* Stands before libc's: the file unseen cannot be opened. */
static char unseen[32];
static int unseen_errno, unseen_count;

int
open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	if (unseen[0] != '\0' && strcmp(path, unseen) == 0) {
		unseen_count++;
		errno = unseen_errno;
		return -1;
	}
	va_start(ap, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(ap, int) : 0;
	va_end(ap);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static pid_t
parent_of(pid_t pid)
{
	char path[32], line[256];
	pid_t parent = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (parent == 0 && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "PPid:\t", 6) == 0)
			parent = (pid_t)strtol(line + 6, NULL, 10);
	}
	fclose(f);
	return parent;
}

/* A bubblewrap that holds its child before it lets it go on. */
struct held {
	pid_t monitor;
	pid_t child;
	int child_fd; /* pidfd */
	int go;
};

static void
become_user(void)
{
	if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 ||
	    setresuid(user, user, user) < 0)
		_exit(120);
}

static struct held
hold(void)
{
	static const char key[] = "\"child-pid\": ";
	char info_at[12], go_at[12], text[512] = "", *at;
	struct held h;
	int info[2], go[2];
	ssize_t n;

	assert_int_equal(pipe(info), 0);
	assert_int_equal(pipe(go), 0);
	h.monitor = fork();
	assert_true(h.monitor >= 0);
	if (h.monitor == 0) {
		become_user();
		close(info[0]);
		close(go[1]);
		(void)snprintf(info_at, sizeof(info_at), "%d", info[1]);
		(void)snprintf(go_at, sizeof(go_at), "%d", go[0]);
		execl(BWRAP, BWRAP, "--unshare-user", "--unshare-pid",
		    "--die-with-parent", "--as-pid-1", "--info-fd", info_at,
		    "--userns-block-fd", go_at, "--ro-bind", "/", "/",
		    "/usr/bin/true", (char *)NULL);
		_exit(127);
	}
	close(info[1]);
	close(go[0]);
	/* All of it: it comes in pieces, and a bubblewrap that cannot write
	 * the last one dies of it. */
	for (size_t len = 0; strchr(text, '}') == NULL; len += (size_t)n) {
		n = read(info[0], text + len, sizeof(text) - 1 - len);
		assert_true(n > 0);
	}
	close(info[0]);
	at = strstr(text, key);
	assert_non_null(at);
	h.child = (pid_t)strtol(at + sizeof(key) - 1, NULL, 10);
	h.child_fd = (int)syscall(SYS_pidfd_open, h.child, 0);
	assert_true(h.child_fd >= 0);
	h.go = go[1];
	return h;
}

static void
release(struct held *h)
{
	close(h->go);
	close(h->child_fd);
}

static void
without_a_monitor(void **state)
{
	struct held h = hold();
	int status;

	(void)state;
	assert_int_equal(kill(h.monitor, SIGKILL), 0);
	assert_int_equal(waitpid(h.monitor, &status, 0), h.monitor);
	assert_int_equal(stray_sweep(BWRAP, USER_BASE - 1), 0);
	assert_int_equal(stray_sweep("/usr/bin/bwra", user), 0);
	assert_true(io_alive(h.child_fd));
	assert_int_equal(stray_sweep(BWRAP, user), 1);
	assert_int_equal(
	    io_wait(h.child_fd, POLLIN, io_now_ms() + SOON_MS), ST_OK);
	assert_int_equal(stray_sweep(BWRAP, user), 0);
	release(&h);
}

static void
with_a_monitor(void **state)
{
	struct held h = hold();

	(void)state;
	assert_int_equal(stray_sweep(BWRAP, user), 0);
	assert_true(io_alive(h.child_fd));
	assert_int_equal(kill(h.child, SIGKILL), 0);
	assert_int_equal(
	    io_wait(h.child_fd, POLLIN, io_now_ms() + SOON_MS), ST_OK);
	release(&h);
	assert_int_equal(waitpid(h.monitor, NULL, 0), h.monitor);
}

/* Its monitor lives, and cannot be looked at for now. */
static void
with_a_monitor_unseen(void **state)
{
	static const int lacks[] = { EMFILE, ENFILE, ENOMEM, EIO };
	struct held h = hold();
	int status;

	(void)state;
	(void)snprintf(
	    unseen, sizeof(unseen), "/proc/%d/status", (int)h.monitor);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		unseen_errno = lacks[i];
		unseen_count = 0;
		assert_int_equal(stray_sweep(BWRAP, user), 0);
		assert_true(unseen_count > 0);
		assert_true(io_alive(h.child_fd));
	}
	unseen[0] = '\0';
	assert_int_equal(kill(h.monitor, SIGKILL), 0);
	assert_int_equal(waitpid(h.monitor, &status, 0), h.monitor);
	/* A parent that is hidden from us is no monitor. */
	(void)snprintf(
	    unseen, sizeof(unseen), "/proc/%d/status", (int)parent_of(h.child));
	unseen_errno = EPERM;
	assert_int_equal(stray_sweep(BWRAP, user), 1);
	unseen[0] = '\0';
	assert_int_equal(
	    io_wait(h.child_fd, POLLIN, io_now_ms() + SOON_MS), ST_OK);
	release(&h);
}

/* bubblewrap, whose status nobody reads any more: its exit status. */
static int
untold(int theirs)
{
	char at[12];
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		become_user();
		(void)snprintf(at, sizeof(at), "%d", theirs);
		if (fcntl(theirs, F_SETFD, 0) < 0 ||
		    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
			_exit(121);
		execl(BWRAP, BWRAP, "--unshare-user", "--json-status-fd", at,
		    "--ro-bind", "/", "/", "/usr/bin/true", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void
a_starter_that_is_gone(void **state)
{
	int ours, theirs;

	(void)state;
	assert_true(spawn_status_pipe(&ours, &theirs));
	assert_true(theirs >= BWRAP_FD_MIN);
	assert_int_equal(close(ours), 0);
	assert_int_equal(untold(theirs), 0);
	close(theirs);
}

/* What is told arrives, and its end with the last who can tell. */
static void
the_status_is_heard(void **state)
{
	char text[8] = "";
	int ours, theirs;

	(void)state;
	assert_true(spawn_status_pipe(&ours, &theirs));
	assert_int_equal(read(ours, text, sizeof(text)), -1);
	assert_int_equal(write(theirs, "told", 4), 4);
	close(theirs);
	assert_int_equal(read(ours, text, sizeof(text)), 4);
	assert_string_equal(text, "told");
	assert_int_equal(read(ours, text, sizeof(text)), 0);
	close(ours);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_monitor),
		cmocka_unit_test(with_a_monitor),
		cmocka_unit_test(with_a_monitor_unseen),
		cmocka_unit_test(a_starter_that_is_gone),
		cmocka_unit_test(the_status_is_heard),
	};

	user = USER_BASE + (uid_t)getpid();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
