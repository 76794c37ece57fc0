/*
 * How this works. One thread, one epoll loop; what could make it wait, a run's
 * pipes, is a thread's of the run's own (ferry.c). The gate asks for a slot on
 * the common socket and passes the run's own socket along; from then on the two
 * talk there (run.c). Runs wait in order of arrival until there is a slot and
 * memory for the first of them, then their sandbox starts at once (cell.c) and
 * boots while the gate settles the payment. Between two turns of the loop, and
 * only there, runs are freed and others admitted.
 *
 * The gate's word is taken for values, not for lengths. What comes out of a
 * sandbox is an attacker's: cell.c checks it.
 */
#include "box/boxer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/point.h"
#include "base/wire.h"
#include "box/host.h"
#include "box/pool.h"
#include "box/roster.h"
#include "box/stray.h"

/* Descriptors that one slot needs at most, the sockets of those that wait for
 * it or were refused included; and the boxer beside. */
#define RUN_FDS 48
#define OWN_FDS 256
/* At the end: how long killed sandboxes may take to be gone. */
#define END_MS 3000
/* Messages taken in one go, so that nobody else starves. */
#define MESSAGES 16
/* The shortest turn of a processor that can be asked for. */
#define TURN_NS 100000

static const char stopping[] = "the service is stopping";

enum boxer_mode {
	BOXER_SERVING,
	BOXER_DRAINING, /* SIGTERM: what runs may end */
	BOXER_ENDING	/* nobody is left to work for: all is killed */
};

struct boxer {
	const struct conf *conf;
	struct loop *loop;
	struct hull_host host;
	struct stage *stage;
	enum boxer_mode mode;
	int64_t end_ms;
	struct loop_watch gate;
	struct loop_watch life;
	struct loop_watch signals;
	struct loop_timer alarm; /* wakes the loop at end_ms */
	struct roster runs;
	struct pool *pool;
};

/* ---- the gate ---- */

static void
end_all(struct boxer *b, const char *why)
{
	if (b->mode == BOXER_ENDING)
		return;
	log_info("%s: ending all runs", why);
	b->mode = BOXER_ENDING;
	b->end_ms = io_now_ms() + END_MS;
	loop_timer_set(b->loop, &b->alarm, b->end_ms * 1000);
	roster_abort(&b->runs);
	pool_stop(b->pool);
}

static void
on_reserve(struct boxer *b, const struct wire_reserve *m, int sock)
{
	enum status st = ST_BUG;
	struct run *r;

	if (roster_full(&b->runs)) {
		log_err("reservation: more than the gate may ask for");
		close(sock);
		return;
	}
	st = run_open(&r, b->loop, &b->host, b->pool, sock, m);
	if (st != ST_OK) {
		log_err("reservation: %s", status_name(st));
		return;
	}
	roster_add(&b->runs, r);
	POINT("boxer.reserved");
	if (b->mode != BOXER_SERVING)
		roster_refuse_waiting(&b->runs, stopping);
	else
		roster_admit(&b->runs);
}

static uint32_t
mechanism(const struct boxer *b)
{
	switch (b->host.kind) {
	case CGROUP_V2:
		return 0;
	case CGROUP_V1:
		return 1;
	case CGROUP_NONE:
		return 2;
	}
	return 2;
}

static void
on_state_ask(struct boxer *b)
{
	struct roster_count n = roster_count(&b->runs);
	struct pool_count idle = pool_count(b->pool, NULL);
	struct wire_state m = { .type = WIRE_STATE,
		.queue = (uint32_t)n.waiting,
		.slots = (uint32_t)b->runs.slots,
		.running = (uint32_t)n.running,
		.quarantined = (uint32_t)n.lost + idle.lost,
		.mechanism = mechanism(b),
		.n_pools = (uint32_t)b->conf->n_runtimes };
	const struct conf_runtime *rt;

	for (uint32_t i = 0; i < m.n_pools; i++) {
		rt = &b->conf->runtimes[i];
		(void)snprintf(m.pools[i].runtime, WIRE_NAME, "%s", rt->name);
		idle = pool_count(b->pool, rt);
		m.pools[i].warm = idle.warm;
		m.pools[i].starting =
		    idle.starting + (uint32_t)roster_booting(&b->runs, rt);
	}
	/* Who does not read its answers does without. */
	if (io_send_msg(b->gate.fd, &m, sizeof(m), -1, MSG_DONTWAIT) != ST_OK)
		log_warn("the gate does not take its answer");
}

