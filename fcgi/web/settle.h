/* Settling one claimed payment and what its outcome means (api.md section 10,
 * "Settlement's outcome"). Between web/run.c and the facilitator. */
#ifndef SETTLE_H
#define SETTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/ledger.h"
#include "web/site.h"

/* What was asked, to hold the answer against. Borrowed. */
struct settle_ask {
	const char *identity;
	const char *body; /* the exact bytes that the claim keeps */
	size_t body_len;
	const char *payer;	/* NULL: not known before settling */
	const char *network;	/* CAIP-2 */
	const char *network_v1; /* or NULL */
	const char *asset;
	const char *amount;
	/* Whom to take if nothing can be sent to the first one, or NULL: only
	 * where nothing was sent before. */
	struct facilitator *other;
	bool again;	  /* it was sent before, and that may have worked */
	bool refused;	  /* and the last word on it was a definite refusal */
	bool first;	  /* none was sent before: the ledger keeps its end */
	int64_t *call_us; /* out: what the facilitator's call took */
	bool chain;	  /* what became of it can be read there */
	bool *look;	  /* out: nobody but the chain can tell; look at once */
};

/* Move the row through SETTLING to its next state. ST_OK: SETTLED, with the
 * transaction (free it). Else f, for the caller, is one of
 * ST_PAYMENT_SETTLEMENT_FAILED (definite), ST_PAYMENT_REPLAYED (its nonce was
 * used elsewhere, and no chain can be asked by whom),
 * ST_PAYMENT_SETTLEMENT_INDETERMINATE,
 * ST_PAYMENT_FACILITATOR_UNAVAILABLE or ST_SERVICE_INTERNAL_FAILURE (ledger);
 * reason is then the facilitator's own word, for the payment response. */
enum status settle_payment(char **transaction, char reason[FACILITATOR_REASON],
    struct ledger *l, struct facilitator *fac, const struct settle_ask *ask,
    struct fault *f) __attribute__((warn_unused_result));

/* Ask fac's verify, or other's (may be NULL) if that one gives no verdict,
 * about a payment that cannot be decided here (or where the settings want it).
 * payer, room for cap bytes, gets the payer as told where it is "" yet. ST_OK:
 * valid. Else as api.md section 7. */
enum status settle_verify(char *payer, size_t cap, struct facilitator *fac,
    struct facilitator *other, const char *body, size_t body_len,
    struct fault *f) __attribute__((warn_unused_result));

#endif
