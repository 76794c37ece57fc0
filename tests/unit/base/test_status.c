#include "base/status.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* api.md section 7, copied by hand: one line a row, as the page has them. */
static const struct want {
	enum status st;
	const char *code;
	const char *category;
	int http;
	bool billable;
} table[] = {
	{ ST_OK, NULL, "success", 200, true },
	{ ST_REQUEST_MALFORMED, "REQUEST_MALFORMED", "invalid_request", 400,
	    false },
	{ ST_REQUEST_NOT_FOUND, "REQUEST_MALFORMED", "invalid_request", 404,
	    false },
	{ ST_REQUEST_BAD_METHOD, "REQUEST_MALFORMED", "invalid_request", 405,
	    false },
	{ ST_REQUEST_TOO_LARGE, "REQUEST_MALFORMED", "invalid_request", 413,
	    false },
	{ ST_REQUEST_BAD_ENCODING, "REQUEST_MALFORMED", "invalid_request", 415,
	    false },
	{ ST_SANDBOX_INVALID_REQUEST, "SANDBOX_INVALID_REQUEST",
	    "invalid_request", 400, false },
	{ ST_RUNTIME_RESERVED_FILE_PATH, "RUNTIME_RESERVED_FILE_PATH",
	    "invalid_request", 400, false },
	{ ST_RUNTIME_UNSUPPORTED, "RUNTIME_UNSUPPORTED", "unsupported_runtime",
	    400, false },
	{ ST_RUNTIME_LIMIT_OUT_OF_RANGE, "RUNTIME_LIMIT_OUT_OF_RANGE",
	    "limit_out_of_range", 400, false },
	{ ST_PAYMENT_MALFORMED, "PAYMENT_MALFORMED", "payment_required", 400,
	    false },
	{ ST_PAYMENT_REQUIRED, NULL, "payment_required", 402, false },
	{ ST_PAYMENT_INVALID, "PAYMENT_INVALID", "payment_required", 402,
	    false },
	{ ST_PAYMENT_AMOUNT_INSUFFICIENT, "PAYMENT_AMOUNT_INSUFFICIENT",
	    "payment_required", 402, false },
	{ ST_PAYMENT_REQUIREMENTS_MISMATCH, "PAYMENT_REQUIREMENTS_MISMATCH",
	    "payment_required", 402, false },
	{ ST_PAYMENT_REPLAYED, "PAYMENT_REPLAYED", "payment_required", 409,
	    false },
	{ ST_PAYMENT_SETTLEMENT_FAILED, "PAYMENT_SETTLEMENT_FAILED",
	    "settlement_failed", 402, false },
	{ ST_PAYMENT_SETTLEMENT_INDETERMINATE,
	    "PAYMENT_SETTLEMENT_INDETERMINATE", "settlement_indeterminate", 503,
	    false },
	{ ST_PAYMENT_FACILITATOR_UNAVAILABLE, "PAYMENT_FACILITATOR_UNAVAILABLE",
	    "service_busy", 503, false },
	{ ST_SERVICE_BUSY, "SERVICE_BUSY", "service_busy", 503, false },
	{ ST_SANDBOX_UNAVAILABLE, "SANDBOX_UNAVAILABLE", "service_busy", 503,
	    false },
	{ ST_PAYER_RATE_LIMITED, "PAYER_RATE_LIMITED", "service_busy", 429,
	    false },
	{ ST_PAYER_CONCURRENCY_LIMITED, "PAYER_CONCURRENCY_LIMITED",
	    "service_busy", 429, false },
	{ ST_EXECUTE_IP_RATE_LIMITED, "EXECUTE_IP_RATE_LIMITED", "service_busy",
	    429, false },
	{ ST_SANDBOX_SETUP_FAILED, "SANDBOX_SETUP_FAILED", "internal_failure",
	    500, false },
	{ ST_SERVICE_INTERNAL_FAILURE, "SERVICE_INTERNAL_FAILURE",
	    "internal_failure", 500, false },
	{ ST_SANDBOX_TIMEOUT, "SANDBOX_TIMEOUT", "timeout", 200, true },
	{ ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, "EXECUTION_MEMORY_LIMIT_EXCEEDED",
	    "memory_exceeded", 200, true },
	{ ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, "EXECUTION_OUTPUT_LIMIT_EXCEEDED",
	    "output_limit_exceeded", 200, true },
	{ ST_EXECUTION_RUNTIME_ERROR, "EXECUTION_RUNTIME_ERROR",
	    "runtime_error", 200, true },
	{ ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
	    "EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED", "runtime_error", 200,
	    true },
	{ ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
	    "EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL", "runtime_error",
	    200, true },
};

