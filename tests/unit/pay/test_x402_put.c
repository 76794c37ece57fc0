#include "x402_help.h"

#include "base/json.h"

#define LOWER_TO "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
#define TX "0xabc"
#define V1_ELEMENT                                                             \
	"{\"scheme\":\"exact\",\"network\":\"base-sepolia\","                  \
	"\"maxAmountRequired\":\"10000\","                                     \
	"\"resource\":\"https://api.example.com/execute\","                    \
	"\"description\":\"Run code in a sandbox\","                           \
	"\"mimeType\":\"application/json\",\"payTo\":\"" TO "\","              \
	"\"maxTimeoutSeconds\":300,\"asset\":\"" USDC_SEPOLIA "\","            \
	"\"extra\":{\"name\":\"USDC\",\"version\":\"2\"}}"

static void
assert_is_json(const struct buf *b)
{
	OWN_JSON struct cJSON *v = NULL;
	static const struct json_caps caps = { .depth = 64, .values = 4096 };

	assert_int_equal(buf_status(b), ST_OK);
	assert_int_equal(
	    json_parse(&v, buf_cstr(b), b->len, &caps, NULL), ST_OK);
}

static void
test_required_vector(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	OWN_BUF struct buf json, header;

	(void)state;
	buf_init(&json, 4096);
	buf_init(&header, 4096);
	x402_put_required(&json, &req, 1, &res, "Payment required", NULL);
	assert_string_equal(buf_cstr(&json), JSON_REQUIRED);
	hex_base64(&header, json.data, json.len);
	assert_int_equal(header.len, 544);
	assert_string_equal(buf_cstr(&header), HEADER_REQUIRED);
}

static void
test_required(void **state)
{
	struct x402_requirement req[2] = { help_requirement(),
		help_requirement() };
	struct x402_resource res = { .url = "https://x.example/\"",
		.description = "caf\xc3\xa9",
		.service_name = "Box" };
	OWN_BUF struct buf b;

	(void)state;
	/* Spelled in lower case by the settings, EIP-55 on the wire. */
	req[0].pay_to = LOWER_TO;
	req[1].network = "eip155:8453";
	req[1].asset = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
	req[1].asset_name = NULL;
	req[1].asset_version = NULL;
	buf_init(&b, 4096);
	x402_put_required(&b, req, 2, &res, NULL, NULL);
	assert_string_equal(buf_cstr(&b),
	    "{\"x402Version\":2,\"resource\":{\"url\":"
	    "\"https://x.example/\\\"\",\"description\":\"caf\xc3\xa9\","
	    "\"mimeType\":\"application/json\",\"serviceName\":\"Box\"},"
	    "\"accepts\":[{\"scheme\":\"exact\",\"network\":\"eip155:84532\","
	    "\"amount\":\"10000\",\"asset\":\"" USDC_SEPOLIA
	    "\",\"payTo\":\"" TO
	    "\",\"maxTimeoutSeconds\":300,\"extra\":{\"name\":\"USDC\","
	    "\"version\":\"2\"}},{\"scheme\":\"exact\",\"network\":"
	    "\"eip155:8453\",\"amount\":\"10000\",\"asset\":\"" USDC_BASE "\","
	    "\"payTo\":\"" TO "\",\"maxTimeoutSeconds\":300}]}");
	assert_is_json(&b);
}

static void
test_required_v1(void **state)
{
	struct x402_requirement req[5];
	struct x402_resource res = help_resource();
	OWN_BUF struct buf b;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		req[i] = help_requirement();
	buf_init(&b, 4096);
	x402_put_required_v1(
	    &b, req, 1, &res, "X-PAYMENT header is required", NULL);
	assert_string_equal(buf_cstr(&b),
	    "{\"x402Version\":1,\"error\":\"X-PAYMENT header is required\","
	    "\"accepts\":[" V1_ELEMENT "]");

	/* No v1 name; no exact; a second one of a network. */
	req[0].network = "eip155:1";
	req[1].scheme = "upto";
	req[3].asset = USDC_BASE;
	req[4].network = "eip155:8453";
	buf_clear(&b);
	x402_put_required_v1(&b, req, 4, &res, "e", NULL);
	assert_string_equal(buf_cstr(&b),
	    "{\"x402Version\":1,\"error\":\"e\",\"accepts\":[" V1_ELEMENT "]");
	buf_clear(&b);
	x402_put_required_v1(&b, req, 2, &res, "e", NULL);
	assert_string_equal(
	    buf_cstr(&b), "{\"x402Version\":1,\"error\":\"e\",\"accepts\":[]");
	buf_clear(&b);
	x402_put_required_v1(&b, req, 5, &res, "e", NULL);
	assert_non_null(strstr(buf_cstr(&b),
	    V1_ELEMENT ",{\"scheme\":\"exact\",\"network\":\"base\","));
	buf_addc(&b, '}');
	assert_is_json(&b);
}

