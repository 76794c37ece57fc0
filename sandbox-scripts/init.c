/*
 * How this works. bubblewrap executes this as PID 1 with
 *
 *	CONTROL IN OUT ERR FILTER COMMAND...
 *
 * (five descriptor numbers). It says WIRE_INIT_READY, waits for the one job,
 * writes its files, starts the program, waits for its end, kills what is left
 * and reports. When PID 1 exits, the kernel ends the namespace.
 *
 * Why the program, which has the same uid, cannot get at it: it is not
 * dumpable, so /proc/1 and ptrace are closed; it handles no signal, so none
 * from inside its namespace reaches it; all it will need is open before the
 * program starts, so lowered limits of its own do not stop it; and the
 * program's filter refuses the calls that would set its limits or priority.
 * What is reported is still only a claim to the boxer, which measures itself.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/wire.h"

/* After all the numbers that this process is given (bwrap.h). */
#define FD_MIN 64

/* Where they are moved to, in the order of the arguments. */
enum {
	CONTROL = 3,
	IN,
	OUT,
	ERR,
	FILTER,
	FD_END
};

/* All a request may hold, and room for the records' heads. */
#define IMAGE_BYTES (LIMITS_BODY + (8u << 20))

#define NEEDED_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

/* The deadline is the boxer's; this is for a boxer that forgot. */
#define BACKSTOP_MS 2000ull
/* How long what was killed may take to be gone. */
#define KILL_MS 2000ull

struct job {
	void *image;
	size_t len;
	struct wire_init_job asked;
};

bool
init_trouble(struct init_trouble *t, const char *step, int error)
{
	t->step = step;
	t->error = error;
	return false;
}

