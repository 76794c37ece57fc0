/*
 * How a paid run goes. One struct holds all of it and one function undoes all
 * of it. Each step hands on or fills the fault; the order is api.md section 1:
 *
 *   read body -> payment header? -> decode, identity, signature
 *   -> one at a time per Idempotency-Key -> what it was used for before
 *   -> one at a time per payment (flight) -> ledger look-up: a row decides
 *   -> body -> requirements, time window -> claim -> run slot -> settle
 *   -> run (its output told live, if asked for) -> answer kept -> answer sent
 *
 * Without a payment header only an Idempotency-Key can get further than the
 * 402, and only to a payment that was claimed for the very same request.
 *
 * Crash rules: CLAIMED is durable before anything is sent, SETTLING before the
 * facilitator is called, RUNNING before the program starts, DONE before the
 * answer leaves. What a crash leaves behind, ledger_open() reads as unknown or
 * owed, and the caller's retry with the same payment picks it up here.
 */
#include "web/run.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/own.h"
#include "base/point.h"
#include "pay/ledger.h"
#include "pay/x402.h"
#include "web/identify.h"
#include "web/perform.h"
#include "web/quota.h"
#include "web/reconcile.h"
#include "web/refusal.h"
#include "web/repeat.h"
#include "web/request.h"
#include "web/resume.h"
#include "web/run_state.h"
#include "web/settle.h"
#include "web/standing.h"
#include "web/turn.h"

/* The claim must outlast what is still to come before settle is sent. */
#define WINDOW_MARGIN_S 4

/* The requirement of the tier that the body asks for. */
static void
set_requirement(struct run *r, const struct site_tier *t)
{
	r->tier = t;
	r->price_micros = t->price_micros;
	accept_chosen(&r->req, &r->choice, t->price_micros);
	u256_text(r->price, &r->req.amount);
}

/* What the rest goes by once it is clear what is, or was, claimed. */
static void
set_claimed(struct run *r, const char *amount, const char *network,
    const char *asset, int version, int starts)
{
	r->amount = amount;
	r->network = network;
	r->asset = asset;
	r->version = version;
	r->starts = starts;
}

/* Step 4: decode; signature; identity. Needs the asset only that the payment
 * means, not the price, so the base tier stands in for it. */
static enum status
read_payment(struct run *r)
{
	bool v2 = r->q->payment_signature != NULL;
	const char *place = r->q->payment_place;
	enum status st;

	if (r->q->payment_repeated)
		return fault_set(&r->f, ST_PAYMENT_MALFORMED,
		    "%s is given more than once",
		    v2 ? "PAYMENT-SIGNATURE" : "X-PAYMENT");
	st = x402_payment_parse(&r->pay,
	    v2 ? r->q->payment_signature : r->q->x_payment, v2 ? 2 : 1, place,
	    &r->f);
	if (st != ST_OK)
		return st;
	accept_choose(
	    &r->choice, &r->pay, r->site->accepts, r->site->n_accepts);
	set_requirement(r, run_state_base(r));
	if (r->pay.evm)
		eth_address_text(r->payer, &r->pay.auth.from);
	r->signature = x402_signature(&r->pay, &r->req, &r->f);
	return r->signature == X402_SIGNED_NO ? ST_PAYMENT_INVALID
					      : identify_payment(r);
}

static enum status
parse_body(struct run *r)
{
	const struct site_tier *tier = NULL;
	enum status st = request_read(&r->job, &tier, r->dialect->form, r->site,
	    buf_cstr(&r->in.body), r->in.body.len, false, &r->f);

	if (st != ST_OK)
		return st;
	set_requirement(r, tier);
	return ST_OK;
}