/* Released v1 clients read Latin-1. */
static void
test_v1_ascii(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 4096);
	req.asset_name = "USD\xe2\x82\xae"
			 "0";
	res.description = "\xf0\x9f\x98\x80";
	x402_put_required_v1(&b, &req, 1, &res, "\xc3\xa9", NULL);
	x402_put_response(&b, 1, "", "eip155:84532", NULL, "\xc3\xa9", NULL);
	assert_non_null(strstr(buf_cstr(&b), "\"error\":\"\\u00e9\""));
	assert_non_null(strstr(buf_cstr(&b), "\"name\":\"USD\\u20ae0\""));
	assert_non_null(
	    strstr(buf_cstr(&b), "\"description\":\"\\ud83d\\ude00\""));
	assert_non_null(strstr(buf_cstr(&b), "\"errorReason\":\"\\u00e9\""));
	for (size_t i = 0; i < b.len; i++)
		assert_true(b.data[i] < 0x80);
}

static void
test_requirement(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 4096);
	x402_put_requirement(&b, &req, &res, 1);
	assert_string_equal(buf_cstr(&b), V1_ELEMENT);
	buf_clear(&b);
	x402_put_requirement(&b, &req, NULL, 2);
	assert_non_null(strstr(JSON_REQUIRED, buf_cstr(&b)));
	assert_int_equal(b.data[0], '{');
	/* Base58 is kept letter by letter. */
	req.network = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
	req.asset = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
	buf_clear(&b);
	x402_put_requirement(&b, &req, &res, 1);
	assert_non_null(strstr(buf_cstr(&b), "\"network\":\"solana\""));
	assert_non_null(strstr(
	    buf_cstr(&b), "\"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\""));
	req.network = "eip155:1";
	buf_clear(&b);
	x402_put_requirement(&b, &req, &res, 1);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(b.len, 0);
}

static void
assert_response(int version, const char *tx, const char *network,
    const char *payer, const char *reason, const char *expected)
{
	OWN_BUF struct buf b;

	buf_init(&b, 4096);
	x402_put_response(&b, version, tx, network, payer, reason, NULL);
	assert_string_equal(buf_cstr(&b), expected);
	assert_is_json(&b);
}

static void
test_response(void **state)
{
	(void)state;
	assert_response(2, TX, "eip155:84532", LOWER_TO, NULL,
	    "{\"success\":true,\"transaction\":\"" TX "\","
	    "\"network\":\"eip155:84532\",\"payer\":\"" TO "\"}");
	assert_response(1, TX, "eip155:84532", TO, NULL,
	    "{\"success\":true,\"transaction\":\"" TX "\","
	    "\"network\":\"base-sepolia\",\"payer\":\"" TO "\"}");
	assert_response(2, NULL, "eip155:84532", TO, "insufficient_funds",
	    "{\"success\":false,\"errorReason\":\"insufficient_funds\","
	    "\"transaction\":\"\",\"network\":\"eip155:84532\","
	    "\"payer\":\"" TO "\"}");
	assert_response(2, "", "eip155:84532", NULL, "x\"y",
	    "{\"success\":false,\"errorReason\":\"x\\\"y\","
	    "\"transaction\":\"\",\"network\":\"eip155:84532\"}");
	/* No v1 name: the only one there is. */
	assert_response(1, TX, "eip155:1", NULL, NULL,
	    "{\"success\":true,\"transaction\":\"" TX "\","
	    "\"network\":\"eip155:1\"}");
}

static void
test_facilitator(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	struct x402_payment p = help_payment(2, "\"version\":\"2\"}}}",
	    "\"version\":\"2\"}},\n "
	    "\"extensions\":{\"bazaar\":{\"a\":[1.50]}}}");
	OWN_BUF struct buf b, expected;

	(void)state;
	buf_init(&b, 8192);
	buf_init(&expected, 8192);
	x402_put_facilitator(&b, &p, &req, &res);
	buf_addf(&expected,
	    "{\"x402Version\":2,\"paymentPayload\":%s,"
	    "\"paymentRequirements\":{\"scheme\":\"exact\","
	    "\"network\":\"eip155:84532\",\"amount\":\"10000\","
	    "\"asset\":\"" USDC_SEPOLIA "\",\"payTo\":\"" TO "\","
	    "\"maxTimeoutSeconds\":300,\"extra\":{\"name\":\"USDC\","
	    "\"version\":\"2\"}}}",
	    p.raw);
	assert_string_equal(buf_cstr(&b), buf_cstr(&expected));
	assert_non_null(strstr(buf_cstr(&b), "{\"a\":[1.50]}"));
	assert_is_json(&b);
	x402_payment_free(&p);

	p = help_plain(1);
	buf_clear(&b);
	x402_put_facilitator(&b, &p, &req, &res);
	assert_string_equal(buf_cstr(&b),
	    "{\"x402Version\":1,\"paymentPayload\":" JSON_X_PAYMENT
	    ",\"paymentRequirements\":" V1_ELEMENT "}");
	x402_payment_free(&p);
}