#define N_TABLE (sizeof(table) / sizeof(table[0]))

static void
rows_are_the_contract(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_TABLE; i++) {
		const struct status_api *api = status_api(table[i].st);

		if (table[i].code == NULL)
			assert_null(api->code);
		else
			assert_string_equal(api->code, table[i].code);
		assert_string_equal(api->category, table[i].category);
		assert_int_equal(api->http, table[i].http);
		assert_int_equal(api->billable, table[i].billable);
		assert_int_equal(api->retry_after,
		    table[i].http == 429 || table[i].http == 503);
	}
}

static void
every_status_is_known(void **state)
{
	size_t for_callers = ST_MAX - ST_REQUEST_MALFORMED;

	(void)state;
	/* One row of the test a status: a new one must be added here too. */
	assert_int_equal(N_TABLE, for_callers + 1);
	for (int st = 0; st < ST_MAX; st++) {
		const char *name = status_name((enum status)st);

		assert_non_null(name);
		assert_true(strlen(name) > 0 && name[0] != '?');
		for (int other = 0; other < st; other++)
			assert_string_not_equal(
			    name, status_name((enum status)other));
	}
	assert_string_equal(status_name(ST_IO), "io");
	assert_string_equal(status_name(ST_SERVICE_BUSY), "service_busy");
}

static void
internal_ones_read_internal_failure(void **state)
{
	const struct status_api *own = status_api(ST_SERVICE_INTERNAL_FAILURE);
	const int bad[] = { ST_MAX, ST_MAX + 1, -1, INT_MIN, INT_MAX };

	(void)state;
	for (int st = ST_BUG; st < ST_REQUEST_MALFORMED; st++)
		assert_ptr_equal(status_api((enum status)st), own);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_ptr_equal(status_api((enum status)bad[i]), own);
		assert_string_equal(status_name((enum status)bad[i]), "?");
	}
}

static void
fault_holds_code_and_text(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(fault_set(&f, ST_PAYMENT_INVALID, "%s is %d", "x", 7),
	    ST_PAYMENT_INVALID);
	assert_int_equal(f.st, ST_PAYMENT_INVALID);
	assert_string_equal(f.message, "x is 7");
	assert_int_equal(fault_set(NULL, ST_IO, "%s", "nobody hears"), ST_IO);
	/* The message itself may be an argument. */
	fault_set(&f, ST_FORMAT, "limits: %s", f.message);
	assert_string_equal(f.message, "limits: x is 7");
}

static void
fault_is_cut_at_a_code_point(void **state)
{
	char text[1000];
	struct fault f;
	size_t most = sizeof(f.message) - 1;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[most] = '\0';
	fault_set(&f, ST_FORMAT, "%s", text);
	assert_int_equal(strlen(f.message), most);
	/* U+1F600 that ends beyond the end, at each of its bytes. */
	for (size_t in = 1; in <= 4; in++) {
		memset(text, 'a', sizeof(text));
		memcpy(text + most - in, "\xf0\x9f\x98\x80", 4);
		text[sizeof(text) - 1] = '\0';
		fault_set(&f, ST_FORMAT, "%s", text);
		assert_int_equal(strlen(f.message), in == 4 ? most : most - in);
		assert_int_equal(f.message[most - 5], 'a');
	}
}

static void
fault_is_always_utf8(void **state)
{
	struct fault f;

	(void)state;
	fault_set(&f, ST_FORMAT, "%s", "a\xff\xc3\xa4\xe2\x82 \xed\xa0\x80");
	assert_string_equal(f.message, "a?\xc3\xa4?? ???");
	/* Ill-formed by itself, not by our cut. */
	fault_set(&f, ST_FORMAT, "%s", "a\xe2\x82");
	assert_string_equal(f.message, "a??");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_the_contract),
		cmocka_unit_test(every_status_is_known),
		cmocka_unit_test(internal_ones_read_internal_failure),
		cmocka_unit_test(fault_holds_code_and_text),
		cmocka_unit_test(fault_is_cut_at_a_code_point),
		cmocka_unit_test(fault_is_always_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
