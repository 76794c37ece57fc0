#include "web/extensions.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/own.h"
#include "web/bazaar.h"

/* What both versions of a 402 are made from: each requirement is signed
 * once. */
struct offers {
	struct buf *of; /* of each requirement */
	size_t *index;	/* the requirement of each element */
	size_t n;
};

static bool
sign_all(struct offers *o, const struct extensions_sale *sale)
{
	const struct offer_issuer by = { .keys = sale->site->keys,
		.did = sale->site->did };

	o->of = calloc(o->n, sizeof(o->of[0]));
	o->index = calloc(o->n, sizeof(o->index[0]));
	if (o->of == NULL || o->index == NULL)
		return false;
	for (size_t i = 0; i < o->n; i++) {
		buf_init(&o->of[i], OFFER_BYTES);
		offer_sign(&o->of[i], &by, &sale->req[i], sale->resource_url,
		    sale->now + X402_MAX_TIMEOUT);
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
put_offers(struct buf *out, struct offers *o,
    const struct extensions_sale *sale, int version)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		if (x402_put_fits(sale->req, i, version))
			o->index[n++] = i;
	json_key(out, OFFER_KEY);
	offer_put(out, o->of, o->index, n);
}

/* o NULL: without offers. */
static void
put_v2(struct buf *out, struct offers *o, const struct extensions_sale *sale,
    bool with_bazaar)
{
	buf_clear(out);
	buf_addc(out, '{');
	if (o != NULL)
		put_offers(out, o, sale, 2);
	/* Version 1 has no place in a payment for it to come back in. */
	x402_put_identifier(out);
	if (with_bazaar) {
		json_key(out, BAZAAR_KEY);
		bazaar_put(out, sale->dialect, sale->site);
	}
	buf_addc(out, '}');
}

static bool
fits(const struct buf *out, size_t room)
{
	return buf_status(out) == ST_OK && out->len <= room;
}

void
extensions_put_required(struct buf *v2, struct buf *v1,
    const struct extensions_sale *sale, size_t room)
{
	struct offers o = { .n = sale->n };

	if (!sign_all(&o, sale)) {
		v2->st = ST_NOMEM;
		v1->st = ST_NOMEM;
		offers_free(&o);
		return;
	}
	put_v2(v2, &o, sale, true);
	if (!fits(v2, room))
		put_v2(v2, NULL, sale, true);
	if (!fits(v2, room))
		put_v2(v2, NULL, sale, false);
	buf_addc(v1, '{');
	put_offers(v1, &o, sale, 1);
	buf_addc(v1, '}');
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
