#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/own.h"
#include "pay/facilitator_answer.h"
#include "pay/fetch_redirect.h"

#define YES FACILITATOR_YES
#define NO FACILITATOR_NO
#define NOSVC FACILITATOR_NO_SERVICE
#define UNK FACILITATOR_UNKNOWN

static void
read_answer(struct facilitator_answer *a, enum facilitator_call call, long http,
    const char *body, size_t len)
{
	struct facilitator_reply r = { .http = http,
		.type = "application/json",
		.body = body,
		.len = len };

	assert_int_equal(facilitator_answer_init(a), ST_OK);
	facilitator_answer_read(a, call, &r);
	assert_non_null(a->transaction);
	assert_int_equal(a->http, http);
}

struct answer_case {
	long http;
	const char *body;
	enum facilitator_verdict verdict;
	const char *reason; /* the whole of it, NULL: any */
};

static void
check_cases(
    const struct answer_case *cases, size_t n, enum facilitator_call call)
{
	size_t i;

	for (i = 0; i < n; i++) {
		struct facilitator_answer a;

		read_answer(&a, call, cases[i].http, cases[i].body,
		    strlen(cases[i].body));
		if (a.verdict != cases[i].verdict ||
		    (cases[i].reason != NULL &&
			strcmp(a.reason, cases[i].reason) != 0))
			fail_msg("%s gives %d \"%s\"", cases[i].body,
			    (int)a.verdict, a.reason);
		facilitator_answer_free(&a);
	}
}

#define CHECK(cases, call)                                                     \
	check_cases(cases, sizeof(cases) / sizeof((cases)[0]), call)

static void
verify_verdicts(void **state)
{
	static const struct answer_case cases[] = {
		{ 200, "{\"isValid\":true}", YES, "" },
		{ 201, "{\"isValid\":true,\"payer\":\"0x1\"}", YES, "" },
		{ 200, "{\"isValid\":true,\"payer\":null,\"extra\":[{}]}", YES,
		    "" },
		{ 200,
		    "{\"isValid\":false,\"invalidReason\":\"insufficient_"
		    "funds\"}",
		    NO, "insufficient_funds" },
		{ 412, "{\"isValid\":false,\"invalidReason\":\"x\"}", NO, "x" },
		{ 500, "{\"isValid\":false,\"invalidReason\":\"x\"}", NO, "x" },
		/* Reasons that leave a settlement open refuse a verify. */
		{ 200,
		    "{\"isValid\":false,\"invalidReason\":\"unexpected_error"
		    "\"}",
		    NO, "unexpected_error" },
		{ 200, "{\"isValid\":false}", NO, "refused without a reason" },
		{ 200, "{\"isValid\":false,\"invalidReason\":null}", NO,
		    "refused without a reason" },
		{ 500, "{\"isValid\":true}", UNK, NULL },
		{ 400, "{\"isValid\":true}", UNK, NULL },
		{ 200, "{\"isValid\":1}", UNK, NULL },
		{ 200, "{\"isValid\":\"true\"}", UNK, NULL },
		{ 200, "{\"isValid\":null}", UNK, NULL },
		{ 200, "{\"valid\":true}", UNK, NULL },
		{ 200, "{\"isvalid\":true}", UNK, NULL },
		{ 200, "{\"success\":true,\"transaction\":\"0x1\"}", UNK,
		    NULL },
		{ 200, "{\"isValid\":true,\"payer\":7}", UNK, NULL },
		{ 200, "{\"isValid\":false,\"invalidReason\":{}}", UNK, NULL },
		{ 200, "{\"isValid\":true,\"isValid\":true}", UNK, NULL },
		{ 200, "{\"isValid\":true}x", UNK, NULL },
		{ 200, "[{\"isValid\":true}]", UNK, NULL },
		{ 200, "true", UNK, NULL },
		{ 204, "", UNK, NULL },
		{ 307, "{\"isValid\":true}", UNK, NULL },
		{ 100, "{\"isValid\":true}", UNK, NULL },
		{ 0, "{\"isValid\":true}", UNK, NULL },
		{ 999, "{\"isValid\":false,\"invalidReason\":\"x\"}", UNK,
		    NULL },
		{ 401, "{\"isValid\":true}", NOSVC,
		    "the facilitator answers HTTP 401" },
		{ 429, "{\"isValid\":false,\"invalidReason\":\"x\"}", NOSVC,
		    NULL },
	};

	(void)state;
	CHECK(cases, FACILITATOR_VERIFY);
}

