#include "web/run_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "web/flight.h"
#include "web/metrics.h"
#include "web/quota.h"
#include "web/result.h"
#include "web/standing.h"

#define IDENTITY_BYTES 1024

_Static_assert((int)METRICS_READ == (int)RUN_STAGE_READ &&
		   (int)METRICS_KEEP == (int)RUN_STAGE_KEEP &&
		   (int)METRICS_KEEP + 1 == (int)RUN_STAGE_MAX,
    "stages are counted by their number");

void
run_state_stage_end(struct run *r, enum run_stage s)
{
	int64_t now = io_now_us();

	r->spent[s] += now - r->mark;
	r->passed[s] = true;
	r->mark = now;
}

void
run_state_init(struct run *r, struct http_reply *a, struct context *g,
    const struct site *s, const struct dialect *d, const struct http_request *q)
{
	memset(r, 0, sizeof(*r));
	r->a = a;
	r->g = g;
	r->site = s;
	r->dialect = d;
	r->offered = dialect_offered(d, s);
	r->q = q;
	r->paid = q->payment_signature != NULL || q->x_payment != NULL;
	r->begin = io_now_us();
	r->mark = r->begin;
	intake_init(&r->in, g);
	buf_init(&r->identity, IDENTITY_BYTES);
	buf_init(&r->settle_body, X402_HEADER_CAP + 8192);
	buf_init(&r->streams[0], 0);
	buf_init(&r->streams[1], 0);
	stream_init(&r->live, d->live ? q->accept : NULL);
	site_resource(&r->res, r->url, s, q->path);
}

const struct site_tier *
run_state_base(const struct run *r)
{
	const struct site_tier *t = request_base(r->dialect->form, r->site);

	return t != NULL ? t : &r->site->tiers[0];
}

void
run_state_leave(struct run *r)
{
	if (r->in_flight)
		flight_leave(r->g->flight, buf_cstr(&r->identity));
	r->in_flight = false;
}

void
run_state_release(struct run *r)
{
	run_state_leave(r);
	if (r->in_key_turn)
		flight_leave(r->g->flight, r->key_turn);
	r->in_key_turn = false;
	if (r->counted)
		quota_payer_leave(r->g->quota, r->payer, r->q, r->settling);
	r->counted = false;
	if (r->working)
		atomic_fetch_sub(&r->g->paying, 1);
	r->working = false;
	/* The answer is kept by now, and counted there. */
	room_leave(r->g->room, &r->room);
	intake_free(&r->in);
}

void
run_state_free(struct run *r)
{
	client_release(r->slot);
	run_state_release(r);
	standing_leave(r);
	ledger_row_free(&r->row);
	x402_payment_free(&r->pay);
	job_free(&r->job);
	free(r->transaction);
	buf_free(&r->identity);
	buf_free(&r->settle_body);
	result_extras_free(&r->extras);
	buf_free(&r->streams[0]);
	buf_free(&r->streams[1]);
}

static void
count(const struct run *r)
{
	for (int s = 0; s < RUN_STAGE_MAX; s++)
		if (r->passed[s])
			metrics_stage((enum metrics_stage)s, r->spent[s]);
	if (r->facilitator_us > 0)
		metrics_stage(METRICS_FACILITATOR, r->facilitator_us);
	if (!r->ran)
		return;
	metrics_stage(METRICS_START, (int64_t)r->end.start_us);
	metrics_stage(METRICS_PROGRAM, (int64_t)r->end.duration_us);
	metrics_stage(METRICS_WHOLE, io_now_us() - r->begin);
}

/* Who only asks what it costs is no news. */
static enum log_level
level(const struct run *r, enum status st)
{
	return r->paid || (st != ST_PAYMENT_REQUIRED &&
			      st != ST_EXECUTE_IP_RATE_LIMITED)
		   ? LOG_LEVEL_INFO
		   : LOG_LEVEL_DEBUG;
}

static struct log_field
text(const char *name, const char *value)
{
	if (value != NULL && value[0] == '\0')
		value = NULL;
	return (struct log_field){ .name = name, .text = value };
}

static struct log_field
number(const char *name, int64_t value)
{
	return (struct log_field){
		.name = name, .kind = LOG_NUMBER, .number = value
	};
}

void
run_state_tell(const struct run *r, enum status st)
{
	enum status end = (enum status)r->end.status;
	struct log_field f[13 + METRICS_STAGE_MAX];
	size_t n = 0;

	count(r);
	f[n++] = text("id", r->q->id);
	f[n++] = text("route", r->q->path);
	f[n++] = text("dialect", r->dialect->name);
	f[n++] = text("payer", r->payer);
	f[n++] = text("tier", r->tier == NULL ? NULL : r->tier->name);
	f[n++] = text(
	    "runtime", r->job.runtime == NULL ? NULL : r->job.runtime->name);
	f[n++] = number(
	    "http", http_sent(r->q) != 0 ? http_sent(r->q) : r->a->status);
	f[n++] = text("code", status_name(st == ST_OK ? st : r->f.st));
	f[n++] = text("outcome", r->ran ? result_outcome(end) : NULL);
	f[n++] = text("end", r->ran ? status_name(end) : NULL);
	f[n++] = text("tx", r->transaction);
	f[n++] = (struct log_field){ .name = "us", .kind = LOG_GROUP };
	for (int i = 0; i < RUN_STAGE_MAX; i++) {
		f[n++] = number(
		    metrics_stage_name((enum metrics_stage)i), r->spent[i]);
		if (i == RUN_STAGE_SETTLE)
			f[n++] = number("facilitator", r->facilitator_us);
		if (i == RUN_STAGE_RUN) {
			f[n++] = number("start", (int64_t)r->end.start_us);
			f[n++] = number("program", (int64_t)r->end.duration_us);
		}
	}
	f[n++] = number("whole", io_now_us() - r->begin);
	log_event(level(r, st), "run", f, n);
	r->a->noted = true;
}
