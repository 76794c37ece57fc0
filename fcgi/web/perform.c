#include "web/perform.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/own.h"
#include "base/point.h"
#include "pay/ledger.h"
#include "web/answer.h"
#include "web/metrics.h"
#include "web/result.h"
#include "web/stream.h"

#define RECEIPT_BYTES ((size_t)8192) /* of its JSON */

/* The worst text: every byte a control character, six to one. */
uint64_t
perform_answer_bytes(const struct job *j)
{
	return j->limits.output_bytes * 6 + result_extras_most(j) + (64u << 10);
}

enum status
perform_hold(struct run *r)
{
	struct room_ask ask = {
		.payer = r->payer,
		.bytes = perform_answer_bytes(&r->job),
		.stranger = r->stranger,
		.paid = r->row.state == LEDGER_SETTLED,
	};
	struct ledger_payer who;

	if (ledger_answer_bytes(r->g->ledger, &ask.kept) != ST_OK ||
	    ledger_payer(r->g->ledger, r->payer, &who) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	ask.kept_payer = who.answer_bytes;
	if (room_take(r->g->room, &r->room, &ask) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_BUSY,
		    "no room for another answer that would have to be kept");
	return ST_OK;
}

static void
on_chunk(void *ctx, int stream, const uint8_t *data, size_t len)
{
	struct run *r = ctx;

	POINT("run.output");
	buf_add(&r->streams[stream - 1], data, len);
	stream_grown(&r->live, stream);
}

/* A run is not lost for what it left behind: without a sound image, nothing
 * came back. */
static void
on_extras(void *ctx, const uint8_t *image, size_t len)
{
	struct run *r = ctx;
	uint64_t printed = r->streams[0].len + r->streams[1].len;
	enum status st =
	    r->dialect->own_extras
		? result_extras_keep(&r->extras, &r->job, image, len)
		: result_extras_read(&r->extras, &r->job, printed, image, len);

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
		.price_micros = r->price_micros,
		.request_digest = r->in.digest,
		.payer = r->payer,
		.amount = r->amount,
		.network = r->network,
		.asset = r->asset,
		.transaction = r->transaction,
		.issued_at = (uint64_t)time(NULL),
	};
}

/* The payment response of a success. */
static void
put_response(struct http_reply *a, const struct run *r)
{
	const struct answer_settlement settlement = {
		.version = r->version,
		.network = r->network,
		.payer = r->payer,
		.transaction = r->transaction,
		.issued_at = r->settled_at,
	};

	answer_payment_response(a, r->site, r->q->path, &settlement);
}

static void
put_headers(struct http_reply *a, const struct run *r)
{
	buf_clear(&a->headers);
	a->status = 200;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "private, no-store");
	if (r->dialect->live)
		http_header(a, "Vary", "Accept");
	put_response(a, r);
}

