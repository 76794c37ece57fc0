#include "x402_help.h"

#include <stdlib.h>

#include "base/json.h"

static bool
all_zero(const struct x402_payment *p)
{
	static const struct x402_payment zero;

	return memcmp(p, &zero, sizeof(zero)) == 0;
}

/* Refused as malformed, the message holding `word`, nothing left behind. */
static void
assert_malformed(
    int version, const char *from, const char *to, const char *word)
{
	struct x402_payment p;
	struct fault f = { .st = ST_OK };
	enum status st = help_parse(&p, version, from, to, &f);

	if (st != ST_PAYMENT_MALFORMED)
		fail_msg("%s -> %s: status %s", from, to, status_name(st));
	assert_int_equal(f.st, ST_PAYMENT_MALFORMED);
	if (strstr(f.message, word) == NULL)
		fail_msg("%s -> %s: %s", from, to, f.message);
	assert_true(all_zero(&p));
}

static void
assert_header_malformed(const char *header, int version, const char *word)
{
	struct x402_payment p;
	struct fault f = { .st = ST_OK };

	assert_int_equal(x402_payment_parse(&p, header, version, NULL, &f),
	    ST_PAYMENT_MALFORMED);
	if (strstr(f.message, word) == NULL)
		fail_msg("%s", f.message);
	assert_true(all_zero(&p));
}

static void
assert_vector_a(const struct x402_payment *p)
{
	char text[2 * 65 + 1];
	struct u256 value = u256_from(10000);
	uint64_t after, before;

	assert_string_equal(p->scheme, "exact");
	assert_string_equal(p->network, "eip155:84532");
	assert_true(p->evm);
	eth_address_text(text, &p->auth.from);
	assert_string_equal(text, FROM);
	eth_address_text(text, &p->auth.to);
	assert_string_equal(text, TO);
	assert_int_equal(u256_cmp(&p->auth.value, &value), 0);
	assert_true(u256_fits64(&after, &p->auth.valid_after));
	assert_true(u256_fits64(&before, &p->auth.valid_before));
	assert_true(after == 1740672089 && before == 1740672389);
	hex_encode(text, p->auth.nonce, 32);
	assert_string_equal(text, A_NONCE);
	assert_int_equal(p->signature_len, 65);
	hex_encode(text, p->signature, 65);
	assert_string_equal(text, A_R A_S "1b");
	assert_null(p->identifier);
	assert_null(p->extra_method);
}

static void
test_v2(void **state)
{
	struct x402_payment p = help_plain(2);

	(void)state;
	assert_vector_a(&p);
	assert_int_equal(p.version, 2);
	assert_string_equal(p.asset, USDC_SEPOLIA);
	assert_string_equal(p.pay_to, TO);
	assert_string_equal(p.amount, "10000");
	assert_string_equal(p.extra_name, "USDC");
	assert_string_equal(p.extra_version, "2");
	assert_int_equal(p.raw_len, strlen(JSON_SIGNATURE));
	assert_string_equal(p.raw, JSON_SIGNATURE);
	x402_payment_free(&p);
	assert_true(all_zero(&p));
	x402_payment_free(&p);
	x402_payment_free(NULL);
}

static void
test_v1(void **state)
{
	struct x402_payment p = help_plain(1);

	(void)state;
	assert_vector_a(&p);
	assert_int_equal(p.version, 1);
	assert_null(p.asset);
	assert_null(p.pay_to);
	assert_null(p.amount);
	assert_null(p.extra_name);
	assert_string_equal(p.raw, JSON_X_PAYMENT);
	x402_payment_free(&p);
}

/* x402.md 1.5: blanks around, no padding, the URL alphabet. */
static void
test_header_forms(void **state)
{
	struct x402_payment p;
	char unpadded[] = HEADER_SIGNATURE;
	OWN_BUF struct buf url;

	(void)state;
	assert_int_equal(
	    x402_payment_parse(&p, " \t" HEADER_SIGNATURE "  ", 2, NULL, NULL),
	    ST_OK);
	assert_vector_a(&p);
	x402_payment_free(&p);

	assert_int_equal(unpadded[sizeof(unpadded) - 2], '=');
	unpadded[sizeof(unpadded) - 2] = '\0';
	assert_int_equal(
	    x402_payment_parse(&p, unpadded, 2, NULL, NULL), ST_OK);
	assert_vector_a(&p);
	x402_payment_free(&p);

	/* A text whose base64 has both characters that differ. */
	buf_init(&url, 1 << 16);
	help_header(&url, JSON_SIGNATURE, "\"x402Version\":2",
	    "\"x\":\"?>?>~~~>>>???\",\"x402Version\":2");
	assert_non_null(strpbrk(buf_cstr(&url), "+"));
	assert_non_null(strpbrk(buf_cstr(&url), "/"));
	for (size_t i = 0; i < url.len; i++) {
		if (url.data[i] == '+')
			url.data[i] = '-';
		else if (url.data[i] == '/')
			url.data[i] = '_';
	}
	assert_int_equal(
	    x402_payment_parse(&p, buf_cstr(&url), 2, NULL, NULL), ST_OK);
	assert_vector_a(&p);
	x402_payment_free(&p);
}

