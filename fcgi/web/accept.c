#include "web/accept.h"

#include <stdio.h>
#include <string.h>

#include "pay/eth.h"
#include "pay/price.h"

#define SCHEME "exact"

/* ---- from the settings ---- */

static bool
mixed_case(const char *hex)
{
	return strpbrk(hex + 2, "abcdef") != NULL &&
	       strpbrk(hex + 2, "ABCDEF") != NULL;
}

static enum status
spell_address(char out[ACCEPT_TEXT], const char *text, bool evm,
    const char *what, struct fault *f)
{
	struct eth_address a;

	if (text == NULL)
		return fault_set(f, ST_FORMAT, "%s is not set", what);
	if (!evm) {
		if (strlen(text) >= ACCEPT_TEXT)
			return fault_set(f, ST_FORMAT, "%s is over-long", what);
		snprintf(out, ACCEPT_TEXT, "%s", text);
		return ST_OK;
	}
	if (eth_address_parse(&a, text) != ST_OK)
		return fault_set(f, ST_FORMAT,
		    "%s is no address (0x and 40 hex digits)", what);
	eth_address_text(out, &a);
	/* Mixed case is a checksum: a slip of one character sends all money to
	 * nobody. */
	if (strcmp(out, text) != 0 && mixed_case(text))
		return fault_set(f, ST_FORMAT,
		    "%s: %.60s is mistyped: its letter case is no valid "
		    "checksum (EIP-55)",
		    what, text);
	return ST_OK;
}

enum status
accept_build(struct accept *out, const struct conf_asset *c, struct fault *f)
{
	struct u256 chain;
	enum status st;

	memset(out, 0, sizeof(*out));
	if (c->network == NULL)
		return fault_set(
		    f, ST_FORMAT, "network (TOLLBOX_NETWORK) is not set");
	out->name = c->name;
	out->network = c->network;
	out->asset_name = c->asset_name;
	out->asset_version = c->asset_version;
	out->decimals = (unsigned)c->asset_decimals;
	out->evm = eth_chain_id(&chain, c->network) == ST_OK;
	st = spell_address(
	    out->pay_to, c->pay_to, out->evm, "pay_to (TOLLBOX_PAY_TO)", f);
	if (st == ST_OK)
		st = spell_address(
		    out->asset, c->asset, out->evm, "asset (TOLLBOX_ASSET)", f);
	if (st != ST_OK)
		return st;
	if (strcmp(out->asset, out->pay_to) == 0)
		return fault_set(f, ST_FORMAT,
		    "pay_to (TOLLBOX_PAY_TO) is the asset's own contract");
	return ST_OK;
}

/* ---- offers ---- */

static bool
offers(struct facilitator *f, const struct accept *a, int version,
    const char **extra)
{
	const char *network =
	    version == 1 ? x402_v1_name(a->network) : a->network;
	const char *told = NULL;

	if (extra != NULL)
		*extra = NULL;
	if (f == NULL || network == NULL ||
	    !facilitator_offers(f, version, SCHEME, network, &told))
		return false;
	/* What EVM payments carry under extra is the token's domain alone. */
	if (extra != NULL && !a->evm)
		*extra = told;
	return true;
}

static void
fill(struct x402_requirement *out, const struct accept *a, uint64_t micros)
{
	memset(out, 0, sizeof(*out));
	out->scheme = SCHEME;
	out->network = a->network;
	out->asset = a->asset;
	out->pay_to = a->pay_to;
	out->asset_name = a->asset_name;
	out->asset_version = a->asset_version;
	/* Prices were found whole when the site was built; were one not, the
	 * amount would be zero, which no payment meets. */
	if (price_atomic(&out->amount, micros, a->decimals) != ST_OK)
		out->amount = u256_from(0);
}

/* Whom to make offers for: the first of the two that is there. */
static struct facilitator *
offering(const struct accept *a, int version)
{
	struct facilitator *first = NULL;
	struct facilitator *both[] = { a->by, a->fallback };

	for (size_t i = 0; i < 2; i++) {
		if (!offers(both[i], a, version, NULL))
			continue;
		if (!facilitator_down(both[i]))
			return both[i];
		if (first == NULL)
			first = both[i];
	}
	return first;
}

bool
accept_requirement(
    struct x402_requirement *out, const struct accept *a, uint64_t micros)
{
	fill(out, a, micros);
	out->not_v2 = !offers(offering(a, 2), a, 2, &out->extra);
	out->not_v1 = !offers(offering(a, 1), a, 1, &out->extra_v1);
	return !out->not_v2 || !out->not_v1;
}

static void
lack_of(char out[200], struct facilitator *f, const struct accept *a)
{
	const struct conf_facilitator *c = facilitator_conf(f);

	if (!facilitator_known(f))
		snprintf(out, 200,
		    "facilitator %s has not said yet what it offers", c->name);
	else
		snprintf(out, 200,
		    "facilitator %s (%.60s) offers no x402 " SCHEME " on %.60s",
		    c->name, c->url, a->network);
}

