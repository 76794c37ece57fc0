/*
 * How a paid run goes. One struct holds all of it and one function undoes all
 * of it. Each step hands on or fills the fault; the order is api.md section 1:
 *
 *   read body -> payment header? -> decode, identity, signature
 *   -> one at a time per payment (flight) -> ledger look-up: a row decides
 *   -> body -> requirements, time window -> claim -> run slot -> settle
 *   -> run (its output told live, if asked for) -> answer kept -> answer sent
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
#include "pay/ledger.h"
#include "pay/x402.h"
#include "web/answer.h"
#include "web/flight.h"
#include "web/perform.h"
#include "web/quota.h"
#include "web/request.h"
#include "web/run_state.h"
#include "web/settle.h"

/* The claim must outlast what is still to come before settle is sent. */
#define WINDOW_MARGIN_S 4
/* A twin waits as long as the longest run it may be waiting for. */
#define TWIN_WAIT_MS 600000u

/* The requirement of the tier that the body asks for. */
static void
set_requirement(struct run *r, const struct site_tier *t)
{
	r->tier = t;
	accept_chosen(&r->req, &r->choice, t->price_micros);
	u256_text(r->price, &r->req.amount);
}

/* Step 4: decode; identity; signature. Needs the asset only that the payment
 * means, not the price, so the base tier stands in for it. */
static enum status
read_payment(struct run *r)
{
	bool v2 = r->q->payment_signature != NULL;
	enum status st;

	if (r->q->payment_repeated)
		return fault_set(&r->f, ST_PAYMENT_MALFORMED,
		    "%s is given more than once",
		    v2 ? "PAYMENT-SIGNATURE" : "X-PAYMENT");
	st = x402_payment_parse(&r->pay,
	    v2 ? r->q->payment_signature : r->q->x_payment, v2 ? 2 : 1, &r->f);
	if (st != ST_OK)
		return st;
	accept_choose(
	    &r->choice, &r->pay, r->site->accepts, r->site->n_accepts);
	set_requirement(r, &r->site->tiers[0]);
	if (r->pay.evm)
		eth_address_text(r->payer, &r->pay.auth.from);
	st = x402_identity(&r->identity, &r->pay, &r->req);
	if (st != ST_OK)
		return fault_set(&r->f, st, "identity");
	r->signature = x402_signature(&r->pay, &r->req, &r->f);
	return r->signature == X402_SIGNED_NO ? ST_PAYMENT_INVALID : ST_OK;
}

/* Only the holder of a payment gets what it bought. A signature that cannot be
 * checked here must at least be the very one that was claimed. */
static bool
same_holder(const struct run *r, const struct ledger_row *row)
{
	if (r->signature == X402_SIGNED_YES)
		return true;
	return row->settle_body != NULL && r->pay.raw_len > 0 &&
	       memmem(row->settle_body, row->settle_body_len, r->pay.raw,
		   r->pay.raw_len) != NULL;
}

static bool
same_request(const struct run *r, const struct ledger_row *row)
{
	return strcmp(row->site, r->site->conf.public_url) == 0 &&
	       strcmp(row->route, r->q->path) == 0 &&
	       strcmp(row->request_digest, r->in.digest) == 0;
}

static enum status
parse_body(struct run *r)
{
	const struct site_tier *tier = NULL;
	enum status st = request_parse(&r->job, &tier, r->site,
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

	if (st == ST_OK)
		st = quota_payer(r->g->quota, r->payer, r->q, &r->f);
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
	};
	enum status st;

	if (r->pay.evm && u256_fits64(&before, &r->pay.auth.valid_before))
		c.valid_before = before;
	st = ledger_claim(r->g->ledger, &c);
	if (st == ST_CONFLICT)
		return fault_set(&r->f, ST_PAYMENT_REPLAYED,
		    "this payment is being used by another request");
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	return ST_OK;
}

/* Room for the largest answer that this run may leave, held until it is kept:
 * an answer that was paid for must find its place (api.md section 10). */
static enum status
hold_answer(struct run *r)
{
	uint64_t worst = perform_answer_bytes(&r->job);
	uint64_t held;

	held = atomic_fetch_add(&r->g->answers_due, worst);
	r->answer_held = worst;
	if (held + worst + atomic_load(&r->g->answers_kept) >
	    r->g->conf->answer_bytes)
		return fault_set(&r->f, ST_SERVICE_BUSY,
		    "no room for another answer that would have to be kept");
	return ST_OK;
}

