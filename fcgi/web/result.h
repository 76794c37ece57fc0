/* The native dialect's answer: the object of api.md section 3. */
#ifndef RESULT_H
#define RESULT_H

#include "base/buf.h"
#include "base/status.h"
#include "base/wire.h"
#include "box/job.h"
#include "web/result_extras.h"
#include "web/site.h"

/* All that goes into it. Borrowed. */
struct result {
	const struct wire_result *end;
	const struct buf *streams; /* [0] stdout, [1] stderr: raw bytes */
	const struct result_extras *extras; /* what job asked for of them */
	const struct job *job;
	const struct site *site;
	const struct site_tier *tier;
	uint64_t price_micros; /* what amount is in dollars */
	const char *request_digest;
	const char *payer;  /* EIP-55 where EVM */
	const char *amount; /* as charged */
	const char *network;
	const char *asset;
	const char *transaction;
	uint64_t issued_at; /* Unix seconds */
};

/* "completed", "timeout" or "error", of how a program ended. */
const char *result_outcome(enum status end);

/* Append the value of `payment`, from payer, amount, asset, network and
 * transaction. */
void result_put_payment(struct buf *out, const struct result *r);

/* The output as it is told, well-formed UTF-8: [0] stdout, [1] stderr. Both are
 * the caller's to free, whatever comes back: ST_OK or the status of a buf. */
enum status result_text(struct buf out[2], const struct result *r)
    __attribute__((warn_unused_result));

/* Append the members `stdout` and `stderr`. */
void result_put_text(struct buf *out, const struct buf text[2]);

/* Append the signed receipt (api.md section 6). text: from result_text(); value
 * and outputs: the members `result` and `outputs` of the answer in their
 * canonical form, NULL for what was not asked for. Errors of writing stick in
 * out; ST_BUG when a digest could not be made. */
enum status result_put_receipt(struct buf *out, const struct result *r,
    const struct buf text[2], const struct buf *value,
    const struct buf *outputs) __attribute__((warn_unused_result));

/* Append the whole object. Errors stick in out; ST_BUG when a digest could not
 * be made. */
enum status result_put(struct buf *out, const struct result *r)
    __attribute__((warn_unused_result));

#endif