static void
test_header_refused(void **state)
{
	char *huge = malloc(X402_HEADER_CAP + 2);

	(void)state;
	assert_header_malformed("", 2, "PAYMENT-SIGNATURE is empty");
	assert_header_malformed(" \t ", 1, "X-PAYMENT is empty");
	assert_header_malformed(
	    HEADER_SIGNATURE ", " HEADER_SIGNATURE, 2, "more than once");
	assert_header_malformed(",", 2, "more than once");
	assert_header_malformed("not base64!", 2, "not base64");
	assert_header_malformed("eyJ4\nNDAy", 2, "not base64");
	assert_header_malformed("eyJ4 NDAy", 2, "not base64");
	assert_header_malformed("AAAA", 2, "JSON"); /* NUL bytes */
	assert_header_malformed("W10=", 2, "not hold a JSON object"); /* [] */
	assert_header_malformed("bnVsbA==", 2, "not hold a JSON object");
	assert_header_malformed("ew", 1, "JSON");	   /* { */
	assert_header_malformed("e30=", 2, "x402Version"); /* {} */
	assert_header_malformed("/////w==", 2, "JSON");	   /* no UTF-8 */

	assert_non_null(huge);
	memset(huge, 'A', X402_HEADER_CAP + 1);
	huge[X402_HEADER_CAP + 1] = '\0';
	assert_header_malformed(huge, 2, "longer than");
	huge[X402_HEADER_CAP] = '\0';
	assert_header_malformed(huge, 2, "JSON");
	free(huge);

	assert_malformed(2, "\"value\":\"10000\"",
	    "\"value\":\"10000\",\"value\":\"1\"", "value");
	assert_malformed(2, "}}}", "}}} x", "JSON");
	assert_malformed(2, "}}}", "}}", "JSON");
}

static void
test_version(void **state)
{
	struct x402_payment p;

	(void)state;
	/* A v2-shaped object that calls itself 1. */
	assert_malformed(
	    2, "\"x402Version\":2", "\"x402Version\":1", "x402Version");
	assert_malformed(
	    2, "\"x402Version\":2", "\"x402Version\":3", "x402Version");
	assert_malformed(
	    2, "\"x402Version\":2", "\"x402Version\":\"2\"", "x402Version");
	assert_malformed(
	    2, "\"x402Version\":2", "\"x402Version\":2.5", "x402Version");
	assert_malformed(
	    1, "\"x402Version\":1", "\"x402Version\":3", "x402Version");
	assert_malformed(
	    1, "\"x402Version\":1", "\"x402Version\":0", "x402Version");
	/* Each in the other's header. */
	assert_header_malformed(HEADER_X_PAYMENT, 2, "X-PAYMENT");
	assert_header_malformed(HEADER_SIGNATURE, 1, "PAYMENT-SIGNATURE");
	assert_int_equal(
	    x402_payment_parse(&p, HEADER_SIGNATURE, 3, NULL, NULL), ST_BUG);
	assert_true(all_zero(&p));
}

static void
assert_refused_at(const char *place, int version, const char *from,
    const char *to, const char *message)
{
	OWN_BUF struct buf header;
	struct x402_payment p;
	struct fault f = { .st = ST_OK };

	buf_init(&header, 1 << 16);
	help_header(
	    &header, version == 2 ? JSON_SIGNATURE : JSON_X_PAYMENT, from, to);
	assert_int_equal(
	    x402_payment_parse(&p, buf_cstr(&header), version, place, &f),
	    ST_PAYMENT_MALFORMED);
	assert_string_equal(f.message, message);
}