union from_gate {
	uint32_t type;
	struct wire_simple simple;
	struct wire_reserve reserve;
};

/* One message; fd is taken. */
static void
on_gate_message(struct boxer *b, const union from_gate *m, size_t len, int fd)
{
	if (len == sizeof(m->reserve) && m->type == WIRE_RESERVE && fd >= 0) {
		on_reserve(b, &m->reserve, fd);
		return;
	}
	if (len == sizeof(m->simple) && m->type == WIRE_STATE_ASK && fd < 0) {
		on_state_ask(b);
		return;
	}
	log_err("gate sent a message that is none");
	if (fd >= 0)
		close(fd);
}

static void
on_gate(void *ctx, uint32_t events)
{
	struct boxer *b = ctx;
	union from_gate m;
	enum status st = ST_BUG;
	size_t len;
	int fd;

	(void)events;
	for (int i = 0; i < MESSAGES; i++) {
		st = io_recv_msg(
		    b->gate.fd, &m, sizeof(m), &len, &fd, MSG_DONTWAIT);
		if (st == ST_OK)
			on_gate_message(b, &m, len, fd);
		else if (st == ST_FORMAT)
			log_err("gate sent a message that is none");
		else
			break;
	}
	if (st != ST_CLOSED && st != ST_IO)
		return;
	loop_watch_close(b->loop, &b->gate);
	/* In a drain the gate goes first, as a rule. */
	end_all(b, "the gate is gone");
}

/* ---- super, signals, children ---- */

static void
on_life(void *ctx, uint32_t events)
{
	struct boxer *b = ctx;

	(void)events;
	/* Nothing is ever written there, so this is the end. */
	loop_watch_close(b->loop, &b->life);
	end_all(b, "super is gone");
}

/* Reap everything: bubblewrap's monitors are ours, and as subreaper we get
 * every PID 1 whose monitor went first. Statuses are of no interest: how a
 * program ended, its PID 1 reports. */
static void
reap(struct boxer *b)
{
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			return;
		if (!pool_reaped(b->pool, pid))
			roster_reaped(&b->runs, pid);
	}
}

static void
on_signals(void *ctx, uint32_t events)
{
	struct boxer *b = ctx;
	struct signalfd_siginfo s;

	(void)events;
	while (read(b->signals.fd, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		if (s.ssi_signo == SIGCHLD || b->mode != BOXER_SERVING)
			continue;
		log_info("draining");
		b->mode = BOXER_DRAINING;
		roster_refuse_waiting(&b->runs, stopping);
		pool_stop(b->pool);
	}
	reap(b);
}

/* ---- start ---- */

static enum status
open_signals(struct boxer *b)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	/* Terminals send SIGINT to the whole group: a drain as well. */
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    sigaction(SIGPIPE, &ignore, NULL) < 0) {
		log_err("signals: %s", strerror(errno));
		return ST_IO;
	}
	b->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signals.fd < 0) {
		log_err("signalfd: %s", strerror(errno));
		return ST_IO;
	}
	return ST_OK;
}

/* As many slots as there are descriptors for: running out of them in the
 * middle of a paid run must not happen. */
static enum status
open_roster(struct boxer *b)
{
	uint64_t slots = b->conf->max_runs > 0 ? b->conf->max_runs : 1;
	uint64_t own = OWN_FDS + pool_fds(b->conf), most;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0)
		return ST_IO;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur < own + RUN_FDS) {
		log_err("too few descriptors");
		return ST_REFUSED;
	}
	most = (r.rlim_cur - own) / RUN_FDS;
	if (slots > most) {
		log_warn("descriptors are enough for %llu runs of %llu",
		    (unsigned long long)most, (unsigned long long)slots);
		slots = most;
	}
	return roster_init(&b->runs, slots, b->conf->memory_bytes);
}

static enum status
open_host(struct boxer *b, const char *cgroup_root)
{
	struct hull_host *h = &b->host;
	struct fault f = { 0 };
	enum status st = ST_BUG;

	h->conf = b->conf;
	h->group = b->conf->name;
	st = host_mechanism(&h->kind, b->conf, &f);
	if (st != ST_OK) {
		log_err("%s", f.message);
		return st;
	}
	if (h->kind != CGROUP_NONE && cgroup_root == NULL) {
		log_err("no cgroup was prepared");
		return ST_REFUSED;
	}
	cgroup_sweep(h->kind, h->group);
	(void)stray_sweep(b->conf->bwrap, geteuid());
	h->null_fd = io_move_high(open("/dev/null", O_RDWR | O_CLOEXEC));
	if (h->init_fd < 0 || h->null_fd < 0) {
		log_err("open /dev/null: %s", strerror(errno));
		return ST_IO;
	}
	st = stage_open(&b->stage, b->conf);
	h->stage = b->stage;
	return st;
}