#define TX "\"transaction\":\"0xabc\""
#define REFUSED(reason)                                                        \
	"{\"success\":false,\"transaction\":\"\",\"errorReason\":\"" reason    \
	"\"}"

static void
settle_verdicts(void **state)
{
	static const struct answer_case cases[] = {
		{ 200, "{\"success\":true," TX "}", YES, "" },
		{ 299, "{\"success\":true," TX ",\"payer\":null}", YES, "" },
		{ 200, "{\"success\":true,\"errorReason\":\"x\"," TX "}", YES,
		    "" },
		{ 200, "{\"success\":true,\"transaction\":\"\"}", UNK, NULL },
		{ 200, "{\"success\":true,\"transaction\":null}", UNK, NULL },
		{ 200, "{\"success\":true}", UNK, NULL },
		{ 200, "{\"success\":true,\"transaction\":\"a b\"}", UNK,
		    NULL },
		{ 200, "{\"success\":true,\"transaction\":\"0x1\\n\"}", UNK,
		    NULL },
		{ 200, "{\"success\":true,\"transaction\":\"0x1\\u0000\"}", UNK,
		    NULL },
		{ 200, "{\"success\":true,\"transaction\":\"\xc3\xa4\"}", UNK,
		    NULL },
		{ 200, "{\"success\":true,\"transaction\":12}", UNK, NULL },
		{ 200, "{\"success\":true,\"transaction\":[\"0x1\"]}", UNK,
		    NULL },
		{ 200, "{\"success\":\"true\"," TX "}", UNK, NULL },
		{ 200, "{\"success\":1," TX "}", UNK, NULL },
		{ 200, "{\"success\":null," TX "}", UNK, NULL },
		{ 200, "{" TX "}", UNK, NULL },
		{ 200, "{\"isValid\":true," TX "}", UNK, NULL },
		{ 200, "{\"success\":true," TX ",\"network\":1}", UNK, NULL },
		{ 200, "{\"success\":true," TX ",\"payer\":{}}", UNK, NULL },
		{ 200, "{\"success\":true," TX ",\"amount\":10000}", UNK,
		    NULL },
		{ 200, "{\"success\":true," TX "," TX "}", UNK, NULL },
		{ 200, "{\"success\":true," TX ",\"a\":{\"b\":1,\"b\":2}}", UNK,
		    NULL },
		{ 200, "{\"success\":true," TX, UNK, NULL },
		{ 200, "\xef\xbb\xbf{\"success\":true," TX "}", UNK, NULL },
		{ 200, "{\"success\":true," TX ",\"x\":\"\xff\"}", UNK, NULL },
		{ 400, "{\"success\":true," TX "}", UNK, NULL },
		{ 403, "{\"success\":true," TX "}", NOSVC, NULL },

		{ 200, REFUSED("insufficient_funds"), NO,
		    "insufficient_funds" },
		{ 500, REFUSED("invalid_payload"), NO, "invalid_payload" },
		{ 400, "{\"success\":false,\"errorReason\":\"never_heard_of\"}",
		    UNK, "never_heard_of" },
		/* What the released packages say after they have sent the
		 * transaction must never read as a refusal. */
		{ 200, REFUSED("invalid_exact_evm_transaction_failed"), UNK,
		    NULL },
		{ 200, REFUSED("invalid_transaction_state"), UNK, NULL },
		{ 200, REFUSED("The request took too long to respond."), UNK,
		    NULL },
		{ 200,
		    REFUSED("settle_exact_svm_transaction_confirmation_timed_"
			    "out"),
		    UNK, NULL },
		{ 200,
		    REFUSED("Execution reverted with reason: ERC20: transfer "
			    "amount exceeds balance. Request Arguments: from: "
			    "0x0 to: 0x0 data: 0x0"),
		    NO, "insufficient_funds" },
		{ 200,
		    REFUSED("The contract function \\\"transferWithAuthoriz"
			    "ation\\\" reverted with the following reason: "
			    "FiatTokenV2: authorization is used or canceled "
			    "and a long text behind it"),
		    NO, "nonce_already_used" },
		{ 200, REFUSED("invalid_exact_evm_signature"), NO, NULL },
		{ 200,
		    REFUSED("invalid_exact_evm_payload_authorization_valid_"
			    "before"),
		    NO, NULL },
		{ 200,
		    "{\"success\":false,\"errorReason\":\"x\",\"transaction"
		    "\":null,\"payer\":null,\"network\":null}",
		    UNK, "x" },
		{ 200, REFUSED("invalid_exact_evm_nonce_already_used"), NO,
		    NULL },
		{ 200, REFUSED("duplicate_settlement"), NO, NULL },
		{ 200, REFUSED("settlement_pending"), UNK,
		    "settlement_pending" },
		{ 200, REFUSED("settle_exact_node_failure"), UNK, NULL },
		{ 200,
		    REFUSED("settle_exact_evm_transaction_confirmation_timed_"
			    "out"),
		    UNK, NULL },
		{ 200, REFUSED("unexpected_settle_error"), UNK, NULL },
		{ 200, REFUSED("unknown_error"), UNK, NULL },
		{ 400, REFUSED("unexpected_error"), UNK, NULL },
		{ 200, "{\"success\":false,\"errorReason\":\"x\"," TX "}", UNK,
		    "x" },
		/* A refusal by its reason, but something was sent. */
		{ 200,
		    "{\"success\":false,\"errorReason\":\"insufficient_funds"
		    "\"," TX "}",
		    UNK, "insufficient_funds" },
		{ 200,
		    "{\"success\":false,\"errorReason\":\"x\","
		    "\"transaction\":0}",
		    UNK, NULL },
		{ 200, "{\"success\":false}", UNK, NULL },
		{ 200, REFUSED(""), UNK, NULL },
		{ 200, "{\"success\":false,\"errorReason\":null}", UNK, NULL },
		{ 200, "{\"success\":false,\"errorReason\":[]}", UNK, NULL },
		{ 200, "{\"success\":false,\"errorReason\":\"a\\u0000\"}", UNK,
		    NULL },
		{ 302, REFUSED("insufficient_funds"), UNK, NULL },
	};

	(void)state;
	CHECK(cases, FACILITATOR_SETTLE);
}