/* Where it is no header that says the version, none is named. */
static void
test_place(void **state)
{
	struct x402_payment p;
	struct fault f = { .st = ST_OK };

	(void)state;
	assert_refused_at("there", 2, "\"x402Version\":2", "\"x402Version\":3",
	    "x402Version must be 1 or 2");
	assert_refused_at(NULL, 2, "\"x402Version\":2", "\"x402Version\":3",
	    "x402Version must be 2 in PAYMENT-SIGNATURE; a version 1 payment "
	    "belongs in X-PAYMENT");
	assert_refused_at("there", 1, "\"x402Version\":1", "\"x402Version\":3",
	    "x402Version must be 1 or 2");
	assert_refused_at(NULL, 1, "\"x402Version\":1", "\"x402Version\":3",
	    "x402Version must be 1 in X-PAYMENT");
	assert_refused_at("there", 1, "\"scheme\":", "\"accepted\":",
	    "accepted is of version 2, but x402Version is 1");
	assert_refused_at(NULL, 1, "\"scheme\":", "\"accepted\":",
	    "accepted is of version 2, which belongs in PAYMENT-SIGNATURE");
	assert_refused_at("there", 1, "\"base-sepolia\"", "\"eip155:84532\"",
	    "network must be a name such as base-sepolia in version 1");
	assert_int_equal(x402_payment_parse(&p, "W10=", 2, "there", &f),
	    ST_PAYMENT_MALFORMED);
	assert_string_equal(f.message, "there does not hold a JSON object");
}

/* A v1 client copies the number from the 402; what goes to the facilitator
 * says 1 and is otherwise the same. */
static void
test_v1_called_2(void **state)
{
	struct x402_payment p = help_payment(
	    1, "\"x402Version\":1", "\"more\":[1],\"x402Version\":2");

	(void)state;
	assert_int_equal(p.version, 1);
	assert_vector_a(&p);
	assert_string_equal(p.raw,
	    "{\"x402Version\":1,\"scheme\":\"exact\","
	    "\"network\":\"base-sepolia\",\"payload\":{\"authorization\":{"
	    "\"from\":\"" FROM "\",\"nonce\":\"0x" A_NONCE "\",\"to\":\"" TO
	    "\",\"validAfter\":\"1740672089\",\"validBefore\":\"1740672389\","
	    "\"value\":\"10000\"},\"signature\":\"" SIGNATURE_A "\"}}");
	assert_int_equal(p.raw_len, strlen(p.raw));
	x402_payment_free(&p);
}

/* Each member in turn: away, null, a number, an object. */
static void
test_members(void **state)
{
	static const struct {
		int version;
		const char *text;
		const char *name;
	} rows[] = {
		{ 2, "\"x402Version\":2", "x402Version" },
		{ 2, "\"scheme\":\"exact\"", "accepted.scheme" },
		{ 2, "\"network\":\"eip155:84532\"", "accepted.network" },
		{ 2, "\"amount\":\"10000\"", "accepted.amount" },
		{ 2, "\"asset\":\"" USDC_SEPOLIA "\"", "accepted.asset" },
		{ 2, "\"payTo\":\"" TO "\"", "accepted.payTo" },
		{ 2, "\"from\":\"" FROM "\"", "payload.authorization.from" },
		{ 2, "\"to\":\"" TO "\"", "payload.authorization.to" },
		{ 2, "\"value\":\"10000\"", "payload.authorization.value" },
		{ 2, "\"validAfter\":\"1740672089\"",
		    "payload.authorization.validAfter" },
		{ 2, "\"validBefore\":\"1740672389\"",
		    "payload.authorization.validBefore" },
		{ 2, "\"nonce\":\"0x" A_NONCE "\"",
		    "payload.authorization.nonce" },
		{ 2, "\"signature\":\"" SIGNATURE_A "\"", "payload.signature" },
		{ 1, "\"x402Version\":1", "x402Version" },
		{ 1, "\"scheme\":\"exact\"", "scheme" },
		{ 1, "\"network\":\"base-sepolia\"", "network" },
		{ 1, "\"value\":\"10000\"", "payload.authorization.value" },
		{ 1, "\"signature\":\"" SIGNATURE_A "\"", "payload.signature" },
	};
	static const char *const instead[] = { "null", "10.5", "{}", "[]",
		"true", "\"\\u0000\"" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		OWN_BUF struct buf b;

		buf_init(&b, 256);
		assert_malformed(
		    rows[i].version, rows[i].text, "\"a\":\"b\"", rows[i].name);
		for (size_t k = 0; k < sizeof(instead) / sizeof(instead[0]);
		     k++) {
			const char *colon = strchr(rows[i].text, ':');

			buf_clear(&b);
			buf_add(&b, rows[i].text,
			    (size_t)(colon + 1 - rows[i].text));
			buf_adds(&b, instead[k]);
			assert_malformed(rows[i].version, rows[i].text,
			    buf_cstr(&b), rows[i].name);
		}
	}
	assert_malformed(2, "\"payload\":", "\"a\":", "payload");
	assert_malformed(2, "\"accepted\":", "\"a\":", "accepted");
	assert_malformed(2,
	    "\"authorization\":", "\"a\":", "payload.authorization is missing");
	assert_malformed(1, "\"payload\":", "\"a\":", "payload");
	assert_malformed(
	    2, "\"accepted\":{", "\"accepted\":[1],\"a\":{", "accepted");
	assert_malformed(
	    2, "\"extra\":{", "\"extra\":[],\"a\":{", "accepted.extra");
	assert_malformed(
	    2, "\"name\":\"USDC\"", "\"name\":7", "accepted.extra.name");
}

