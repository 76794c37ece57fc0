/*
 * How this works.
 *
 * Gate and boxer share a socket pair that is made here. When the boxer ends,
 * a new pair is made, and the gate is sent its end over the control socket.
 * When the gate ends, the boxer notices on the pair, ends its runs and itself,
 * and both are started anew: a fresh gate never meets an old boxer.
 *
 * New settings go the same way: the gate ends when it has finished what it has,
 * and both are started anew. Never two gates at a time: a ledger has one
 * writer, and what runs or waits is known to its own gate only. Our copy of
 * the sockets stays open, so whoever connects meanwhile waits for the new one.
 *
 * One loop waits for signals and for the gate's word; tick() does what the
 * time asks for. Nothing here reads what a client sent.
 */
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "base/point.h"
#include "child.h"
#include "notify.h"
#include "role.h"

#define BOXER_END_MS 5000 /* for a boxer without a gate to end by itself */

enum phase {
	PHASE_STARTING, /* the gate has not said that it accepts */
	PHASE_SERVING,
	PHASE_CHANGING, /* the gate finishes what it has, for new settings */
	PHASE_DRAINING, /* the gate finishes what it has */
	PHASE_ENDING	/* the gate is gone, the boxer is to go */
};

struct watch {
	const struct watch_with *with;
	enum phase phase;
	enum status st;	     /* what it all ends with */
	int64_t deadline_ms; /* of a phase, or of a boxer without gate */
	bool killed;	     /* both were, to end it all */
	bool hup;	     /* SIGHUP came when no gate accepted */
	struct child gate;
	struct child boxer;
	int control; /* to the gate */
	int ready;   /* from the gate, -1 once it has spoken */
};

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* A pair or pipe made by the caller, moved out of the children's numbers. */
static enum status
move_pair(int rc, int fd[2])
{
	if (rc != 0) {
		fd[0] = fd[1] = -1;
		return ST_IO;
	}
	fd[0] = io_move_high(fd[0]);
	fd[1] = io_move_high(fd[1]);
	return fd[0] >= 0 && fd[1] >= 0 ? ST_OK : ST_IO;
}

static enum status
seqpacket(int fd[2])
{
	return move_pair(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), fd);
}

/* ---- starting the children ---- */

static enum status
start_boxer(struct watch *s, int to_gate)
{
	const struct child_fd fds[] = {
		{ s->with->life, ROLE_FD_LIFE },
		{ to_gate, ROLE_FD_BOXER_GATE },
		{ s->with->init, ROLE_FD_BOXER_INIT },
	};
	struct fault f = { .st = ST_BUG };
	enum status st = ST_OK;

	/* A boxer that was killed leaves its groups behind. */
	if (s->with->kind != CGROUP_NONE)
		st = cgroup_prepare(s->with->kind, s->with->settings->now->name,
		    s->boxer.uid, s->boxer.gid, &f);
	if (st != ST_OK) {
		log_err("cgroups: %s", f.message);
		return st;
	}
	return child_start(&s->boxer, s->with->exe, s->with->settings->now, fds,
	    3, s->with->boxer_environment);
}

static enum status
start_gate(struct watch *s, int to_boxer)
{
	int control[2] = { -1, -1 };
	int ready[2] = { -1, -1 };
	struct child_fd fds[6];
	enum status st;

	close_fd(&s->control);
	close_fd(&s->ready);
	st = seqpacket(control);
	if (st == ST_OK)
		st = move_pair(pipe2(ready, O_CLOEXEC), ready);
	if (st == ST_OK) {
		fds[0] = (struct child_fd){ s->with->life, ROLE_FD_LIFE };
		fds[1] = (struct child_fd){ to_boxer, ROLE_FD_GATE_BOXER };
		fds[2] = (struct child_fd){ control[1], ROLE_FD_GATE_CONTROL };
		fds[3] = (struct child_fd){ ready[1], ROLE_FD_GATE_READY };
		fds[4] = (struct child_fd){ s->with->front->unix_fd,
			ROLE_FD_GATE_LISTEN };
		fds[5] = (struct child_fd){ s->with->front->tcp_fd,
			ROLE_FD_GATE_TCP };
		st = child_start(&s->gate, s->with->exe, s->with->settings->now,
		    fds, s->with->front->tcp_fd >= 0 ? 6 : 5,
		    s->with->gate_environment);
	}
	if (st == ST_OK) {
		s->control = own_steal_fd(&control[0]);
		s->ready = own_steal_fd(&ready[0]);
	}
	close_fd(&control[0]);
	close_fd(&control[1]);
	close_fd(&ready[0]);
	close_fd(&ready[1]);
	return st;
}

