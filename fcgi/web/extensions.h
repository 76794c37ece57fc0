/* The member `extensions` of what we send: x402's optional parts, each under
 * its key. */
#ifndef EXTENSIONS_H
#define EXTENSIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "pay/offer.h"
#include "web/site.h"

struct dialect;

/* What a 402 is about. Borrowed. */
struct extensions_sale {
	const struct site *site;
	const struct dialect *dialect;
	const struct x402_requirement *req; /* n of them */
	size_t n;
	const char *resource_url;
	uint64_t now; /* Unix seconds */
};

/* The values for a 402, for both versions, whose elements differ in number.
 * That of version 2 travels in headers: where it would be over room bytes the
 * signed offers are left out, which grow with the elements, then what
 * catalogues read. Errors stick in the bufs. */
void extensions_put_required(struct buf *v2, struct buf *v1,
    const struct extensions_sale *sale, size_t room);

/* The value for a payment response that tells of a success. */
void extensions_put_response(
    struct buf *out, const struct site *s, const struct offer_paid *paid);

#endif