#define TWO_256                                                                \
	"115792089237316195423570985008687907853"                              \
	"269984665640564039457584007913129639936"

static void
test_numbers(void **state)
{
	static const char *const bad[] = { "010000", "", "-1", "+1", "1e4",
		"10000.0", "0x2710", " 10000", "1_000", TWO_256 };

	(void)state;
	assert_malformed(2, "\"value\":\"10000\"", "\"value\":10000",
	    "payload.authorization.value must be a string, not a JSON number");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		OWN_BUF struct buf b;

		buf_init(&b, 256);
		buf_addf(&b, "\"value\":\"%s\"", bad[i]);
		assert_malformed(2, "\"value\":\"10000\"", buf_cstr(&b),
		    "payload.authorization.value");
		buf_clear(&b);
		buf_addf(&b, "\"amount\":\"%s\"", bad[i]);
		assert_malformed(
		    2, "\"amount\":\"10000\"", buf_cstr(&b), "accepted.amount");
	}
}

static void
test_hex(void **state)
{
	struct x402_payment p;
	OWN_BUF struct buf b;

	(void)state;
	assert_malformed(2, "\"from\":\"0xf3", "\"from\":\"f3",
	    "payload.authorization.from");
	assert_malformed(
	    2, "\"to\":\"0x7099", "\"to\":\"0x709", "payload.authorization.to");
	assert_malformed(2, "\"nonce\":\"0x00", "\"nonce\":\"0x",
	    "payload.authorization.nonce");
	assert_malformed(2, "\"nonce\":\"0x00", "\"nonce\":\"0x0g",
	    "payload.authorization.nonce");
	assert_malformed(2, SIGNATURE_A, "", "payload.signature");
	assert_malformed(2, SIGNATURE_A, "0", "payload.signature");
	assert_malformed(2, SIGNATURE_A, "f4b7", "payload.signature");
	assert_malformed(2, SIGNATURE_A, "0xf4b", "payload.signature");
	assert_malformed(2, SIGNATURE_A, "0xf4g7", "payload.signature");

	/* As short and as long as one can be. */
	p = help_payment(2, SIGNATURE_A, "0x");
	assert_int_equal(p.signature_len, 0);
	x402_payment_free(&p);
	buf_init(&b, 1 << 16);
	buf_adds(&b, "0x");
	for (unsigned i = 0; i < X402_SIGNATURE_CAP; i++)
		buf_adds(&b, "ab");
	p = help_payment(2, SIGNATURE_A, buf_cstr(&b));
	assert_int_equal(p.signature_len, X402_SIGNATURE_CAP);
	assert_int_equal(p.signature[X402_SIGNATURE_CAP - 1], 0xab);
	x402_payment_free(&p);
	buf_adds(&b, "ab");
	assert_malformed(2, SIGNATURE_A, buf_cstr(&b), "payload.signature");
}