static enum status
reserve(struct run *r)
{
	enum status st = hold_answer(r);

	if (st != ST_OK)
		return st;
	st = client_reserve(
	    &r->slot, r->g->boxer, &r->job, r->g->conf->queue_ms, &r->f);
	if (st == ST_SERVICE_BUSY)
		return fault_set(&r->f, st,
		    "no run slot became free in time; repeat the same request "
		    "with the same payment");
	return st;
}

static enum status
settle(struct run *r, const char *body, size_t body_len, const char *amount,
    bool again)
{
	struct settle_ask ask = {
		.identity = buf_cstr(&r->identity),
		.body = body,
		.body_len = body_len,
		.payer = r->payer[0] == '\0' ? NULL : r->payer,
		.network = r->req.network,
		.network_v1 = x402_v1_name(r->req.network),
		.amount = amount,
		.other = r->other,
		.again = again,
		.call_us = &r->facilitator_us,
	};
	enum status st;

	r->settling = true;
	st = settle_payment(
	    &r->transaction, r->reason, r->g->ledger, r->by, &ask, &r->f);
	run_state_stage_end(r, RUN_STAGE_SETTLE);
	return st;
}

/* We hold the flight, so a row in the middle of something was left there by a
 * write that failed: read it as a restart would. */
static enum status
mend_row(struct run *r, struct ledger_row *row)
{
	const char *id = buf_cstr(&r->identity);
	enum status st = ST_OK;

	if (row->state == LEDGER_CLAIMED) {
		st = ledger_release(r->g->ledger, id);
		row->state = LEDGER_STATE_MAX;
	} else if (row->state == LEDGER_SETTLING) {
		st = ledger_unknown(r->g->ledger, id, "left in settling");
		row->state = LEDGER_UNKNOWN;
	} else if (row->state == LEDGER_RUNNING) {
		st = ledger_owed(r->g->ledger, id);
		row->state = LEDGER_SETTLED;
	}
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	return ST_OK;
}

/* Who has to be asked about a payment that was sent somewhere before: the very
 * same one, and no other. */
static enum status
same_facilitator(struct run *r, const struct ledger_row *row)
{
	r->by = sites_facilitator(r->g->sites, row->facilitator);
	if (r->by == NULL)
		r->by = r->choice.by;
	if (facilitator_down(r->by))
		return fault_set(&r->f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
		    "the facilitator cannot be reached; repeat the same "
		    "request with the same payment");
	return ST_OK;
}

/* Settle again what was unknown or refused: the identical call, and no new
 * look at price or clock but one: a refused payment past its time is over. */
static enum status
settle_row(struct run *r, const struct ledger_row *row)
{
	enum status st = ST_OK;

	if (row->state == LEDGER_FAILED)
		st = x402_window(&r->pay, (uint64_t)time(NULL), 0, &r->f);
	if (st != ST_OK)
		return st;
	return settle(r, row->settle_body, row->settle_body_len, row->amount,
	    row->tries > 0);
}

/* The stored answer, read only now that it is known to be due: it may be
 * large. */
static enum status
replay(struct run *r)
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
		perform_replay(r, &row);
	ledger_row_free(&row);
	return st;
}

/* The row of a payment that we know decides, whatever the body's price or the
 * clock say by now (api.md section 1, step 5). */
static enum status
run_known(struct run *r, struct ledger_row *row)
{
	enum status st = ST_BUG;

	if (!same_request(r, row))
		return fault_set(&r->f, ST_PAYMENT_REPLAYED,
		    "this payment was used for another request (another site, "
		    "route or body)");
	if (!same_holder(r, row))
		return fault_set(&r->f, ST_PAYMENT_INVALID,
		    "payload.signature is not the one this payment was made "
		    "with");
	snprintf(r->payer, sizeof(r->payer), "%s", row->payer);
	if (row->state == LEDGER_DONE)
		return replay(r);
	st = parse_body(r);
	run_state_stage_end(r, RUN_STAGE_PARSE);
	if (st == ST_OK && row->state != LEDGER_SETTLED)
		st = same_facilitator(r, row);
	if (st == ST_OK)
		st = reserve(r);
	run_state_stage_end(r, RUN_STAGE_RESERVE);
	if (st != ST_OK)
		return st;
	if (row->state == LEDGER_SETTLED)
		r->transaction = OWN_STEAL(row->transaction);
	else
		st = settle_row(r, row);
	return st == ST_OK ? perform(r, row->amount) : st;
}

