/*
 * JSON Web Signatures in the compact form (RFC 7515, RFC 8037), EdDSA only.
 * The key is named by a DID URL: the issuer's DID, '#', the key's thumbprint.
 */
#ifndef JWS_H
#define JWS_H

#include <stddef.h>

#include "base/buf.h"
#include "pay/edkey.h"

#define JWS_RECEIPT_TYPE "tollbox-receipt"

/* Append the key's DID URL. */
void jws_put_kid(struct buf *out, const char *did, const struct edkey *k);

/* Append "header.payload.signature", header {"alg","kid"}, as the x402
 * extension wants it. Errors stick in out. */
void jws_put(struct buf *out, const struct edkey *k, const char *did,
    const void *payload, size_t len);

/* Append "header..signature" over the payload, which travels elsewhere (RFC
 * 7515, Appendix F), header {"alg","kid","typ"}. Errors stick in out. */
void jws_put_detached(struct buf *out, const struct edkey *k, const char *did,
    const char *type, const void *payload, size_t len);

#endif