/* Step 8, for a payer whose signature is verified. */
static enum status
count_payer(struct run *r)
{
	enum status st = quota_address(r->g->quota, r->q, &r->f);
	struct ledger_payer who;

	if (st != ST_OK)
		return st;
	if (ledger_payer(r->g->ledger, r->payer, &who) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	st = quota_payer(r->g->quota, r->payer, who.good, r->q, &r->f);
	r->counted = st == ST_OK;
	return st;
}

/* Step 7: does what was signed pay for this body? */
static enum status
check_payment(struct run *r)
{
	enum status st = x402_match(&r->pay, &r->req, &r->f);

	if (st == ST_OK)
		st = x402_window(
		    &r->pay, (uint64_t)time(NULL), WINDOW_MARGIN_S, &r->f);
	if (st != ST_OK)
		return st;
	x402_put_facilitator(&r->settle_body, &r->pay, &r->req, &r->res);
	if (buf_status(&r->settle_body) != ST_OK)
		return fault_set(
		    &r->f, buf_status(&r->settle_body), "settle body");
	r->by =
	    accept_facilitator(&r->choice, r->pay.version, &r->other, &r->f);
	if (r->by == NULL)
		return r->f.st;
	if (r->signature == X402_SIGNED_YES)
		st = count_payer(r);
	else
		st = quota_verify(r->g->quota, r->q, &r->f);
	if (st != ST_OK ||
	    (r->signature == X402_SIGNED_YES &&
		facilitator_conf(r->by)->verify == CONF_VERIFY_LOCAL))
		return st;
	st = settle_verify(r->payer, sizeof(r->payer), r->by, r->other,
	    buf_cstr(&r->settle_body), r->settle_body.len, &r->f);
	r->vouched = st == ST_OK;
	if (r->signature == X402_SIGNED_YES)
		return st;
	quota_verified(r->g->quota);
	return st == ST_OK ? count_payer(r) : st;
}

static enum status
claim(struct run *r)
{
	uint64_t before = 0;
	struct ledger_claim c = {
		.identity = buf_cstr(&r->identity),
		.site = r->site->conf.public_url,
		.route = r->q->path,
		.request_digest = r->in.digest,
		.payer = r->payer,
		.network = r->req.network,
		.asset = r->req.asset,
		.pay_to = r->req.pay_to,
		.amount = r->price,
		.facilitator = facilitator_conf(r->by)->name,
		.settle_body = buf_cstr(&r->settle_body),
		.settle_body_len = r->settle_body.len,
		.version = r->pay.version,
		.identifier = r->pay.identifier,
		.key = r->keyed ? r->key : NULL,
	};
	enum status st;

	if (r->pay.evm && u256_fits64(&before, &r->pay.auth.valid_before))
		c.valid_before = before;
	POINT("claim.before");
	st = ledger_claim(r->g->ledger, &c);
	POINT("claim.after");
	if (st == ST_CONFLICT)
		return repeat_conflict(r);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	set_claimed(
	    r, r->price, r->req.network, r->req.asset, r->pay.version, 0);
	return ST_OK;
}

static enum status
reserve(struct run *r)
{
	enum status st = perform_hold(r);

	if (st != ST_OK)
		return st;
	r->job.stranger = r->stranger;
	st = client_reserve(
	    &r->slot, r->g->boxer, &r->job, r->g->conf->queue_ms, &r->f);
	if (st == ST_SERVICE_BUSY)
		return fault_set(&r->f, st,
		    "no run slot became free in time; repeat the same request "
		    "with the same payment");
	return st;
}

static enum status
settle(struct run *r, const char *body, size_t body_len,
    const struct ledger_row *row)
{
	bool look = false;
	struct settle_ask ask = {
		.identity = buf_cstr(&r->identity),
		.body = body,
		.body_len = body_len,
		.payer = r->payer[0] == '\0' ? NULL : r->payer,
		.network = r->network,
		.network_v1 = x402_v1_name(r->network),
		.asset = r->asset,
		.amount = r->amount,
		.other = r->other,
		.again = row != NULL && row->tries > 0,
		.refused = row != NULL && row->state == LEDGER_FAILED,
		.first = row == NULL || row->first == LEDGER_FIRST_NONE,
		.call_us = &r->facilitator_us,
		.chain = reconcile_reads(r->g->reconcile, r->network),
		.look = &look,
	};
	enum status st;

	r->settling = true;
	st = settle_payment(
	    &r->transaction, r->reason, r->g->ledger, r->by, &ask, &r->f);
	/* What the facilitator says against it, the chain may know better: it
	 * was used by somebody who handed in our claim, or together with
	 * another in one transaction. */
	if (look)
		st = resume_spent(r);
	run_state_stage_end(r, RUN_STAGE_SETTLE);
	return st;
}

/* Settle again what was unknown or refused: the identical call, and no new
 * look at price or clock but one: a refused payment past its time is over. */
static enum status
settle_row(struct run *r, const struct ledger_row *row)
{
	enum status st = resume_evidence(r, row);

	if (st != ST_OK || r->transaction != NULL)
		return st;
	/* Nothing moved, so that would be a sale. */
	if (row->state == LEDGER_FAILED && !r->offered)
		return dialect_refuse(&r->f, r->q->path);
	if (row->state == LEDGER_FAILED)
		st = x402_window(&r->pay, (uint64_t)time(NULL), 0, &r->f);
	if (st != ST_OK)
		return st;
	return settle(r, row->settle_body, row->settle_body_len, row);
}

/* The row of a payment that we know decides, whatever the body's price or the
 * clock say by now (api.md section 1, step 5). */
static enum status
run_known(struct run *r)
{
	struct ledger_row *row = &r->row;
	enum status st = ST_BUG;

	snprintf(r->payer, sizeof(r->payer), "%s", row->payer);
	accept_find(&r->choice, row->network, row->asset, r->site->accepts,
	    r->site->n_accepts);
	set_claimed(r, row->amount, row->network, row->asset, row->version,
	    row->starts);
	/* An owed run that was given up has an answer too. */
	if (row->state == LEDGER_DONE || row->answer_http != 0)
		return perform_replay(r);
	st = resume_parse(r, row);
	run_state_stage_end(r, RUN_STAGE_PARSE);
	if (st == ST_OK && row->state != LEDGER_SETTLED)
		st = resume_facilitator(r, row);
	if (st == ST_OK && row->state != LEDGER_SETTLED)
		st = standing_take(r);
	if (st == ST_OK)
		st = reserve(r);
	run_state_stage_end(r, RUN_STAGE_RESERVE);
	if (st != ST_OK)
		return st;
	if (row->state == LEDGER_SETTLED)
		r->transaction = OWN_STEAL(row->transaction);
	else
		st = settle_row(r, row);
	standing_settled(r, st);
	return st == ST_OK ? perform(r) : st;
}

/* Steps 6 to 8 for a payment never seen before. */
static enum status
run_new(struct run *r)
{
	enum status st = ST_BUG;

	if (!r->offered)
		return dialect_refuse(&r->f, r->q->path);
	st = repeat_identifier(r);
	if (st == ST_OK)
		st = parse_body(r);
	run_state_stage_end(r, RUN_STAGE_PARSE);
	if (st != ST_OK)
		return st;
	st = check_payment(r);
	if (st == ST_OK)
		st = standing_take(r);
	run_state_stage_end(r, RUN_STAGE_CHECK);
	if (st != ST_OK)
		return st;
	st = claim(r);
	run_state_stage_end(r, RUN_STAGE_CLAIM);
	if (st != ST_OK)
		return st;
	st = reserve(r);
	run_state_stage_end(r, RUN_STAGE_RESERVE);
	if (st != ST_OK) {
		if (ledger_release(r->g->ledger, buf_cstr(&r->identity)) !=
		    ST_OK)
			log_err("ledger: cannot release %s",
			    buf_cstr(&r->identity));
		return st;
	}
	st = settle(r, buf_cstr(&r->settle_body), r->settle_body.len, NULL);
	standing_settled(r, st);
	return st == ST_OK ? perform(r) : st;
}

/* The payment that an earlier request with this key brought decides, not the
 * one that may have come now: a client that signs anew each time pays once.
 * *hit: it did. */
static enum status
run_by_key(struct run *r, bool *hit)
{
	OWN_FREE char *earlier = NULL;
	enum status st = repeat_find(&earlier, r);

	*hit = st != ST_OK || earlier != NULL;
	if (st != ST_OK || earlier == NULL)
		return st;
	buf_clear(&r->identity);
	buf_adds(&r->identity, earlier);
	if (buf_status(&r->identity) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "memory");
	st = turn_take(r);
	if (st != ST_OK)
		return st;
	if (r->row.state != LEDGER_STATE_MAX && r->row.state != LEDGER_FAILED)
		return run_known(r);
	/* Released or refused since we looked: it is no run any more. */
	*hit = false;
	run_state_leave(r);
	return r->paid ? identify_payment(r) : ST_OK;
}

static enum status
run_by_payment(struct run *r)
{
	enum status st = ST_BUG;

	POINT("payment.seen");
	st = turn_take(r);
	if (st == ST_OK && r->row.state == LEDGER_STATE_MAX)
		return run_new(r);
	if (st == ST_OK)
		st = repeat_allowed(r, &r->row);
	return st == ST_OK ? run_known(r) : st;
}

/* Step 3: what to pay, whatever the body holds. */
static enum status
offer(struct run *r)
{
	enum status st = ST_BUG;

	if (!r->offered)
		return dialect_refuse(&r->f, r->q->path);
	st = quota_address(r->g->quota, r->q, &r->f);
	if (st != ST_OK)
		return st;
	r->tier = request_price(
	    r->dialect->form, r->site, buf_cstr(&r->in.body), r->in.body.len);
	return fault_set(&r->f, ST_PAYMENT_REQUIRED, "Payment required");
}

static enum status
run_request(struct run *r)
{
	bool hit = false;
	enum status st = ST_OK;

	if (r->paid)
		st = read_payment(r);
	if (st == ST_OK)
		st = repeat_init(r);
	if (st == ST_OK)
		st = turn_key(r);
	if (st == ST_OK)
		st = run_by_key(r, &hit);
	if (st == ST_OK && !hit)
		st = r->paid ? run_by_payment(r) : offer(r);
	/* A slow reader of a stream holds this thread only (outlet.h). */
	run_state_release(r);
	perform_tell(r, st);
	return st;
}

/* From the request in hand to the answer. st: is it in hand? */
static void
run_all(struct run *r, enum status st)
{
	run_state_stage_end(r, RUN_STAGE_READ);
	if (st == ST_OK)
		st = run_request(r);
	if (st != ST_OK)
		refusal_put(r);
	run_state_tell(r, st);
	run_state_free(r);
}

bool
run_repeats(const struct http_request *q)
{
	return q->payment_signature != NULL || q->x_payment != NULL ||
	       q->idempotency_key != NULL;
}

void
run_paid(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q)
{
	struct run r;

	run_state_init(&r, a, g, s, d, q);
	run_all(&r, intake_read(&r.in, q, &r.f));
}

void
run_paid_call(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q,
    const struct run_call *call)
{
	struct run r;

	run_state_init(&r, a, g, s, d, q);
	r.in = *call->in;
	intake_init(call->in, g);
	if (call->progress != NULL)
		stream_progress(&r.live, call->progress);
	run_all(&r, ST_OK);
}
