#include "web/identify.h"

#include "base/own.h"
#include "pay/ledger.h"
#include "pay/x402.h"

#define PART 256

static enum status
trouble(struct run *r, const char *what)
{
	return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "%s", what);
}

/* The asset that it was sold for may be accepted no more, or stand behind
 * another one by now. */
static enum status
look_for(struct run *r)
{
	OWN_BUF struct buf head, tail;
	OWN_FREE char *known = NULL;
	enum status st = ST_BUG;

	buf_init(&head, PART);
	buf_init(&tail, PART);
	st = x402_identity_around(&head, &tail, &r->pay, &r->req);
	if (st == ST_OK)
		st = ledger_find_around(
		    r->g->ledger, buf_cstr(&head), buf_cstr(&tail), &known);
	if (st == ST_NOT_FOUND)
		return ST_OK;
	if (st != ST_OK)
		return trouble(r, "ledger");
	buf_clear(&r->identity);
	buf_adds(&r->identity, known);
	return buf_status(&r->identity) == ST_OK ? ST_OK : trouble(r, "memory");
}

enum status
identify_payment(struct run *r)
{
	const struct x402_payment *p = &r->pay;

	buf_clear(&r->identity);
	if (x402_identity(&r->identity, p, &r->req) != ST_OK)
		return trouble(r, "identity");
	if (p->version == 1 && p->evm && r->signature != X402_SIGNED_YES)
		return look_for(r);
	return ST_OK;
}