/* Every status against a yes and a no: only 2xx is a yes, 1xx and 3xx and what
 * is no status never say anything. */
static void
every_status(void **state)
{
	static const char yes[] = "{\"success\":true," TX "}";
	static const char no[] = REFUSED("insufficient_funds");
	long http;

	(void)state;
	for (http = 0; http < 1000; http++) {
		bool five = http == 401 || http == 403 || http == 404 ||
			    http == 413 || http == 429;
		bool speaks =
		    (http >= 200 && http < 300) || (http >= 400 && http < 600);
		struct facilitator_answer a;

		read_answer(&a, FACILITATOR_SETTLE, http, yes, sizeof(yes) - 1);
		assert_int_equal(a.verdict, five			? NOSVC
					    : http >= 200 && http < 300 ? YES
									: UNK);
		facilitator_answer_free(&a);
		read_answer(&a, FACILITATOR_SETTLE, http, no, sizeof(no) - 1);
		assert_int_equal(a.verdict, five ? NOSVC : speaks ? NO : UNK);
		facilitator_answer_free(&a);
	}
}

static void
members_are_told(void **state)
{
	static const char body[] =
	    "{\"success\":false,\"errorReason\":\"settlement_pending\"," TX
	    ",\"network\":\"eip155:1\",\"payer\":\"0xf3\",\"amount\":\"7\","
	    "\"extensions\":{\"a\":1}}";
	struct facilitator_answer a;

	(void)state;
	read_answer(&a, FACILITATOR_SETTLE, 200, body, sizeof(body) - 1);
	assert_int_equal(a.verdict, UNK);
	assert_true(facilitator_answer_pending(&a));
	assert_string_equal(a.transaction, "0xabc");
	assert_string_equal(a.network, "eip155:1");
	assert_string_equal(a.payer, "0xf3");
	assert_string_equal(a.amount, "7");
	facilitator_answer_free(&a);
	facilitator_answer_free(&a);
	facilitator_answer_free(NULL);
	read_answer(&a, FACILITATOR_SETTLE, 200, REFUSED("settlement_pending"),
	    sizeof(REFUSED("settlement_pending")) - 1);
	assert_false(facilitator_answer_pending(&a));
	facilitator_answer_free(&a);
}

