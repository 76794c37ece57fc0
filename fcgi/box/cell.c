#include "box/cell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "base/wire.h"
#include "box/hook.h"
#include "box/tally.h"

/* Longest stay in a state, and the rhythm of the meter. */
#define BOOT_MS 10000
#define WARM_MS 20000
#define LOAD_MS 20000
#define ASK_MS 250     /* for sandbox-init's report, and then for its exit */
#define EXTRAS_MS 5000 /* to collect what the job asked for beside output */
#define DIE_MS 2000    /* from SIGKILL until it counts as lost */
#define METER_MS 25
#define ALONE_MS 1
#define SWEEP_FIRST_MS 1
#define SWEEP_MOST_MS 500

enum cell_state {
	CELL_BOOTING, /* until sandbox-init says READY */
	CELL_WARMING, /* until the interpreter waits at its gate */
	CELL_READY,   /* waits for a job */
	CELL_LOADING, /* writes the job's files */
	CELL_RUNNING,
	CELL_ENDING, /* was asked to end, or has reported: PID 1 shall go */
	CELL_DYING,  /* was killed */
	CELL_GONE    /* all processes gone, or given up on (lost) */
};

struct cell {
	struct loop *loop;
	struct hull hull;
	struct cell_hooks hooks;
	const char *entry;
	const struct hook *hook; /* of a warm start; NULL: a cold one */
	enum cell_state state;
	enum status failed;
	bool lost;
	bool told;		   /* the owner, that it ended */
	struct loop_watch control; /* to sandbox-init */
	struct loop_watch init;	   /* pidfd of PID 1; -1: not held */
	struct loop_timer wait;	   /* longest stay in this state */
	struct loop_timer meter;
	struct loop_timer sweep; /* of what is left to remove */
	int64_t sweep_ms;
	int64_t asked_us; /* since when it is wanted for a job */
	struct tally tally;
	uint32_t flags; /* of the job */
	int extras;	/* -1: none, or taken */
	uint64_t extras_len;
};

static void
set_timer(struct cell *c, struct loop_timer *t, int64_t ms)
{
	loop_timer_set(c->loop, t, io_now_us() + ms * 1000);
}

/* ---- killing and what is left then ---- */

void
cell_kill(struct cell *c)
{
	if (c->state >= CELL_DYING)
		return;
	c->state = CELL_DYING;
	set_timer(c, &c->wait, DIE_MS);
	hull_kill(&c->hull, c->init.fd);
}

/* The sandbox failed, or (ST_SANDBOX_INVALID_REQUEST) was asked for what it
 * cannot hold. */
static void __attribute__((format(printf, 3, 4)))
fail(struct cell *c, enum status st, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (c->failed != ST_OK || c->state >= CELL_DYING)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	c->failed = st;
	log_write(
	    st == ST_SANDBOX_SETUP_FAILED ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
	    "sandbox: %s", why);
	cell_kill(c);
}

/* Give PID 1 a moment to go by itself. */
static void
expect_end(struct cell *c)
{
	if (c->state >= CELL_ENDING)
		return;
	c->state = CELL_ENDING;
	set_timer(c, &c->wait, ASK_MS);
}

void
cell_stop(struct cell *c, enum verdict_stop why)
{
	if (c->state != CELL_RUNNING || c->tally.ev.stop != VERDICT_STOP_NONE)
		return;
	c->tally.ev.stop = why;
	/* The end of the socket tells sandbox-init to end the program. */
	(void)shutdown(c->control.fd, SHUT_WR);
	expect_end(c);
}

/* Remove what is left, or try again a little later. */
static void
on_sweep(void *ctx)
{
	struct cell *c = ctx;

	if (c->init.fd < 0 && c->hull.monitor_pid == 0 &&
	    hull_remove(&c->hull)) {
		if (c->lost)
			log_info("a lost sandbox is gone at last");
		c->lost = false;
		loop_timer_clear(&c->wait);
		loop_timer_clear(&c->sweep);
		return;
	}
	if (c->lost)
		hull_kill(&c->hull, c->init.fd);
	set_timer(c, &c->sweep, c->sweep_ms);
	if (c->sweep_ms < SWEEP_MOST_MS)
		c->sweep_ms *= 2;
}

/* ---- measuring ---- */

/* Take a look; stops the run where it is over a limit. */
static void
measure(struct cell *c)
{
	enum verdict_stop over = tally_look(&c->tally, &c->hull, c->init.fd);

	if (over != VERDICT_STOP_NONE)
		cell_stop(c, over);
}

