/*
 * How this works. bubblewrap executes this as PID 1 with
 *
 *	CONTROL IN OUT ERR FILTER COMMAND...
 *
 * (five descriptor numbers). It says WIRE_INIT_READY, waits for the one job,
 * writes its files, starts the program, waits for its end, kills what is left
 * and reports. When PID 1 exits, the kernel ends the namespace.
 *
 * A warm start comes in between: told WIRE_INIT_WARM, it starts the
 * interpreter before there is a job, up to the gate (init_warm.c); the job's
 * files are then written under the waiting interpreter, and it is let go.
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/wire.h"

/* After all the numbers that this process is given (bwrap.h). */
#define FD_MIN 64

/* The deadline is the boxer's; this is for a boxer that forgot. */
#define BACKSTOP_MS 2000ull
/* How long what was killed may take to be gone. */
#define KILL_MS 2000ull

struct job {
	struct init_image image;
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

	*has_filter = strcmp(arg[INIT_FILTER - INIT_CONTROL], "-") != 0;
	for (int to = INIT_CONTROL; to < INIT_FD_END; to++) {
		if (to == INIT_FILTER && !*has_filter) {
			close(INIT_FILTER);
			continue;
		}
		fd = number(arg[to - INIT_CONTROL]);
		if (fd < 0 || dup3(fd, to, O_CLOEXEC) < 0)
			return false;
	}
	return syscall(SYS_close_range, INIT_FD_END, ~0u, 0) == 0;
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
		{ .fd = INIT_CONTROL, .events = POLLIN },
		{ .events = POLLIN } };
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
		p[2].fd = init_watch_fd();
		if (poll(p, 3, left_ms(until_us)) <= 0)
			continue;
		if (p[0].revents != 0)
			drain(signals);
		if (p[2].revents != 0)
			init_watch_serve(p[2].revents);
		if (init_end() != NULL) {
			*status = init_end()->wait_status;
			return true;
		}
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
report(struct wire_init_report *m, uint64_t before_us, bool early)
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
	if (early) {
		m->cpu_us += init_end()->cpu_us;
		if (m->max_rss_bytes < init_end()->max_rss_bytes)
			m->max_rss_bytes = init_end()->max_rss_bytes;
	}
	m->cpu_us -= before_us < m->cpu_us ? before_us : m->cpu_us;
	init_watch_seen(&m->seen);
	m->type = WIRE_INIT_REPORT;
	init_control_tell(m, sizeof(*m));
	/* A socket that is closed with a message unread resets the other side,
	 * which then sees an error where the report is. */
	while (recv(INIT_CONTROL, &unread, 1, MSG_DONTWAIT) > 0)
		continue;
}

/* ---- the start ---- */

/* Wait until fd has something to read. False: the interpreter, which shall
 * wait, has ended; or the boxer has something to say before. */
static bool
await(int fd, pid_t pid, int signals, struct init_trouble *t)
{
	/* Never the same one twice: what comes between poll()'s look at the
	 * first and at the second would show at the second alone. */
	struct pollfd p[] = { { .fd = signals, .events = POLLIN },
		{ .fd = fd, .events = POLLIN },
		{ .fd = fd == INIT_CONTROL ? -1 : INIT_CONTROL,
		    .events = POLLIN },
		{ .events = POLLIN } };
	int status;

	while (reap(pid, &status) == REAPED_SOME) {
		p[3].fd = init_watch_fd();
		if (poll(p, 4, -1) < 0)
			continue;
		if (p[1].revents != 0)
			return true;
		if (p[2].revents != 0)
			return init_trouble(t, "control socket", ECONNRESET);
		if (p[3].revents != 0)
			init_watch_serve(p[3].revents);
		drain(signals);
	}
	return init_trouble(t, "the interpreter ended early", ECHILD);
}

/* The interpreter up to its gate, and on to the next order. */
static bool
warm_up(struct init_warm *w, const struct wire_init_warm *order,
    char *const *command, int signals, struct init_trouble *t)
{
	if (chdir("/box") < 0)
		return init_trouble(t, "work folder", errno);
	if (!init_warm_start(w, order, command, t) ||
	    !await(w->ready, w->pid, signals, t) || !init_warm_arrived(w, t))
		return false;
	init_control_tell_simple(WIRE_INIT_WARMED);
	return await(INIT_CONTROL, w->pid, signals, t);
}