static void
reasons_are_printable(void **state)
{
	static const char body[] = "{\"success\":false,\"errorReason\":"
				   "\"a\\r\\nSet-Cookie: b\\u0007\xc3\xa4"
				   "\\u007f\\\"c\"}";
	char long_body[600];
	struct facilitator_answer a;

	(void)state;
	read_answer(&a, FACILITATOR_SETTLE, 200, body, sizeof(body) - 1);
	assert_int_equal(a.verdict, UNK);
	assert_string_equal(a.reason, "a??Set-Cookie: b????\"c");
	facilitator_answer_free(&a);
	snprintf(long_body, sizeof(long_body),
	    "{\"success\":false,\"errorReason\":\"%0500d\"}", 1);
	read_answer(&a, FACILITATOR_SETTLE, 200, long_body, strlen(long_body));
	assert_int_equal(a.verdict, UNK);
	assert_int_equal(strlen(a.reason), FACILITATOR_REASON - 1);
	facilitator_answer_free(&a);
}

static void
long_transactions(void **state)
{
	struct facilitator_answer a;
	char body[400];

	(void)state;
	snprintf(body, sizeof(body),
	    "{\"success\":true,\"transaction\":\"%0256d\"}", 1);
	read_answer(&a, FACILITATOR_SETTLE, 200, body, strlen(body));
	assert_int_equal(a.verdict, YES);
	assert_int_equal(strlen(a.transaction), 256);
	facilitator_answer_free(&a);
	snprintf(body, sizeof(body),
	    "{\"success\":true,\"transaction\":\"%0257d\"}", 1);
	read_answer(&a, FACILITATOR_SETTLE, 200, body, strlen(body));
	assert_int_equal(a.verdict, UNK);
	assert_string_equal(a.transaction, "");
	facilitator_answer_free(&a);
}

static void
deep_answers_are_no_verdict(void **state)
{
	static const char prefix[] = "{\"success\":true," TX ",\"x\":";
	size_t depth = 100000, len = 0;
	OWN_FREE char *body = malloc(2 * depth + 64);
	struct facilitator_answer a;

	(void)state;
	assert_non_null(body);
	len = strlen(prefix);
	memcpy(body, prefix, len);
	memset(body + len, '[', depth);
	memset(body + len + depth, ']', depth);
	body[len + 2 * depth] = '}';
	read_answer(&a, FACILITATOR_SETTLE, 200, body, len + 2 * depth + 1);
	assert_int_equal(a.verdict, UNK);
	facilitator_answer_free(&a);
}

static void
content_types(void **state)
{
	static const struct {
		const char *type;
		enum facilitator_verdict verdict;
	} cases[] = {
		{ NULL, YES },
		{ "application/json", YES },
		{ "APPLICATION/JSON;charset=utf-8", YES },
		{ "application/json ; x=y", YES },
		{ "application/problem+json", YES },
		{ "text/json", YES },
		{ "text/html", UNK },
		{ "text/plain", UNK },
		{ "application/jsonp", UNK },
		{ "application/jso", UNK },
		{ "+json", UNK },
		{ "", UNK },
		{ ";application/json", UNK },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct facilitator_reply r = { .http = 200,
			.type = cases[i].type,
			.body = "{\"isValid\":true}",
			.len = 16 };
		struct facilitator_answer a;

		assert_int_equal(facilitator_answer_init(&a), ST_OK);
		facilitator_answer_read(&a, FACILITATOR_VERIFY, &r);
		if (a.verdict != cases[i].verdict)
			fail_msg("type %s", cases[i].type);
		facilitator_answer_free(&a);
	}
}

