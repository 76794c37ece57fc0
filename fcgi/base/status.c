#include "base/status.h"

/*
 * The one table (api.md section 7). A row without an HTTP code is internal:
 * whatever it was, the caller reads SERVICE_INTERNAL_FAILURE.
 */
static const struct row {
	const char *name;
	struct status_api api;
} rows[ST_MAX] = {
	[ST_OK] = { "ok", { NULL, "success", 200, true, false } },
	[ST_BUG] = { .name = "bug" },
	[ST_NOMEM] = { .name = "nomem" },
	[ST_IO] = { .name = "io" },
	[ST_FORMAT] = { .name = "format" },
	[ST_TOO_BIG] = { .name = "too_big" },
	[ST_TIMEOUT] = { .name = "timeout" },
	[ST_CLOSED] = { .name = "closed" },
	[ST_NOT_FOUND] = { .name = "not_found" },
	[ST_CONFLICT] = { .name = "conflict" },
	[ST_REFUSED] = { .name = "refused" },
	[ST_UNKNOWN] = { .name = "unknown" },
	[ST_REQUEST_MALFORMED] = { "request_malformed",
	    { "REQUEST_MALFORMED", "invalid_request", 400, false, false } },
	[ST_REQUEST_NOT_FOUND] = { "request_not_found",
	    { "REQUEST_MALFORMED", "invalid_request", 404, false, false } },
	[ST_REQUEST_BAD_METHOD] = { "request_bad_method",
	    { "REQUEST_MALFORMED", "invalid_request", 405, false, false } },
	[ST_REQUEST_TOO_LARGE] = { "request_too_large",
	    { "REQUEST_MALFORMED", "invalid_request", 413, false, false } },
	[ST_REQUEST_BAD_ENCODING] = { "request_bad_encoding",
	    { "REQUEST_MALFORMED", "invalid_request", 415, false, false } },
	[ST_SANDBOX_INVALID_REQUEST] = { "sandbox_invalid_request",
	    { "SANDBOX_INVALID_REQUEST", "invalid_request", 400, false,
		false } },
	[ST_RUNTIME_RESERVED_FILE_PATH] = { "runtime_reserved_file_path",
	    { "RUNTIME_RESERVED_FILE_PATH", "invalid_request", 400, false,
		false } },
	[ST_RUNTIME_UNSUPPORTED] = { "runtime_unsupported",
	    { "RUNTIME_UNSUPPORTED", "unsupported_runtime", 400, false,
		false } },
	[ST_RUNTIME_LIMIT_OUT_OF_RANGE] = { "runtime_limit_out_of_range",
	    { "RUNTIME_LIMIT_OUT_OF_RANGE", "limit_out_of_range", 400, false,
		false } },
	[ST_PAYMENT_MALFORMED] = { "payment_malformed",
	    { "PAYMENT_MALFORMED", "payment_required", 400, false, false } },
	[ST_PAYMENT_REQUIRED] = { "payment_required",
	    { NULL, "payment_required", 402, false, false } },
	[ST_PAYMENT_INVALID] = { "payment_invalid",
	    { "PAYMENT_INVALID", "payment_required", 402, false, false } },
	[ST_PAYMENT_AMOUNT_INSUFFICIENT] = { "payment_amount_insufficient",
	    { "PAYMENT_AMOUNT_INSUFFICIENT", "payment_required", 402, false,
		false } },
	[ST_PAYMENT_REQUIREMENTS_MISMATCH] = { "payment_requirements_mismatch",
	    { "PAYMENT_REQUIREMENTS_MISMATCH", "payment_required", 402, false,
		false } },
	[ST_PAYMENT_REPLAYED] = { "payment_replayed",
	    { "PAYMENT_REPLAYED", "payment_required", 409, false, false } },
	[ST_PAYMENT_SETTLEMENT_FAILED] = { "payment_settlement_failed",
	    { "PAYMENT_SETTLEMENT_FAILED", "settlement_failed", 402, false,
		false } },
	[ST_PAYMENT_SETTLEMENT_INDETERMINATE] = { "payment_settlement_"
						  "indeterminate",
	    { "PAYMENT_SETTLEMENT_INDETERMINATE", "settlement_indeterminate",
		503, false, true } },
	[ST_PAYMENT_FACILITATOR_UNAVAILABLE] = { "payment_facilitator_"
						 "unavailable",
	    { "PAYMENT_FACILITATOR_UNAVAILABLE", "service_busy", 503, false,
		true } },
	[ST_SERVICE_BUSY] = { "service_busy",
	    { "SERVICE_BUSY", "service_busy", 503, false, true } },
	[ST_SANDBOX_UNAVAILABLE] = { "sandbox_unavailable",
	    { "SANDBOX_UNAVAILABLE", "service_busy", 503, false, true } },
	[ST_PAYER_RATE_LIMITED] = { "payer_rate_limited",
	    { "PAYER_RATE_LIMITED", "service_busy", 429, false, true } },
	[ST_PAYER_CONCURRENCY_LIMITED] = { "payer_concurrency_limited",
	    { "PAYER_CONCURRENCY_LIMITED", "service_busy", 429, false, true } },
	[ST_EXECUTE_IP_RATE_LIMITED] = { "execute_ip_rate_limited",
	    { "EXECUTE_IP_RATE_LIMITED", "service_busy", 429, false, true } },
	[ST_SANDBOX_SETUP_FAILED] = { "sandbox_setup_failed",
	    { "SANDBOX_SETUP_FAILED", "internal_failure", 500, false, false } },
	[ST_SERVICE_INTERNAL_FAILURE] = { "service_internal_failure",
	    { "SERVICE_INTERNAL_FAILURE", "internal_failure", 500, false,
		false } },
	[ST_SANDBOX_TIMEOUT] = { "sandbox_timeout",
	    { "SANDBOX_TIMEOUT", "timeout", 200, true, false } },
	[ST_EXECUTION_MEMORY_LIMIT_EXCEEDED] = { "execution_memory_limit_"
						 "exceeded",
	    { "EXECUTION_MEMORY_LIMIT_EXCEEDED", "memory_exceeded", 200, true,
		false } },
	[ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED] = { "execution_output_limit_"
						 "exceeded",
	    { "EXECUTION_OUTPUT_LIMIT_EXCEEDED", "output_limit_exceeded", 200,
		true, false } },
	[ST_EXECUTION_RUNTIME_ERROR] = { "execution_runtime_error",
	    { "EXECUTION_RUNTIME_ERROR", "runtime_error", 200, true, false } },
	[ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED] = { "execution_runtime_"
							  "error_network_"
							  "disabled",
	    { "EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED", "runtime_error", 200,
		true, false } },
	[ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL] = { "execution_"
								 "runtime_"
								 "error_"
								 "possible_"
								 "sandbox_"
								 "denial",
	    { "EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL",
		"runtime_error", 200, true, false } },
};

/* A status may come out of another process's message: any int. */
static bool
known(enum status st)
{
	return (unsigned int)st < ST_MAX;
}

const struct status_api *
status_api(enum status st)
{
	if (!known(st) || rows[st].api.http == 0)
		st = ST_SERVICE_INTERNAL_FAILURE;
	return &rows[st].api;
}

const char *
status_name(enum status st)
{
	return known(st) ? rows[st].name : "?";
}
