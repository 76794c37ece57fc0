#include "web/run_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "web/flight.h"
#include "web/quota.h"
#include "web/standing.h"

#define IDENTITY_BYTES 1024

void
run_state_stage_end(struct run *r, enum run_stage s)
{
	int64_t now = io_now_us();

	r->spent[s] += now - r->mark;
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
	r->q = q;
	r->paid = q->payment_signature != NULL || q->x_payment != NULL;
	r->mark = io_now_us();
	intake_init(&r->in, g);
	buf_init(&r->identity, IDENTITY_BYTES);
	buf_init(&r->settle_body, X402_HEADER_CAP + 8192);
	buf_init(&r->streams[0], 0);
	buf_init(&r->streams[1], 0);
	stream_init(&r->live, d->live ? q->accept : NULL);
	site_resource(&r->res, r->url, s, q->path);
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
	intake_free(&r->in);
}

void
run_state_free(struct run *r)
{
	client_release(r->slot);
	room_leave(r->g->room, &r->room);
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

void
run_state_log(const struct run *r, enum status st)
{
	const int64_t *s = r->spent;

	log_info("run id=%s route=%s payer=%s tier=%s runtime=%s http=%d "
		 "code=%s end=%s tx=%s us: read=%lld parse=%lld check=%lld "
		 "claim=%lld reserve=%lld settle=%lld facilitator=%lld "
		 "run=%lld start=%llu program=%llu answer=%lld keep=%lld",
	    r->q->id, r->q->path, r->payer[0] == '\0' ? "-" : r->payer,
	    r->tier == NULL ? "-" : r->tier->name,
	    r->job.runtime == NULL ? "-" : r->job.runtime->name, r->a->status,
	    st == ST_OK ? "ok" : status_name(r->f.st),
	    status_name((enum status)r->end.status),
	    r->transaction == NULL ? "-" : r->transaction,
	    (long long)s[RUN_STAGE_READ], (long long)s[RUN_STAGE_PARSE],
	    (long long)s[RUN_STAGE_CHECK], (long long)s[RUN_STAGE_CLAIM],
	    (long long)s[RUN_STAGE_RESERVE], (long long)s[RUN_STAGE_SETTLE],
	    (long long)r->facilitator_us, (long long)s[RUN_STAGE_RUN],
	    (unsigned long long)r->end.start_us,
	    (unsigned long long)r->end.duration_us,
	    (long long)s[RUN_STAGE_ANSWER], (long long)s[RUN_STAGE_KEEP]);
}