/* From here on the status is told: what fails now is an event. */
static void
on_start(void *ctx)
{
	struct run *r = ctx;
	struct result res = result_of(r);
	OWN_BUF struct buf payment;

	POINT("run.started");
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
	POINT("done.before");
	if (ledger_done(r->g->ledger, buf_cstr(&r->identity), a->status,
		buf_cstr(&a->headers), buf_cstr(&a->body),
		a->body.len) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	POINT("done.after");
	return ST_OK;
}

/* No start worked and there is none left. The answer says so from now on; the
 * row stays owed, so that the operator finds it. */
static enum status
give_up(struct run *r)
{
	struct http_reply *a = r->a;

	log_err("refund needed: %s: no start worked", buf_cstr(&r->identity));
	fault_set(&r->f, ST_SANDBOX_SETUP_FAILED,
	    "the sandbox could not be started %d times; the payment stays on "
	    "record for a refund",
	    LEDGER_STARTS);
	answer_error_as(a, &r->f, r->dialect->put_error);
	put_response(a, r);
	if (buf_status(&a->headers) != ST_OK || buf_status(&a->body) != ST_OK ||
	    ledger_given_up(r->g->ledger, buf_cstr(&r->identity), a->status,
		buf_cstr(&a->headers), buf_cstr(&a->body),
		a->body.len) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	r->given_up = true;
	return r->f.st;
}

/* The run could not start on our side, or its answer is lost: it stays owed,
 * until the starts are used up. */
static enum status
lost(struct run *r)
{
	struct fault why = r->f;

	metrics_run(r->job.runtime->name, r->tier->name, why.st);
	log_err("run owed: %s: %s", buf_cstr(&r->identity), why.message);
	if (ledger_owed(r->g->ledger, buf_cstr(&r->identity)) != ST_OK)
		log_err(
		    "ledger: cannot mark %s as owed", buf_cstr(&r->identity));
	if (r->starts >= LEDGER_STARTS)
		return give_up(r);
	if (why.st != ST_SANDBOX_UNAVAILABLE)
		why.st = ST_SANDBOX_SETUP_FAILED;
	return fault_set(&r->f, why.st,
	    "%s; the payment stays good: repeat the same request with the "
	    "same payment, it is not charged again",
	    why.message);
}

/* The receipt goes in a header where the body has no room for it; stored, it
 * comes back as it was. */
static enum status
put_receipt(struct http_reply *a, const struct buf *receipt)
{
	OWN_BUF struct buf text;

	buf_init(&text, 2 * RECEIPT_BYTES);
	if (buf_status(receipt) != ST_OK || receipt->len == 0)
		return buf_status(receipt);
	hex_base64url(&text, receipt->data, receipt->len);
	if (buf_status(&text) == ST_OK)
		http_header(a, "TOLLBOX-RECEIPT", buf_cstr(&text));
	return buf_status(&text);
}

static enum status
put_result(struct run *r)
{
	struct result res = result_of(r);
	struct http_reply *a = r->a;
	OWN_BUF struct buf receipt;
	struct dialect_answer answer = { .body = &a->body,
		.receipt = &receipt };
	enum status st;

	buf_init(&receipt, RECEIPT_BYTES);
	for (int i = 0; i < 2; i++)
		if (buf_status(&r->streams[i]) != ST_OK)
			return buf_status(&r->streams[i]);
	buf_free(&a->body);
	buf_init(&a->body, perform_answer_bytes(&r->job));
	put_headers(a, r);
	st = r->dialect->put(&answer, &res);
	if (st == ST_OK)
		st = put_receipt(a, &receipt);
	return st;
}

static void
replay(struct run *r, const struct ledger_row *row)
{
	struct result res = {
		.payer = row->payer,
		.amount = row->amount,
		.network = row->network,
		.asset = row->asset,
		.transaction = row->transaction,
	};
	OWN_BUF struct buf payment;

	POINT("replay.before");
	buf_init(&payment, 4096);
	answer_replay(r->a, row);
	/* A refusal that was kept is no run's answer. */
	if (r->live.form == STREAM_NONE || r->a->status != 200)
		return;
	result_put_payment(&payment, &res);
	stream_begin(&r->live, r->q, r->a, &payment, NULL);
}

enum status
perform_replay(struct run *r)
{
	struct ledger_row row = { .state = LEDGER_STATE_MAX };
	enum status st =
	    ledger_find(r->g->ledger, buf_cstr(&r->identity), &row);

	if (st != ST_OK)
		fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	else if (row.answer_body == NULL)
		st = fault_set(&r->f, ST_PAYMENT_REPLAYED,
		    "this payment's answer was kept 24 hours and has expired");
	else
		replay(r, &row);
	ledger_row_free(&row);
	return st;
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
perform(struct run *r)
{
	const char *id = buf_cstr(&r->identity);
	enum status st = ST_BUG;

	r->settled_at = (uint64_t)time(NULL);
	POINT("running.before");
	st = ledger_running(r->g->ledger, id);
	POINT("running.after");
	if (st == ST_TOO_BIG)
		return give_up(r);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	r->starts++;
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
	POINT("run.ended");
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
	if (st != ST_OK)
		return lost(r);
	r->ran = true;
	metrics_run(
	    r->job.runtime->name, r->tier->name, (enum status)r->end.status);
	return ST_OK;
}
