#include "web/leftover.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "web/flight.h"

enum status
leftover_mend(struct ledger *l, const char *identity, enum ledger_state *state)
{
	enum ledger_state then = *state;
	enum status st = ST_OK;

	if (*state == LEDGER_CLAIMED) {
		st = ledger_release(l, identity);
		then = LEDGER_STATE_MAX;
	} else if (*state == LEDGER_SETTLING) {
		st = ledger_unknown(l, identity, "left in settling");
		then = LEDGER_UNKNOWN;
	} else if (*state == LEDGER_RUNNING) {
		st = ledger_owed(l, identity);
		then = LEDGER_SETTLED;
	}
	if (st == ST_OK)
		*state = then;
	return st;
}

/* One row whose turn is ours. It may have moved on while we took it. */
static void
mend(struct context *g, const char *identity)
{
	struct ledger_row row = { .state = LEDGER_STATE_MAX };
	enum status st = ledger_look(g->ledger, identity, &row);
	enum ledger_state state = row.state;

	ledger_row_free(&row);
	if (st == ST_NOT_FOUND)
		return;
	if (st == ST_OK) {
		enum ledger_state was = state;

		st = leftover_mend(g->ledger, identity, &state);
		if (st == ST_OK && state != was)
			log_warn("%s was left %s by a write that failed; as "
				 "after a restart, it is %s now",
			    identity, ledger_state_name(was),
			    state == LEDGER_STATE_MAX
				? "released"
				: ledger_state_name(state));
	}
	if (st != ST_OK)
		log_err("%s was left %s by a write that failed, and still "
			"nothing can be written: %s",
		    identity, ledger_state_name(state), status_name(st));
}

static bool
take(void *ctx, const char *identity, const struct ledger_row *row)
{
	struct context *g = ctx;

	(void)row;
	if (flight_enter(g->flight, identity, 0, 0) == ST_OK) {
		mend(g, identity);
		flight_leave(g->flight, identity);
	}
	return true;
}

void
leftover_round(struct context *g)
{
	static const enum ledger_state middle[] = { LEDGER_CLAIMED,
		LEDGER_SETTLING, LEDGER_RUNNING };

	for (size_t i = 0; i < sizeof(middle) / sizeof(middle[0]); i++)
		if (ledger_list(g->ledger, middle[i], take, g) != ST_OK)
			log_warn("the ledger could not be looked through");
}

struct elsewhere {
	const char *site;
	uint64_t n;
	char other[256]; /* of the newest one */
};

/* One that was given up waits for a refund, wherever it is from. */
static bool
count(void *ctx, const char *identity, const struct ledger_row *row)
{
	struct elsewhere *e = ctx;

	(void)identity;
	if (row->starts >= LEDGER_STARTS || strcmp(row->site, e->site) == 0)
		return true;
	if (e->n++ == 0)
		snprintf(e->other, sizeof(e->other), "%s", row->site);
	return true;
}

uint64_t
leftover_elsewhere(struct ledger *l, const char *site)
{
	struct elsewhere e = { .site = site };

	if (ledger_list(l, LEDGER_UNKNOWN, count, &e) != ST_OK ||
	    ledger_list(l, LEDGER_SETTLED, count, &e) != ST_OK)
		log_warn("the ledger could not be looked through");
	if (e.n > 0)
		log_warn("payments that are unknown or owed at other sites "
			 "than %s: %llu, of %s for one; if that is what "
			 "public_url was before, their payers are refused "
			 "(409) until it is so again",
		    site, (unsigned long long)e.n, e.other);
	return e.n;
}
