/*
 * What sandbox-init says. It shares its uid with the program, so all of it is
 * taken for an attacker's.
 */
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/own.h"
#include "base/wire.h"
#include "box/cell_work.h"
#include "box/hook.h"

#define WARM_MS 20000
#define EXTRAS_MS 5000 /* to collect what the job asked for beside output */

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
	cell_set_timer(c, &c->wait, WARM_MS);
	if (io_send_msg(c->control.fd, &m, sizeof(m), -1, MSG_DONTWAIT) !=
	    ST_OK)
		cell_fail(
		    c, ST_SANDBOX_SETUP_FAILED, "cannot order a warm start");
}

static void
on_ready(struct cell *c)
{
	c->init.fd = hull_hold_init(&c->hull);
	if (c->init.fd < 0 || loop_watch(c->loop, &c->init, EPOLLIN) != ST_OK) {
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "PID 1 cannot be found");
		return;
	}
	if (hull_furnish(&c->hull, c->init.fd, c->hook) != ST_OK ||
	    tally_first(&c->tally, &c->hull, c->init.fd) != ST_OK) {
		cell_fail(
		    c, ST_SANDBOX_SETUP_FAILED, "no work folder, no meter");
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
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "the hook does not go");
		return;
	}
	hull_weigh(&c->hull, CELL_WEIGHT);
	now_ready(c);
}

static void
on_started(struct cell *c)
{
	tally_release(&c->tally, &c->hull, c->init.fd);
	c->state = CELL_RUNNING;
	cell_set_timer(c, &c->wait, (int64_t)c->tally.ev.limits.timeout_ms);
	cell_set_timer(c, &c->meter, CELL_METER_MS);
	c->hooks.started(c->hooks.ctx);
}

static void
on_report(struct cell *c, const struct wire_init_report *m)
{
	if (tally_report(&c->tally, &c->hull, c->init.fd, m) != ST_OK) {
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "report of no end");
		return;
	}
	cell_expect_end(c);
	if (c->flags != 0 && c->state == CELL_ENDING)
		cell_set_timer(c, &c->wait, EXTRAS_MS);
	cell_tell_if_alone(c);
}

/* What is in it is the reader's to judge. */
static void
on_extras(struct cell *c, const struct wire_init_extras *m, int *fd)
{
	c->extras = own_steal_fd(fd);
	c->extras_len = m->len;
	if (c->state == CELL_ENDING)
		cell_set_timer(c, &c->wait, CELL_ASK_MS);
	cell_tell_if_alone(c);
}

static void
on_failed(struct cell *c, const struct wire_init_failed *m)
{
	if (m->disk_full == 1)
		cell_fail(
		    c, ST_SANDBOX_INVALID_REQUEST, "its files do not fit");
	else
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "%.*s: %s",
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
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "message out of place");
}

void
cell_hear(void *ctx, uint32_t events)
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
		cell_expect_end(c);
	else
		cell_fail(c, ST_SANDBOX_SETUP_FAILED, "lost sandbox-init");
}
