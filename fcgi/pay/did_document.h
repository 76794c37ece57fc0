/*
 * The documents that publish the keys: a DID document (did.json) and a JWK set
 * (jwks.json, RFC 7517), which list the same keys by the same names; and
 * finding a key in either.
 */
#ifndef DID_DOCUMENT_H
#define DID_DOCUMENT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "pay/edkey.h"
#include "pay/keyring.h"

struct cJSON;

/* Append the document of did. Errors stick in out. */
void did_document_put(
    struct buf *out, const char *did, const struct keyring *keys);
/* Append the same keys as a JWK set. */
void did_document_put_jwks(
    struct buf *out, const char *did, const struct keyring *keys);

/* The Ed25519 key called kid, in a DID document of the DID `did` or a JWK set,
 * whichever doc is. ST_OK; else f in words: ST_NOT_FOUND (no such key),
 * ST_FORMAT (neither of the two, or of another DID, or the key is no Ed25519
 * key). */
enum status did_document_find(uint8_t public[EDKEY_PUBLIC],
    const struct cJSON *doc, const char *did, const char *kid, struct fault *f)
    __attribute__((warn_unused_result));

#endif
