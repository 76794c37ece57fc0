#include "web/resume.h"

#include <stdio.h>

#include "base/log.h"
#include "pay/price.h"
#include "web/reconcile.h"
#include "web/request.h"

#define WAIT_MS 5000

/* What the body asks for was there when it was paid for; the settings have
 * changed since. */
static enum status
missing(struct run *r)
{
	const struct fault why = r->f;

	return fault_set(&r->f, ST_SANDBOX_UNAVAILABLE,
	    "this run was sold and cannot be had now, since the service is set "
	    "up otherwise (%s); the payment stays good: repeat the same "
	    "request with the same payment, it is not charged again",
	    why.message);
}

enum status
resume_parse(struct run *r, const struct ledger_row *row)
{
	const struct site *s = r->site;
	const struct buf *body = &r->in.body;
	enum status st = request_read(&r->job, &r->tier, r->dialect->form, s,
	    buf_cstr(body), body->len, false, &r->f);

	if (st != ST_OK && s->whole != NULL)
		st = request_read(&r->job, &r->tier, r->dialect->form, s->whole,
		    buf_cstr(body), body->len, false, &r->f);
	/* A refusal is the truth where no money moved, but nowhere else. */
	if (st != ST_OK && row->state != LEDGER_FAILED &&
	    (status_api(st)->http == 400 || st == ST_REQUEST_NOT_FOUND))
		return missing(r);
	if (st != ST_OK)
		return st;
	/* An asset that is accepted no more may have had other decimals. */
	if (price_micros(&r->price_micros, row->amount,
		r->choice.accept->decimals) != ST_OK)
		r->price_micros = r->tier->price_micros;
	return ST_OK;
}

enum status
resume_facilitator(struct run *r, const struct ledger_row *row)
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

/* No money moved with this payment, and none can: a new one is in order. */
static enum status
over(struct run *r, const struct reconcile_found *found)
{
	snprintf(r->reason, sizeof(r->reason), "authorization_over");
	return fault_set(&r->f, ST_PAYMENT_SETTLEMENT_FAILED,
	    "nothing was charged, and this payment can be charged no more: %s",
	    found->why);
}

enum status
resume_evidence(struct run *r, const struct ledger_row *row)
{
	struct reconcile_found found;
	enum status st = reconcile_read(
	    r->g->reconcile, buf_cstr(&r->identity), row, WAIT_MS, &found);

	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	switch (found.verdict) {
	case EVIDENCE_PAID:
		r->transaction = found.transaction;
		return ST_OK;
	case EVIDENCE_NOT_PAID:
		return over(r, &found);
	case EVIDENCE_SPENT:
		return fault_set(&r->f, ST_PAYMENT_REPLAYED, "%s", found.why);
	case EVIDENCE_LIKELY:
		/* Asking anybody else would only bring a worse answer. And one
		 * that was FAILED is so no more: neither its time window nor a
		 * refusal may be told of it now. */
		if (found.soon || row->state == LEDGER_FAILED)
			return fault_set(&r->f,
			    ST_PAYMENT_SETTLEMENT_INDETERMINATE,
			    "%s; repeat the same request with the same "
			    "payment, do not sign a new one",
			    found.why);
		break;
	case EVIDENCE_OPEN:
	case EVIDENCE_NONE:
	case EVIDENCE_VERDICT_MAX:
		break;
	}
	return ST_OK;
}

enum status
resume_spent(struct run *r)
{
	struct ledger_row row = { .state = LEDGER_STATE_MAX };
	const struct fault told = r->f;
	enum status st =
	    ledger_look(r->g->ledger, buf_cstr(&r->identity), &row);

	if (st == ST_OK)
		st = resume_evidence(r, &row);
	else
		fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	ledger_row_free(&row);
	if (st != ST_OK)
		return st;
	if (r->transaction == NULL) {
		r->f = told;
		return told.st;
	}
	log_warn("%s was paid by a call that was not ours: %s; another ledger "
		 "with the same payee would have sold for it too",
	    buf_cstr(&r->identity), r->transaction);
	r->f = (struct fault){ .st = ST_OK };
	r->reason[0] = '\0';
	return ST_OK;
}