static void
tell_ended(struct cell *c)
{
	if (c->told)
		return;
	c->told = true;
	c->hooks.ended(c->hooks.ctx);
}

/* After the report: that the namespace still has to be taken apart, and the
 * program's memory to be freed, is nobody's wait. */
static void
tell_if_alone(struct cell *c)
{
	if (c->told || !c->tally.ev.reported ||
	    (c->flags != 0 && c->extras < 0))
		return;
	if (!hull_alone(&c->hull)) {
		set_timer(c, &c->meter, ALONE_MS);
		return;
	}
	tally_last(&c->tally, &c->hull);
	tell_ended(c);
}

static void
on_meter(void *ctx)
{
	struct cell *c = ctx;

	if (c->state == CELL_ENDING) {
		tell_if_alone(c);
	} else if (c->state == CELL_RUNNING) {
		measure(c);
		set_timer(c, &c->meter, METER_MS);
	}
}

/* ---- what sandbox-init says ---- */

static void
now_ready(struct cell *c)
{
	c->tally.ev.start_us = (uint64_t)(io_now_us() - c->asked_us);
	c->state = CELL_READY;
	loop_timer_clear(&c->wait);
	c->hooks.ready(c->hooks.ctx);
}

static void
warm_up(struct cell *c)
{
	struct wire_init_warm m;

	hook_order(&m, c->hook, c->entry);
	c->state = CELL_WARMING;
	set_timer(c, &c->wait, WARM_MS);
	if (io_send_msg(c->control.fd, &m, sizeof(m), -1, MSG_DONTWAIT) !=
	    ST_OK)
		fail(c, ST_SANDBOX_SETUP_FAILED, "cannot order a warm start");
}

static void
on_ready(struct cell *c)
{
	c->init.fd = hull_hold_init(&c->hull);
	if (c->init.fd < 0 || loop_watch(c->loop, &c->init, EPOLLIN) != ST_OK) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "PID 1 cannot be found");
		return;
	}
	if (hull_furnish(&c->hull, c->init.fd, c->hook) != ST_OK ||
	    tally_first(&c->tally, &c->hull, c->init.fd) != ST_OK) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "no work folder, no meter");
		return;
	}
	if (c->hook != NULL)
		warm_up(c);
	else
		now_ready(c);
}

static void
on_warmed(struct cell *c)
{
	if (hull_lift(&c->hull, c->init.fd, c->hook) != ST_OK) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "the hook does not go");
		return;
	}
	hull_yield(&c->hull, false);
	now_ready(c);
}

static void
on_started(struct cell *c)
{
	tally_release(&c->tally, &c->hull, c->init.fd);
	c->state = CELL_RUNNING;
	set_timer(c, &c->wait, (int64_t)c->tally.ev.limits.timeout_ms);
	set_timer(c, &c->meter, METER_MS);
	c->hooks.started(c->hooks.ctx);
}

static void
on_report(struct cell *c, const struct wire_init_report *m)
{
	if (tally_report(&c->tally, &c->hull, c->init.fd, m) != ST_OK) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "report of no end");
		return;
	}
	expect_end(c);
	if (c->flags != 0 && c->state == CELL_ENDING)
		set_timer(c, &c->wait, EXTRAS_MS);
	tell_if_alone(c);
}

/* What is in it is the reader's to judge. */
static void
on_extras(struct cell *c, const struct wire_init_extras *m, int *fd)
{
	c->extras = own_steal_fd(fd);
	c->extras_len = m->len;
	if (c->state == CELL_ENDING)
		set_timer(c, &c->wait, ASK_MS);
	tell_if_alone(c);
}

static void
on_failed(struct cell *c, const struct wire_init_failed *m)
{
	if (m->disk_full == 1)
		fail(c, ST_SANDBOX_INVALID_REQUEST, "its files do not fit");
	else
		fail(c, ST_SANDBOX_SETUP_FAILED, "%.*s: %s",
		    (int)sizeof(m->step), m->step, strerror(m->error));
}

union from_init {
	uint32_t type;
	struct wire_simple simple;
	struct wire_init_report report;
	struct wire_init_extras extras;
	struct wire_init_failed failed;
};

/* One message. What does not fit the state or its length is not the word of a
 * sound sandbox-init, so the sandbox ends. */
