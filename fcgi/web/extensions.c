#include "web/extensions.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/own.h"

/* What both versions of a 402 are made from: each requirement is signed
 * once. */
struct offers {
	struct buf *of; /* of each requirement */
	size_t *index;	/* the requirement of each element */
	size_t n;
};

static bool
sign_all(struct offers *o, const struct site *s,
    const struct x402_requirement *req, const char *resource_url,
    uint64_t valid_until)
{
	const struct offer_issuer by = { .keys = s->keys, .did = s->did };

	o->of = calloc(o->n, sizeof(o->of[0]));
	o->index = calloc(o->n, sizeof(o->index[0]));
	if (o->of == NULL || o->index == NULL)
		return false;
	for (size_t i = 0; i < o->n; i++) {
		buf_init(&o->of[i], OFFER_BYTES);
		offer_sign(&o->of[i], &by, &req[i], resource_url, valid_until);
	}
	return true;
}

static void
offers_free(struct offers *o)
{
	for (size_t i = 0; o->of != NULL && i < o->n; i++)
		buf_free(&o->of[i]);
	free(o->of);
	free(o->index);
}

static void
put(struct buf *out, struct offers *o, const struct x402_requirement *req,
    int version)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		if (x402_put_fits(req, i, version))
			o->index[n++] = i;
	buf_addc(out, '{');
	json_key(out, OFFER_KEY);
	offer_put(out, o->of, o->index, n);
	/* Version 1 has no place in a payment for it to come back in. */
	if (version == 2)
		x402_put_identifier(out);
	buf_addc(out, '}');
}

void
extensions_put_required(struct buf *v2, struct buf *v1, const struct site *s,
    const struct x402_requirement *req, size_t n, const char *resource_url,
    uint64_t now)
{
	struct offers o = { .n = n };

	if (sign_all(&o, s, req, resource_url, now + X402_MAX_TIMEOUT)) {
		put(v2, &o, req, 2);
		put(v1, &o, req, 1);
	} else {
		v2->st = ST_NOMEM;
		v1->st = ST_NOMEM;
	}
	offers_free(&o);
}

void
extensions_put_response(
    struct buf *out, const struct site *s, const struct offer_paid *paid)
{
	const struct offer_issuer by = { .keys = s->keys, .did = s->did };

	buf_addc(out, '{');
	json_key(out, OFFER_KEY);
	offer_put_receipt(out, &by, paid);
	buf_addc(out, '}');
}