static void
spent_reasons(void **state)
{
	(void)state;
	assert_true(facilitator_reason_spent("nonce_already_used"));
	assert_true(
	    facilitator_reason_spent("invalid_exact_evm_nonce_already_used"));
	assert_true(facilitator_reason_spent("duplicate_settlement"));
	assert_false(facilitator_reason_spent("insufficient_funds"));
	assert_false(facilitator_reason_spent(""));
}

static void
notes_for_the_log(void **state)
{
	static const char body[] =
	    "{\"errorType\":\"invalid_request\",\"errorMessage\":\"bad\","
	    "\"correlationId\":\"9f-1\",\"errorLink\":\"x\"}";
	struct facilitator_reply r = {
		.http = 400, .body = body, .len = sizeof(body) - 1
	};
	char note[FACILITATOR_NOTE], big[4096];

	(void)state;
	facilitator_answer_note(note, &r);
	assert_string_equal(note,
	    "errorType: invalid_request, errorMessage: bad, "
	    "correlationId: 9f-1");
	r.len = 3;
	facilitator_answer_note(note, &r);
	assert_string_equal(note, "");
	snprintf(big, sizeof(big),
	    "{\"errorType\":\"%0600d\",\"errorMessage\":\"%0600d\","
	    "\"invalidMessage\":\"%0600d\",\"invalidReasonDetails\":\"%0600d"
	    "\",\"correlationId\":\"%0600d\"}",
	    1, 2, 3, 4, 5);
	r.body = big;
	r.len = strlen(big);
	facilitator_answer_note(note, &r);
	assert_in_range(strlen(note), 400, FACILITATOR_NOTE - 1);
}

static void
redirect_targets(void **state)
{
	static const struct {
		const char *from, *to;
		bool ok, away;
	} cases[] = {
		{ "https://a.example/x", "https://a.example/y", true, false },
		{ "https://a.example/x", "https://A.EXAMPLE/y", true, false },
		{ "https://a.example/x", "https://a.example:443/y", true,
		    false },
		{ "https://a.example/x", "https://a.example:444/y", true,
		    true },
		{ "https://a.example/x", "https://www.a.example/y", true,
		    true },
		{ "https://a.example/x", "https://a.example.evil/y", true,
		    true },
		{ "https://a.example/x", "http://a.example/y", false, false },
		{ "https://a.example/x", "http://b.example/y", false, false },
		{ "http://a.example/x", "http://a.example/y", true, false },
		{ "http://a.example/x", "http://a.example:81/y", true, true },
		{ "http://a.example/x", "http://b.example/y", false, false },
		{ "http://a.example/x", "https://a.example/y", true, true },
		{ "http://a.example/x", "https://b.example/y", true, true },
		{ "https://a.example/x", "https://u@a.example/y", false,
		    false },
		{ "https://a.example/x", "https://u:p@a.example/y", false,
		    false },
		{ "https://a.example/x", "https://a.example@b.example/y", false,
		    false },
		{ "https://a.example/x", "ftp://a.example/y", false, false },
		{ "https://a.example/x", "file:///etc/passwd", false, false },
		{ "https://a.example/x", "gopher://a.example/", false, false },
		{ "https://a.example/x", "/relative", false, false },
		{ "https://a.example/x", "", false, false },
		{ "https://a.example/x", "https://a b/", false, false },
	};
	bool away = true;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		away = false;
		if (fetch_redirect_ok(cases[i].from, cases[i].to, &away) !=
			cases[i].ok ||
		    (cases[i].ok && away != cases[i].away))
			fail_msg("%s to %s: away %d", cases[i].from,
			    cases[i].to, away);
	}
	/* A way back does not bring the secret back. */
	away = true;
	assert_true(fetch_redirect_ok(
	    "https://a.example/", "https://a.example/", &away));
	assert_true(away);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(verify_verdicts),
		cmocka_unit_test(settle_verdicts),
		cmocka_unit_test(every_status),
		cmocka_unit_test(members_are_told),
		cmocka_unit_test(reasons_are_printable),
		cmocka_unit_test(long_transactions),
		cmocka_unit_test(deep_answers_are_no_verdict),
		cmocka_unit_test(content_types),
		cmocka_unit_test(spent_reasons),
		cmocka_unit_test(notes_for_the_log),
		cmocka_unit_test(redirect_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
