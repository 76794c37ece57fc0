/* The documents that publish a site's signing keys (api.md section 6). Free. */
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

#endif
