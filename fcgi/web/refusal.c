#include "web/refusal.h"

#include "web/answer.h"

static void
no_offer(struct run *r)
{
	const struct fault why = r->f;

	fault_set(&r->f, ST_REQUEST_NOT_FOUND,
	    "%s is not offered at this site; %s", r->q->path, why.message);
}

void
refusal_put(struct run *r)
{
	const struct answer_settlement settlement = {
		.version = r->version,
		.network = r->network,
		.payer = r->payer,
		.reason = r->reason,
		.transaction = "",
	};

	if (r->f.st == ST_OK)
		r->f.st = ST_BUG;
	if (r->given_up)
		return;
	/* Nobody is asked to pay, or to pay anew, for what is not sold. */
	if (!r->offered && (status_api(r->f.st)->http == 402 ||
			       r->f.st == ST_PAYMENT_MALFORMED))
		no_offer(r);
	if (status_api(r->f.st)->http != 402) {
		answer_error_as(r->a, &r->f, r->dialect->put_error);
		return;
	}
	answer_required(r->a, r->site,
	    r->tier != NULL ? r->tier : run_state_base(r), r->dialect, &r->f);
	if (r->f.st == ST_PAYMENT_SETTLEMENT_FAILED)
		answer_payment_response(r->a, r->site, r->q->path, &settlement);
}
