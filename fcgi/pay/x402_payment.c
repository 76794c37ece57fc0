#include "pay/x402.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/jcs.h"
#include "base/json.h"
#include "pay/reader.h"

#define BLANKS " \t"
#define SOLANA_SIGNATURE 64
#define JCS_CAP                                                                \
	((size_t)6 * X402_HEADER_CAP) /* escapes take six bytes at most */

static const struct json_caps CAPS = { .depth = X402_JSON_DEPTH,
	.values = X402_JSON_VALUES };

/* ---- the EIP-3009 payload ---- */

static void
read_authorization(
    struct reader *r, struct eth_authorization *out, const struct cJSON *auth)
{
	static const char path[] = "payload.authorization.";
	static const char *const names[] = { "from", "to", "nonce", "value",
		"validAfter", "validBefore" };
	const char *from = reader_string(r, auth, path, "from");
	const char *to = reader_string(r, auth, path, "to");
	const char *nonce = reader_string(r, auth, path, "nonce");

	if (from != NULL && eth_address_parse(&out->from, from) != ST_OK)
		reader_refuse(r, path, "from", "must be 0x and 40 hex digits");
	if (to != NULL && eth_address_parse(&out->to, to) != ST_OK)
		reader_refuse(r, path, "to", "must be 0x and 40 hex digits");
	if (nonce != NULL &&
	    hex_decode0x(out->nonce, sizeof(out->nonce), nonce) != ST_OK)
		reader_refuse(r, path, "nonce", "must be 0x and 64 hex digits");
	reader_decimal(r, &out->value, auth, path, "value");
	reader_decimal(r, &out->valid_after, auth, path, "validAfter");
	reader_decimal(r, &out->valid_before, auth, path, "validBefore");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		reader_no_twin(r, auth, path, names[i]);
}

static void
read_signature(
    struct reader *r, struct x402_payment *p, const struct cJSON *payload)
{
	const char *s = reader_string(r, payload, "payload.", "signature");
	size_t len = s == NULL ? 0 : strlen(s);

	if (s == NULL)
		return;
	if (len < 2 || len % 2 != 0 || len > 2 + 2 * X402_SIGNATURE_CAP) {
		reader_refuse(r, "payload.", "signature",
		    "must be 0x and an even number of hex digits, at most "
		    "8192 bytes");
		return;
	}
	p->signature_len = len / 2 - 1;
	p->signature = malloc(p->signature_len + 1);
	if (p->signature == NULL)
		r->st = ST_NOMEM;
	else if (hex_decode0x(p->signature, p->signature_len, s) != ST_OK)
		reader_refuse(
		    r, "payload.", "signature", "must be 0x and hex digits");
}

/* ---- other payloads: known by a digest alone ---- */

/* Where the message begins in a Solana transaction: behind a compact-u16 count
 * and that many signatures. len if it is none. */
static size_t
solana_message(const uint8_t *tx, size_t len)
{
	size_t count = 0, at = 0;

	do {
		if (at == len || at == 3)
			return len;
		count |= (size_t)(tx[at] & 0x7f) << (7 * at);
	} while (tx[at++] & 0x80);
	if (count > (len - at) / SOLANA_SIGNATURE)
		return len;
	return at + count * SOLANA_SIGNATURE;
}

/* The signatures around a Solana message can be changed at will, and so can
 * members of the payload that nobody reads; so the message alone counts. */
static void
digest_solana(
    struct reader *r, struct x402_payment *p, const struct cJSON *payload)
{
	const char *s = reader_string(r, payload, "payload.", "transaction");
	OWN_BUF struct buf tx;
	size_t at;
	enum status st;

	buf_init(&tx, X402_HEADER_CAP);
	if (s == NULL)
		return;
	st = hex_unbase64(&tx, s, strlen(s));
	at = solana_message(tx.data, tx.len);
	if (st == ST_FORMAT || at == tx.len)
		reader_refuse(r, "payload.", "transaction",
		    "must be a transaction in base64");
	else
		r->st = st == ST_OK
			    ? jcs_sha256(p->digest, tx.data + at, tx.len - at)
			    : st;
}

