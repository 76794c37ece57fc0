#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "role.h"

#define FIRST_DELAY_MS 100
#define LAST_DELAY_MS 5000
#define LONG_LIFE_MS 60000
#define MAX_FDS 8

/* What the role may know, as a descriptor that nobody can change. */
static enum status
settings(int *out, const struct conf *c, enum conf_role role)
{
	const int seals =
	    F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	OWN_FD int fd =
	    memfd_create("settings", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct buf b;
	enum status st;

	if (fd < 0)
		return ST_IO;
	buf_init(&b, CONF_FILE_BYTES);
	conf_write(&b, c, role);
	st = buf_status(&b);
	if (st == ST_OK)
		st = io_write_all(fd, b.data, b.len);
	if (b.data != NULL)
		explicit_bzero(b.data, b.cap);
	buf_free(&b);
	if (st != ST_OK)
		return st;
	if (lseek(fd, 0, SEEK_SET) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0)
		return ST_IO;
	*out = io_move_high(own_steal_fd(&fd));
	return *out >= 0 ? ST_OK : ST_IO;
}

/* In the child, between fork and exec: system calls only. */
static void
become(int exe, const struct child_fd *fds, size_t n, char *const *argv,
    char *const *environment)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	unsigned next = ROLE_FD_CONF;
	sigset_t none;

	/* A ^C at the terminal is for super alone: it drains in order. */
	setsid();
	for (size_t i = 0; i < n; i++) {
		if (dup2(fds[i].from, fds[i].to) < 0)
			return;
		if ((unsigned)fds[i].to >= next)
			next = (unsigned)fds[i].to + 1;
	}
	/* All is close-on-exec from birth; this holds for what we were born
	 * with, too. */
	if (close_range(next, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
		return;
	for (int sig = 1; sig < SIGRTMIN; sig++)
		sigaction(sig, &usual, NULL); /* KILL and STOP refuse */
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) != 0)
		return;
	execveat(exe, "", argv, environment, AT_EMPTY_PATH);
}

enum status
child_start(struct child *ch, int exe, const struct conf *c,
    const struct child_fd *fds, size_t n, char *const *environment)
{
	char name[] = "tollbox";
	char role[16];
	char uid[16];
	char gid[16];
	char *argv[] = { name, role, uid, gid, NULL };
	struct child_fd all[MAX_FDS + 3];
	OWN_FD int conf = -1;
	OWN_FD int null = io_move_high(open("/dev/null", O_RDWR | O_CLOEXEC));
	enum status st;
	pid_t pid;

	if (n > MAX_FDS)
		return ST_BUG;
	snprintf(role, sizeof(role), "%s", ch->role);
	snprintf(uid, sizeof(uid), "%u", ch->uid);
	snprintf(gid, sizeof(gid), "%u", ch->gid);
	st = settings(&conf, c, ch->knows);
	if (st != ST_OK || null < 0) {
		log_err("%s: cannot be started: %s", ch->role, strerror(errno));
		return st != ST_OK ? st : ST_IO;
	}
	all[0] = (struct child_fd){ null, STDIN_FILENO };
	all[1] = (struct child_fd){ null, STDOUT_FILENO };
	all[2] = (struct child_fd){ conf, ROLE_FD_CONF };
	for (size_t i = 0; i < n; i++)
		all[i + 3] = fds[i];
	pid = fork();
	if (pid < 0) {
		log_err("%s: fork: %s", ch->role, strerror(errno));
		return ST_IO;
	}
	if (pid == 0) {
		become(exe, all, n + 3, argv, environment);
		_exit(127);
	}
	ch->pid = pid;
	ch->started_ms = io_now_ms();
	log_debug("%s: started, pid %d", ch->role, (int)pid);
	return ST_OK;
}

void
child_ended(struct child *ch, int wait_status)
{
	int64_t now = io_now_ms();

	if (WIFSIGNALED(wait_status))
		log_err("%s (pid %d): ended by signal %d (%s)", ch->role,
		    (int)ch->pid, WTERMSIG(wait_status),
		    strsignal(WTERMSIG(wait_status)));
	else
		log_err("%s (pid %d): ended with status %d", ch->role,
		    (int)ch->pid, WEXITSTATUS(wait_status));
	if (now - ch->started_ms >= LONG_LIFE_MS)
		ch->delay_ms = 0;
	ch->start_ms = now + ch->delay_ms;
	ch->delay_ms = ch->delay_ms == 0 ? FIRST_DELAY_MS : 2 * ch->delay_ms;
	if (ch->delay_ms > LAST_DELAY_MS)
		ch->delay_ms = LAST_DELAY_MS;
	ch->pid = 0;
}

void
child_stopped(struct child *ch)
{
	ch->pid = 0;
	ch->start_ms = 0;
}

void
child_signal(const struct child *ch, int sig)
{
	if (ch->pid > 0)
		kill(ch->pid, sig);
}
