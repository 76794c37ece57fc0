/*
 * GET /openapi.json: the site's routes as OpenAPI 3.1, written from the tables
 * that the requests are served by: dialects and their members (dialect.h,
 * member.h), codes (base/status.h), tiers and runtimes of the site. With the
 * notes on prices and payment that catalogues read (x402.md 5.5).
 */
#ifndef OPENAPI_H
#define OPENAPI_H

#include "base/buf.h"
#include "web/site.h"

/* Append the document. Errors stick in out. */
void openapi_put(struct buf *out, const struct site *s);

#endif
