#include "web/standing.h"

#include "base/log.h"
#include "pay/ledger.h"
#include "web/quota.h"
#include "web/reconcile.h"

/* A slow node makes strangers wait, and nobody else. */
#define WAIT_MS 2000

/* No limit of an address holds for what is on record. */
static bool
is_new(const struct run *r)
{
	return r->row.state == LEDGER_STATE_MAX;
}

/* What does he hold? A node that cannot tell leaves him a stranger. */
static enum status
look(struct run *r)
{
	const struct reconcile_price price = { .network = r->req.network,
		.asset = r->req.asset,
		.amount = r->price };
	enum reconcile_funds funds;
	enum status st;

	if (!reconcile_reads(r->g->reconcile, price.network))
		return ST_OK;
	st = quota_verify(r->g->quota, NULL, &r->f);
	if (st != ST_OK)
		return st;
	funds = reconcile_look(r->g->reconcile, r->payer, &price, WAIT_MS);
	quota_verified(r->g->quota);
	if (funds == RECONCILE_SHORT)
		return fault_set(&r->f, ST_PAYMENT_AMOUNT_INSUFFICIENT,
		    "the payer holds less than the price");
	r->vouched = funds == RECONCILE_ENOUGH;
	return ST_OK;
}

enum status
standing_take(struct run *r)
{
	struct ledger_payer who;
	enum status st = ledger_payer(r->g->ledger, r->payer, &who);

	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	/* Else who pays once could have all that was refused of him settled at
	 * once, as often as he likes. */
	if ((who.good && r->row.state != LEDGER_FAILED) || r->vouched)
		return ST_OK;
	/* What is on record may have been paid with his last money. */
	if (is_new(r) && quota_wary(r->g->quota))
		st = look(r);
	if (st != ST_OK || r->vouched)
		return st;
	st = quota_stranger(r->g->quota, is_new(r) ? r->q : NULL, &r->f);
	r->stranger = st == ST_OK;
	return st;
}

static void
leave(struct run *r, bool refused)
{
	if (r->stranger)
		quota_stranger_leave(
		    r->g->quota, is_new(r) ? r->q : NULL, refused);
	r->stranger = false;
}

void
standing_settled(struct run *r, enum status st)
{
	bool refused =
	    st == ST_PAYMENT_SETTLEMENT_FAILED || st == ST_PAYMENT_REPLAYED;

	if (st == ST_OK)
		room_paid(r->g->room, &r->room);
	if (refused && !r->stranger && r->payer[0] != '\0' &&
	    ledger_doubt(r->g->ledger, r->payer) == ST_IO)
		log_warn("ledger: cannot note the refusal of %s", r->payer);
	leave(r, refused);
}

void
standing_leave(struct run *r)
{
	leave(r, false);
}
