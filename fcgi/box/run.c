#include "box/run.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/cell.h"
#include "box/pool.h"
#include "box/pump.h"
#include "box/run_check.h"

/* A gate that holds a slot and never comes back with a job, or never reads
 * its result, is stuck; settling takes a minute or two. */
#define IDLE_MS 600000
#define DELIVER_MS 30000

enum run_state {
	RUN_WAITING,  /* to be admitted */
	RUN_RESERVED, /* has a slot, no job yet */
	RUN_LOADED,   /* has its job, which has not started */
	RUN_STARTED,
	RUN_ENDED,   /* output and result are still to be delivered */
	RUN_REFUSED, /* the gate shall read why and close */
	RUN_DONE
};

struct run {
	struct loop *loop;
	struct hull_host *host;
	enum run_state state;
	struct loop_watch sock; /* the gate's */
	struct loop_timer wait; /* longest stay in this state */
	struct wire_reserve ask;
	const struct conf_runtime *runtime;
	const char *entry;
	struct pool *pool;
	struct cell *cell;
	struct cell *spent; /* a warm one that failed before its job */
	bool warm;	    /* cell comes from the pool */
	int pipes[3];	    /* the cell's, until there is a pump */
	struct pump *pump;
	int image;
	struct wire_job job;
	struct verdict_evidence ev; /* once the sandbox is gone */
	int extras;		    /* image, or -1; likewise */
	uint64_t extras_len;
};

/* ---- to the gate ---- */

static void
set_wait(struct run *r, int64_t ms)
{
	loop_timer_set(r->loop, &r->wait, io_now_us() + ms * 1000);
}

static void
forget_pipes(struct run *r)
{
	for (int i = 0; i < 3; i++)
		r->pipes[i] = -1;
}

static void
close_pipes(struct run *r)
{
	for (int i = 0; i < 3; i++) {
		if (r->pipes[i] >= 0)
			close(r->pipes[i]);
	}
	forget_pipes(r);
}

/* The gate is gone or has got all; what the sandbox still does is in vain. One
 * that never saw a job is as good as before. */
static void
done(struct run *r)
{
	bool unused = r->state == RUN_RESERVED && r->warm;

	r->state = RUN_DONE;
	loop_timer_clear(&r->wait);
	loop_watch_close(r->loop, &r->sock);
	if (r->cell == NULL)
		return;
	if (unused && cell_waits(r->cell) &&
	    pool_put(r->pool, r->cell, r->pipes, r->runtime, r->entry)) {
		r->cell = NULL;
		forget_pipes(r);
		return;
	}
	cell_kill(r->cell);
}

static void
watch(struct run *r, uint32_t events)
{
	if (r->state != RUN_DONE &&
	    loop_watch(r->loop, &r->sock, events) != ST_OK)
		done(r);
}

/* Send a message, with fd unless it is -1; false if the gate cannot take it now
 * (or at all: then the run is done). */
static bool
tell_with(struct run *r, const void *m, size_t len, int fd)
{
	enum status st = ST_BUG;

	if (r->state == RUN_DONE)
		return true;
	st = io_send_msg(r->sock.fd, m, len, fd, MSG_DONTWAIT);
	if (st == ST_OK)
		return true;
	if (st == ST_TIMEOUT) {
		watch(r, EPOLLIN | EPOLLOUT);
		return false;
	}
	done(r);
	return true;
}

static bool
tell(struct run *r, const void *m, size_t len)
{
	return tell_with(r, m, len, -1);
}

static void
tell_simple(struct run *r, enum wire_type type)
{
	struct wire_simple m = { .type = type };

	/* Few and small: they fit the socket of a gate that reads. */
	if (!tell(r, &m, sizeof(m)))
		done(r);
}

static void
refuse(struct run *r, enum status st, const char *text)
{
	struct wire_refused m = { .type = WIRE_REFUSED,
		.status = (uint32_t)st };

	(void)snprintf(m.text, sizeof(m.text), "%s", text);
	if (!tell(r, &m, sizeof(m))) {
		done(r);
		return;
	}
	if (r->state == RUN_DONE)
		return;
	/* Closing at once could take the message away from a gate that is
	 * just sending its job. */
	r->state = RUN_REFUSED;
	set_wait(r, IDLE_MS);
}

void
run_refuse(struct run *r, enum status st, const char *text)
{
	if (r->state == RUN_WAITING)
		refuse(r, st, text);
}

/* Nothing of the run lives any more: hand over what is left in the pipes, then
 * the verdict, which what is found there can still change. Called again when
 * the gate was slow to take it. */