static void
test_unknown_members(void **state)
{
	struct x402_payment p = help_payment(2, "\"amount\":\"10000\"",
	    "\"amount\":\"10000\",\"more\":{\"deep\":[1,2,{}]}");

	(void)state;
	assert_vector_a(&p);
	x402_payment_free(&p);
	p = help_payment(
	    2, "\"value\":\"10000\"", "\"value\":\"10000\",\"more\":null");
	assert_vector_a(&p);
	x402_payment_free(&p);
	p = help_payment(2, "\"x402Version\":2",
	    "\"x402Version\":2,\"scheme\":1,\"resource2\":{},\"e\":1e300");
	assert_vector_a(&p);
	x402_payment_free(&p);
	/* Optional ones may be null or away. */
	p = help_payment(2, "\"extra\":{", "\"extra\":null,\"a\":{");
	assert_null(p.extra_name);
	x402_payment_free(&p);
	p = help_payment(2, "\"resource\":{", "\"r\":{");
	x402_payment_free(&p);
	p = help_payment(
	    2, "\"x402Version\":2", "\"x402Version\":2,\"extensions\":null");
	x402_payment_free(&p);
}

/* A decoder that ignores letter case would take the second one. */
static void
test_twins(void **state)
{
	(void)state;
	assert_malformed(2, "\"value\":\"10000\"",
	    "\"value\":\"10000\",\"Value\":\"1\"",
	    "payload.authorization.value");
	assert_malformed(2, "\"value\":\"10000\"",
	    "\"value\":\"10000\",\"NONCE\":\"0x\"",
	    "payload.authorization.nonce");
	assert_malformed(2, "\"x402Version\":2",
	    "\"x402Version\":2,\"Payload\":{}", "payload");
	assert_malformed(2, "\"x402Version\":2",
	    "\"x402Version\":2,\"X402VERSION\":1", "x402Version");
	assert_malformed(2, "\"signature\":",
	    "\"Authorization\":{},\"signature\":", "payload.authorization");
	assert_malformed(2,
	    "\"signature\":", "\"PERMIT2Authorization\":{},\"signature\":",
	    "payload.permit2Authorization");
}

static void
test_depth(void **state)
{
	OWN_BUF struct buf b;
	struct x402_payment p;

	(void)state;
	/* The object itself is the first level. */
	for (int levels = 31; levels <= 32; levels++) {
		buf_init(&b, 1 << 10);
		buf_adds(&b, "\"x402Version\":2,\"e\":");
		for (int i = 0; i < levels - 1; i++)
			buf_addc(&b, '[');
		buf_addc(&b, '1');
		for (int i = 0; i < levels - 1; i++)
			buf_addc(&b, ']');
		if (levels == 31) {
			p = help_payment(2, "\"x402Version\":2", buf_cstr(&b));
			x402_payment_free(&p);
		} else {
			assert_malformed(
			    2, "\"x402Version\":2", buf_cstr(&b), "JSON");
		}
		buf_free(&b);
	}
	buf_init(&b, 1 << 14);
	buf_adds(&b, "\"x402Version\":2,\"e\":[1");
	for (int i = 0; i < 4096; i++)
		buf_adds(&b, ",1");
	buf_addc(&b, ']');
	assert_malformed(2, "\"x402Version\":2", buf_cstr(&b), "JSON");
}

static void
identifier(const char *text, const char *expected)
{
	OWN_BUF struct buf b;
	struct x402_payment p;

	buf_init(&b, 1 << 10);
	buf_addf(&b,
	    "\"x402Version\":2,\"extensions\":{\"bazaar\":{},"
	    "\"payment-identifier\":{\"info\":{\"required\":false,\"id\":%s},"
	    "\"schema\":{}}}",
	    text);
	if (expected == NULL) {
		assert_malformed(2, "\"x402Version\":2", buf_cstr(&b),
		    "extensions.payment-identifier.info.id");
		return;
	}
	p = help_payment(2, "\"x402Version\":2", buf_cstr(&b));
	assert_string_equal(p.identifier, expected);
	x402_payment_free(&p);
}

static void
test_identifier(void **state)
{
	char text[132], expected[130];

	(void)state;
	identifier("\"pay_0123456789abcdef0123456789abcdef\"",
	    "pay_0123456789abcdef0123456789abcdef");
	identifier("\"0123456789-_aZ00\"", "0123456789-_aZ00");
	identifier("\"0123456789-_aZ0\"", NULL);
	identifier("\"0123456789-_aZ0 \"", NULL);
	identifier("\"0123456789-_aZ0\\u00e9\"", NULL);
	identifier("7", NULL);
	for (size_t len = 128; len <= 129; len++) {
		memset(text, 'x', sizeof(text));
		memset(expected, 'x', sizeof(expected));
		text[0] = text[len + 1] = '"';
		text[len + 2] = expected[len] = '\0';
		identifier(text, len == 128 ? expected : NULL);
	}
	assert_malformed(2, "\"x402Version\":2",
	    "\"x402Version\":2,\"extensions\":[]", "extensions");
	assert_malformed(2, "\"x402Version\":2",
	    "\"x402Version\":2,\"extensions\":{\"payment-identifier\":7}",
	    "extensions.payment-identifier");
}

