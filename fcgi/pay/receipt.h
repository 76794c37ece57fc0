/*
 * The receipt of api.md section 6, signed. Written in JCS order, so that the
 * text is its own canonical form, and what is signed is that text without the
 * member `signature`.
 */
#ifndef RECEIPT_H
#define RECEIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/status.h"
#include "pay/edkey.h"

/* All text borrowed, well-formed UTF-8. */
struct receipt {
	const char *request_digest;
	const char *output_digest;
	const char *extras_digest; /* NULL: neither value nor files asked for */
	const char *payer;
	const char *amount;
	const char *asset;
	const char *network;
	const char *reference; /* the transaction */
	uint64_t price_micros;
	const char *tier;
	struct limits limits;
	const char *outcome;
	uint64_t duration_tenths; /* of a millisecond's tenth: 123 = 12.3 ms */
	bool exited;
	int exit_code; /* only if exited */
	bool truncated_stdout, truncated_stderr;
	enum status status; /* of the run: ST_OK or one of its ends */
	const char *runtime;
	uint64_t issued_at; /* Unix seconds */
	const char *issuer; /* DID */
};

/* Append r, signed with key. Errors stick in out. */
void receipt_put(
    struct buf *out, const struct receipt *r, const struct edkey *key);

/* outputDigest: SHA-256 of the JCS form of exitCode, outcome, stderr, stdout,
 * truncated. Streams are given as they are returned (mended UTF-8). */
enum status receipt_output_digest(char out[65], const struct receipt *r,
    const char *out_text, size_t out_len, const char *err_text, size_t err_len)
    __attribute__((warn_unused_result));

/* extrasDigest: SHA-256 of the JCS form of outputs and result, each given in
 * that form; NULL: it was not asked for. ST_OK or the status of a buf. */
enum status receipt_extras_digest(char out[65], const struct buf *outputs,
    const struct buf *result) __attribute__((warn_unused_result));

#endif