static void
on_message(struct cell *c, const union from_init *m, size_t len, int *fd)
{
	uint32_t type = len >= sizeof(m->type) ? m->type : 0;

	if (type == WIRE_INIT_READY && len == sizeof(m->simple) &&
	    c->state == CELL_BOOTING)
		on_ready(c);
	else if (type == WIRE_INIT_WARMED && len == sizeof(m->simple) &&
		 c->state == CELL_WARMING)
		on_warmed(c);
	else if (type == WIRE_INIT_STARTED && len == sizeof(m->simple) &&
		 c->state == CELL_LOADING)
		on_started(c);
	else if (type == WIRE_INIT_REPORT && len == sizeof(m->report) &&
		 c->tally.released_us > 0 && !c->tally.ev.reported)
		on_report(c, &m->report);
	else if (type == WIRE_INIT_EXTRAS && len == sizeof(m->extras) &&
		 c->tally.ev.reported && c->flags != 0 && c->extras < 0 &&
		 *fd >= 0)
		on_extras(c, &m->extras, fd);
	else if (type == WIRE_INIT_FAILED && len == sizeof(m->failed) &&
		 c->tally.released_us == 0)
		on_failed(c, &m->failed);
	else
		fail(c, ST_SANDBOX_SETUP_FAILED, "message out of place");
}

static void
on_control(void *ctx, uint32_t events)
{
	struct cell *c = ctx;
	union from_init m;
	enum status st = ST_OK;
	size_t len;

	(void)events;
	while (c->control.fd >= 0 && st == ST_OK) {
		OWN_FD int fd = -1;

		st = io_recv_msg(
		    c->control.fd, &m, sizeof(m), &len, &fd, MSG_DONTWAIT);
		if (st == ST_OK)
			on_message(c, &m, len, &fd);
	}
	if (st == ST_OK || st == ST_TIMEOUT)
		return;
	/* The end, or nonsense. Without a report there is no more to come. */
	loop_watch_close(c->loop, &c->control);
	if (st == ST_CLOSED && c->tally.released_us > 0)
		expect_end(c);
	else
		fail(c, ST_SANDBOX_SETUP_FAILED, "lost sandbox-init");
}

void
cell_load(struct cell *c, int image, uint64_t image_len, uint32_t flags)
{
	struct wire_init_job m = { .type = WIRE_INIT_JOB,
		.cores = (uint32_t)c->tally.ev.cores,
		.flags = flags,
		.image_len = image_len,
		.limits = c->tally.ev.limits };
	enum status st = ST_BUG;

	if (c->state != CELL_READY)
		return;
	c->state = CELL_LOADING;
	c->flags = flags;
	set_timer(c, &c->wait, LOAD_MS);
	st = io_send_msg(c->control.fd, &m, sizeof(m), image, MSG_DONTWAIT);
	/* That it is gone already shows where we read. */
	if (st != ST_OK && st != ST_CLOSED)
		fail(c, ST_SANDBOX_SETUP_FAILED, "cannot hand over the job");
}

/* ---- the end ---- */

/* All processes are gone, or the cell is lost. */
static void
gone(struct cell *c)
{
	/* The report may be waiting behind the news of the exit. */
	on_control(c, 0);
	c->state = CELL_GONE;
	if (!c->told)
		tally_last(&c->tally, &c->hull);
	if (c->failed == ST_SANDBOX_SETUP_FAILED)
		hull_tell(&c->hull);
	loop_watch_close(c->loop, &c->control);
	loop_timer_clear(&c->meter);
	if (!c->lost)
		set_timer(c, &c->wait, DIE_MS);
	tell_ended(c);
	on_sweep(c);
}

/* PID 1 has ended, and with it every process of its namespace. */
static void
on_init(void *ctx, uint32_t events)
{
	struct cell *c = ctx;

	(void)events;
	loop_watch_close(c->loop, &c->init);
	if (c->state == CELL_GONE)
		on_sweep(c);
	else
		gone(c);
}

bool
cell_reaped(struct cell *c, pid_t pid)
{
	if (!hull_reaped(&c->hull, pid))
		return false;
	if (c->state == CELL_GONE) {
		on_sweep(c);
	} else if (c->init.fd < 0) {
		/* Nobody is known whose end could be waited for. */
		fail(c, ST_SANDBOX_SETUP_FAILED, "bubblewrap ended early");
		gone(c);
	}
	return true;
}