/* Start what does not run. False if that failed, or the gate does not take a
 * boxer's socket any more: it is then ended, and both are started anew. */
static bool
start_missing(struct watch *s)
{
	int pair[2] = { -1, -1 };
	enum status st = seqpacket(pair);

	if (st == ST_OK)
		st = start_boxer(s, pair[1]);
	POINT("super.restarting");
	if (st == ST_OK && s->gate.pid == 0) {
		st = start_gate(s, pair[0]);
	} else if (st == ST_OK) {
		st = io_send_msg(s->control, "B", 1, pair[0], MSG_DONTWAIT);
		if (st != ST_OK) {
			log_err("gate: takes no new boxer: ending it");
			child_signal(&s->gate, SIGKILL);
		}
	}
	close_fd(&pair[0]);
	close_fd(&pair[1]);
	return st == ST_OK;
}

/* ---- events ---- */

/* Now, whatever runs. */
static void
kill_all(struct watch *s)
{
	s->killed = true;
	s->phase = PHASE_ENDING;
	child_signal(&s->gate, SIGKILL);
	child_signal(&s->boxer, SIGKILL);
}

static void
fail(struct watch *s, const char *why)
{
	log_err("%s", why);
	s->st = ST_IO;
	kill_all(s);
}

static void
begin_drain(struct watch *s)
{
	log_info("draining");
	notify_send("STOPPING=1");
	s->phase = PHASE_DRAINING;
	s->deadline_ms =
	    io_now_ms() + (int64_t)s->with->settings->now->drain_ms;
	child_signal(&s->gate, SIGTERM);
	/* Whoever connects from now on is refused at once and can go to
	 * another host; in our backlog he would wait for nothing. */
	front_close(s->with->front);
}

/* SIGHUP. A gate that has not accepted yet would only be ended for nothing:
 * it is asked again when it has. */
static void
on_new_settings(struct watch *s)
{
	if (s->phase >= PHASE_DRAINING)
		return;
	if (s->phase == PHASE_STARTING || s->ready >= 0 || s->gate.pid == 0) {
		s->hup = true;
		return;
	}
	notify_send("RELOADING=1");
	if (!renew_ask(s->with->settings)) {
		notify_send("READY=1");
		return;
	}
	if (s->phase == PHASE_CHANGING)
		return; /* the newest are taken */
	log_info("new settings: finishing what runs");
	s->phase = PHASE_CHANGING;
	s->deadline_ms =
	    io_now_ms() + (int64_t)s->with->settings->now->drain_ms;
	child_signal(&s->gate, SIGHUP);
}

static void
on_stop_signal(struct watch *s)
{
	switch (s->phase) {
	case PHASE_STARTING:
	case PHASE_SERVING:
	case PHASE_CHANGING:
		begin_drain(s);
		break;
	case PHASE_DRAINING:
	case PHASE_ENDING:
		log_warn("hurrying: what runs is killed");
		kill_all(s);
		break;
	}
}

static void
on_end(struct watch *s, struct child *ch, int wait_status)
{
	bool quiet = s->killed ||
		     (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 &&
			 (s->phase >= PHASE_CHANGING ||
			     (ch == &s->boxer && s->gate.pid == 0)));

	if (quiet)
		child_stopped(ch);
	else
		child_ended(ch, wait_status);
	POINT("super.reaped");
	if (s->phase == PHASE_STARTING)
		fail(s, "a part ended before the gate accepted");
	else if (ch == &s->gate && s->phase < PHASE_DRAINING)
		s->deadline_ms = io_now_ms() + BOXER_END_MS;
	/* They were not served with yet: it is they. */
	if (s->phase == PHASE_SERVING && renew_back(s->with->settings)) {
		log_err("the new settings do not serve: back to the old ones");
		child_signal(&s->gate, SIGKILL);
		child_signal(&s->boxer, SIGKILL);
	}
}

static void
reap(struct watch *s)
{
	int wait_status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &wait_status, WNOHANG);
		if (pid <= 0)
			return;
		if (pid == s->gate.pid)
			on_end(s, &s->gate, wait_status);
		else if (pid == s->boxer.pid)
			on_end(s, &s->boxer, wait_status);
	}
}