static void
digest_payload(
    struct reader *r, struct x402_payment *p, const struct cJSON *payload)
{
	OWN_BUF struct buf b;

	buf_init(&b, JCS_CAP);
	jcs_write(&b, payload);
	r->st = buf_status(&b);
	if (r->st == ST_OK)
		r->st = jcs_sha256(p->digest, b.data, b.len);
}

static void
read_payload(
    struct reader *r, struct x402_payment *p, const struct cJSON *payload)
{
	struct u256 chain;
	bool exact;

	if (r->st != ST_OK)
		return;
	exact = strcmp(p->scheme, "exact") == 0;
	reader_no_twin(r, payload, "payload.", "authorization");
	reader_no_twin(r, payload, "payload.", "permit2Authorization");
	reader_no_twin(r, payload, "payload.", "signature");
	reader_no_twin(r, payload, "payload.", "transaction");
	/* A payload that brings a Permit2 signature too is not ours to judge by
	 * the other one: the facilitator might settle either. */
	if (exact && eth_chain_id(&chain, p->network) == ST_OK &&
	    json_get(payload, "permit2Authorization") == NULL) {
		p->evm = true;
		read_authorization(r, &p->auth,
		    reader_need_object(
			r, payload, "payload.", "authorization"));
		read_signature(r, p, payload);
	} else if (exact && strncmp(p->network, "solana:", 7) == 0) {
		digest_solana(r, p, payload);
	} else {
		digest_payload(r, p, payload);
	}
}

/* ---- v2 ---- */

static void
copy_extra(struct reader *r, struct x402_payment *p, const struct cJSON *extra)
{
	OWN_BUF struct buf b;

	buf_init(&b, JCS_CAP);
	if (extra == NULL || r->st != ST_OK)
		return;
	jcs_write(&b, extra);
	r->st = buf_status(&b);
	p->extra = buf_take(&b, NULL);
}

static void
read_accepted(
    struct reader *r, struct x402_payment *p, const struct cJSON *accepted)
{
	static const char path[] = "accepted.", in_extra[] = "accepted.extra.";
	const struct cJSON *extra =
	    reader_may_object(r, accepted, path, "extra");
	struct u256 amount;

	p->scheme = reader_copy_string(r, accepted, path, "scheme");
	p->network = reader_copy_string(r, accepted, path, "network");
	p->amount = reader_copy_string(r, accepted, path, "amount");
	reader_decimal(r, &amount, accepted, path, "amount");
	p->asset = reader_copy_string(r, accepted, path, "asset");
	p->pay_to = reader_copy_string(r, accepted, path, "payTo");
	p->extra_name = reader_may_copy_string(r, extra, in_extra, "name");
	p->extra_version =
	    reader_may_copy_string(r, extra, in_extra, "version");
	p->extra_method =
	    reader_may_copy_string(r, extra, in_extra, "assetTransferMethod");
	copy_extra(r, p, extra);
}

/* The echo of extensions is ignored but for the payment's id. */
static void
read_identifier(
    struct reader *r, struct x402_payment *p, const struct cJSON *root)
{
	static const char id[] = "payment-identifier", in_ext[] = "extensions.",
			  in_id[] = "extensions.payment-identifier.",
			  in_info[] = "extensions.payment-identifier.info.",
			  allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	const struct cJSON *v = reader_may_object(r, root, "", "extensions");
	size_t len;

	v = reader_may_object(r, v, in_ext, id);
	v = reader_may_object(r, v, in_id, "info");
	p->identifier = reader_may_copy_string(r, v, in_info, "id");
	if (p->identifier == NULL)
		return;
	len = strlen(p->identifier);
	if (len < 16 || len > 128 || strspn(p->identifier, allowed) != len)
		reader_refuse(r, in_info, "id",
		    "must be 16 to 128 characters of a-z A-Z 0-9 _ -");
}

