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

/* Append the value of `payment`, from payer, amount, asset, network and
 * transaction. */
void result_put_payment(struct buf *out, const struct result *r);

/* Append the whole object. Errors stick in out; ST_BUG when a digest could not
 * be made. */
enum status result_put(struct buf *out, const struct result *r)
    __attribute__((warn_unused_result));

#endif