void
accept_lack(char out[256], const struct accept *a)
{
	struct x402_requirement req;
	char text[200];

	out[0] = '\0';
	if (accept_requirement(&req, a, 0))
		return;
	lack_of(text, a->by, a);
	snprintf(out, 256, "%s%s", text,
	    a->fallback != NULL ? ", nor does its fallback" : "");
}

/* ---- a payment ---- */

static bool
means(const struct accept_choice *c, const struct x402_payment *p)
{
	struct x402_requirement req;

	accept_chosen(&req, c, 0);
	return x402_pick(p, &req, 1) == 0;
}

/* With one facilitator of an element that is not EVM: the extra that the payer
 * took was told by it some time, and only it can settle it. */
static bool
means_with(struct accept_choice *c, const struct x402_payment *p)
{
	const char *told = NULL;

	if (c->by == NULL)
		return false;
	(void)offers(c->by, c->accept, 2, &c->extra);
	if (means(c, p))
		return true;
	for (size_t i = 0;; i++) {
		told =
		    facilitator_extra(c->by, 2, SCHEME, c->accept->network, i);
		if (told == NULL)
			return false;
		c->extra = told;
		if (means(c, p))
			return true;
	}
}

/* Version 1 names neither asset nor extra: it means what is offered there, by
 * the rule that accept_requirement() and so the 402 go by. */
static bool
choose_v1(struct accept_choice *out, const struct x402_payment *p,
    const struct accept *a)
{
	struct facilitator *by = offering(a, 1);

	if (by == NULL)
		return false;
	(void)offers(by, a, 1, &out->extra_v1);
	if (a->evm)
		out->fallback = a->fallback;
	else
		out->by = by;
	return means(out, p);
}

static bool
choose(struct accept_choice *out, const struct x402_payment *p,
    const struct accept *a)
{
	*out = (struct accept_choice){ .accept = a, .by = a->by };
	if (p->version == 1)
		return choose_v1(out, p, a);
	if (a->evm) {
		out->fallback = a->fallback;
		return means(out, p);
	}
	if (means_with(out, p))
		return true;
	out->by = a->fallback;
	return means_with(out, p);
}

/* The signature tells what no member of a payment of version 1 does. */
static bool
signed_for(struct accept_choice *out, const struct x402_payment *p,
    const struct accept *a)
{
	struct x402_requirement req;

	*out = (struct accept_choice){
		.accept = a, .by = a->by, .fallback = a->fallback
	};
	accept_chosen(&req, out, 0);
	return x402_signature(p, &req, NULL) == X402_SIGNED_YES;
}

/* The first of that network, else the first of all. */
static const struct accept *
first_of(const char *network, const struct accept *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].network, network) == 0)
			return &list[i];
	return &list[0];
}

void
accept_choose(struct accept_choice *out, const struct x402_payment *p,
    const struct accept *list, size_t n)
{
	const struct accept *near = first_of(p->network, list, n);
	struct x402_requirement req;

	for (size_t i = 0; i < n && p->version == 1; i++)
		if (signed_for(out, p, &list[i]))
			return;
	for (size_t i = 0; i < n; i++)
		if (choose(out, p, &list[i]))
			return;
	(void)accept_requirement(&req, near, 0);
	*out = (struct accept_choice){ .accept = near,
		.extra = req.extra,
		.extra_v1 = req.extra_v1,
		.by = near->by };
}

void
accept_find(struct accept_choice *out, const char *network, const char *asset,
    const struct accept *list, size_t n)
{
	const struct accept *a = first_of(network, list, n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].network, network) == 0 &&
		    strcmp(list[i].asset, asset) == 0)
			a = &list[i];
	*out = (struct accept_choice){
		.accept = a, .by = a->by, .fallback = a->fallback
	};
}

void
accept_chosen(struct x402_requirement *out, const struct accept_choice *c,
    uint64_t micros)
{
	fill(out, c->accept, micros);
	out->extra = c->extra;
	out->extra_v1 = c->extra_v1;
}

struct facilitator *
accept_facilitator(const struct accept_choice *c, int version,
    struct facilitator **other, struct fault *f)
{
	struct facilitator *good[2] = { NULL, NULL };
	struct facilitator *both[] = { c->by, c->fallback };
	size_t n = 0;

	for (size_t i = 0; i < 2; i++)
		if (offers(both[i], c->accept, version, NULL) &&
		    !facilitator_down(both[i]))
			good[n++] = both[i];
	if (n == 0)
		fault_set(f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
		    "no facilitator can settle this payment now; nothing was "
		    "charged; repeat the same request with the same payment");
	if (other != NULL)
		*other = good[1];
	return good[0];
}
