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
#include "box/cell_work.h"

/* Longest stay in a state. */
#define BOOT_MS 10000
#define LOAD_MS 20000
#define DIE_MS 2000 /* from SIGKILL until nobody waits for it any more */
/* And from then until it is told of: on a machine that has far too much to do
 * a killed process may wait as long for its turn to end. */
#define LOST_MS 30000
#define ALONE_MS 1
#define LONG_CPU_US 100000 /* a long run: of all its processes */
#define SWEEP_FIRST_MS 1
#define SWEEP_MOST_MS 500

void
cell_set_timer(struct cell *c, struct loop_timer *t, int64_t ms)
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
	cell_set_timer(c, &c->wait, DIE_MS);
	hull_kill(&c->hull, c->init.fd);
}

void
cell_fail(struct cell *c, enum status st, const char *fmt, ...)
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

void
cell_expect_end(struct cell *c)
{
	if (c->state >= CELL_ENDING)
		return;
	c->state = CELL_ENDING;
	cell_set_timer(c, &c->wait, CELL_ASK_MS);
}

void
cell_stop(struct cell *c, enum verdict_stop why)
{
	if (c->state != CELL_RUNNING || c->tally.ev.stop != VERDICT_STOP_NONE)
		return;
	c->tally.ev.stop = why;
	/* The end of the socket tells sandbox-init to end the program. */
	(void)shutdown(c->control.fd, SHUT_WR);
	cell_expect_end(c);
}

/* Remove what is left, or try again a little later. */
static void
on_sweep(void *ctx)
{
	struct cell *c = ctx;

	if (c->init.fd < 0 && c->hull.monitor_pid == 0 &&
	    hull_remove(&c->hull)) {
		if (c->lost_told)
			log_info("a lost sandbox is gone at last");
		c->lost = false;
		loop_timer_clear(&c->wait);
		loop_timer_clear(&c->sweep);
		return;
	}
	if (c->lost)
		hull_kill(&c->hull, c->init.fd);
	cell_set_timer(c, &c->sweep, c->sweep_ms);
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
	else if (!c->is_long && c->tally.ev.cpu_us > LONG_CPU_US) {
		c->is_long = true;
		hull_weigh(&c->hull, CELL_WEIGHT_LONG);
	}
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
void
cell_tell_if_alone(struct cell *c)
{
	bool first;

	if (c->told || !c->tally.ev.reported ||
	    (c->flags != 0 && c->extras < 0))
		return;
	first = !c->looked;
	c->looked = true;
	if (!hull_alone(&c->hull, first)) {
		cell_set_timer(c, &c->meter, ALONE_MS);
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
		cell_tell_if_alone(c);
	} else if (c->state == CELL_RUNNING) {
		measure(c);
		cell_set_timer(c, &c->meter, CELL_METER_MS);
	}
}

/* ---- the job ---- */

void
cell_load(struct cell *c, int image, uint64_t image_len, uint32_t flags)
{
	struct wire_init_job m = { .type = WIRE_INIT_JOB,
		.cores = (uint32_t)c->tally.ev.cores,
		.flags = flags,
		.peak = c->hull.group == NULL,
		.image_len = image_len,
		.limits = c->tally.ev.limits };
	enum status st = ST_BUG;

	if (c->state != CELL_READY)
		return;
	c->state = CELL_LOADING;
	c->flags = flags;
	cell_set_timer(c, &c->wait, LOAD_MS);
	st = io_send_msg(c->control.fd, &m, sizeof(m), image, MSG_DONTWAIT);
	/* That it is gone already shows where we read. */
	if (st != ST_OK && st != ST_CLOSED)
		cell_fail(
		    c, ST_SANDBOX_SETUP_FAILED, "cannot hand over the job");
}

/* ---- the end ---- */

/* All processes are gone, or the cell is lost. */
static void
gone(struct cell *c)
{
	/* The report may be waiting behind the news of the exit. */
	cell_hear(c, 0);
	c->state = CELL_GONE;
	if (!c->told)
		tally_last(&c->tally, &c->hull);
	if (c->failed == ST_SANDBOX_SETUP_FAILED)
		hull_tell(&c->hull);
	loop_watch_close(c->loop, &c->control);
	loop_timer_clear(&c->meter);
	if (!c->lost)
		cell_set_timer(c, &c->wait, DIE_MS);
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
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "bubblewrap ended early");
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
		cell_fail(
		    c, ST_SANDBOX_SETUP_FAILED, "the start takes too long");
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
		if (c->lost) {
			c->lost_told = true;
			log_err("a sandbox does not go; its slot is set aside");
			break;
		}
		c->lost = true;
		cell_set_timer(c, &c->wait, LOST_MS);
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
	loop_watch_init(&c->control, control, cell_hear, c);
	loop_watch_init(&c->init, -1, on_init, c);
	loop_timer_init(&c->wait, on_wait, c);
	loop_timer_init(&c->meter, on_meter, c);
	loop_timer_init(&c->sweep, on_sweep, c);
	cell_set_timer(c, &c->wait, BOOT_MS);
	if (loop_watch(l, &c->control, EPOLLIN) != ST_OK)
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "cannot be watched");
	*out = c;
	return ST_OK;
}

void
cell_yield(struct cell *c)
{
	hull_weigh(&c->hull, CELL_WEIGHT_AHEAD);
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
		hull_weigh(&c->hull, CELL_WEIGHT);
	if (hull_limit(&c->hull, c->init.fd, limits) != ST_OK)
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "cannot set the limits");
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

	if (c->init.fd < 0)
		return 0;
	if (hull_counters(&now, &c->hull) && now.memory_peak > 0)
		return now.memory_peak;
	return hull_use(&now, &c->hull, c->init.fd) == ST_OK ? now.memory : 0;
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
