#include "pay/offer.h"

#include "base/hex.h"
#include "base/json.h"
#include "pay/jws.h"
#include "pay/offer_typed.h"

#define DRAFT "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\""
#define STRING "{\"type\":\"string\"}"
#define INTEGER "{\"type\":\"integer\"}"

/* As the released server sends them. */
static const char offers_schema[] =
    "{" DRAFT ",\"type\":\"object\",\"properties\":{\"offers\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"format\":" STRING ",\"acceptIndex\":" INTEGER ",\"payload\":{"
    "\"type\":\"object\",\"properties\":{\"version\":" INTEGER
    ",\"resourceUrl\":" STRING ",\"scheme\":" STRING ",\"network\":" STRING
    ",\"asset\":" STRING ",\"payTo\":" STRING ",\"amount\":" STRING
    ",\"validUntil\":" INTEGER "},\"required\":[\"version\","
    "\"resourceUrl\",\"scheme\",\"network\",\"asset\",\"payTo\","
    "\"amount\"]},\"signature\":" STRING "},\"required\":[\"format\","
    "\"signature\"]}}},\"required\":[\"offers\"]}";
static const char receipt_schema[] =
    "{" DRAFT ",\"type\":\"object\",\"properties\":{\"receipt\":{"
    "\"type\":\"object\",\"properties\":{\"format\":" STRING ",\"payload\":{"
    "\"type\":\"object\",\"properties\":{\"version\":" INTEGER
    ",\"network\":" STRING ",\"resourceUrl\":" STRING ",\"payer\":" STRING
    ",\"issuedAt\":" INTEGER ",\"transaction\":" STRING "},\"required\":["
    "\"version\",\"network\",\"resourceUrl\",\"payer\",\"issuedAt\"]},"
    "\"signature\":" STRING "},\"required\":[\"format\",\"signature\"]}},"
    "\"required\":[\"receipt\"]}";

/* Members in the order that JCS sorts them into: the text is what a JWS
 * signs. */
static void
put_offer_payload(struct buf *out, const struct x402_requirement *req,
    const char *resource_url, uint64_t valid_until)
{
	char amount[U256_TEXT];

	u256_text(amount, &req->amount);
	buf_addc(out, '{');
	json_member_string(out, "amount", amount);
	json_member_string(out, "asset", req->asset);
	json_member_string(out, "network", req->network);
	json_member_string(out, "payTo", req->pay_to);
	json_member_string(out, "resourceUrl", resource_url);
	json_member_string(out, "scheme", req->scheme);
	json_member_uint(out, "validUntil", valid_until);
	json_member_uint(out, "version", OFFER_TYPED_VERSION);
	buf_addc(out, '}');
}

static void
put_receipt_payload(struct buf *out, const struct offer_paid *paid)
{
	buf_addc(out, '{');
	json_member_uint(out, "issuedAt", paid->issued_at);
	json_member_string(out, "network", paid->network);
	json_member_string(out, "payer", paid->payer);
	json_member_string(out, "resourceUrl", paid->resource_url);
	json_member_string(out, "transaction", paid->transaction);
	json_member_uint(out, "version", OFFER_TYPED_VERSION);
	buf_addc(out, '}');
}

/* ---- the two formats ---- */

static void
put_jws(
    struct buf *out, const struct offer_issuer *by, const struct buf *payload)
{
	json_member_string(out, "format", "jws");
	json_key(out, "signature");
	buf_addc(out, '"');
	jws_put(out, keyring_offers(by->keys), by->did, payload->data,
	    payload->len);
	buf_addc(out, '"');
}

static void
put_eip712(struct buf *out, const struct eth_signer *evm,
    const uint8_t digest[32], const struct buf *payload)
{
	char text[2 * 65 + 1];
	uint8_t sig[65];

	if (eth_sign(sig, evm, digest) != ST_OK) {
		out->st = ST_BUG;
		return;
	}
	hex_encode(text, sig, sizeof(sig));
	json_member_string(out, "format", "eip712");
	json_key(out, "payload");
	buf_add(out, payload->data, payload->len);
	json_key(out, "signature");
	buf_addf(out, "\"0x%s\"", text);
}

/* The EVM key signs only about EVM networks (the extension's 3.1.1). */
static const struct eth_signer *
evm_for(const struct offer_issuer *by, const char *network)
{
	struct u256 chain;

	return eth_chain_id(&chain, network) == ST_OK ? keyring_evm(by->keys)
						      : NULL;
}

void
offer_sign(struct buf *out, const struct offer_issuer *by,
    const struct x402_requirement *req, const char *resource_url,
    uint64_t valid_until)
{
	const struct eth_signer *evm = evm_for(by, req->network);
	OWN_BUF struct buf payload;
	uint8_t digest[32];

	buf_init(&payload, OFFER_BYTES);
	put_offer_payload(&payload, req, resource_url, valid_until);
	if (buf_status(&payload) != ST_OK) {
		out->st = buf_status(&payload);
	} else if (evm != NULL) {
		offer_typed_offer(digest, req, resource_url, valid_until);
		put_eip712(out, evm, digest, &payload);
	} else {
		put_jws(out, by, &payload);
	}
}

/* ---- in their places ---- */

void
offer_put(
    struct buf *out, const struct buf *offers, const size_t *index, size_t n)
{
	buf_adds(out, "{\"info\":{\"offers\":[");
	for (size_t i = 0; i < n; i++) {
		const struct buf *offer = &offers[index[i]];

		json_sep(out);
		buf_addf(out, "{\"acceptIndex\":%zu,", i);
		buf_add(out, offer->data, offer->len);
		buf_addc(out, '}');
		if (buf_status(offer) != ST_OK)
			out->st = buf_status(offer);
	}
	buf_adds(out, "]},\"schema\":");
	buf_adds(out, offers_schema);
	buf_addc(out, '}');
}

void
offer_put_receipt(struct buf *out, const struct offer_issuer *by,
    const struct offer_paid *paid)
{
	const struct eth_signer *evm = evm_for(by, paid->network);
	OWN_BUF struct buf payload;
	uint8_t digest[32];

	buf_init(&payload, OFFER_BYTES);
	put_receipt_payload(&payload, paid);
	if (buf_status(&payload) != ST_OK) {
		out->st = buf_status(&payload);
		return;
	}
	buf_adds(out, "{\"info\":{\"receipt\":{");
	if (evm != NULL) {
		offer_typed_receipt(digest, paid);
		put_eip712(out, evm, digest, &payload);
	} else {
		put_jws(out, by, &payload);
	}
	buf_adds(out, "}},\"schema\":");
	buf_adds(out, receipt_schema);
	buf_addc(out, '}');
}
