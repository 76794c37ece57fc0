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
#include "base/point.h"
#include "box/pool.h"
#include "box/run_check.h"
#include "box/run_work.h"

#define DELIVER_MS 30000

void
run_set_wait(struct run *r, int64_t ms)
{
	loop_timer_set(r->loop, &r->wait, io_now_us() + ms * 1000);
}

void
run_forget_pipes(struct run *r)
{
	for (int i = 0; i < 3; i++)
		r->pipes[i] = -1;
}

/* Only before a job was loaded: no program can hold their locks yet, which
 * closing would wait for (ferry.h). */
static void
close_pipes(struct run *r)
{
	for (int i = 0; i < 3; i++) {
		if (r->pipes[i] >= 0)
			close(r->pipes[i]);
	}
	run_forget_pipes(r);
}

/* ---- from the pump ---- */

static bool
on_emit(void *ctx, const struct wire_chunk *chunk)
{
	struct run *r = ctx;

	if (r->state == RUN_REFUSED)
		return true;
	return run_tell(
	    r, chunk, offsetof(struct wire_chunk, data) + chunk->len);
}

static void
on_over(void *ctx)
{
	struct run *r = ctx;

	/* Found in the last drain, the sandbox may be gone already. */
	if (r->cell != NULL)
		cell_stop(r->cell, VERDICT_STOP_OUTPUT);
}

static void
on_back(void *ctx)
{
	struct run *r = ctx;

	if (r->state == RUN_ENDED)
		run_tell_result(r);
}

/* ---- from the cell ---- */

static void
load(struct run *r)
{
	OWN_FD int image = own_steal_fd(&r->image);
	const struct pump_hooks hooks = {
		.emit = on_emit, .over = on_over, .back = on_back, .ctx = r
	};
	enum status st = ST_BUG;

	st = pump_open(&r->pump, r->loop, r->pipes, image, &r->job,
	    r->ask.limits.output_bytes, &hooks);
	run_forget_pipes(r);
	if (st != ST_OK) {
		run_tell_refusal(
		    r, ST_SANDBOX_SETUP_FAILED, "no means for the output");
		cell_kill(r->cell);
		return;
	}
	cell_load(r->cell, image, r->job.image_len, r->job.flags);
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
	POINT("boxer.started");
	r->state = RUN_STARTED;
	run_tell_simple(r, WIRE_STARTED);
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
			run_tell_refusal(r, ST_SANDBOX_UNAVAILABLE,
			    "no sandbox can be started now");
		return;
	}
	if (st == ST_SANDBOX_INVALID_REQUEST) {
		(void)snprintf(text, sizeof(text),
		    "source and files do not fit workDirBytes (%llu)",
		    (unsigned long long)r->ask.limits.work_bytes);
		run_tell_refusal(r, st, text);
		return;
	}
	if (st != ST_OK) {
		run_tell_refusal(r, st, "the sandbox could not be set up");
		return;
	}
	POINT("boxer.ended");
	r->state = RUN_ENDED;
	r->extras = cell_extras(r->cell, &r->extras_len);
	if (r->extras < 0)
		r->extras_len = 0;
	run_set_wait(r, DELIVER_MS);
	pump_end(r->pump, !cell_lost(r->cell));
	run_tell_result(r);
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
		run_tell_done(r);
		return;
	}
	POINT("boxer.job");
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
			run_tell_done(r);
	}
	if ((events & EPOLLOUT) == 0 || r->state == RUN_DONE)
		return;
	run_tell_watch(r, EPOLLIN);
	if (r->pump != NULL)
		pump_resume(r->pump);
	if (r->state == RUN_ENDED)
		run_tell_result(r);
}

static void
on_wait(void *ctx)
{
	struct run *r = ctx;

	if (r->state == RUN_WAITING) {
		run_tell_refusal(
		    r, ST_SERVICE_BUSY, "no run slot became free in time");
		return;
	}
	if (r->state != RUN_REFUSED)
		log_warn("the gate left a run alone; it is given up");
	run_tell_done(r);
}

/* ---- making, admitting, asking ---- */

void
run_refuse(struct run *r, enum status st, const char *text)
{
	if (r->state == RUN_WAITING)
		run_tell_refusal(r, st, text);
}

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
	run_forget_pipes(r);
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
	run_set_wait(r, ask->wait_ms);
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
		run_tell_refusal(
		    r, ST_SANDBOX_UNAVAILABLE, "no sandbox can be started now");
		return;
	}
	r->state = RUN_RESERVED;
	run_set_wait(r, RUN_IDLE_MS);
	run_tell_simple(r, WIRE_RESERVED);
}

void
run_abort(struct run *r)
{
	run_tell_done(r);
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
		.stranger = r->ask.stranger != 0,
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

	/* A result that the gate is slow to take needs no slot. */
	free_closed(&r->cell);
	free_closed(&r->spent);
	if (told && r->cell == NULL) {
		pump_close(r->pump);
		r->pump = NULL;
	}
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
