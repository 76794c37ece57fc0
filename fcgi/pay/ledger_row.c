#include <stdlib.h>
#include <string.h>

#include "pay/ledger.h"

void
ledger_row_free(struct ledger_row *r)
{
	if (r == NULL)
		return;
	free(r->site);
	free(r->route);
	free(r->request_digest);
	free(r->payer);
	free(r->network);
	free(r->asset);
	free(r->pay_to);
	free(r->amount);
	free(r->facilitator);
	free(r->settle_body);
	free(r->transaction);
	free(r->reason);
	free(r->identifier);
	free(r->answer_headers);
	free(r->answer_body);
	memset(r, 0, sizeof(*r));
}
