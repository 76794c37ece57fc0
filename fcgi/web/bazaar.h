/* What a paid route takes and gives, as catalogues of x402 resources read it
 * (x402.md 5.1). */
#ifndef BAZAAR_H
#define BAZAAR_H

#include "base/buf.h"
#include "web/dialect.h"
#include "web/site.h"

#define BAZAAR_KEY "bazaar" /* in `extensions` */

/* Append the extension's value for version 2: `info` and the `schema` that it
 * is valid against. Errors stick in out, here and below. */
void bazaar_put(struct buf *out, const struct dialect *d, const struct site *s);

/* Append `outputSchema` of version 1's elements. */
void bazaar_put_v1(
    struct buf *out, const struct dialect *d, const struct site *s);

#endif
