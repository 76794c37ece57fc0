#include "box/run.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/cell.h"
#include "box/pump.h"

/* A gate that holds a slot and never comes back with a job, or never reads
 * its result, is stuck; settling takes a minute or two. */
#define IDLE_MS 600000
#define DELIVER_MS 30000

/* All a job image can hold: a request's body and the records' heads. */
#define IMAGE_BYTES (LIMITS_BODY + (8u << 20))
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

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
	struct cell *cell;
	struct pump *pump;
	bool ready; /* the sandbox waits for a job */
	int image;
	struct wire_job job;
	struct verdict_evidence ev; /* once the sandbox is gone */
};

/* ---- to the gate ---- */

static void
set_wait(struct run *r, int64_t ms)
{
	loop_timer_set(r->loop, &r->wait, io_now_us() + ms * 1000);
}

/* The gate is gone or has got all; what the sandbox still does is in vain. */
static void
done(struct run *r)
{
	r->state = RUN_DONE;
	loop_timer_clear(&r->wait);
	loop_watch_close(r->loop, &r->sock);
	if (r->cell != NULL)
		cell_kill(r->cell);
}

static void
watch(struct run *r, uint32_t events)
{
	if (r->state != RUN_DONE &&
	    loop_watch(r->loop, &r->sock, events) != ST_OK)
		done(r);
}

/* Send a message; false if the gate cannot take it now (or at all: then the
 * run is done). */
static bool
tell(struct run *r, const void *m, size_t len)
{
	enum status st = ST_BUG;

	if (r->state == RUN_DONE)
		return true;
	st = io_send_msg(r->sock.fd, m, len, -1, MSG_DONTWAIT);
	if (st == ST_OK)
		return true;
	if (st == ST_TIMEOUT) {
		watch(r, EPOLLIN | EPOLLOUT);
		return false;
	}
	done(r);
	return true;
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
	if (tell(r, &result, sizeof(result)))
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

	cell_load(r->cell, image, r->job.image_len);
	pump_feed(
	    r->pump, own_steal_fd(&image), r->job.stdin_at, r->job.stdin_len);
}

static void
on_ready(void *ctx)
{
	struct run *r = ctx;

	r->ready = true;
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

static void
on_ended(void *ctx)
{
	struct run *r = ctx;
	enum status st = cell_outcome(&r->ev, r->cell);
	char text[WIRE_TEXT];

	if (r->state == RUN_DONE || r->state == RUN_REFUSED)
		return;
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
	set_wait(r, DELIVER_MS);
	deliver(r);
}

/* ---- from the gate ---- */

/* Is fd a job image as m describes it? */
static bool
job_ok(const struct wire_job *m, int fd)
{
	struct stat s;
	int seals;

	if (m->image_len == 0 || m->image_len > IMAGE_BYTES ||
	    m->stdin_at > m->image_len ||
	    m->stdin_len > m->image_len - m->stdin_at)
		return false;
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &s) == 0 &&
	       s.st_size >= 0 && (uint64_t)s.st_size == m->image_len;
}

static void
on_job(struct run *r, const struct wire_job *m, size_t len, int fd)
{
	OWN_FD int image = fd;

	/* After a refusal the job that was on its way is dropped. */
	if (r->state == RUN_REFUSED)
		return;
	if (r->state != RUN_RESERVED || len != sizeof(*m) ||
	    m->type != WIRE_JOB || !job_ok(m, image)) {
		log_err("gate sent a job that is none");
		done(r);
		return;
	}
	r->job = *m;
	r->image = own_steal_fd(&image);
	r->state = RUN_LOADED;
	loop_timer_clear(&r->wait);
	if (r->ready)
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

/* Strings end inside, the runtime is known, the limits are sane. */
static bool
ask_ok(struct run *r)
{
	const struct wire_reserve *a = &r->ask;

	if (a->type != WIRE_RESERVE ||
	    memchr(a->runtime, '\0', sizeof(a->runtime)) == NULL ||
	    memchr(a->entry, '\0', sizeof(a->entry)) == NULL)
		return false;
	r->runtime = conf_runtime(r->host->conf, a->runtime);
	if (r->runtime == NULL)
		return false;
	if (strcmp(a->entry, r->runtime->entry) == 0)
		r->entry = r->runtime->entry;
	else if (r->runtime->entry_module != NULL &&
		 strcmp(a->entry, r->runtime->entry_module) == 0)
		r->entry = r->runtime->entry_module;
	else
		return false;
	return a->limits.timeout_ms > 0 && a->limits.timeout_ms <= 86400000 &&
	       a->limits.memory_bytes > 0 &&
	       a->limits.memory_bytes <= UINT64_MAX / 4 &&
	       a->limits.work_bytes > 0 &&
	       a->limits.work_bytes <= UINT64_MAX / 4 &&
	       a->limits.output_bytes <= UINT32_MAX;
}

enum status
run_open(struct run **out, struct loop *l, struct hull_host *host, int sock,
    const struct wire_reserve *ask)
{
	struct run *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (r == NULL) {
		close(sock);
		return ST_NOMEM;
	}
	r->loop = l;
	r->host = host;
	r->state = RUN_WAITING;
	r->ask = *ask;
	r->image = -1;
	loop_watch_init(&r->sock, sock, on_sock, r);
	loop_timer_init(&r->wait, on_wait, r);
	if (!ask_ok(r)) {
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
	const struct cell_hooks cell_hooks = { .ready = on_ready,
		.started = on_started,
		.ended = on_ended,
		.ctx = r };
	const struct pump_hooks pump_hooks = {
		.emit = on_emit, .over = on_over, .ctx = r
	};
	enum status st = ST_BUG;
	int pipes[3];

	if (r->state != RUN_WAITING)
		return;
	st = cell_open(&r->cell, pipes, r->loop, r->host, r->runtime, r->entry,
	    &r->ask.limits, &cell_hooks);
	if (st == ST_OK)
		st = pump_open(&r->pump, r->loop, pipes,
		    r->ask.limits.output_bytes, &pump_hooks);
	if (st != ST_OK) {
		refuse(
		    r, ST_SANDBOX_UNAVAILABLE, "no sandbox can be started now");
		if (r->cell != NULL)
			cell_kill(r->cell);
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
	return r->cell != NULL && cell_reaped(r->cell, pid);
}

struct run_view
run_look(const struct run *r)
{
	struct run_view v = {
		.waits = r->state == RUN_WAITING,
		.holds = r->cell != NULL,
		.running = r->state == RUN_STARTED,
		.booting =
		    (r->state == RUN_RESERVED || r->state == RUN_LOADED) &&
		    !r->ready,
		.lost = r->cell != NULL && cell_lost(r->cell),
		.runtime = r->runtime,
	};

	v.busy = v.holds || (r->state >= RUN_RESERVED && r->state <= RUN_ENDED);
	return v;
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
	if (r->cell != NULL && cell_closed(r->cell)) {
		cell_free(r->cell);
		r->cell = NULL;
	}
	return r->state == RUN_DONE && r->cell == NULL;
}

void
run_free(struct run *r)
{
	if (r == NULL)
		return;
	cell_free(r->cell);
	pump_close(r->pump);
	loop_watch_close(r->loop, &r->sock);
	loop_timer_clear(&r->wait);
	if (r->image >= 0)
		close(r->image);
	free(r);
}
