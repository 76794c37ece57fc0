/*
 * verify, settle and supported of an x402 facilitator (x402.md 3), by
 * pay/fetch. Thread-safe. Answers are capped; redirects are followed by hand
 * (307, 308 only); anything odd fails closed.
 *
 * Whether it is there at all is known from two sides: from its list of what it
 * offers (/supported, asked at the start and now and then), and from a circuit
 * breaker over its calls (pay/breaker.h). While the circuit is open every call
 * ends at once as FACILITATOR_NOT_SENT.
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

/* One per configured facilitator; c must outlive it. Asks nothing. ST_OK;
 * ST_FORMAT: a secret of the settings is ill-formed (logged); ST_NOMEM. */
enum status facilitator_open(struct facilitator **out,
    const struct conf_facilitator *c) __attribute__((warn_unused_result));
/* Also ends the watch. NULL is fine. */
void facilitator_close(struct facilitator *f);

/* Ask for its list now, and from now on in a thread of its own: every
 * refresh_s seconds, sooner while it cannot be had or the circuit is open. What
 * changes is logged, once. ST_OK, ST_NOMEM. */
enum status facilitator_watch(struct facilitator *f)
    __attribute__((warn_unused_result));
/* Wait until the first look of the watch is over, or deadline_ms (io_now_ms())
 * is. */
void facilitator_await(struct facilitator *f, int64_t deadline_ms);

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

/* GET BASE/supported and keep what it says; if it cannot be had, the old list
 * stays, and why says in plain words what is wrong (name, TLS, HTTP status).
 * ST_OK or ST_UNKNOWN. */
enum status facilitator_refresh(struct facilitator *f, struct fault *why)
    __attribute__((warn_unused_result));

/* Keep a /supported answer that somebody else has fetched. ST_OK; ST_FORMAT: it
 * is none; ST_NOMEM. */
enum status facilitator_learn(struct facilitator *f, const char *body,
    size_t len) __attribute__((warn_unused_result));

/* Has it ever told what it offers? Before that it counts as offering nothing:
 * nobody shall sign what nobody may be able to settle. */
bool facilitator_known(struct facilitator *f);

/* Does it offer this, by its last list? extra and its lifetime: see
 * pay/facilitator_kinds.h. */
bool facilitator_offers(struct facilitator *f, int version, const char *scheme,
    const char *network, const char **extra);
/* Number i of the values of extra that offers were ever made with, or NULL. */
const char *facilitator_extra(struct facilitator *f, int version,
    const char *scheme, const char *network, size_t i);

/* Is its circuit open? Then nothing is sent to it. */
bool facilitator_down(struct facilitator *f);

enum facilitator_call {
	FACILITATOR_VERIFY,
	FACILITATOR_SETTLE,
	FACILITATOR_CALL_MAX
};

/* How many calls have ended so, those included that were not sent. */
uint64_t facilitator_calls(const struct facilitator *f,
    enum facilitator_call call, enum facilitator_verdict verdict);

const struct conf_facilitator *facilitator_conf(const struct facilitator *f);

#endif
