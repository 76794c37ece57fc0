#include "web/refusal.h"

#include "web/answer.h"
#include "web/request.h"

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
	if (status_api(r->f.st)->http != 402) {
		answer_error_as(r->a, &r->f, r->dialect->put_error);
		return;
	}
	answer_required(r->a, r->site,
	    r->tier != NULL ? r->tier : request_base(r->dialect->form, r->site),
	    r->dialect, &r->f);
	if (r->f.st == ST_PAYMENT_SETTLEMENT_FAILED)
		answer_payment_response(r->a, r->site, r->q->path, &settlement);
}
