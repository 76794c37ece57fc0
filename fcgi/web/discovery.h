/*
 * The documents by which a site is found and its signatures are checked
 * (api.md sections 1 and 6). Free, made of the site's own settings, with an
 * ETag; If-None-Match is heeded.
 */
#ifndef DISCOVERY_H
#define DISCOVERY_H

#include "web/context.h"
#include "web/http.h"

/* GET /.well-known/did.json: the DID document of the site's issuer. */
void discovery_did(
    struct http_reply *a, struct context *g, const struct http_request *q);
/* GET /.well-known/jwks.json: the same keys as a JWK set. */
void discovery_jwks(
    struct http_reply *a, struct context *g, const struct http_request *q);
/* GET /openapi.json (openapi.h). */
void discovery_openapi(
    struct http_reply *a, struct context *g, const struct http_request *q);
/* GET /.well-known/x402 and /.well-known/x402.json (manifest.h). */
void discovery_manifest(
    struct http_reply *a, struct context *g, const struct http_request *q);
/* GET /llms.txt (guide.h). */
void discovery_llms(
    struct http_reply *a, struct context *g, const struct http_request *q);

#endif
