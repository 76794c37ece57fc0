/* The extension's offer and receipt: x402.md 5.3's vectors, to the byte. */
#include "keys_fixture.h"

#include "base/hex.h"
#include "base/json.h"
#include "pay/jws.h"
#include "pay/offer.h"
#include "pay/offer_typed.h"

#define DID "did:web:api.example.com"
#define URL "https://api.example.com/execute"
#define OFFER                                                                  \
	"{\"amount\":\"10000\","                                               \
	"\"asset\":\"0x036CbD53842c5426634e7929541eC2318f3dCF7e\","            \
	"\"network\":\"eip155:84532\","                                        \
	"\"payTo\":\"0x70997970C51812dc3A010C7d01b50e0d17dc79C8\","            \
	"\"resourceUrl\":\"" URL "\",\"scheme\":\"exact\","                    \
	"\"validUntil\":1740672389,\"version\":1}"
#define TX "0xabababababababababababababababababababababababababababababababab"
#define RECEIPT                                                                \
	"{\"issuedAt\":1740672100,\"network\":\"eip155:84532\","               \
	"\"payer\":\"" KEYS_EVM_ADDRESS "\",\"resourceUrl\":\"" URL "\","      \
	"\"transaction\":\"" TX "\",\"version\":1}"

static const struct json_caps caps = { .depth = 16, .values = 256 };

static struct x402_requirement
requirement(void)
{
	return (struct x402_requirement){ .scheme = "exact",
		.network = "eip155:84532",
		.asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
		.pay_to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		.amount = u256_from(10000) };
}

static const struct offer_paid paid = { .network = "eip155:84532",
	.resource_url = URL,
	.payer = KEYS_EVM_ADDRESS,
	.transaction = TX,
	.issued_at = 1740672100 };

/* text is base64url of expected. */
static void
decodes_to(const char *text, size_t len, const char *expected)
{
	OWN_BUF struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(hex_unbase64(&b, text, len), ST_OK);
	assert_string_equal(buf_cstr(&b), expected);
}

/* The parts of a compact JWS; its payload under the vector's header, whose kid
 * is another name of the same key, has the vector's signature. */
static void
jws_is(const char *jws, const char *payload, const char *vector)
{
	static const char header[] =
	    "eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDp3ZWI6YXBpLmV4YW1wbGUuY29tI2tl"
	    "eS0xIn0";
	const char *dot = strchr(jws, '.'), *end = strrchr(jws, '.');
	uint8_t sig[EDKEY_SIGNATURE];
	struct edkey *k = NULL;
	OWN_BUF struct buf input, text;

	buf_init(&input, 4096);
	buf_init(&text, 256);
	assert_non_null(dot);
	assert_true(end > dot);
	decodes_to(jws, (size_t)(dot - jws),
	    "{\"alg\":\"EdDSA\",\"kid\":\"" DID "#" KEYS_ID "\"}");
	decodes_to(dot + 1, (size_t)(end - dot) - 1, payload);
	assert_int_equal(edkey_read(&k, KEYS_PEM, strlen(KEYS_PEM)), ST_OK);

	assert_int_equal(edkey_sign(sig, k, jws, (size_t)(end - jws)), ST_OK);
	hex_base64url(&text, sig, sizeof(sig));
	assert_string_equal(buf_cstr(&text), end + 1);

	buf_adds(&input, header);
	buf_add(&input, dot, (size_t)(end - dot));
	assert_int_equal(edkey_sign(sig, k, input.data, input.len), ST_OK);
	buf_clear(&text);
	hex_base64url(&text, sig, sizeof(sig));
	assert_string_equal(buf_cstr(&text), vector);
	edkey_close(k);
}

static struct cJSON *
parsed(const struct buf *b)
{
	struct cJSON *v = NULL;
	struct fault f = { .st = ST_OK };

	assert_int_equal(buf_status(b), ST_OK);
	if (json_parse(&v, buf_cstr(b), b->len, &caps, &f) != ST_OK)
		fail_msg("%s in: %s", f.message, buf_cstr(b));
	return v;
}

static void
put_offer(struct buf *out, const struct keyring *k)
{
	const struct offer_issuer by = { .keys = k, .did = DID };
	const struct x402_requirement req = requirement();
	const size_t index[] = { 1, 0 };
	struct buf offers[2];

	for (size_t i = 0; i < 2; i++)
		buf_init(&offers[i], OFFER_BYTES);
	buf_adds(&offers[0], "\"format\":\"none\"");
	offer_sign(&offers[1], &by, &req, URL, 1740672389);
	offer_put(out, offers, index, 2);
	for (size_t i = 0; i < 2; i++)
		buf_free(&offers[i]);
}