static enum status
open_watches(struct boxer *b)
{
	if (loop_watch(b->loop, &b->gate, EPOLLIN) != ST_OK ||
	    loop_watch(b->loop, &b->life, EPOLLIN) != ST_OK ||
	    loop_watch(b->loop, &b->signals, EPOLLIN) != ST_OK)
		return ST_IO;
	return ST_OK;
}

static void
on_alarm(void *ctx)
{
	(void)ctx; /* that the loop turns is all */
}

static bool
finished(const struct boxer *b)
{
	switch (b->mode) {
	case BOXER_SERVING:
		return false;
	case BOXER_DRAINING:
		return roster_count(&b->runs).busy == 0 && pool_gone(b->pool);
	case BOXER_ENDING:
		return (roster_count(&b->runs).holding == 0 &&
			   pool_gone(b->pool)) ||
		       io_now_ms() >= b->end_ms;
	}
	return true;
}

static enum status
serve(struct boxer *b)
{
	enum status st = ST_OK;

	pool_tend(b->pool);
	while (st == ST_OK && !finished(b)) {
		st = loop_turn(b->loop);
		roster_free_over(&b->runs);
		if (b->mode == BOXER_SERVING)
			roster_admit(&b->runs);
		pool_tend(b->pool);
	}
	return st;
}

static void
close_all(struct boxer *b)
{
	roster_free(&b->runs);
	pool_close(b->pool);
	loop_watch_close(b->loop, &b->gate);
	loop_watch_close(b->loop, &b->life);
	loop_watch_close(b->loop, &b->signals);
	loop_timer_clear(&b->alarm);
	stage_close(b->stage);
	loop_close(b->loop);
	if (b->host.init_fd >= 0)
		close(b->host.init_fd);
	if (b->host.null_fd >= 0)
		close(b->host.null_fd);
}

/* Ask for short turns of the processor, which then come soon after they are
 * due: else the boxer, woken by a report, waits on the same processor until
 * the kernel has taken the program's memory apart. It gives no more time in
 * all and needs no right; what is started here does not inherit it. Good to
 * have: Linux 6.12 does it, older ones take the call and do nothing. */
static void
take_short_turns(void)
{
	struct sched_attr a = { .size = sizeof(a),
		.sched_policy = SCHED_NORMAL,
		.sched_flags = SCHED_FLAG_RESET_ON_FORK,
		.sched_nice = getpriority(PRIO_PROCESS, 0),
		.sched_runtime = TURN_NS };

	if (syscall(SYS_sched_setattr, 0, &a, 0) < 0)
		log_info("sched_setattr: %s", strerror(errno));
}

static enum status
open_all(struct boxer *b, const char *cgroup_root)
{
	enum status st = ST_BUG;

	/* The kernel counts no processes against root (fault 24). */
	if (geteuid() == 0 || getuid() == 0) {
		log_err("the boxer does not run as root");
		return ST_REFUSED;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		log_err("PR_SET_CHILD_SUBREAPER: %s", strerror(errno));
		return ST_IO;
	}
	take_short_turns();
	st = open_signals(b);
	if (st == ST_OK)
		st = loop_open(&b->loop);
	if (st == ST_OK)
		st = open_roster(b);
	if (st == ST_OK)
		st = open_host(b, cgroup_root);
	if (st == ST_OK)
		st = pool_open(&b->pool, b->loop, &b->host);
	if (st == ST_OK)
		st = open_watches(b);
	return st;
}

enum status
boxer_serve(
    const struct conf *c, const struct boxer_fds *fds, const char *cgroup_root)
{
	struct boxer b = { .conf = c, .mode = BOXER_SERVING };
	enum status st = ST_BUG;
	sigset_t before;

	loop_watch_init(&b.gate, fds->gate, on_gate, &b);
	loop_watch_init(&b.life, fds->life, on_life, &b);
	loop_watch_init(&b.signals, -1, on_signals, &b);
	loop_timer_init(&b.alarm, on_alarm, &b);
	b.host.null_fd = -1;
	b.host.init_fd = io_move_high(fds->init_binary);
	(void)sigprocmask(SIG_SETMASK, NULL, &before);
	st = open_all(&b, cgroup_root);
	if (st == ST_OK)
		st = serve(&b);
	close_all(&b);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return st;
}
