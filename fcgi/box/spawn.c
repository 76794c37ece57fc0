#include "box/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/cgroup.h"

/* The program shall be the first to go when memory is short (fault 20). It is
 * inherited all the way, and /proc is read-only inside. */
#define OOM_FIRST "1000"

struct order {
	const char *path;
	char **argv;
	int fds[BWRAP_FDS];
	size_t n_fds;
	const struct cgroup *group;
	int null_fd;
	int log_fd;
};

/* ---- the child: only async-signal-safe calls ---- */

static void
default_signals(void)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* An ignored signal would stay ignored in the program. */
	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &sa, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
first_to_go(void)
{
	int fd;
	ssize_t n;

	/* After a change of user /proc/self belongs to root otherwise. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
		return -1;
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = write(fd, OOM_FIRST, strlen(OOM_FIRST));
	close(fd);
	return n < 0 ? -1 : 0;
}

static int
hand_over(const struct order *o)
{
	/* 0-2 of the boxer may be anything; all else goes, whoever opened it
	 * (fault 27), but for the list. */
	if (dup2(o->null_fd, 0) < 0 || dup2(o->null_fd, 1) < 0 ||
	    dup2(o->log_fd, 2) < 0 ||
	    close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC) < 0)
		return -1;
	for (size_t i = 0; i < o->n_fds; i++) {
		if (fcntl(o->fds[i], F_SETFD, 0) < 0)
			return -1;
	}
	return 0;
}

static void
complain(int fd, const char *what)
{
	const char *why = strerrordesc_np(errno);

	if (why == NULL)
		why = "unknown error";
	if (write(fd, what, strlen(what)) < 0 || write(fd, ": ", 2) < 0 ||
	    write(fd, why, strlen(why)) < 0)
		_exit(126);
}

static void __attribute__((noreturn)) become(const struct order *o)
{
	static char *const no_environment[] = { NULL };

	default_signals();
	if (o->group != NULL && cgroup_enter(o->group) < 0)
		complain(o->log_fd, "enter the cgroup");
	else if (first_to_go() < 0)
		complain(o->log_fd, "oom_score_adj");
	else if (hand_over(o) < 0)
		complain(o->log_fd, "hand over descriptors");
	else {
		execve(o->path, o->argv, no_environment);
		complain(o->log_fd, o->path);
	}
	_exit(127);
}

/* ---- the parent ---- */

enum status
spawn_bwrap(struct spawn_child *out, const struct bwrap_policy *p,
    const struct cgroup *group, int null_fd, int log_fd)
{
	struct order o = { .path = p->bwrap,
		.group = group,
		.null_fd = null_fd,
		.log_fd = log_fd };
	OWN_FREE char **argv = NULL;
	enum status st = ST_BUG;
	pid_t pid;

	out->pid = -1;
	out->pidfd = -1;
	st = bwrap_argv(&argv, p);
	if (st != ST_OK)
		return st;
	o.argv = argv;
	o.n_fds = bwrap_fds(o.fds, p);
	/* Not vfork: entering a cgroup can wait for tens of milliseconds, and
	 * the boxer has other runs to look after. */
	pid = fork();
	if (pid == 0)
		become(&o);
	if (pid < 0) {
		log_err("fork: %s", strerror(errno));
		return ST_IO;
	}
	/* Not reaped yet, so the number is this child's. */
	out->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (out->pidfd < 0) {
		log_err("pidfd_open: %s", strerror(errno));
		(void)kill(pid, SIGKILL);
		return ST_IO;
	}
	out->pid = pid;
	return ST_OK;
}

bool
spawn_status_pipe(int *ours, int *theirs)
{
	OWN_FD int write_only = -1;
	char path[32];
	int p[2];

	*ours = *theirs = -1;
	if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0) {
		log_err("pipe2: %s", strerror(errno));
		return false;
	}
	*ours = p[0];
	write_only = p[1];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", write_only);
	*theirs = io_move_high(open(path, O_RDWR | O_CLOEXEC));
	if (*theirs < 0)
		log_err("open %s: %s", path, strerror(errno));
	return *theirs >= 0;
}
