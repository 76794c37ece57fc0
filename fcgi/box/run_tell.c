#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/log.h"
#include "base/point.h"
#include "box/pool.h"
#include "box/run_work.h"

void
run_tell_done(struct run *r)
{
	bool unused = r->state == RUN_RESERVED && r->warm;
	bool ended = r->state == RUN_ENDED;

	r->state = RUN_DONE;
	loop_timer_clear(&r->wait);
	loop_watch_close(r->loop, &r->sock);
	if (r->cell == NULL)
		return;
	if (unused && cell_waits(r->cell) &&
	    pool_put(r->pool, r->cell, r->pipes, r->runtime, r->entry)) {
		r->cell = NULL;
		run_forget_pipes(r);
		return;
	}
	/* What has ended goes by itself, or the cell sees to it. */
	if (!ended)
		cell_kill(r->cell);
}

void
run_tell_watch(struct run *r, uint32_t events)
{
	if (r->state != RUN_DONE &&
	    loop_watch(r->loop, &r->sock, events) != ST_OK)
		run_tell_done(r);
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
		run_tell_watch(r, EPOLLIN | EPOLLOUT);
		return false;
	}
	run_tell_done(r);
	return true;
}

bool
run_tell(struct run *r, const void *m, size_t len)
{
	return tell_with(r, m, len, -1);
}

void
run_tell_simple(struct run *r, enum wire_type type)
{
	struct wire_simple m = { .type = type };

	/* Few and small: they fit the socket of a gate that reads. */
	if (!run_tell(r, &m, sizeof(m))) {
		log_err("run: the gate does not read");
		run_tell_done(r);
	}
}

void
run_tell_refusal(struct run *r, enum status st, const char *text)
{
	struct wire_refused m = { .type = WIRE_REFUSED,
		.status = (uint32_t)st };

	(void)snprintf(m.text, sizeof(m.text), "%s", text);
	if (!run_tell(r, &m, sizeof(m))) {
		run_tell_done(r);
		return;
	}
	if (r->state == RUN_DONE)
		return;
	/* Closing at once could take the message away from a gate that is
	 * just sending its job. */
	r->state = RUN_REFUSED;
	run_set_wait(r, RUN_IDLE_MS);
}

void
run_tell_result(struct run *r)
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
		run_tell_refusal(r, ST_SANDBOX_SETUP_FAILED, result.text);
		return;
	}
	result.extras_len = r->extras_len;
	if (tell_with(r, &result, sizeof(result), r->extras))
		run_tell_done(r);
	POINT("boxer.delivered");
}
