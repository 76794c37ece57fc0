/* The 402, the error bodies and the result's object, member by member. */
#include "web/answer.h"

#include "site_fixture.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/json.h"
#include "web/dialect.h"
#include "web/mcp_result.h"
#include "web/result.h"

static const struct json_caps caps = { .depth = 32, .values = 4096 };

static struct cJSON *
parsed(const struct buf *b)
{
	struct cJSON *v = NULL;
	struct fault f = { .st = ST_OK };

	if (json_parse(&v, buf_cstr(b), b->len, &caps, &f) != ST_OK)
		fail_msg("%s in: %s", f.message, buf_cstr(b));
	return v;
}

/* The decoded value of a base64 JSON header in a block of header lines. */
static struct cJSON *
header_json(const struct buf *headers, const char *name)
{
	const char *at = strstr(buf_cstr(headers), name);
	struct cJSON *v;
	struct buf raw;

	assert_non_null(at);
	at += strlen(name) + 2;
	buf_init(&raw, 16384);
	assert_int_equal(hex_unbase64(&raw, at, strcspn(at, "\r")), ST_OK);
	v = parsed(&raw);
	buf_free(&raw);
	return v;
}

static void
names_are(const struct cJSON *v, const char *names)
{
	struct buf got;

	buf_init(&got, 1024);
	for (const struct cJSON *m = json_first(v); m != NULL; m = json_next(m))
		buf_addf(&got, "%s%s", got.len > 0 ? " " : "", json_name(m));
	assert_string_equal(buf_cstr(&got), names);
	buf_free(&got);
}