/* Where the version is not the header's to say, x402Version says it. */
static void
refuse_version(struct reader *r, const char *place, const char *of_header)
{
	reader_refuse(
	    r, "", "x402Version", place == NULL ? of_header : "must be 1 or 2");
}

static void
read_v2(struct reader *r, struct x402_payment *p, const struct cJSON *root,
    uint64_t number, const char *place)
{
	const struct cJSON *accepted, *payload;

	if (number != 2)
		refuse_version(r, place,
		    "must be 2 in PAYMENT-SIGNATURE; a version 1 payment "
		    "belongs in X-PAYMENT");
	accepted = reader_need_object(r, root, "", "accepted");
	payload = reader_need_object(r, root, "", "payload");
	read_accepted(r, p, accepted);
	read_identifier(r, p, root);
	read_payload(r, p, payload);
}

/* ---- v1 ---- */

/* Released v1 clients copy x402Version from the 402 unchecked; a facilitator
 * goes by that number, so it has to be told the right one. */
static void
rewrite_v1(struct reader *r, struct x402_payment *p, const char *network,
    const struct cJSON *payload)
{
	OWN_BUF struct buf b;
	size_t len;
	char *raw;

	buf_init(&b, JCS_CAP);
	if (r->st != ST_OK)
		return;
	buf_adds(&b, "{\"x402Version\":1,\"scheme\":");
	json_put_string(&b, p->scheme);
	json_key(&b, "network");
	json_put_string(&b, network);
	json_key(&b, "payload");
	jcs_write(&b, payload);
	buf_addc(&b, '}');
	r->st = buf_status(&b);
	raw = buf_take(&b, &len);
	if (raw == NULL)
		return;
	free(p->raw);
	p->raw = raw;
	p->raw_len = len;
}

static void
read_v1(struct reader *r, struct x402_payment *p, const struct cJSON *root,
    uint64_t number, const char *place)
{
	const struct cJSON *payload;
	const char *network, *caip2;

	if (number != 1 && number != 2)
		refuse_version(r, place, "must be 1 in X-PAYMENT");
	if (reader_may(root, "scheme") == NULL &&
	    reader_may(root, "accepted") != NULL)
		reader_refuse(r, "", "accepted",
		    place == NULL
			? "is of version 2, which belongs in PAYMENT-SIGNATURE"
			: "is of version 2, but x402Version is 1");
	p->scheme = reader_copy_string(r, root, "", "scheme");
	network = reader_string(r, root, "", "network");
	if (network != NULL && strchr(network, ':') != NULL)
		reader_refuse(r, "", "network",
		    "must be a name such as base-sepolia in version 1");
	caip2 = network == NULL ? NULL : x402_caip2(network);
	if (network != NULL)
		p->network = reader_copy(r, caip2 == NULL ? network : caip2);
	payload = reader_need_object(r, root, "", "payload");
	read_payload(r, p, payload);
	if (number == 2)
		rewrite_v1(r, p, network, payload);
}

/* ---- the header ---- */

static enum status
decode(struct x402_payment *p, const char *header, const char *name,
    struct fault *f)
{
	OWN_BUF struct buf b;
	size_t len = strnlen(header, X402_HEADER_CAP + 1);
	enum status st = ST_BUG;

	buf_init(&b, X402_HEADER_CAP);
	if (len > X402_HEADER_CAP)
		return fault_set(f, ST_PAYMENT_MALFORMED,
		    "%s is longer than %u bytes", name, X402_HEADER_CAP);
	while (len > 0 && strchr(BLANKS, header[len - 1]) != NULL)
		len--;
	while (len > 0 && strchr(BLANKS, header[0]) != NULL) {
		header++;
		len--;
	}
	if (len == 0)
		return fault_set(f, ST_PAYMENT_MALFORMED, "%s is empty", name);
	/* nginx joins repeated headers with a comma. */
	if (memchr(header, ',', len) != NULL)
		return fault_set(f, ST_PAYMENT_MALFORMED,
		    "%s was sent more than once", name);
	st = hex_unbase64(&b, header, len);
	if (st == ST_FORMAT)
		return fault_set(
		    f, ST_PAYMENT_MALFORMED, "%s is not base64", name);
	if (st != ST_OK)
		return st;
	p->raw = buf_take(&b, &p->raw_len);
	return p->raw == NULL ? ST_NOMEM : ST_OK;
}