static void
on_wait(void *ctx)
{
	struct cell *c = ctx;

	switch (c->state) {
	case CELL_BOOTING:
	case CELL_WARMING:
	case CELL_LOADING:
		fail(c, ST_SANDBOX_SETUP_FAILED, "the start takes too long");
		break;
	case CELL_RUNNING:
		measure(c);
		cell_stop(c, VERDICT_STOP_TIME);
		break;
	case CELL_ENDING:
		cell_kill(c);
		break;
	case CELL_DYING:
	case CELL_GONE:
		/* A process, or only its monitor or group. */
		c->lost = true;
		log_err("a sandbox does not go; its slot is set aside");
		if (c->state == CELL_DYING)
			gone(c);
		break;
	case CELL_READY:
		break;
	}
}

/* ---- the start ---- */

enum status
cell_open(struct cell **out, int pipes[3], struct loop *l,
    struct hull_host *host, const struct conf_runtime *runtime,
    const char *entry, const struct limits *limits, const struct hook *hook,
    const struct cell_hooks *hooks)
{
	struct cell *c = calloc(1, sizeof(*c));
	enum status st = ST_BUG;
	int control;

	*out = NULL;
	if (c == NULL)
		return ST_NOMEM;
	c->loop = l;
	c->hooks = *hooks;
	c->failed = ST_OK;
	c->extras = -1;
	c->entry = entry;
	c->hook = hook;
	c->asked_us = io_now_us();
	c->sweep_ms = SWEEP_FIRST_MS;
	tally_init(&c->tally, limits, host->conf->cores);
	st =
	    hull_start(&c->hull, &control, pipes, host, runtime, entry, limits);
	if (st != ST_OK) {
		free(c);
		return st;
	}
	c->tally.ev.memory_wall = c->hull.memory_wall;
	loop_watch_init(&c->control, control, on_control, c);
	loop_watch_init(&c->init, -1, on_init, c);
	loop_timer_init(&c->wait, on_wait, c);
	loop_timer_init(&c->meter, on_meter, c);
	loop_timer_init(&c->sweep, on_sweep, c);
	set_timer(c, &c->wait, BOOT_MS);
	if (loop_watch(l, &c->control, EPOLLIN) != ST_OK)
		fail(c, ST_SANDBOX_SETUP_FAILED, "cannot be watched");
	*out = c;
	return ST_OK;
}

void
cell_yield(struct cell *c)
{
	hull_yield(&c->hull, true);
}

void
cell_hand_over(
    struct cell *c, const struct limits *limits, const struct cell_hooks *hooks)
{
	c->hooks = *hooks;
	c->tally.ev.limits = *limits;
	c->tally.ev.start_us = 0;
	c->asked_us = io_now_us();
	if (c->state >= CELL_LOADING)
		return;
	if (c->state != CELL_READY)
		hull_yield(&c->hull, false);
	if (hull_limit(&c->hull, c->init.fd, limits) != ST_OK)
		fail(c, ST_SANDBOX_SETUP_FAILED, "cannot set the limits");
	c->tally.ev.memory_wall = c->hull.memory_wall;
}

/* ---- questions ---- */

bool
cell_waits(const struct cell *c)
{
	return c->state == CELL_READY;
}

uint64_t
cell_bytes(const struct cell *c)
{
	struct hull_use now;

	if (c->init.fd < 0 || hull_use(&now, &c->hull, c->init.fd) != ST_OK)
		return 0;
	return now.memory_peak > 0 ? now.memory_peak : now.memory;
}

enum status
cell_outcome(struct verdict_evidence *out, const struct cell *c)
{
	*out = c->tally.ev;
	return c->failed;
}

int
cell_extras(struct cell *c, uint64_t *len)
{
	*len = c->extras_len;
	return own_steal_fd(&c->extras);
}

bool
cell_lost(const struct cell *c)
{
	return c->lost;
}

bool
cell_closed(const struct cell *c)
{
	return c->state == CELL_GONE && c->init.fd < 0 &&
	       c->hull.monitor_pid == 0 && c->hull.group == NULL;
}

void
cell_free(struct cell *c)
{
	if (c == NULL)
		return;
	loop_watch_close(c->loop, &c->control);
	loop_watch_close(c->loop, &c->init);
	loop_timer_clear(&c->wait);
	loop_timer_clear(&c->meter);
	loop_timer_clear(&c->sweep);
	hull_close(&c->hull);
	if (c->extras >= 0)
		close(c->extras);
	free(c);
}