static void
deliver(struct run *r)
{
	struct wire_result result;

	if (!pump_drain(r->pump))
		return;
	r->ev.lost[0] = pump_lost(r->pump, 0);
	r->ev.lost[1] = pump_lost(r->pump, 1);
	if (r->ev.lost[0] + r->ev.lost[1] > 0 &&
	    r->ev.stop == VERDICT_STOP_NONE)
		r->ev.stop = VERDICT_STOP_OUTPUT;
	if (verdict_judge(&result, &r->ev) != ST_OK) {
		log_err("no verdict on a run: %s", result.text);
		refuse(r, ST_SANDBOX_SETUP_FAILED, result.text);
		return;
	}
	result.extras_len = r->extras_len;
	if (tell_with(r, &result, sizeof(result), r->extras))
		done(r);
}

/* ---- from the pump ---- */

static bool
on_emit(void *ctx, const struct wire_chunk *chunk)
{
	struct run *r = ctx;

	if (r->state == RUN_REFUSED)
		return true;
	return tell(r, chunk, offsetof(struct wire_chunk, data) + chunk->len);
}

static void
on_over(void *ctx)
{
	struct run *r = ctx;

	/* Found in the last drain, the sandbox may be gone already. */
	if (r->cell != NULL)
		cell_stop(r->cell, VERDICT_STOP_OUTPUT);
}

/* ---- from the cell ---- */

static void
load(struct run *r)
{
	OWN_FD int image = own_steal_fd(&r->image);
	const struct pump_hooks hooks = {
		.emit = on_emit, .over = on_over, .ctx = r
	};
	enum status st = ST_BUG;

	st = pump_open(
	    &r->pump, r->loop, r->pipes, r->ask.limits.output_bytes, &hooks);
	forget_pipes(r);
	if (st != ST_OK) {
		refuse(r, ST_SANDBOX_SETUP_FAILED, "no memory for the output");
		cell_kill(r->cell);
		return;
	}
	cell_load(r->cell, image, r->job.image_len, r->job.flags);
	pump_feed(
	    r->pump, own_steal_fd(&image), r->job.stdin_at, r->job.stdin_len);
}

static void
on_ready(void *ctx)
{
	struct run *r = ctx;

	if (r->state == RUN_LOADED)
		load(r);
}

static void
on_started(void *ctx)
{
	struct run *r = ctx;

	if (r->state != RUN_LOADED)
		return;
	r->state = RUN_STARTED;
	tell_simple(r, WIRE_STARTED);
	pump_start(r->pump);
}

static void on_ended(void *ctx);

static struct cell_hooks
hooks_of(struct run *r)
{
	const struct cell_hooks hooks = { .ready = on_ready,
		.started = on_started,
		.ended = on_ended,
		.ctx = r };

	return hooks;
}

static bool
open_cell(struct run *r)
{
	const struct cell_hooks hooks = hooks_of(r);

	const struct hook *hook = NULL;

	if (r->ask.hooked != 0) {
		hook = pool_hook(r->pool, r->runtime, r->entry);
		if (hook == NULL)
			return false;
	}
	return cell_open(&r->cell, r->pipes, r->loop, r->host, r->runtime,
		   r->entry, &r->ask.limits, hook, &hooks) == ST_OK;
}

/* In place of a warm sandbox that failed before it had its job. */
static bool
start_cold(struct run *r)
{
	r->spent = r->cell;
	r->cell = NULL;
	r->warm = false;
	close_pipes(r);
	return open_cell(r);
}

static void
on_ended(void *ctx)
{
	struct run *r = ctx;
	enum status st = cell_outcome(&r->ev, r->cell);
	char text[WIRE_TEXT];

	if (r->state == RUN_DONE || r->state == RUN_REFUSED)
		return;
	if (r->warm && r->pump == NULL) {
		if (!start_cold(r))
			refuse(r, ST_SANDBOX_UNAVAILABLE,
			    "no sandbox can be started now");
		return;
	}
	if (st == ST_SANDBOX_INVALID_REQUEST) {
		(void)snprintf(text, sizeof(text),
		    "source and files do not fit workDirBytes (%llu)",
		    (unsigned long long)r->ask.limits.work_bytes);
		refuse(r, st, text);
		return;
	}
	if (st != ST_OK) {
		refuse(r, st, "the sandbox could not be set up");
		return;
	}
	r->state = RUN_ENDED;
	r->extras = cell_extras(r->cell, &r->extras_len);
	if (r->extras < 0)
		r->extras_len = 0;
	set_wait(r, DELIVER_MS);
	deliver(r);
}

/* ---- from the gate ---- */

static void
on_job(struct run *r, const struct wire_job *m, size_t len, int fd)
{
	OWN_FD int image = fd;

	/* After a refusal the job that was on its way is dropped. */
	if (r->state == RUN_REFUSED)
		return;
	if (r->state != RUN_RESERVED || len != sizeof(*m) ||
	    !run_check_job(m, image)) {
		log_err("gate sent a job that is none");
		done(r);
		return;
	}
	r->job = *m;
	r->image = own_steal_fd(&image);
	r->state = RUN_LOADED;
	loop_timer_clear(&r->wait);
	if (cell_waits(r->cell))
		load(r);
}

