/* The caller is back with a payment on record that has no answer yet. */
#ifndef RESUME_H
#define RESUME_H

#include "pay/ledger.h"
#include "web/run_state.h"

/* The body was good when it was claimed: r->job, and r->tier, which may be
 * offered here no more; r->price_micros is what the row says. ST_OK, or r->f:
 * ST_SANDBOX_UNAVAILABLE where the settings have nothing left to run it. */
enum status resume_parse(struct run *r, const struct ledger_row *row)
    __attribute__((warn_unused_result));

/* Who has to be asked about a payment that was sent somewhere before: the very
 * same one, and no other. ST_OK: it is r->by;
 * ST_PAYMENT_FACILITATOR_UNAVAILABLE with r->f. */
enum status resume_facilitator(struct run *r, const struct ledger_row *row)
    __attribute__((warn_unused_result));

/* The settlement failed or is unknown: first of all, what does the chain say?
 * Seconds at most, where the chain can be read. ST_OK: with r->transaction, the
 * row is SETTLED; without, nothing is decided and settling again is right. Else
 * r->f, and r->reason for the payment response. */
enum status resume_evidence(struct run *r, const struct ledger_row *row)
    __attribute__((warn_unused_result));

/* A first settle left the row UNKNOWN (r->f) since the nonce is used, or the
 * transaction is another payment's: by whom, and since when, says the chain?
 * What we had claimed a stranger may have handed in. ST_OK: with
 * r->transaction, the row is SETTLED. Else r->f: as it was, as long as the row
 * stays UNKNOWN. */
enum status resume_spent(struct run *r) __attribute__((warn_unused_result));

#endif
