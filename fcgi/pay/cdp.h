/*
 * The authentication of Coinbase's CDP facilitator (x402.md 3.6): a JWT for
 * each call, signed with the operator's API key, EdDSA (Ed25519) or ES256
 * (P-256) as the key is. libcrypto signs. Thread-safe once open.
 */
#ifndef CDP_H
#define CDP_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

#define CDP_TOKEN_S 120	     /* a token's life */
#define CDP_KEY_BYTES 8192   /* of the key's file */
#define CDP_TOKEN_BYTES 4096 /* the most that a token takes */

struct cdp;

/* Read a key: the JSON file as CDP's portal hands it out, {"id" or "name": the
 * key's id, "privateKey": base64 of 64 bytes (Ed25519) or PEM of a P-256
 * key}. ST_OK; ST_FORMAT with f in words that hold nothing of the key;
 * ST_NOMEM. f may be NULL. */
enum status cdp_open(struct cdp **out, const char *text, size_t len,
    struct fault *f) __attribute__((warn_unused_result));
void cdp_close(struct cdp *c); /* wipes; NULL is fine */

/* Append the token for one call: method "POST", place its host and path
 * without scheme and query ("api.cdp.coinbase.com/platform/v2/x402/settle"),
 * now in Unix seconds. ST_OK, ST_BUG (libcrypto), or the status of out. */
enum status cdp_token(struct buf *out, const struct cdp *c, const char *method,
    const char *place, uint64_t now) __attribute__((warn_unused_result));

#endif
