/*
 * Checking a receipt, as its holder does (api.md section 6): by what is in the
 * file, the issuer's published keys, and the request and answer if they are at
 * hand. Nothing in the file is trusted. Pure: no file, no network.
 */
#ifndef RECEIPT_CHECK_H
#define RECEIPT_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct cJSON;

struct receipt_check {
	struct cJSON *file;	     /* what was given */
	const struct cJSON *answer;  /* it, if it was a whole answer, or NULL */
	const struct cJSON *receipt; /* it, or its member */
	const char *issuer;	     /* the DID that the receipt names */
	const char *signature;
	char *kid; /* the key that the signature names: one of issuer's */
};

/* Take the text of a file: a receipt, an answer of /execute that holds one, or
 * either in base64url. Also judges the signature's header, which must be
 * exactly ours. ST_OK, for receipt_check_close(); else f says in plain words
 * what is wrong: ST_FORMAT (no receipt), ST_REFUSED (another header),
 * ST_NOMEM. */
enum status receipt_check_open(struct receipt_check *c, const char *text,
    size_t len, struct fault *f) __attribute__((warn_unused_result));
void receipt_check_close(struct receipt_check *c);

/* Is it signed with the key that it names? keys is the text of the issuer's
 * DID document or JWK set. ST_OK; ST_REFUSED: no; ST_NOT_FOUND: keys has no
 * such key; ST_FORMAT: keys is neither; ST_NOMEM. */
enum status receipt_check_signature(const struct receipt_check *c,
    const char *keys, size_t len, struct fault *f)
    __attribute__((warn_unused_result));

/* Is it the receipt of this request body? ST_OK or ST_REFUSED. */
enum status receipt_check_request(const struct receipt_check *c,
    const char *body, size_t len, struct fault *f)
    __attribute__((warn_unused_result));

/* Is it the receipt of this answer (NULL: of c->answer): output, value and
 * files, payment? ST_OK; ST_REFUSED; ST_FORMAT: that is no answer;
 * ST_NOMEM. */
enum status receipt_check_answer(const struct receipt_check *c,
    const char *text, size_t len, struct fault *f)
    __attribute__((warn_unused_result));

#endif
