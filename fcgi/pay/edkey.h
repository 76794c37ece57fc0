/*
 * Ed25519 keys (libcrypto): made, read and written as PEM, known by their JWK
 * thumbprint (RFC 7638). A key never changes after it was made, so threads may
 * share it.
 */
#ifndef EDKEY_H
#define EDKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

#define EDKEY_PUBLIC 32
#define EDKEY_SIGNATURE 64
#define EDKEY_ID 44   /* 43 characters of base64url, and a NUL */
#define EDKEY_PEM 256 /* bytes that any PEM text of a key takes at most */

struct edkey;

/* A new random pair. ST_OK, or ST_NOMEM. */
enum status edkey_make(struct edkey **out) __attribute__((warn_unused_result));

/* The key of a PEM text: a private one (PKCS#8), or a public one that only
 * checks. ST_OK; ST_FORMAT: no Ed25519 key is in it; ST_NOMEM. */
enum status edkey_read(struct edkey **out, const char *pem, size_t len)
    __attribute__((warn_unused_result));

/* Release, NULL is fine; libcrypto wipes the private half. */
void edkey_close(struct edkey *k);

/* Append as PEM. The private one only if there is one (else out gets ST_BUG);
 * out then holds a secret, which is the caller's to wipe. */
void edkey_put_private(struct buf *out, const struct edkey *k);
void edkey_put_public(struct buf *out, const struct edkey *k);

const uint8_t *edkey_public(const struct edkey *k); /* EDKEY_PUBLIC bytes */
const char *edkey_id(const struct edkey *k);	    /* the thumbprint */

/* ST_OK, or ST_BUG (a public key only, or libcrypto failed). */
enum status edkey_sign(uint8_t sig[EDKEY_SIGNATURE], const struct edkey *k,
    const void *data, size_t len) __attribute__((warn_unused_result));

/* Did the holder of public sign data? */
bool edkey_signed(const uint8_t public[EDKEY_PUBLIC], const void *data,
    size_t len, const uint8_t sig[EDKEY_SIGNATURE]);

#endif
