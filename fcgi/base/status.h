/*
 * What went wrong and who is to blame. One enum for the whole program: the
 * first part is internal, the second part is what a caller can be told
 * (api.md section 7). status.c holds the one table from which error bodies,
 * HTTP codes, categories and billable flags are made.
 */
#ifndef STATUS_H
#define STATUS_H

#include <stdbool.h>
#include <stddef.h>

enum status {
	ST_OK = 0,

	/* Internal. Told to a caller they read SERVICE_INTERNAL_FAILURE. */
	ST_BUG,	    /* forgotten assignment, broken invariant of ours */
	ST_NOMEM,   /* out of memory */
	ST_IO,	    /* a system call failed; errno was logged */
	ST_FORMAT,  /* data is not in the form it must have */
	ST_TOO_BIG, /* over the cap stated in the header */
	ST_TIMEOUT, /* the deadline passed */
	ST_CLOSED,  /* the peer is gone */
	ST_NOT_FOUND,
	ST_CONFLICT, /* exists already, bound to something else */
	ST_REFUSED,  /* the other side gave a definite no */
	ST_UNKNOWN,  /* the outcome cannot be known (yet) */

	/* For callers; order of api.md section 7. */
	ST_REQUEST_MALFORMED,	 /* 400 */
	ST_REQUEST_NOT_FOUND,	 /* 404 with code REQUEST_MALFORMED */
	ST_REQUEST_BAD_METHOD,	 /* 405 with code REQUEST_MALFORMED */
	ST_REQUEST_TOO_LARGE,	 /* 413 with code REQUEST_MALFORMED */
	ST_REQUEST_BAD_ENCODING, /* 415 with code REQUEST_MALFORMED */
	ST_SANDBOX_INVALID_REQUEST,
	ST_RUNTIME_RESERVED_FILE_PATH,
	ST_RUNTIME_UNSUPPORTED,
	ST_RUNTIME_LIMIT_OUT_OF_RANGE,
	ST_PAYMENT_MALFORMED,
	ST_PAYMENT_REQUIRED, /* 402, nothing paid yet: code is null */
	ST_PAYMENT_INVALID,
	ST_PAYMENT_AMOUNT_INSUFFICIENT,
	ST_PAYMENT_REQUIREMENTS_MISMATCH,
	ST_PAYMENT_REPLAYED,
	ST_PAYMENT_SETTLEMENT_FAILED,
	ST_PAYMENT_SETTLEMENT_INDETERMINATE,
	ST_PAYMENT_FACILITATOR_UNAVAILABLE,
	ST_SERVICE_BUSY,
	ST_SANDBOX_UNAVAILABLE,
	ST_PAYER_RATE_LIMITED,
	ST_PAYER_CONCURRENCY_LIMITED,
	ST_EXECUTE_IP_RATE_LIMITED,
	ST_SANDBOX_SETUP_FAILED,
	ST_SERVICE_INTERNAL_FAILURE,
	/* The program's own end: HTTP 200, paid. */
	ST_SANDBOX_TIMEOUT,
	ST_EXECUTION_MEMORY_LIMIT_EXCEEDED,
	ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED,
	ST_EXECUTION_RUNTIME_ERROR,
	ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
	ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,

	ST_MAX
};

struct status_api {
	const char *code;     /* NULL only for ST_OK and ST_PAYMENT_REQUIRED */
	const char *category; /* "success" for ST_OK */
	int http;
	bool billable;
	bool retry_after; /* the answer carries Retry-After (429, 503) */
};

/* The row of the table for st; internal ones give the row of
 * ST_SERVICE_INTERNAL_FAILURE. Never NULL. */
const struct status_api *status_api(enum status st);

/* A short name for logs ("ST_IO" reads "io"). Never NULL. */
const char *status_name(enum status st);

/* A refusal on its way to a caller: the code and a sentence in plain words
 * that names the member at fault. Holds no secrets. */
struct fault {
	enum status st;
	unsigned retry_s; /* Retry-After, where it is known; else 0 */
	char message[384];
};

/* Fill f and return st, so that a check can end in one return. The text is
 * cut to the buffer at a code point's border. f may be NULL. */
enum status fault_set(struct fault *f, enum status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