static void
offer_jws(void **state)
{
	struct keyring *k = keys_well_known(NULL);
	const struct cJSON *list, *o;
	struct cJSON *v;
	uint64_t n = 9;
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 16384);
	put_offer(&b, k);
	v = parsed(&b);
	list = json_get(json_get(v, "info"), "offers");
	assert_int_equal(json_count(list), 2);
	o = json_first(list);
	assert_int_equal(json_count(o), 3);
	assert_int_equal(json_uint(&n, json_get(o, "acceptIndex")), ST_OK);
	assert_int_equal(n, 0);
	assert_string_equal(json_string(json_get(o, "format")), "jws");
	jws_is(json_string(json_get(o, "signature")), OFFER,
	    "Tkzxfgf15XiasdtwcjyEUc57aJC0fPuyUKtfqQkgqeWHCffbS-bjJU0_pK30mfbRs3"
	    "r1So2FP9AJxIpT6lI9Aw");
	o = json_next(o);
	assert_int_equal(json_uint(&n, json_get(o, "acceptIndex")), ST_OK);
	assert_int_equal(n, 1);
	assert_string_equal(json_string(json_get(o, "format")), "none");
	assert_true(json_is_object(json_get(v, "schema")));
	json_free(v);
	keyring_close(k);
}

static void
receipt_jws(void **state)
{
	struct keyring *k = keys_well_known(NULL);
	const struct offer_issuer by = { .keys = k, .did = DID };
	const struct cJSON *r;
	struct cJSON *v;
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 16384);
	offer_put_receipt(&b, &by, &paid);
	v = parsed(&b);
	r = json_get(json_get(v, "info"), "receipt");
	assert_int_equal(json_count(r), 2);
	assert_string_equal(json_string(json_get(r, "format")), "jws");
	jws_is(json_string(json_get(r, "signature")), RECEIPT,
	    "aO6iacnIPI5L_dIXSYmtYLsq7Balg1T8eR15lqf7y3YtTeQRuaDmdn33ed2t79NNG4"
	    "7tuBhtK-5TCWe3S6OeDg");
	assert_true(json_is_object(json_get(v, "schema")));
	json_free(v);
	keyring_close(k);
}

static void
eip712(void **state)
{
	struct keyring *k = keys_well_known(KEYS_EVM);
	const struct offer_issuer by = { .keys = k, .did = DID };
	const struct x402_requirement req = requirement();
	uint8_t digest[32];
	char text[65];
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 16384);
	offer_typed_offer(digest, &req, URL, 1740672389);
	hex_encode(text, digest, sizeof(digest));
	assert_string_equal(text,
	    "b0b441c3697ee28220345e51ca5f5fbfeef906d3721ef0547adfffbe39dd0f55");
	offer_sign(&b, &by, &req, URL, 1740672389);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_string_equal(buf_cstr(&b),
	    "\"format\":\"eip712\",\"payload\":" OFFER
	    ",\"signature\":\"0x544f468d2414752972cb625853715f301c53d0710498d38"
	    "33d46f8ca7ab7c772305f2446e26cf9bdb57cfda200e70db6d415f322d4e370124"
	    "dc25abfe74a7de01b\"");
	offer_typed_receipt(digest, &paid);
	hex_encode(text, digest, sizeof(digest));
	assert_string_equal(text,
	    "6c27439bc6114d2a13f94a8b8537219b8d9a453acd68235b7a2abd9c0e276e02");
	buf_clear(&b);
	offer_put_receipt(&b, &by, &paid);
	assert_non_null(strstr(buf_cstr(&b),
	    "\"format\":\"eip712\",\"payload\":" RECEIPT
	    ",\"signature\":\"0x3189f0f593a35ebb0af79f6979337cdfc74de639751825e"
	    "a0d42f874e44392b13146d48519dfe7f4c06f9b7b0939cb2bd3dd000826df84618"
	    "a2077935e53f8eb1c\""));
	keyring_close(k);
}

/* An EVM key says nothing about another kind of network. */
static void
other_network(void **state)
{
	struct keyring *k = keys_well_known(KEYS_EVM);
	const struct offer_issuer by = { .keys = k, .did = DID };
	struct x402_requirement req = requirement();
	OWN_BUF struct buf b;

	(void)state;
	req.network = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
	buf_init(&b, OFFER_BYTES);
	offer_sign(&b, &by, &req, URL, 1740672389);
	assert_int_equal(
	    strncmp(buf_cstr(&b), "\"format\":\"jws\",\"signature\":\"", 28),
	    0);
	keyring_close(k);
}

/* What does not fit is an error and no short text. */
static void
no_room(void **state)
{
	struct keyring *k = keys_well_known(NULL);
	const struct offer_issuer by = { .keys = k, .did = DID };
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 100);
	offer_put_receipt(&b, &by, &paid);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	keyring_close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offer_jws),
		cmocka_unit_test(receipt_jws),
		cmocka_unit_test(eip712),
		cmocka_unit_test(other_network),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