static void
test_networks(void **state)
{
	struct x402_payment p;

	(void)state;
	p = help_payment(1, "\"base-sepolia\"", "\"base\"");
	assert_string_equal(p.network, "eip155:8453");
	assert_true(p.evm);
	x402_payment_free(&p);
	p = help_payment(1, "\"base-sepolia\"", "\"nowhere\"");
	assert_string_equal(p.network, "nowhere");
	assert_false(p.evm);
	x402_payment_free(&p);
	assert_malformed(1, "\"base-sepolia\"", "\"eip155:84532\"", "network");
	p = help_payment(2, "\"eip155:84532\"", "\"base-sepolia\"");
	assert_string_equal(p.network, "base-sepolia");
	x402_payment_free(&p);
}

/* What is not ours to read is known by the digest of its JCS form, whatever
 * the order and spelling it came in. */
static void
test_opaque(void **state)
{
	struct x402_payment p = help_payment(2, "\"payload\":{",
	    "\"payload\":{\"permit2Authorization\":{},\"b\":2.0,"
	    "\"a\":[1,\"\\u0078\"]},\"old\":{");

	(void)state;
	assert_false(p.evm);
	assert_null(p.signature);
	/* of {"a":[1,"x"],"b":2,"permit2Authorization":{}} */
	assert_string_equal(p.digest,
	    "0ee4764199cd8ed51d50601c57c93e5f0949251418e405be557e62c5590275dc");
	x402_payment_free(&p);

	/* Both kinds at once are not judged by the one that looks right. */
	p = help_payment(2,
	    "\"signature\":", "\"permit2Authorization\":null,\"signature\":");
	assert_false(p.evm);
	x402_payment_free(&p);
	p = help_payment(2, "\"scheme\":\"exact\"", "\"scheme\":\"upto\"");
	assert_false(p.evm);
	assert_int_equal(strlen(p.digest), 64);
	x402_payment_free(&p);
	p = help_payment(2, "\"eip155:84532\"", "\"EIP155:84532\"");
	assert_false(p.evm);
	x402_payment_free(&p);
}

/* Two signatures (64 times 0x11, 64 times 0x22) before a message of 1 to 59. */
#define SOLANA_TX                                                              \
	"AhERERERERERERERERERERERERERERERERERERERERERERERERERERERERER"         \
	"EREREREREREREREREREREREREREiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi"         \
	"IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiAQIDBAUG"         \
	"BwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIz"         \
	"NDU2Nzg5Ojs="
#define SOLANA_OTHER                                                           \
	"AjMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMz"         \
	"MzMzMzMzMzMzMzMzMzMzMzMzMzMiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIi"         \
	"IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiAQIDBAUG"         \
	"BwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIz"         \
	"NDU2Nzg5Ojs="

static void
solana(const char *tx, const char *expected)
{
	OWN_BUF struct buf b;
	struct x402_payment p;

	buf_init(&b, 1 << 12);
	buf_addf(&b,
	    "\"solana\",\"payload\":{\"x\":0,\"transaction\":\"%s\"},\"old\":{",
	    tx);
	if (expected == NULL) {
		assert_malformed(1, "\"base-sepolia\",\"payload\":{",
		    buf_cstr(&b), "payload.transaction");
		return;
	}
	p = help_payment(1, "\"base-sepolia\",\"payload\":{", buf_cstr(&b));
	assert_false(p.evm);
	assert_string_equal(p.digest, expected);
	x402_payment_free(&p);
}