static void
on_sock(void *ctx, uint32_t events)
{
	struct run *r = ctx;
	struct wire_job m = { 0 };
	enum status st = ST_BUG;
	size_t len;
	int fd;

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
		st = io_recv_msg(
		    r->sock.fd, &m, sizeof(m), &len, &fd, MSG_DONTWAIT);
		if (st == ST_OK)
			on_job(r, &m, len, fd);
		else if (st != ST_TIMEOUT)
			done(r);
	}
	if ((events & EPOLLOUT) == 0 || r->state == RUN_DONE)
		return;
	watch(r, EPOLLIN);
	if (r->pump != NULL)
		pump_resume(r->pump);
	if (r->state == RUN_ENDED)
		deliver(r);
}

static void
on_wait(void *ctx)
{
	struct run *r = ctx;

	if (r->state == RUN_WAITING) {
		refuse(r, ST_SERVICE_BUSY, "no run slot became free in time");
		return;
	}
	if (r->state != RUN_REFUSED)
		log_warn("the gate left a run alone; it is given up");
	done(r);
}

/* ---- making, admitting, asking ---- */

enum status
run_open(struct run **out, struct loop *l, struct hull_host *host,
    struct pool *pool, int sock, const struct wire_reserve *ask)
{
	struct run *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (r == NULL) {
		close(sock);
		return ST_NOMEM;
	}
	r->loop = l;
	r->host = host;
	r->pool = pool;
	forget_pipes(r);
	r->state = RUN_WAITING;
	r->ask = *ask;
	r->image = -1;
	r->extras = -1;
	loop_watch_init(&r->sock, sock, on_sock, r);
	loop_timer_init(&r->wait, on_wait, r);
	if (!run_check_ask(&r->runtime, &r->entry, ask, host->conf)) {
		run_free(r);
		return ST_FORMAT;
	}
	if (loop_watch(l, &r->sock, EPOLLIN) != ST_OK) {
		run_free(r);
		return ST_IO;
	}
	set_wait(r, ask->wait_ms);
	*out = r;
	return ST_OK;
}

uint64_t
run_bytes(const struct run *r)
{
	return r->ask.limits.memory_bytes + r->ask.limits.work_bytes +
	       HULL_EXTRA_BYTES;
}

void
run_admit(struct run *r)
{
	const struct cell_hooks hooks = hooks_of(r);

	if (r->state != RUN_WAITING)
		return;
	if (r->ask.plain != 0)
		r->cell = pool_take(r->pool, r->pipes, r->runtime, r->entry);
	if (r->cell != NULL) {
		r->warm = true;
		cell_hand_over(r->cell, &r->ask.limits, &hooks);
	} else if (!open_cell(r)) {
		refuse(
		    r, ST_SANDBOX_UNAVAILABLE, "no sandbox can be started now");
		return;
	}
	r->state = RUN_RESERVED;
	set_wait(r, IDLE_MS);
	tell_simple(r, WIRE_RESERVED);
}

void
run_abort(struct run *r)
{
	done(r);
}

bool
run_reaped(struct run *r, pid_t pid)
{
	if (r->spent != NULL && cell_reaped(r->spent, pid))
		return true;
	return r->cell != NULL && cell_reaped(r->cell, pid);
}

struct run_view
run_look(const struct run *r)
{
	struct run_view v = {
		.waits = r->state == RUN_WAITING,
		.holds = r->cell != NULL || r->spent != NULL,
		.running = r->state == RUN_STARTED,
		.booting =
		    (r->state == RUN_RESERVED || r->state == RUN_LOADED) &&
		    r->pump == NULL && !cell_waits(r->cell),
		.lost = (r->cell != NULL && cell_lost(r->cell)) ||
			(r->spent != NULL && cell_lost(r->spent)),
		.runtime = r->runtime,
	};

	v.busy = v.holds || (r->state >= RUN_RESERVED && r->state <= RUN_ENDED);
	return v;
}

static void
free_closed(struct cell **c)
{
	if (*c == NULL || !cell_closed(*c))
		return;
	cell_free(*c);
	*c = NULL;
}

bool
run_over(struct run *r)
{
	bool told = r->state == RUN_DONE || r->state == RUN_REFUSED;

	if (told && r->pump != NULL) {
		pump_close(r->pump);
		r->pump = NULL;
	}
	/* A result that the gate is slow to take needs no slot. */
	free_closed(&r->cell);
	free_closed(&r->spent);
	return r->state == RUN_DONE && r->cell == NULL && r->spent == NULL;
}

void
run_free(struct run *r)
{
	if (r == NULL)
		return;
	cell_free(r->cell);
	cell_free(r->spent);
	pump_close(r->pump);
	close_pipes(r);
	loop_watch_close(r->loop, &r->sock);
	loop_timer_clear(&r->wait);
	if (r->image >= 0)
		close(r->image);
	if (r->extras >= 0)
		close(r->extras);
	free(r);
}
