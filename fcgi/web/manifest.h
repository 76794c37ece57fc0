/* GET /.well-known/x402 and /.well-known/x402.json: what is sold at a site, in
 * the two shapes that readers know, in one document (x402.md 5.5). */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "base/buf.h"
#include "web/site.h"

/* Append it. Prices are each route's lowest; the 402 counts. Errors stick in
 * out. */
void manifest_put(struct buf *out, const struct site *s);

#endif