/* Steps 6 to 8 for a payment never seen before. */
static enum status
run_new(struct run *r)
{
	enum status st = parse_body(r);

	run_state_stage_end(r, RUN_STAGE_PARSE);
	if (st != ST_OK)
		return st;
	st = check_payment(r);
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
	st = settle(
	    r, buf_cstr(&r->settle_body), r->settle_body.len, r->price, false);
	if (st != ST_OK)
		return st;
	return perform(r, r->price);
}

static enum status
run_in_turn(struct run *r)
{
	struct ledger_row row = { .state = LEDGER_STATE_MAX };
	enum status st;

	st = flight_enter(r->g->flight, buf_cstr(&r->identity), TWIN_WAIT_MS);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_BUSY,
		    "too many requests wait for runs already under way");
	r->in_flight = true;
	st = ledger_look(r->g->ledger, buf_cstr(&r->identity), &row);
	run_state_stage_end(r, RUN_STAGE_CHECK);
	if (st == ST_OK)
		st = mend_row(r, &row);
	else if (st != ST_NOT_FOUND)
		fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	if (st == ST_NOT_FOUND ||
	    (st == ST_OK && row.state == LEDGER_STATE_MAX))
		st = run_new(r);
	else if (st == ST_OK)
		st = run_known(r, &row);
	ledger_row_free(&row);
	return st;
}

/* A payment whose signature holds may wait for its twin, a slot or the
 * facilitator, but not all threads at once: 402s and /health stay quick. */
static enum status
run_payment(struct run *r)
{
	enum status st = read_payment(r);

	if (st != ST_OK)
		return st;
	if (atomic_fetch_add(&r->g->paying, 1) >= r->g->max_paying)
		st = fault_set(&r->f, ST_SERVICE_BUSY,
		    "too many requests wait for a run; nothing was charged "
		    "for this one");
	else
		st = run_in_turn(r);
	/* A slow reader of a stream holds this thread only, but it counts. */
	run_state_release(r);
	perform_tell(r, st);
	atomic_fetch_sub(&r->g->paying, 1);
	return st;
}

/* A refusal in its right form: 402s carry the requirements, a failed
 * settlement the payment response too. */
static void
refuse(struct run *r)
{
	const struct answer_settlement settlement = {
		.version = r->pay.version,
		.network = r->req.network,
		.payer = r->payer,
		.reason = r->reason,
		.transaction = "",
	};

	if (r->f.st == ST_OK)
		r->f.st = ST_BUG;
	if (status_api(r->f.st)->http != 402) {
		answer_error(r->a, &r->f);
		return;
	}
	answer_required(r->a, r->site,
	    r->tier != NULL ? r->tier : &r->site->tiers[0], r->q->path, &r->f);
	if (r->f.st == ST_PAYMENT_SETTLEMENT_FAILED)
		answer_payment_response(r->a, r->site, r->q->path, &settlement);
}

/* Step 3: what to pay, whatever the body holds. */
static void
offer(struct run *r)
{
	if (quota_address(r->g->quota, r->q, &r->f) == ST_OK) {
		r->tier = request_price(
		    r->site, buf_cstr(&r->in.body), r->in.body.len);
		fault_set(&r->f, ST_PAYMENT_REQUIRED, "Payment required");
	}
	refuse(r);
}

void
run_paid(struct http_reply *a, struct context *g, const struct site *s,
    const struct http_request *q)
{
	struct run r;
	enum status st;

	run_state_init(&r, a, g, s, q);
	st = intake_read(&r.in, q, &r.f);
	run_state_stage_end(&r, RUN_STAGE_READ);
	if (st == ST_OK && q->payment_signature == NULL &&
	    q->x_payment == NULL) {
		offer(&r);
	} else {
		if (st == ST_OK)
			st = run_payment(&r);
		if (st != ST_OK)
			refuse(&r);
		run_state_log(&r, st);
	}
	run_state_free(&r);
}