/* Write the files of the job and start the program, or let go the one that
 * waits. Gives its pid, or -1 with t. */
static pid_t
run_job(struct init_warm *w, const struct job *j, char *const *command,
    uint64_t *started_us, struct init_trouble *t)
{
	const struct init_program p = { .command = command,
		.go = -1,
		.ready = -1,
		.value = -1,
		.job = &j->asked };
	const char *made = NULL;

	/* What is mounted on /box came after this process did. */
	if (chdir("/box") < 0) {
		init_trouble(t, "work folder", errno);
		return -1;
	}
	if (w->pid > 0 && w->order.gate == WIRE_GATE_FIFO)
		made = w->order.entry;
	if (!init_files_write(&j->image, made, t) ||
	    !init_collect_prepare(j->asked.flags, t))
		return -1;
	if (w->pid == 0)
		return init_start(&p, &j->image, started_us, t);
	if (!init_start_limit(w->pid, &j->asked, w->cpu_us, t))
		return -1;
	init_watch_forget();
	*started_us = init_warm_release(w, &j->image, &j->asked);
	return w->pid;
}

/* From WIRE_INIT_READY to the program's start. -1: there is nothing to run,
 * and the boxer knows why. */
static pid_t
start(struct job *j, struct init_warm *w, char *const *command, int signals,
    uint64_t *started_us)
{
	struct init_trouble t = { 0, "" };
	union init_order m;
	pid_t pid = -1;
	int fd = -1;
	bool ok;

	ok = init_control_receive(&m, &fd, &t);
	if (ok && m.type == WIRE_INIT_WARM)
		ok = warm_up(w, &m.warm, command, signals, &t) &&
		     init_control_receive(&m, &fd, &t);
	if (ok && m.type != WIRE_INIT_JOB)
		ok = init_trouble(&t, "message", EBADMSG);
	if (ok) {
		j->asked = m.job;
		ok = init_control_map(&j->image, fd, m.job.image_len, &t);
	}
	if (ok)
		pid = run_job(w, j, command, started_us, &t);
	if (pid < 0)
		init_control_tell_failed(&t);
	else
		init_control_tell_simple(WIRE_INIT_STARTED);
	return pid;
}

int
main(int argc, char **argv)
{
	struct wire_init_report m = { 0 };
	struct job j = { .image = { NULL, 0 } };
	struct init_warm w = { .pid = 0, .value = -1 };
	struct init_trouble t;
	uint64_t limit_us;
	bool has_filter, early, sealed;
	int signals;
	pid_t pid;

	/* Anywhere else kill(-1) would hit all of the user's processes. */
	if (getpid() != 1 || argc < 1 + INIT_FD_END - INIT_CONTROL + 1)
		return 2;
	sealed = init_seal(&t);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "sandbox-init");
	if (!take_descriptors(argv + 1, &has_filter))
		return 2;
	signals = child_signals();
	if (signals < 0)
		return 2;
	if (!sealed || (has_filter && !init_start_filter(INIT_FILTER, &t))) {
		init_control_tell_failed(&t);
		return 1;
	}
	init_control_tell_simple(WIRE_INIT_READY);
	pid = start(&j, &w, argv + 1 + INIT_FD_END - INIT_CONTROL, signals,
	    &m.started_us);
	if (pid < 0)
		return 1;
	init_end_watch(pid, j.asked.peak != 0);
	limit_us = (j.asked.limits.timeout_ms + BACKSTOP_MS) * 1000;
	if (!await_main(pid, signals, m.started_us + limit_us, &m.wait_status))
		return 1;
	/* What is collected must not change any more. */
	early = init_end() != NULL && j.asked.flags == 0;
	/* It stops while this goes on. */
	if (early)
		kill(-1, SIGKILL);
	m.ended_us = early ? init_end()->at_us : init_now_us();
	m.box_full = init_files_full();
	if (!early)
		clear(signals);
	report(&m, w.cpu_us, early);
	if (early)
		clear(signals);
	if (j.asked.flags != 0)
		init_collect(&j.asked, &j.image, w.value);
	return 0;
}
