/*
 * What became of a settlement whose answer was lost: the evidence is gathered
 * from the chain, where it can be read, else from the facilitator, weighed
 * (pay/evidence), and the row moved as it says. Thread-safe; but whoever works
 * on a payment here must have its turn in flight, or be alone with the ledger.
 */
#ifndef RECONCILE_H
#define RECONCILE_H

#include <stdint.h>

#include "base/conf.h"
#include "base/status.h"
#include "pay/evidence.h"
#include "pay/ledger.h"
#include "web/sites.h"

#define RECONCILE_WHY 256

struct reconcile;

/* All must outlive it. Opens the chains of the settings; asks nobody yet. */
enum status reconcile_open(struct reconcile **out, const struct conf *c,
    struct ledger *l, struct sites *s) __attribute__((warn_unused_result));
void reconcile_close(struct reconcile *r); /* NULL is fine */

struct reconcile_found {
	enum evidence_verdict verdict;
	bool soon;	   /* LIKELY, and only confirmations are missing */
	char *transaction; /* PAID: free it; else NULL */
	char why[RECONCILE_WHY];
};

/* Read the chain about a row that is UNKNOWN or FAILED, for wait_ms at most,
 * and move the row where that decides: PAID, it is SETTLED; NOT_PAID or SPENT,
 * FAILED; LIKELY, a FAILED one is UNKNOWN from now on. Else it stays as it is,
 * as does one whose key another payment has taken over. A network that cannot
 * be read gives EVIDENCE_NONE. ST_OK, or the ledger's trouble. */
enum status reconcile_read(struct reconcile *r, const char *identity,
    const struct ledger_row *row, int64_t wait_ms, struct reconcile_found *out)
    __attribute__((warn_unused_result));

/* The same for a row that is UNKNOWN, and nobody is waiting: where the chain
 * cannot be read the facilitator is asked by the identical call, until the
 * authorization is over. What stays UNKNOWN is noted with its next try. */
enum status reconcile_row(struct reconcile *r, const char *identity,
    const struct ledger_row *row, struct reconcile_found *out)
    __attribute__((warn_unused_result));

/* What is to be paid. Borrowed. */
struct reconcile_price {
	const char *network;
	const char *asset;
	const char *amount; /* atomic units */
};

enum reconcile_funds {
	RECONCILE_UNREAD, /* no chain, or it gave no sound answer */
	RECONCILE_ENOUGH,
	RECONCILE_SHORT
};

/* Is there a chain of that network to read? */
bool reconcile_reads(const struct reconcile *r, const char *network);
/* Does payer hold that much of the asset now? Waits at most wait_ms. */
enum reconcile_funds reconcile_look(struct reconcile *r, const char *payer,
    const struct reconcile_price *price, int64_t wait_ms);

#endif