static void
on_signal(struct watch *s)
{
	struct signalfd_siginfo info;

	while (read(s->with->signals, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		switch (info.ssi_signo) {
		case SIGTERM:
		case SIGINT:
			on_stop_signal(s);
			break;
		case SIGHUP:
			on_new_settings(s);
			break;
		case SIGCHLD:
			reap(s);
			break;
		default:
			break;
		}
	}
}

static void
on_ready(struct watch *s)
{
	char byte;
	ssize_t n = read(s->ready, &byte, 1);

	close_fd(&s->ready);
	if (n != 1) /* it ended before */
		return;
	if (s->phase == PHASE_STARTING) {
		s->phase = PHASE_SERVING;
		log_info("tollbox ready");
		notify_send("READY=1");
	} else {
		log_info("gate: accepts again");
		notify_send("READY=1");
	}
	renew_settle(s->with->settings);
	if (s->hup) {
		s->hup = false;
		on_new_settings(s);
	}
}

/* ---- the loop ---- */

/* The time by which tick() must be called again, -1: only after an event. */
static int64_t
next_tick(const struct watch *s)
{
	int64_t start;

	if (s->killed)
		return -1;
	if (s->phase >= PHASE_CHANGING ||
	    (s->gate.pid == 0 && s->boxer.pid != 0))
		return s->deadline_ms;
	if (s->boxer.pid != 0)
		return -1;
	start = s->boxer.start_ms;
	if (s->gate.pid == 0 && s->gate.start_ms > start)
		start = s->gate.start_ms;
	return start;
}

/* True if the settings may be changed now, and are; or the boxer alone is left,
 * which the caller sees to. */
static bool
change(struct watch *s, int64_t now)
{
	if (s->gate.pid != 0) {
		if (now < s->deadline_ms)
			return false;
		log_warn("the time for finishing is over: what runs is killed");
		child_signal(&s->gate, SIGKILL);
		s->deadline_ms = now + BOXER_END_MS;
		return false;
	}
	if (s->boxer.pid != 0)
		return true;
	renew_take(s->with->settings);
	role_log("super", s->with->settings->now);
	log_info("new settings: in force");
	s->phase = PHASE_SERVING;
	s->gate.start_ms = s->boxer.start_ms = now;
	return true;
}

/* Do what time asks for. */
static void
tick(struct watch *s)
{
	int64_t now = io_now_ms();

	if (s->killed)
		return;
	if (s->phase == PHASE_DRAINING && s->gate.pid == 0) {
		s->phase = PHASE_ENDING;
		s->deadline_ms = now + BOXER_END_MS;
		child_signal(&s->boxer, SIGTERM);
	}
	if (s->phase >= PHASE_DRAINING) {
		if (now < s->deadline_ms)
			return;
		log_warn("the time for draining is over: what runs is killed");
		kill_all(s);
		return;
	}
	if (s->phase == PHASE_CHANGING && !change(s, now))
		return;
	if (s->boxer.pid != 0) {
		if (s->gate.pid != 0 || now < s->deadline_ms)
			return;
		log_err("boxer: does not end without a gate: killed");
		child_signal(&s->boxer, SIGKILL);
		s->deadline_ms = now + BOXER_END_MS;
		return;
	}
	if (now < next_tick(s) || start_missing(s))
		return;
	if (s->phase == PHASE_STARTING)
		fail(s, "could not be started");
	else
		s->boxer.start_ms = s->gate.start_ms = now + BOXER_END_MS;
}

static bool
over(const struct watch *s)
{
	return s->phase >= PHASE_DRAINING && s->gate.pid == 0 &&
	       s->boxer.pid == 0;
}

static void
loop(struct watch *s)
{
	while (!over(s)) {
		struct pollfd p[2] = {
			{ .fd = s->with->signals, .events = POLLIN },
			{ .fd = s->ready, .events = POLLIN },
		};
		int64_t wait;

		tick(s);
		if (over(s))
			break;
		p[1].fd = s->ready;
		wait = next_tick(s);
		if (wait >= 0) {
			wait -= io_now_ms();
			wait = wait < 0 ? 0 : wait;
		}
		if (poll(p, 2, (int)wait) < 0 && errno != EINTR) {
			fail(s, strerror(errno));
			continue;
		}
		if (p[0].revents != 0)
			on_signal(s);
		if (p[1].revents != 0 && s->ready >= 0)
			on_ready(s);
	}
}

enum status
watch_run(const struct watch_with *with)
{
	struct watch s = {
		.with = with,
		.phase = PHASE_STARTING,
		.st = ST_OK,
		.deadline_ms = 0,
		.gate = { .role = ROLE_GATE,
		    .knows = CONF_GATE,
		    .uid = with->gate_uid,
		    .gid = with->gate_gid },
		.boxer = { .role = ROLE_BOXER,
		    .knows = CONF_BOXER,
		    .uid = with->boxer_uid,
		    .gid = with->boxer_gid },
		.control = -1,
		.ready = -1,
	};

	loop(&s);
	close_fd(&s.control);
	close_fd(&s.ready);
	return s.st;
}
