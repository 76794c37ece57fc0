#include "web/perform.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"
#include "web/answer.h"
#include "web/result.h"
#include "web/stream.h"

/* The worst text: every byte a control character, six to one. */
uint64_t
perform_answer_bytes(const struct job *j)
{
	return j->limits.output_bytes * 6 + result_extras_most(j) + (64u << 10);
}

static void
on_chunk(void *ctx, int stream, const uint8_t *data, size_t len)
{
	struct run *r = ctx;

	buf_add(&r->streams[stream - 1], data, len);
	stream_grown(&r->live, stream);
}

/* A run is not lost for what it left behind: without a sound image, nothing
 * came back. */
static void
on_extras(void *ctx, const uint8_t *image, size_t len)
{
	struct run *r = ctx;
	enum status st = result_extras_read(&r->extras, &r->job,
	    r->streams[0].len + r->streams[1].len, image, len);

	if (st == ST_FORMAT)
		log_warn("a sandbox gave a broken extras image");
}

static void
on_idle(void *ctx, struct client_wake *next)
{
	struct run *r = ctx;

	stream_idle(&r->live, next);
}

/* All that the answer is made of; amount is what was charged. */
static struct result
result_of(const struct run *r)
{
	return (struct result){
		.end = &r->end,
		.streams = r->streams,
		.extras = &r->extras,
		.job = &r->job,
		.site = r->site,
		.tier = r->tier,
		.request_digest = r->in.digest,
		.payer = r->payer,
		.amount = r->amount,
		.network = r->req.network,
		.asset = r->req.asset,
		.transaction = r->transaction,
		.issued_at = (uint64_t)time(NULL),
	};
}

static void
put_headers(struct http_reply *a, const struct run *r)
{
	const struct answer_settlement settlement = {
		.version = r->pay.version,
		.network = r->req.network,
		.payer = r->payer,
		.transaction = r->transaction,
		.issued_at = r->settled_at,
	};

	buf_clear(&a->headers);
	a->status = 200;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "private, no-store");
	http_header(a, "Vary", "Accept");
	answer_payment_response(a, r->site, r->q->path, &settlement);
}

/* From here on the status is told: what fails now is an event. */
static void
on_start(void *ctx)
{
	struct run *r = ctx;
	struct result res = result_of(r);
	OWN_BUF struct buf payment;

	buf_init(&payment, 4096);
	if (r->live.form == STREAM_NONE)
		return;
	put_headers(r->a, r);
	result_put_payment(&payment, &res);
	stream_begin(&r->live, r->q, r->a, &payment, r->streams);
}

/* An answer that must be had again is durable before it is sent. */
static enum status
keep_answer(struct run *r)
{
	struct http_reply *a = r->a;

	if (buf_status(&a->headers) != ST_OK || buf_status(&a->body) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "answer");
	if (ledger_done(r->g->ledger, buf_cstr(&r->identity), a->status,
		buf_cstr(&a->headers), buf_cstr(&a->body),
		a->body.len) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	atomic_fetch_add(&r->g->answers_kept, a->body.len);
	return ST_OK;
}

/* The run could not start on our side: it stays owed, until the starts are
 * used up; then the 500 is what is kept. */
static enum status
lost(struct run *r)
{
	struct fault why = r->f;

	log_err("run owed: %s: %s", buf_cstr(&r->identity), why.message);
	if (ledger_owed(r->g->ledger, buf_cstr(&r->identity)) != ST_OK)
		log_err(
		    "ledger: cannot mark %s as owed", buf_cstr(&r->identity));
	if (why.st != ST_SANDBOX_UNAVAILABLE)
		why.st = ST_SANDBOX_SETUP_FAILED;
	return fault_set(&r->f, why.st,
	    "%s; the payment stays good: repeat the same request with the "
	    "same payment, it is not charged again",
	    why.message);
}

/* No more starts. The row stays as it is, owed, so that the operator finds it
 * and this answer is the same each time. */
static enum status
given_up(struct run *r)
{
	log_err("refund needed: %s: no start worked", buf_cstr(&r->identity));
	return fault_set(&r->f, ST_SANDBOX_SETUP_FAILED,
	    "the sandbox could not be started %d times; the payment stays on "
	    "record for a refund",
	    LEDGER_STARTS);
}

static enum status
put_result(struct run *r)
{
	struct result res = result_of(r);
	struct http_reply *a = r->a;

	for (int i = 0; i < 2; i++)
		if (buf_status(&r->streams[i]) != ST_OK)
			return buf_status(&r->streams[i]);
	buf_free(&a->body);
	buf_init(&a->body, perform_answer_bytes(&r->job));
	put_headers(a, r);
	return result_put(&a->body, &res);
}

void
perform_replay(struct run *r, const struct ledger_row *row)
{
	struct result res = {
		.payer = row->payer,
		.amount = row->amount,
		.network = row->network,
		.asset = row->asset,
		.transaction = row->transaction,
	};
	OWN_BUF struct buf payment;

	buf_init(&payment, 4096);
	answer_replay(r->a, row);
	/* A refusal that was kept is no run's answer. */
	if (r->live.form == STREAM_NONE || r->a->status != 200)
		return;
	result_put_payment(&payment, &res);
	stream_begin(&r->live, r->q, r->a, &payment, NULL);
}

void
perform_tell(struct run *r, enum status st)
{
	if (r->live.out == NULL)
		return;
	if (st == ST_OK)
		stream_result(&r->live, r->end.lost, &r->a->body);
	else
		stream_error(&r->live, &r->f);
}

enum status
perform(struct run *r, const char *amount)
{
	const char *id = buf_cstr(&r->identity);
	enum status st = ledger_running(r->g->ledger, id);

	r->amount = amount;
	r->settled_at = (uint64_t)time(NULL);
	if (st == ST_TOO_BIG)
		return given_up(r);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	run_state_stage_end(r, RUN_STAGE_CLAIM);
	for (int i = 0; i < 2; i++) {
		buf_free(&r->streams[i]);
		buf_init(&r->streams[i], r->job.limits.output_bytes);
	}
	result_extras_free(&r->extras);
	result_extras_init(&r->extras, &r->job);
	client_extras(r->slot, on_extras);
	if (r->live.form != STREAM_NONE)
		client_idle(r->slot, on_idle);
	st = client_run(
	    OWN_STEAL(r->slot), &r->job, on_start, on_chunk, r, &r->end, &r->f);
	run_state_stage_end(r, RUN_STAGE_RUN);
	if (st != ST_OK)
		return lost(r);
	st = put_result(r);
	run_state_stage_end(r, RUN_STAGE_ANSWER);
	if (st != ST_OK) {
		fault_set(&r->f, st, "the answer could not be built");
		return lost(r);
	}
	st = keep_answer(r);
	run_state_stage_end(r, RUN_STAGE_KEEP);
	/* An answer that could not be kept could not be had again: it does not
	 * leave, and the run is owed. */
	return st == ST_OK ? ST_OK : lost(r);
}