static void
test_solana(void **state)
{
	static const char message[] =
	    "b66aea90a05bb3a0ae1dee796eebf8e60d5246f22a7a5c84d2141085d6a9b9c1";

	(void)state;
	solana(SOLANA_TX, message);
	solana(SOLANA_OTHER, message);
	/* SHA-256 of the one byte 07: no signature, a message of one byte. */
	solana("AAc=",
	    "ca358758f6d27e6cf45272937977a748fd88391db679ceda7dc7bf1f005ee879");
	solana("", NULL);
	solana("AA==", NULL);	  /* no message */
	solana("AgERERE=", NULL); /* signatures cut short */
	solana("gICAgAE=", NULL); /* a count without an end */
	solana("gICAAAc=", NULL); /* a count of four bytes */
	solana("****", NULL);
	assert_malformed(1, "\"base-sepolia\"", "\"solana\"",
	    "payload.transaction is missing");
}

static void
assert_same(enum status expected, const struct x402_payment *earlier,
    struct x402_payment now)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	OWN_BUF struct buf body;

	buf_init(&body, 1 << 16);
	x402_put_facilitator(&body, earlier, &req, &res);
	assert_int_equal(
	    x402_payment_same(&now, buf_cstr(&body), body.len), expected);
	x402_payment_free(&now);
}

/* A payment is what was signed, however the rest of it is written. */
static void
test_same(void **state)
{
	struct x402_payment earlier = help_plain(2);

	(void)state;
	assert_same(ST_OK, &earlier, help_plain(2));
	assert_same(ST_OK, &earlier, help_plain(1));
	assert_same(ST_OK, &earlier,
	    help_payment(2, "\"x402Version\":2",
		"\"extensions\":{\"a\":[1]}, \"x402Version\":2"));
	assert_same(ST_OK, &earlier,
	    help_payment(2, "\"amount\":\"10000\"", "\"amount\":\"1\""));
	assert_same(ST_OK, &earlier,
	    help_payment(2, "\"value\":\"10000\"", "\"value\" : \"10000\""));
	assert_same(
	    ST_OK, &earlier, help_payment(2, "\"resource\":{", "\"r\":{"));

	assert_same(ST_CONFLICT, &earlier,
	    help_payment(2, "\"value\":\"10000\"", "\"value\":\"10001\""));
	assert_same(ST_CONFLICT, &earlier,
	    help_payment(2, SIGNATURE_A, "0x" A_R A_S "1c"));
	assert_same(ST_CONFLICT, &earlier,
	    help_payment(2, SIGNATURE_A, SIGNATURE_A "00"));
	assert_same(ST_CONFLICT, &earlier,
	    help_payment(
		2, "\"value\":\"10000\"", "\"value\":\"10000\",\"x\":1"));
	/* The earlier one stands beside it, to no avail. */
	assert_same(ST_CONFLICT, &earlier,
	    help_payment(2, SIGNATURE_A "\"",
		"0x" A_R A_S "1c\",\"s\":\"" SIGNATURE_A "\""));
	x402_payment_free(&earlier);
}

static void
test_same_as_nothing(void **state)
{
	static const char *const bad[] = { "", "x", "{}", "[]", "null",
		"{\"paymentPayload\":{}}", "{\"paymentPayload\":1}",
		"{\"payload\":{}}" };
	struct x402_payment p = help_plain(2);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    x402_payment_same(&p, bad[i], strlen(bad[i])), ST_FORMAT);
	x402_payment_free(&p);
}

/* As large and as deep as one may be: it is read again beside its requirement.
 */
static void
test_same_at_the_caps(void **state)
{
	OWN_BUF struct buf b;
	struct x402_payment earlier;

	(void)state;
	buf_init(&b, 1 << 16);
	buf_adds(&b, "\"x402Version\":2,\"many\":[");
	for (unsigned i = 0; i < X402_JSON_VALUES - 64; i++)
		buf_adds(&b, "1,");
	for (unsigned i = 0; i < X402_JSON_DEPTH - 2; i++)
		buf_addc(&b, '[');
	for (unsigned i = 0; i < X402_JSON_DEPTH - 2; i++)
		buf_addc(&b, ']');
	buf_addc(&b, ']');
	earlier = help_payment(2, "\"x402Version\":2", buf_cstr(&b));
	assert_same(ST_OK, &earlier, help_plain(2));
	x402_payment_free(&earlier);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_v2),
		cmocka_unit_test(test_v1),
		cmocka_unit_test(test_header_forms),
		cmocka_unit_test(test_header_refused),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_v1_called_2),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_hex),
		cmocka_unit_test(test_unknown_members),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_identifier),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_opaque),
		cmocka_unit_test(test_solana),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_same_as_nothing),
		cmocka_unit_test(test_same_at_the_caps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
