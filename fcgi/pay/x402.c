#include "pay/x402.h"

#include <inttypes.h>
#include <string.h>

#include "base/hex.h"
#include "base/jcs.h"
#include "base/json.h"

#define BEFORE_S 6    /* facilitators want validBefore this far ahead */
#define AHEAD_S 86400 /* a claim has to be kept until validBefore */
#define SHOWN 80      /* of a client's text in a message, with its NUL */
/* Of a chain id as u256_parse() takes it, with "eip155:"; CAIP-2 has 41. */
#define NETWORK_CHARS (7 + U256_TEXT)

/* ---- names of networks ---- */

/* Names outside this list exist, but one of them among the v1 elements makes
 * released clients throw the whole 402 away: they are not offered in v1, so
 * they are not understood either. */
static const struct {
	const char *v1;
	const char *caip2;
} NETWORKS[] = {
	{ "base", "eip155:8453" },
	{ "base-sepolia", "eip155:84532" },
	{ "avalanche", "eip155:43114" },
	{ "avalanche-fuji", "eip155:43113" },
	{ "polygon", "eip155:137" },
	{ "polygon-amoy", "eip155:80002" },
	{ "sei", "eip155:1329" },
	{ "sei-testnet", "eip155:1328" },
	{ "abstract", "eip155:2741" },
	{ "abstract-testnet", "eip155:11124" },
	{ "iotex", "eip155:4689" },
	{ "peaq", "eip155:3338" },
	{ "story", "eip155:1514" },
	{ "educhain", "eip155:41923" },
	{ "skale-base-sepolia", "eip155:324705682" },
	{ "solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" },
	{ "solana-devnet", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" },
};
#define N_NETWORKS (sizeof(NETWORKS) / sizeof(NETWORKS[0]))

const char *
x402_v1_name(const char *network)
{
	for (size_t i = 0; i < N_NETWORKS; i++) {
		if (strcmp(NETWORKS[i].caip2, network) == 0)
			return NETWORKS[i].v1;
	}
	return NULL;
}

const char *
x402_caip2(const char *v1_name)
{
	for (size_t i = 0; i < N_NETWORKS; i++) {
		if (strcmp(NETWORKS[i].v1, v1_name) == 0)
			return NETWORKS[i].caip2;
	}
	return NULL;
}

/* ---- identity ---- */

static void
put_hex(struct buf *out, const uint8_t *data, size_t len)
{
	char text[2 * 32 + 1];

	hex_encode(text, data, len);
	buf_adds(out, "/0x");
	buf_adds(out, text);
}

static void
put_head(struct buf *out, const struct x402_payment *p,
    const struct x402_requirement *req)
{
	/* A name that is longer than any there is was sold on none. */
	buf_adds(out,
	    strlen(p->network) <= NETWORK_CHARS ? p->network : req->network);
}

static void
put_tail(struct buf *out, const struct x402_payment *p)
{
	put_hex(out, p->auth.from.b, sizeof(p->auth.from.b));
	put_hex(out, p->auth.nonce, sizeof(p->auth.nonce));
}

enum status
x402_identity(struct buf *out, const struct x402_payment *p,
    const struct x402_requirement *req)
{
	const char *named = p->version == 2 ? p->asset : req->asset;
	struct eth_address asset;

	put_head(out, p, req);
	if (!p->evm) {
		buf_addc(out, '/');
		buf_adds(out, p->digest);
		return buf_status(out);
	}
	/* What is no address is no token that was ever sold for. */
	if (named == NULL || eth_address_parse(&asset, named) != ST_OK)
		asset = (struct eth_address){ .b = { 0 } };
	put_hex(out, asset.b, sizeof(asset.b));
	put_tail(out, p);
	return buf_status(out);
}

enum status
x402_identity_around(struct buf *head, struct buf *tail,
    const struct x402_payment *p, const struct x402_requirement *req)
{
	enum status st = ST_BUG;

	if (!p->evm)
		return ST_BUG;
	put_head(head, p, req);
	buf_adds(head, "/0x");
	put_tail(tail, p);
	st = buf_status(head);
	return st == ST_OK ? buf_status(tail) : st;
}

/* ---- matching ---- */

/* A client's text for a message: cut, and nothing but printable ASCII. */
static const char *
shown(char out[SHOWN], const char *text)
{
	size_t i;

	for (i = 0; i < SHOWN - 1 && text[i] != '\0'; i++)
		out[i] = text[i];
	if (text[i] != '\0')
		memcpy(out + SHOWN - 4, "...", 3);
	for (size_t k = 0; k < i; k++) {
		if (out[k] < ' ' || out[k] > '~')
			out[k] = '?';
	}
	out[i] = '\0';
	return out;
}

static enum status
mismatch(
    struct fault *f, const char *member, const char *theirs, const char *ours)
{
	char text[SHOWN];

	return fault_set(f, ST_PAYMENT_REQUIREMENTS_MISMATCH,
	    "%s is \"%s\", but \"%s\" is what is offered", member,
	    shown(text, theirs), ours);
}

static enum status
match_amount(struct fault *f, const char *member, const struct u256 *theirs,
    const struct u256 *ours)
{
	char theirs_text[U256_TEXT], ours_text[U256_TEXT];
	int cmp = u256_cmp(theirs, ours);

	if (cmp == 0)
		return ST_OK;
	u256_text(theirs_text, theirs);
	u256_text(ours_text, ours);
	return fault_set(f,
	    cmp < 0 ? ST_PAYMENT_AMOUNT_INSUFFICIENT
		    : ST_PAYMENT_REQUIREMENTS_MISMATCH,
	    "%s is %s, %s the price of %s atomic units", member, theirs_text,
	    cmp < 0 ? "below" : "above", ours_text);
}

/* Letter case of an address is a checksum on EVM, and part of the name
 * everywhere else. */
static bool
same_account(const char *a, const char *b, bool evm)
{
	struct eth_address x, y;

	if (!evm)
		return strcmp(a, b) == 0;
	return eth_address_parse(&x, a) == ST_OK &&
	       eth_address_parse(&y, b) == ST_OK && eth_address_equal(&x, &y);
}

static bool
same_value(const struct cJSON *a, const struct cJSON *b)
{
	OWN_BUF struct buf x, y;

	buf_init(&x, (size_t)X402_HEADER_CAP * 6);
	buf_init(&y, (size_t)X402_HEADER_CAP * 6);
	jcs_write(&x, a);
	jcs_write(&y, b);
	return buf_status(&x) == ST_OK && buf_status(&y) == ST_OK &&
	       strcmp(buf_cstr(&x), buf_cstr(&y)) == 0;
}

/* Are all members of ours among the payment's extra? */
static bool
extra_held(const struct x402_payment *p, const char *ours)
{
	static const struct json_caps caps = { .depth = X402_JSON_DEPTH,
		.values = X402_JSON_VALUES };
	OWN_JSON struct cJSON *want = NULL, *have = NULL;
	const struct cJSON *m;
	OWN_BUF struct buf b;

	buf_init(&b, X402_HEADER_CAP);
	if (ours == NULL)
		return true;
	buf_addf(&b, "{%s}", ours);
	if (p->extra == NULL ||
	    json_parse(&want, buf_cstr(&b), b.len, &caps, NULL) != ST_OK ||
	    json_parse(&have, p->extra, strlen(p->extra), &caps, NULL) != ST_OK)
		return false;
	for (m = json_first(want); m != NULL; m = json_next(m)) {
		const struct cJSON *v = json_get(have, json_name(m));

		if (v == NULL || !same_value(m, v))
			return false;
	}
	return true;
}

static enum status
match_extra(const struct x402_payment *p, const struct x402_requirement *req,
    bool evm, struct fault *f)
{
	if (p->extra_name != NULL && req->asset_name != NULL &&
	    strcmp(p->extra_name, req->asset_name) != 0)
		return mismatch(
		    f, "accepted.extra.name", p->extra_name, req->asset_name);
	if (p->extra_version != NULL && req->asset_version != NULL &&
	    strcmp(p->extra_version, req->asset_version) != 0)
		return mismatch(f, "accepted.extra.version", p->extra_version,
		    req->asset_version);
	if (evm && p->extra_method != NULL &&
	    strcmp(p->extra_method, "eip3009") != 0)
		return mismatch(f, "accepted.extra.assetTransferMethod",
		    p->extra_method, "eip3009");
	/* What else it is depends on the facilitator: the payer's copy of it
	 * was signed, so it must be one of those that we handed out. */
	if (!extra_held(p, req->extra))
		return fault_set(f, ST_PAYMENT_REQUIREMENTS_MISMATCH,
		    "accepted.extra lacks a member of what is offered, or "
		    "holds another value");
	return ST_OK;
}

/* The members of accepted that version 1 does not have, but for the amount. */
static enum status
match_accepted(const struct x402_payment *p, const struct x402_requirement *req,
    bool evm, struct fault *f)
{
	if (p->asset == NULL || p->pay_to == NULL)
		return ST_BUG;
	if (!same_account(p->asset, req->asset, evm))
		return mismatch(f, "accepted.asset", p->asset, req->asset);
	if (!same_account(p->pay_to, req->pay_to, evm))
		return mismatch(f, "accepted.payTo", p->pay_to, req->pay_to);
	return match_extra(p, req, evm, f);
}

static enum status
match_recipient(const struct x402_payment *p,
    const struct x402_requirement *req, struct fault *f)
{
	struct eth_address pay_to;
	char to[ETH_ADDRESS_TEXT];

	if (eth_address_parse(&pay_to, req->pay_to) != ST_OK)
		return ST_BUG;
	if (eth_address_equal(&p->auth.to, &pay_to))
		return ST_OK;
	eth_address_text(to, &p->auth.to);
	return fault_set(f, ST_PAYMENT_INVALID,
	    "payload.authorization.to is %s, but payments go to %s", to,
	    req->pay_to);
}

/* What the client says it accepted, then what it signed. */
static enum status
match_amounts(const struct x402_payment *p, const struct x402_requirement *req,
    bool evm, struct fault *f)
{
	struct u256 amount;
	enum status st = ST_OK;

	if (p->version == 2) {
		if (p->amount == NULL ||
		    u256_parse(&amount, p->amount) != ST_OK)
			return ST_BUG;
		st = match_amount(f, "accepted.amount", &amount, &req->amount);
	}
	if (st != ST_OK || !evm)
		return st;
	return match_amount(
	    f, "payload.authorization.value", &p->auth.value, &req->amount);
}

enum status
x402_match(const struct x402_payment *p, const struct x402_requirement *req,
    struct fault *f)
{
	bool v2 = p->version == 2;
	struct u256 chain;
	bool evm = eth_chain_id(&chain, req->network) == ST_OK;
	enum status st = ST_BUG;

	if (strcmp(p->scheme, req->scheme) != 0)
		return mismatch(f, v2 ? "accepted.scheme" : "scheme", p->scheme,
		    req->scheme);
	if (strcmp(p->network, req->network) != 0)
		return mismatch(f, v2 ? "accepted.network" : "network",
		    p->network, req->network);
	if (v2) {
		st = match_accepted(p, req, evm, f);
		if (st != ST_OK)
			return st;
	}
	if (evm && !p->evm)
		return fault_set(f, ST_PAYMENT_REQUIREMENTS_MISMATCH,
		    "payload is no EIP-3009 authorization, which is what is "
		    "offered");
	if (evm) {
		st = match_recipient(p, req, f);
		if (st != ST_OK)
			return st;
	}
	return match_amounts(p, req, evm, f);
}

static bool
meant(const struct x402_payment *p, const struct x402_requirement *req)
{
	struct u256 chain;
	bool evm = eth_chain_id(&chain, req->network) == ST_OK;

	if (strcmp(p->scheme, req->scheme) != 0 ||
	    strcmp(p->network, req->network) != 0)
		return false;
	if (p->version == 1)
		return !req->not_v1;
	return p->asset != NULL && same_account(p->asset, req->asset, evm) &&
	       extra_held(p, req->extra);
}

size_t
x402_pick(
    const struct x402_payment *p, const struct x402_requirement *req, size_t n)
{
	size_t i;

	for (i = 0; i < n && !meant(p, &req[i]); i++)
		;
	return i;
}

/* ---- time ---- */

enum status
x402_window(const struct x402_payment *p, uint64_t now, uint64_t margin_s,
    struct fault *f)
{
	char text[U256_TEXT];
	uint64_t after, before;

	if (!p->evm)
		return ST_OK;
	u256_text(text, &p->auth.valid_after);
	if (!u256_fits64(&after, &p->auth.valid_after) || after > now)
		return fault_set(f, ST_PAYMENT_INVALID,
		    "payload.authorization.validAfter is %s, but it is only "
		    "%" PRIu64 " by this service's clock",
		    text, now);
	u256_text(text, &p->auth.valid_before);
	if (!u256_fits64(&before, &p->auth.valid_before) ||
	    (before > now && before - now > AHEAD_S))
		return fault_set(f, ST_PAYMENT_INVALID,
		    "payload.authorization.validBefore is %s, more than %d "
		    "seconds after %" PRIu64 ", this service's clock",
		    text, AHEAD_S, now);
	if (before < now || before - now < BEFORE_S ||
	    before - now - BEFORE_S < margin_s)
		return fault_set(f, ST_PAYMENT_INVALID,
		    "payload.authorization.validBefore is %s, but it is "
		    "%" PRIu64 " by this service's clock and %" PRIu64
		    " seconds are needed",
		    text, now, margin_s + BEFORE_S);
	return ST_OK;
}

/* ---- signature ---- */

static bool
domain_of(struct eth_domain *out, const struct x402_requirement *req)
{
	if (req->asset_name == NULL || req->asset_version == NULL)
		return false;
	out->name = req->asset_name;
	out->version = req->asset_version;
	return eth_chain_id(&out->chain_id, req->network) == ST_OK &&
	       eth_address_parse(&out->contract, req->asset) == ST_OK;
}

/* A domain of ours proves nothing of a payment that says it is another's. */
static bool
is_for(const struct x402_payment *p, const struct x402_requirement *req)
{
	return strcmp(p->network, req->network) == 0 &&
	       (p->version == 1 || (p->asset != NULL && same_account(p->asset,
							    req->asset, true)));
}

static enum x402_signed
never(struct fault *f, const char *why)
{
	(void)fault_set(f, ST_PAYMENT_INVALID, "payload.signature %s", why);
	return X402_SIGNED_NO;
}

enum x402_signed
x402_signature(const struct x402_payment *p, const struct x402_requirement *req,
    struct fault *f)
{
	struct eth_domain domain;
	struct eth_address signer;
	uint8_t digest[32];
	enum status st = ST_BUG;

	if (!p->evm || p->signature_len > 65)
		return X402_SIGNED_UNDECIDED;
	if (p->signature_len == 64)
		return never(f,
		    "is in the 64-byte compact form; send r, s and v in 65 "
		    "bytes");
	if (p->signature_len < 64)
		return never(f, "is too short; send r, s and v in 65 bytes");
	if (!domain_of(&domain, req))
		return X402_SIGNED_UNDECIDED;
	eth_digest(digest, &domain, &p->auth);
	st = eth_recover(&signer, digest, p->signature);
	if (st == ST_FORMAT)
		return never(f, "ends in a v that is not 27 or 28");
	if (st != ST_OK)
		return never(f,
		    "has a high s, or no key can have made it; the token "
		    "would refuse it");
	return is_for(p, req) && eth_address_equal(&signer, &p->auth.from)
		   ? X402_SIGNED_YES
		   : X402_SIGNED_UNDECIDED;
}
