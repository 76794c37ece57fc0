/* The member `extensions` of what we send: x402's optional parts, each under
 * its key. */
#ifndef EXTENSIONS_H
#define EXTENSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "pay/offer.h"
#include "web/site.h"

/* The values for a 402 with these n requirements, for both versions, whose
 * elements differ in number. now is Unix seconds. Errors stick in the bufs. */
void extensions_put_required(struct buf *v2, struct buf *v1,
    const struct site *s, const struct x402_requirement *req, size_t n,
    const char *resource_url, uint64_t now);

/* The value for a payment response that tells of a success. */
void extensions_put_response(
    struct buf *out, const struct site *s, const struct offer_paid *paid);

#endif
