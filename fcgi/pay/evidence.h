/*
 * What is known of a settlement whose outcome was lost, weighed: one table, no
 * clock and no network (api.md section 10, x402.md 3.4). "Not paid" is said
 * only where no money can move any more: a caller who is told so signs anew.
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "pay/chain.h"
#include "pay/ledger.h"

/* After the end of an authorization a facilitator is asked so much longer. */
#define EVIDENCE_MARGIN_S 120

/* What the facilitator answered to the identical call made again. */
enum evidence_said {
	EVIDENCE_SAID_NOTHING, /* was not asked, or gave no verdict */
	EVIDENCE_SAID_PAID,    /* and names the transaction */
	EVIDENCE_SAID_SPENT,   /* the nonce is used: by our first call? */
	EVIDENCE_SAID_NO,      /* after a first call that proves nothing */
	EVIDENCE_SAID_MAX
};

struct evidence {
	enum evidence_said said;
	const struct chain_sight *sight; /* NULL: no chain can be read */
	enum ledger_first first;
	uint64_t claimed;      /* Unix seconds, all of them */
	uint64_t valid_before; /* 0: unknown */
	uint64_t now;
};

enum evidence_verdict {
	EVIDENCE_PAID,	   /* the transaction is the chain's, if it says so,
			    * else the facilitator's */
	EVIDENCE_NOT_PAID, /* nor ever will be: FAILED */
	EVIDENCE_SPENT,	   /* the nonce paid for something else: FAILED */
	EVIDENCE_OPEN,	   /* read: nothing has happened, all still may */
	EVIDENCE_LIKELY,   /* used, but what for is not proved (yet) */
	EVIDENCE_NONE,	   /* nothing is known */
	EVIDENCE_VERDICT_MAX
};

/* *why (may be NULL) is a phrase for the operator and the caller. */
enum evidence_verdict evidence_weigh(
    const struct evidence *e, const char **why);

/* Is it settled which of the states the row has to leave UNKNOWN for? */
bool evidence_decides(enum evidence_verdict v);

#define EVIDENCE_NEVER UINT64_MAX

/* When to look again at what the verdict leaves unknown: sooner in the
 * beginning, EVIDENCE_NEVER where nothing new can come. */
uint64_t evidence_next(const struct evidence *e, enum evidence_verdict v);

#endif