uint64_t
init_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* A peer that is gone is noticed where we read. */
static void
tell(const void *message, size_t len)
{
	ssize_t n;

	do {
		n = send(CONTROL, message, len, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
}

static void
tell_simple(enum wire_type type)
{
	struct wire_simple m = { .type = type };

	tell(&m, sizeof(m));
}

static void
tell_failed(const struct init_trouble *t)
{
	struct wire_init_failed m = { .type = WIRE_INIT_FAILED,
		.error = t->error,
		.disk_full = t->error == ENOSPC || t->error == EDQUOT };

	snprintf(m.step, sizeof(m.step), "%s", t->step);
	tell(&m, sizeof(m));
}

/* ---- set-up ---- */

/* A descriptor's number, or -1. */
static int
number(const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || n < FD_MIN ||
	    n > INT_MAX)
		return -1;
	return (int)n;
}

/* Move the descriptors of the arguments to low numbers and close all others:
 * bubblewrap passes on whatever it has. has_filter tells if there is one. */
static bool
take_descriptors(char *const *arg, bool *has_filter)
{
	int fd;

	*has_filter = strcmp(arg[FILTER - CONTROL], "-") != 0;
	for (int to = CONTROL; to < FD_END; to++) {
		if (to == FILTER && !*has_filter) {
			close(FILTER);
			continue;
		}
		fd = number(arg[to - CONTROL]);
		if (fd < 0 || dup3(fd, to, O_CLOEXEC) < 0)
			return false;
	}
	return close_range(FD_END, ~0u, 0) == 0;
}

/* SIGCHLD as a descriptor: the handler that PID 1 would otherwise need is what
 * lets a signal from inside through. */
static int
child_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t set;

	/* Had someone before us ignored it, no status would be kept. */
	sigaction(SIGCHLD, &dfl, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the job ---- */

/* Receive one message with one descriptor. False: not that. *gone: the boxer
 * let go. */
static bool
receive(struct wire_init_job *m, int *fd, bool *gone)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head;
	ssize_t n;

	do {
		n = recvmsg(CONTROL, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	*gone = n <= 0;
	if (n != (ssize_t)sizeof(*m) ||
	    (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return false;
	head = CMSG_FIRSTHDR(&msg);
	if (head == NULL || head->cmsg_level != SOL_SOCKET ||
	    head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(sizeof(int)))
		return false;
	memcpy(fd, CMSG_DATA(head), sizeof(*fd));
	return m->type == WIRE_INIT_JOB;
}

/* Map the image of the job; it must not be able to change any more. */
static bool
map_image(struct job *j, int fd, struct init_trouble *t)
{
	uint64_t len = j->asked.image_len;
	struct stat s;
	void *at;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & NEEDED_SEALS) != NEEDED_SEALS)
		return init_trouble(t, "job seals", EPERM);
	if (fstat(fd, &s) < 0 || s.st_size < 0 || (uint64_t)s.st_size != len ||
	    len == 0 || len > IMAGE_BYTES)
		return init_trouble(t, "job length", EMSGSIZE);
	at = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return init_trouble(t, "job image", errno);
	j->image = at;
	j->len = (size_t)len;
	close(fd);
	return true;
}

/* Wait for the job, write its files and start the program. -1: there is
 * nothing to run, and the boxer knows why. */
static pid_t
run_job(struct job *j, char *const *command, uint64_t *started_us)
{
	struct init_trouble t = { 0, "" };
	struct init_program p = {
		.in = IN, .out = OUT, .err = ERR, .command = command
	};
	pid_t pid = -1;
	bool gone, ok;
	int fd = -1;

	ok = receive(&j->asked, &fd, &gone);
	if (gone)
		return -1;
	if (!ok)
		init_trouble(&t, "job message", EBADMSG);
	ok = ok && map_image(j, fd, &t);
	/* What is mounted on /box came after this process did. */
	if (ok && chdir("/box") < 0)
		ok = init_trouble(&t, "work folder", errno);
	if (ok && init_files_write(j->image, j->len, &t)) {
		p.limits = j->asked.limits;
		p.cores = j->asked.cores == 0 ? 1 : j->asked.cores;
		pid = init_start(&p, j->image, j->len, started_us, &t);
	}
	if (pid < 0) {
		tell_failed(&t);
		return -1;
	}
	tell_simple(WIRE_INIT_STARTED);
	munmap(j->image, j->len);
	return pid;
}

/* ---- to the end ---- */

/* Milliseconds until, for poll(2). */
static int
left_ms(uint64_t until_us)
{
	uint64_t now = init_now_us();

	if (now >= until_us)
		return 0;
	return until_us - now > 1000000 ? 1000
					: (int)((until_us - now) / 1000) + 1;
}

enum reaped {
	REAPED_SOME,
	REAPED_MAIN,
	REAPED_ALL
};

/* Reap what has ended: up to main_pid, or until nothing is left at all. */
static enum reaped
reap(pid_t main_pid, int *status)
{
	pid_t pid;
	int s;

	for (;;) {
		pid = waitpid(-1, &s, WNOHANG | __WALL);
		if (pid < 0)
			return errno == ECHILD ? REAPED_ALL : REAPED_SOME;
		if (pid == 0)
			return REAPED_SOME;
		if (pid == main_pid) {
			*status = s;
			return REAPED_MAIN;
		}
	}
}

static void
drain(int signals)
{
	struct signalfd_siginfo s;

	while (read(signals, &s, sizeof(s)) > 0)
		continue;
}

/* Wait until the main program has ended: by itself, by the boxer's word (any
 * message, or the end of the socket) or by the backstop. False: it cannot be
 * told how it ended. */
static bool
await_main(pid_t pid, int signals, uint64_t until_us, int *status)
{
	struct pollfd p[] = { { .fd = signals, .events = POLLIN },
		{ .fd = CONTROL, .events = POLLIN } };
	enum reaped r = reap(pid, status);
	bool killed = false;

	for (; r == REAPED_SOME; r = reap(pid, status)) {
		if (left_ms(until_us) == 0 || p[1].revents != 0) {
			if (killed)
				return false;
			kill(-1, SIGKILL);
			killed = true;
			until_us = init_now_us() + KILL_MS * 1000;
			p[1].fd = -1;
			p[1].revents = 0;
		}
		if (poll(p, 2, left_ms(until_us)) > 0 && p[0].revents != 0)
			drain(signals);
	}
	return r == REAPED_MAIN;
}

/* Kill whatever the program left behind and wait until it is gone: what is
 * reported after is the whole. */
static void
clear(int signals)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	uint64_t until_us = init_now_us() + KILL_MS * 1000;
	int unused;

	kill(-1, SIGKILL);
	while (reap(0, &unused) == REAPED_SOME && left_ms(until_us) > 0) {
		if (poll(&p, 1, left_ms(until_us)) > 0)
			drain(signals);
	}
}

static void
report(struct wire_init_report *m)
{
	struct rusage use;
	char unread;

	if (getrusage(RUSAGE_CHILDREN, &use) == 0) {
		m->cpu_us =
		    (uint64_t)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) *
			1000000 +
		    (uint64_t)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
		m->max_rss_bytes = (uint64_t)use.ru_maxrss * 1024;
	}
	m->type = WIRE_INIT_REPORT;
	tell(m, sizeof(*m));
	/* A socket that is closed with a message unread resets the other side,
	 * which then sees an error where the report is. */
	while (recv(CONTROL, &unread, 1, MSG_DONTWAIT) > 0)
		continue;
}

int
main(int argc, char **argv)
{
	struct job j = { 0 };
	struct wire_init_report m = { 0 };
	struct init_trouble t;
	uint64_t limit_us;
	bool has_filter;
	int signals;
	pid_t pid;

	/* Anywhere else kill(-1) would hit all of the user's processes. */
	if (getpid() != 1 || argc < 1 + FD_END - CONTROL + 1)
		return 2;
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "sandbox-init");
	if (!take_descriptors(argv + 1, &has_filter))
		return 2;
	signals = child_signals();
	if (signals < 0)
		return 2;
	if (has_filter && !init_start_filter(FILTER, &t)) {
		tell_failed(&t);
		return 1;
	}
	tell_simple(WIRE_INIT_READY);
	pid = run_job(&j, argv + 1 + FD_END - CONTROL, &m.started_us);
	if (pid < 0)
		return 1;
	limit_us = (j.asked.limits.timeout_ms + BACKSTOP_MS) * 1000;
	if (!await_main(pid, signals, m.started_us + limit_us, &m.wait_status))
		return 1;
	m.ended_us = init_now_us();
	m.box_full = init_files_full();
	clear(signals);
	report(&m);
	return 0;
}
