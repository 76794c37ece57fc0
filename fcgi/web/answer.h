/* Answers that are not a run's result: errors, the 402, what is stored. */
#ifndef ANSWER_H
#define ANSWER_H

#include "base/status.h"
#include "pay/ledger.h"
#include "web/http.h"
#include "web/site.h"

struct dialect;

/* The object of api.md section 7: {"code","message","billable","category"}.
 * message NULL means the one of f. */
void answer_put_error(struct buf *out, const struct fault *f);

/* Any refusal but a 402. f->st may be an internal status: its text is then
 * replaced, so that nothing of ours leaks. */
void answer_error(struct http_reply *a, const struct fault *f);

/* The same with a body that put writes; NULL: ours. */
void answer_error_as(struct http_reply *a, const struct fault *f,
    void (*put)(struct buf *out, const struct fault *f));

/* A 402 for tier t of dialect d: v2 object in the header, where something can
 * be paid in v2; v1 object in the body with the error under details. f->st
 * ST_PAYMENT_REQUIRED when nothing was paid; where nothing can be sold then, it
 * is a 503 instead: nobody shall sign what nobody settles. */
void answer_required(struct http_reply *a, const struct site *s,
    const struct site_tier *t, const struct dialect *d, const struct fault *f);

/* The 503 while no facilitator offers what the site takes; d as for
 * answer_error_as(), or NULL. */
void answer_unsold(struct http_reply *a, const struct dialect *d);

/* How a payment was settled. Borrowed. */
struct answer_settlement {
	int version;	     /* 1 or 2, as it was paid */
	const char *network; /* CAIP-2 */
	const char *payer;   /* "" if it is not known */
	const char *reason;  /* of a failure; NULL: it succeeded */
	const char *transaction;
	uint64_t issued_at; /* Unix seconds: of the extension's receipt */
};

/* The payment response header in the version paid, after a success with the
 * extension's signed receipt for path. Equal settlements give equal bytes. */
void answer_payment_response(struct http_reply *a, const struct site *s,
    const char *path, const struct answer_settlement *t);

/* The stored answer again, byte for byte, marked as replayed. */
void answer_replay(struct http_reply *a, const struct ledger_row *row);

#endif