/* What the client claims never stands in what we ask to be settled. */
static void
test_facilitator_own_terms(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	struct x402_payment p =
	    help_payment(2, "\"amount\":\"10000\"", "\"amount\":\"1\"");
	OWN_BUF struct buf b;
	const char *ours;

	(void)state;
	buf_init(&b, 8192);
	x402_put_facilitator(&b, &p, &req, &res);
	ours = strstr(buf_cstr(&b), "\"paymentRequirements\":");
	assert_non_null(ours);
	assert_non_null(strstr(ours, "\"amount\":\"10000\""));
	assert_null(strstr(ours, "\"amount\":\"1\""));
	x402_payment_free(&p);
}

/* What the facilitator wants under extra, of each version its own; and what no
 * facilitator takes is not asked for. */
static void
test_extra(void **state)
{
	struct x402_requirement req[2] = { help_requirement(),
		help_requirement() };
	struct x402_resource res = help_resource();
	OWN_BUF struct buf b;

	(void)state;
	req[0].extra = "\"feePayer\":\"A\"";
	req[0].extra_v1 = "\"feePayer\":\"B\"";
	req[1].network = "eip155:8453";
	req[1].not_v2 = true;
	buf_init(&b, 4096);
	x402_put_required(&b, req, 2, &res, NULL, NULL);
	assert_is_json(&b);
	assert_non_null(strstr(buf_cstr(&b),
	    "\"extra\":{\"name\":\"USDC\",\"version\":\"2\","
	    "\"feePayer\":\"A\"}}]}"));
	buf_clear(&b);
	req[0].asset_name = NULL;
	req[0].asset_version = NULL;
	x402_put_requirement(&b, &req[0], &res, 1);
	assert_is_json(&b);
	assert_non_null(
	    strstr(buf_cstr(&b), "\"extra\":{\"feePayer\":\"B\"}}"));
	buf_clear(&b);
	req[0].not_v1 = true;
	x402_put_required_v1(&b, req, 2, &res, "e", NULL);
	assert_null(strstr(buf_cstr(&b), "base-sepolia"));
	assert_non_null(strstr(buf_cstr(&b), "\"network\":\"base\""));
	/* One that is left out is not the network's first. */
	req[1].network = req[0].network;
	buf_clear(&b);
	x402_put_required_v1(&b, req, 2, &res, "e", NULL);
	assert_non_null(strstr(buf_cstr(&b), "base-sepolia"));
}

/* What is offered stands as it is, and the payment's id in its right form. */
static void
test_extensions(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_resource res = help_resource();
	struct buf b, more;
	const char *at;

	(void)state;
	buf_init(&b, 65536);
	buf_init(&more, 1024);
	buf_addc(&more, '{');
	x402_put_identifier(&more);
	buf_addc(&more, '}');
	x402_put_required(&b, &req, 1, &res, NULL, &more);
	at = strstr(buf_cstr(&b), "}],\"extensions\":{\"payment-identifier\":");
	assert_non_null(at);
	assert_string_equal(at + strlen("}],\"extensions\":"),
	    "{\"payment-identifier\":{\"info\":{\"required\":false},\"schema\":"
	    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
	    "\"type\":\"object\",\"properties\":{\"required\":{\"type\":"
	    "\"boolean\"},\"id\":{\"type\":\"string\",\"minLength\":16,"
	    "\"maxLength\":128,\"pattern\":\"^[a-zA-Z0-9_-]+$\"}},\"required\":"
	    "[\"required\"]}}}}");
	buf_free(&b);
	buf_free(&more);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_required_vector),
		cmocka_unit_test(test_required),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_required_v1),
		cmocka_unit_test(test_extra),
		cmocka_unit_test(test_v1_ascii),
		cmocka_unit_test(test_requirement),
		cmocka_unit_test(test_response),
		cmocka_unit_test(test_facilitator),
		cmocka_unit_test(test_facilitator_own_terms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
