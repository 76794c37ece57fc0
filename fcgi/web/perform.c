#include "web/perform.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"
#include "web/answer.h"
#include "web/result.h"

/* The worst text: every byte a control character, six to one. */
uint64_t
perform_answer_bytes(const struct limits *l)
{
	return l->output_bytes * 6 + (64u << 10);
}

static void
on_chunk(void *ctx, int stream, const uint8_t *data, size_t len)
{
	struct run *r = ctx;

	buf_add(&r->streams[stream - 1], data, len);
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
put_result(struct run *r, const char *amount)
{
	struct result res = {
		.end = &r->end,
		.streams = r->streams,
		.job = &r->job,
		.site = r->site,
		.tier = r->tier,
		.request_digest = r->in.digest,
		.payer = r->payer,
		.amount = amount,
		.network = r->req.network,
		.asset = r->req.asset,
		.transaction = r->transaction,
		.issued_at = (uint64_t)time(NULL),
	};
	struct http_reply *a = r->a;

	buf_free(&a->body);
	buf_init(&a->body, perform_answer_bytes(&r->job.limits));
	buf_clear(&a->headers);
	a->status = 200;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "private, no-store");
	answer_payment_response(
	    a, r->pay.version, r->transaction, r->req.network, r->payer, NULL);
	return result_put(&a->body, &res);
}

enum status
perform(struct run *r, const char *amount)
{
	const char *id = buf_cstr(&r->identity);
	enum status st = ledger_running(r->g->ledger, id);

	if (st == ST_TOO_BIG)
		return given_up(r);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	run_state_stage_end(r, RUN_STAGE_CLAIM);
	for (int i = 0; i < 2; i++) {
		buf_free(&r->streams[i]);
		buf_init(&r->streams[i], r->job.limits.output_bytes);
	}
	st = client_run(
	    OWN_STEAL(r->slot), &r->job, NULL, on_chunk, r, &r->end, &r->f);
	run_state_stage_end(r, RUN_STAGE_RUN);
	if (st != ST_OK)
		return lost(r);
	st = put_result(r, amount);
	if (st != ST_OK) {
		fault_set(&r->f, st, "the answer could not be built");
		return lost(r);
	}
	st = keep_answer(r);
	run_state_stage_end(r, RUN_STAGE_ANSWER);
	/* An answer that could not be kept could not be had again: it does not
	 * leave, and the run is owed. */
	return st == ST_OK ? ST_OK : lost(r);
}