static enum status
parse(struct x402_payment *p, const char *header, const char *place,
    struct fault *f)
{
	const char *name = place != NULL     ? place
			   : p->version == 2 ? "PAYMENT-SIGNATURE"
					     : "X-PAYMENT";
	OWN_JSON struct cJSON *root = NULL;
	struct fault why = { .st = ST_BUG };
	struct reader r = { .st = ST_OK, .f = f };
	uint64_t number = 0;
	enum status st = decode(p, header, name, f);

	if (st != ST_OK)
		return st;
	st = json_parse(&root, p->raw, p->raw_len, &CAPS, &why);
	if (st == ST_FORMAT)
		return fault_set(f, ST_PAYMENT_MALFORMED,
		    "%s does not hold a JSON object: %s", name, why.message);
	if (st != ST_OK)
		return st;
	if (!json_is_object(root))
		return fault_set(f, ST_PAYMENT_MALFORMED,
		    "%s does not hold a JSON object", name);
	if (reader_need(&r, root, "", "x402Version") != NULL &&
	    json_uint(&number, json_get(root, "x402Version")) != ST_OK)
		reader_refuse(
		    &r, "", "x402Version", "must be the number 1 or 2");
	reader_no_twin(&r, root, "", "x402Version");
	reader_no_twin(&r, root, "", "accepted");
	reader_no_twin(&r, root, "", "payload");
	if (p->version == 2)
		read_v2(&r, p, root, number, place);
	else
		read_v1(&r, p, root, number, place);
	return r.st;
}

enum status
x402_payment_parse(struct x402_payment *out, const char *header, int version,
    const char *place, struct fault *f)
{
	enum status st = ST_BUG;

	*out = (struct x402_payment){ .version = version };
	if (version == 1 || version == 2)
		st = parse(out, header, place, f);
	if (st != ST_OK)
		x402_payment_free(out);
	return st;
}

static enum status
put_payload(struct buf *out, const struct cJSON *payment)
{
	const struct cJSON *payload = json_get(payment, "payload");

	if (payload == NULL)
		return ST_FORMAT;
	jcs_write(out, payload);
	return buf_status(out);
}

enum status
x402_payment_same(const struct x402_payment *p, const char *body, size_t len)
{
	/* The payment is one deeper in it and has the requirement beside it. */
	static const struct json_caps caps = { .depth =
						   (size_t)2 * X402_JSON_DEPTH,
		.values = (size_t)2 * X402_JSON_VALUES };
	OWN_JSON struct cJSON *mine = NULL, *whole = NULL;
	const struct cJSON *earlier;
	OWN_BUF struct buf a, b;
	enum status st = json_parse(&mine, p->raw, p->raw_len, &CAPS, NULL);

	buf_init(&a, JCS_CAP);
	buf_init(&b, JCS_CAP);
	if (st == ST_OK)
		st = json_parse(&whole, body, len, &caps, NULL);
	if (st != ST_OK)
		return st;
	earlier = json_get(whole, "paymentPayload");
	if (earlier == NULL)
		return ST_FORMAT;
	st = put_payload(&a, mine);
	if (st == ST_OK)
		st = put_payload(&b, earlier);
	if (st != ST_OK)
		return st;
	return a.len == b.len && CRYPTO_memcmp(a.data, b.data, a.len) == 0
		   ? ST_OK
		   : ST_CONFLICT;
}

void
x402_payment_free(struct x402_payment *p)
{
	if (p == NULL)
		return;
	free(p->raw);
	free(p->scheme);
	free(p->network);
	free(p->asset);
	free(p->pay_to);
	free(p->amount);
	free(p->extra_name);
	free(p->extra_version);
	free(p->extra_method);
	free(p->extra);
	free(p->identifier);
	free(p->signature);
	*p = (struct x402_payment){ 0 };
}
