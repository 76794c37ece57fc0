#include "web/turn.h"

#include <stdatomic.h>

#include "web/flight.h"
#include "web/leftover.h"

enum status
turn_key(struct run *r)
{
	enum status st = ST_BUG;

	if (!r->keyed)
		return ST_OK;
	st = flight_enter(
	    r->g->flight, r->key_turn, FLIGHT_TWIN_WAIT_MS, r->in.charged);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_BUSY,
		    "too many requests wait for runs already under way");
	r->in_key_turn = true;
	return ST_OK;
}

/* We hold the flight, so nobody else is at work on the row. */
static enum status
mend_row(struct run *r)
{
	if (leftover_mend(
		r->g->ledger, buf_cstr(&r->identity), &r->row.state) != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	return ST_OK;
}

/* A payment whose signature holds may wait for a slot or the facilitator, but
 * not all threads at once: 402s and /health stay quick. */
static enum status
count(struct run *r)
{
	if (r->working)
		return ST_OK;
	r->working = true;
	if (atomic_fetch_add(&r->g->paying, 1) >= r->g->max_paying)
		return fault_set(&r->f, ST_SERVICE_BUSY,
		    "too many requests wait for a run; %s",
		    r->row.state == LEDGER_STATE_MAX
			? "nothing was charged for this one"
			: "repeat the same request with the same payment");
	return ST_OK;
}

enum status
turn_take(struct run *r)
{
	enum status st;

	ledger_row_free(&r->row);
	r->row.state = LEDGER_STATE_MAX;
	st = flight_enter(r->g->flight, buf_cstr(&r->identity),
	    FLIGHT_TWIN_WAIT_MS, r->in.charged);
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_BUSY,
		    "too many requests wait for runs already under way");
	r->in_flight = true;
	st = ledger_look(r->g->ledger, buf_cstr(&r->identity), &r->row);
	run_state_stage_end(r, RUN_STAGE_CHECK);
	if (st == ST_NOT_FOUND) {
		r->row.state = LEDGER_STATE_MAX;
		return count(r);
	}
	if (st != ST_OK)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
	/* An answer that is there is only sent. */
	st = r->row.answer_http != 0 ? ST_OK : count(r);
	return st == ST_OK ? mend_row(r) : st;
}
