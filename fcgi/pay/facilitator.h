/*
 * verify, settle and supported of an x402 facilitator (x402.md 3), by
 * pay/fetch. Thread-safe. Answers are capped; redirects are followed by hand
 * (307, 308 only); anything odd fails closed.
 */
#ifndef FACILITATOR_H
#define FACILITATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/conf.h"
#include "base/status.h"

#define FACILITATOR_ANSWER_BYTES (256u << 10)
#define FACILITATOR_REASON 128

struct facilitator;

/* One per configured facilitator; c must outlive it. */
enum status facilitator_open(struct facilitator **out,
    const struct conf_facilitator *c) __attribute__((warn_unused_result));
void facilitator_close(struct facilitator *f);

enum facilitator_verdict {
	FACILITATOR_YES,
	FACILITATOR_NO,		/* a definite refusal, reason says why */
	FACILITATOR_NOT_SENT,	/* provably nothing of the request was sent */
	FACILITATOR_NO_SERVICE, /* 401, 403, 404, 413, 429: no verdict */
	FACILITATOR_UNKNOWN,	/* anything else: may have happened */
	FACILITATOR_VERDICT_MAX
};

struct facilitator_answer {
	enum facilitator_verdict verdict;
	char reason[FACILITATOR_REASON]; /* printable ASCII of invalidReason or
					  * errorReason, or our own words */
	char *transaction; /* settle: as told, "" if none; owned */
	char *network;	   /* as told or NULL; owned */
	char *payer;	   /* as told or NULL; owned */
	char *amount;	   /* as told or NULL; owned */
	long http;	   /* status, 0 if none */
};
void facilitator_answer_free(struct facilitator_answer *a);

/* Does a settle's NO say that the payment's nonce is used? Definite only if we
 * never sent a settle for this payment before; else the earlier one may be
 * what used it, and the outcome is unknown (x402.md 3.8). */
bool facilitator_reason_spent(const char *reason);

/* POST body to BASE/verify. Never throws doubt at money: UNKNOWN here only
 * means "no verdict". ST_OK with *out filled (zeroed first), ST_NOMEM
 * (nothing was sent), ST_BUG. */
enum status facilitator_verify(struct facilitator *f, const char *body,
    size_t len, struct facilitator_answer *out)
    __attribute__((warn_unused_result));

/* POST body to BASE/settle. The verdict follows api.md section 10: YES needs
 * 2xx, success true and a transaction; NO needs success false, no transaction
 * and a reason that is none of the unknown ones (x402.md 3.8). Whether the
 * told payer, network and amount agree with what was asked is the caller's to
 * compare. One automatic repeat of the identical body for settlement_pending
 * with a transaction (x402.md 3.3), within the same timeout_ms. Not ST_OK:
 * nothing was sent. */
enum status facilitator_settle(struct facilitator *f, const char *body,
    size_t len, struct facilitator_answer *out)
    __attribute__((warn_unused_result));

/* GET BASE/supported: does it offer (version, scheme, network)? ST_OK with
 * *offered, or ST_UNKNOWN when it could not be asked. */
enum status facilitator_supported(struct facilitator *f, int version,
    const char *scheme, const char *network, bool *offered)
    __attribute__((warn_unused_result));

#endif