static void
required(void **state)
{
	struct fixture *x = *state;
	struct http_reply a;
	struct fault f;
	struct cJSON *v1;
	struct cJSON *v2;
	const struct cJSON *e;

	http_reply_init(&a, 65536);
	fault_set(&f, ST_PAYMENT_REQUIRED, "Payment required");
	answer_required(
	    &a, x->site, &x->site->tiers[1], dialect_of("/execute"), &f);
	assert_int_equal(a.status, 402);
	assert_non_null(strstr(buf_cstr(&a.headers), "no-store"));
	v2 = header_json(&a.headers, "PAYMENT-REQUIRED");
	names_are(v2, "x402Version error resource accepts extensions");
	names_are(json_get(v2, "extensions"),
	    "offer-receipt payment-identifier bazaar");
	names_are(
	    json_get(json_get(v2, "extensions"), "bazaar"), "info schema");
	e = json_first(json_get(v2, "accepts"));
	names_are(
	    e, "scheme network amount asset payTo maxTimeoutSeconds extra");
	assert_string_equal(json_string(json_get(e, "amount")), "5000");
	assert_string_equal(json_string(json_get(e, "asset")),
	    "0x036CbD53842c5426634e7929541eC2318f3dCF7e");
	assert_string_equal(json_string(json_get(e, "payTo")),
	    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
	assert_string_equal(
	    json_string(json_get(json_get(v2, "resource"), "url")),
	    "https://api.example.com/execute");
	v1 = parsed(&a.body);
	names_are(v1, "x402Version error accepts extensions details");
	e = json_first(json_get(v1, "accepts"));
	names_are(json_get(e, "outputSchema"), "input output");
	assert_string_equal(
	    json_string(json_get(e, "maxAmountRequired")), "5000");
	assert_string_equal(
	    json_string(json_get(e, "network")), "base-sepolia");
	names_are(json_get(v1, "details"), "code message billable category");
	assert_true(json_is_null(json_get(json_get(v1, "details"), "code")));
	assert_string_equal(
	    json_string(json_get(json_get(v1, "details"), "category")),
	    "payment_required");
	json_free(v1);
	json_free(v2);
	http_reply_free(&a);
}

static void
learn(struct fixture *x, const char *kinds)
{
	assert_int_equal(
	    facilitator_learn(
		sites_facilitator(x->sites, "default"), kinds, strlen(kinds)),
	    ST_OK);
}

/* Where version 1 alone is settled there is no header, whose empty list would
 * keep clients from the body; MCP then has the body's object too. */
static void
required_of_version_1(void **state)
{
	struct fixture *x = *state;
	struct http_reply a;
	struct fault f;
	struct cJSON *v;
	const struct cJSON *e;
	struct buf mcp;

	learn(x, "{\"kinds\":[{\"x402Version\":1,\"scheme\":\"exact\","
		 "\"network\":\"base-sepolia\"}]}");
	http_reply_init(&a, 65536);
	buf_init(&mcp, 262144);
	fault_set(&f, ST_PAYMENT_REQUIRED, "Payment required");
	answer_required(
	    &a, x->site, &x->site->tiers[0], dialect_of("/execute"), &f);
	mcp_result_put_run(&mcp, &a, false);
	learn(x, fixture_kinds);
	assert_int_equal(a.status, 402);
	assert_null(strstr(buf_cstr(&a.headers), "PAYMENT-REQUIRED"));
	v = parsed(&a.body);
	names_are(v, "x402Version error accepts extensions details");
	assert_int_equal(json_count(json_get(v, "accepts")), 1);
	json_free(v);
	v = parsed(&mcp);
	e = json_get(v, "structuredContent");
	assert_int_equal(json_count(json_get(e, "accepts")), 1);
	e = json_first(json_get(e, "accepts"));
	assert_string_equal(
	    json_string(json_get(e, "network")), "base-sepolia");
	json_free(v);
	buf_free(&mcp);
	http_reply_free(&a);
}

/* One signed offer in both versions of the 402, the same. */
static void
offers(void **state)
{
	struct fixture *x = *state;
	struct http_reply a;
	struct fault f;
	struct cJSON *v[2];
	const char *signature[2];

	http_reply_init(&a, 65536);
	fault_set(&f, ST_PAYMENT_REQUIRED, "Payment required");
	answer_required(
	    &a, x->site, &x->site->tiers[0], dialect_of("/execute"), &f);
	v[0] = header_json(&a.headers, "PAYMENT-REQUIRED");
	v[1] = parsed(&a.body);
	for (int i = 0; i < 2; i++) {
		const struct cJSON *e =
		    json_get(json_get(v[i], "extensions"), "offer-receipt");
		const struct cJSON *list =
		    json_get(json_get(e, "info"), "offers");

		names_are(e, "info schema");
		assert_int_equal(json_count(list), 1);
		names_are(json_first(list), "acceptIndex format signature");
		signature[i] =
		    json_string(json_get(json_first(list), "signature"));
	}
	assert_string_equal(signature[0], signature[1]);
	json_free(v[0]);
	json_free(v[1]);
	http_reply_free(&a);
}

/* The payment response: a receipt with a success, the same each time; none with
 * a failure, or for a payer whom we do not know. */
static void
response(void **state)
{
	struct fixture *x = *state;
	struct answer_settlement t = { .version = 2,
		.network = "eip155:84532",
		.payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		.transaction = "0xabab",
		.issued_at = 1740672100 };
	struct http_reply a, again;
	struct cJSON *v;

	http_reply_init(&a, 16);
	http_reply_init(&again, 16);
	answer_payment_response(&a, x->site, "/execute", &t);
	answer_payment_response(&again, x->site, "/execute", &t);
	assert_string_equal(buf_cstr(&a.headers), buf_cstr(&again.headers));
	v = header_json(&a.headers, "PAYMENT-RESPONSE");
	names_are(v, "success transaction network payer extensions");
	names_are(json_get(json_get(json_get(json_get(v, "extensions"),
					"offer-receipt"),
			       "info"),
		      "receipt"),
	    "format signature");
	json_free(v);

	buf_clear(&a.headers);
	t.version = 1;
	answer_payment_response(&a, x->site, "/execute", &t);
	v = header_json(&a.headers, "X-PAYMENT-RESPONSE");
	names_are(v, "success transaction network payer extensions");
	assert_string_equal(
	    json_string(json_get(v, "network")), "base-sepolia");
	json_free(v);

	buf_clear(&a.headers);
	t.payer = "";
	answer_payment_response(&a, x->site, "/execute", &t);
	v = header_json(&a.headers, "X-PAYMENT-RESPONSE");
	names_are(v, "success transaction network payer");
	json_free(v);

	buf_clear(&a.headers);
	t = (struct answer_settlement){ .version = 2,
		.network = "eip155:84532",
		.payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		.reason = "insufficient_funds",
		.transaction = "" };
	answer_payment_response(&a, x->site, "/execute", &t);
	v = header_json(&a.headers, "PAYMENT-RESPONSE");
	names_are(v, "success errorReason transaction network payer");
	json_free(v);
	http_reply_free(&a);
	http_reply_free(&again);
}

/* Every code that a caller can see: status, body, Retry-After. */
static void
errors(void **state)
{
	struct http_reply a;

	(void)state;
	http_reply_init(&a, 65536);
	for (int st = ST_REQUEST_MALFORMED; st < ST_SANDBOX_TIMEOUT; st++) {
		const struct status_api *row = status_api((enum status)st);
		const struct cJSON *e;
		struct cJSON *v;
		struct fault f;

		if (row->http == 402)
			continue;
		fault_set(&f, (enum status)st, "because \"%s\"", "x");
		answer_error(&a, &f);
		assert_int_equal(a.status, row->http);
		v = parsed(&a.body);
		names_are(v, "error");
		e = json_get(v, "error");
		names_are(e, "code message billable category");
		assert_string_equal(
		    json_string(json_get(e, "code")), row->code);
		assert_false(json_is_true(json_get(e, "billable")));
		assert_int_equal(
		    strstr(buf_cstr(&a.headers), "Retry-After") != NULL,
		    row->http == 429 || row->http == 503);
		json_free(v);
	}
	http_reply_free(&a);
}

/* What went wrong inside is not told. */
static void
internal(void **state)
{
	struct http_reply a;
	struct fault f;

	(void)state;
	http_reply_init(&a, 65536);
	fault_set(&f, ST_IO, "open /secret/path failed");
	answer_error(&a, &f);
	assert_int_equal(a.status, 500);
	assert_null(strstr(buf_cstr(&a.body), "secret"));
	assert_non_null(strstr(buf_cstr(&a.body), "SERVICE_INTERNAL_FAILURE"));
	http_reply_free(&a);
}

static void
result(void **state)
{
	struct fixture *x = *state;
	struct wire_result end = { .status = ST_SANDBOX_TIMEOUT,
		.exit_code = -1,
		.duration_us = 12340,
		.cpu_us = 5000,
		.max_memory_bytes = 4096,
		.lost = { 1, 0 },
		.text = "over time" };
	struct job job = { .runtime = &x->conf->runtimes[0],
		.limits = x->site->tiers[0].limits };
	struct buf streams[2];
	struct result r = { .end = &end,
		.streams = streams,
		.job = &job,
		.site = x->site,
		.tier = &x->site->tiers[0],
		.price_micros = x->site->tiers[0].price_micros,
		.request_digest = "aa",
		.payer = "0xpayer",
		.amount = "1000",
		.network = "eip155:84532",
		.asset = "0xasset",
		.transaction = "0xtx",
		.issued_at = 1740672089 };
	struct cJSON *v;
	const struct cJSON *rec;
	struct buf out;
	size_t n;
	char *s;

	buf_init(&streams[0], 64);
	buf_init(&streams[1], 64);
	/* A NUL, a bad byte, and a code point that the limit cut. */
	buf_add(&streams[0], "a\0\xff\xe2\x82", 5);
	buf_init(&out, 65536);
	assert_int_equal(result_put(&out, &r), ST_OK);
	v = parsed(&out);
	names_are(v,
	    "outcome stdout stderr exitCode signal durationMs truncated error "
	    "payment receipt usage");
	assert_string_equal(json_string(json_get(v, "outcome")), "timeout");
	assert_int_equal(json_bytes(&s, &n, json_get(v, "stdout")), ST_OK);
	assert_int_equal(n, 5);
	assert_memory_equal(s, "a\0\xef\xbf\xbd", 5);
	free(s);
	assert_true(json_is_null(json_get(v, "exitCode")));
	assert_true(json_is_null(json_get(v, "signal")));
	assert_non_null(strstr(buf_cstr(&out), "\"durationMs\":12.3,"));
	assert_true(json_is_true(json_get(json_get(v, "truncated"), "stdout")));
	names_are(
	    json_get(v, "payment"), "payer amount asset network transaction");
	rec = json_get(v, "receipt");
	names_are(rec, "issuedAt issuer limits outputDigest payment price "
		       "priceUsd requestDigest runtime signature status tier "
		       "usage");
	assert_string_equal(
	    json_string(json_get(rec, "issuer")), "did:web:api.example.com");
	assert_string_equal(json_string(json_get(rec, "price")), "$0.0010");
	assert_string_equal(
	    json_string(json_get(json_get(rec, "status"), "code")),
	    "SANDBOX_TIMEOUT");
	json_free(v);
	buf_clear(&out);
	end.status = ST_EXECUTION_RUNTIME_ERROR;
	end.signal = 11;
	assert_int_equal(result_put(&out, &r), ST_OK);
	assert_non_null(strstr(buf_cstr(&out), "\"signal\":\"SIGSEGV\""));
	buf_free(&out);
	buf_free(&streams[0]);
	buf_free(&streams[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(required),
		cmocka_unit_test(required_of_version_1),
		cmocka_unit_test(offers),
		cmocka_unit_test(response),
		cmocka_unit_test(errors),
		cmocka_unit_test(internal),
		cmocka_unit_test(result),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_drop);
}
