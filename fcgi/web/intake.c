#include "web/intake.h"

#include <string.h>

#include "base/conf.h"
#include "base/jcs.h"
#include "base/limits.h"

/* Bodies up to this do not count: a few large ones must not shut out all the
 * rest, and as many as there are threads are no burden. */
#define SMALL_BODY (256u << 10)

void
intake_init(struct intake *in, struct context *g)
{
	memset(in, 0, sizeof(*in));
	in->g = g;
	buf_init(&in->body, LIMITS_BODY);
}

void
intake_free(struct intake *in)
{
	buf_free(&in->body);
	atomic_fetch_sub(&in->g->body_bytes, in->charged);
	in->charged = 0;
}

static enum status
too_large(struct fault *f)
{
	return fault_set(f, ST_REQUEST_TOO_LARGE,
	    "the body is over 32 MiB (33554432 bytes)");
}

/* Visible ASCII, 32 to 128 characters (api.md section 10). */
enum status
intake_key(const struct http_request *q, struct fault *f)
{
	const char *key = q->idempotency_key;
	const char *place =
	    q->key_place != NULL ? q->key_place : "Idempotency-Key";
	size_t n = key == NULL ? 0 : strlen(key);

	if (key == NULL)
		return ST_OK;
	if (q->key_repeated)
		return fault_set(f, ST_SANDBOX_INVALID_REQUEST,
		    "%s is given more than once", place);
	for (size_t i = 0; key[i] != '\0'; i++)
		if (key[i] < '!' || key[i] > '~')
			n = 0;
	if (n < 32 || n > 128)
		return fault_set(f, ST_SANDBOX_INVALID_REQUEST,
		    "%s must be 32 to 128 visible ASCII characters", place);
	return ST_OK;
}

enum status
intake_read(struct intake *in, const struct http_request *q, struct fault *f)
{
	/* Web servers that buffer tell the length; where there is none, there
	 * is hardly a body. */
	uint64_t want = q->length_known ? q->length : 0;
	uint64_t held = 0;
	enum status st;

	if (want > LIMITS_BODY)
		return too_large(f);
	if (q->content_encoding != NULL &&
	    strcmp(q->content_encoding, "identity") != 0)
		return fault_set(f, ST_REQUEST_BAD_ENCODING,
		    "Content-Encoding must be identity");
	st = intake_key(q, f);
	if (st != ST_OK)
		return st;
	if (want > SMALL_BODY) {
		held = atomic_fetch_add(&in->g->body_bytes, want);
		in->charged = want;
	}
	if (held + want > in->g->conf->body_bytes && want > SMALL_BODY)
		return fault_set(
		    f, ST_SERVICE_BUSY, "too many large requests at once");
	st = http_body(q, &in->body);
	if (st == ST_TOO_BIG)
		return too_large(f);
	if (st == ST_CLOSED)
		return fault_set(f, ST_REQUEST_MALFORMED,
		    "the body ended before its Content-Length");
	if (st == ST_OK && !q->length_known && in->body.len > SMALL_BODY) {
		in->charged = in->body.len;
		atomic_fetch_add(&in->g->body_bytes, in->charged);
	}
	if (st == ST_OK)
		st = jcs_sha256(in->digest, buf_cstr(&in->body), in->body.len);
	if (st != ST_OK)
		return fault_set(f, st, "body");
	return ST_OK;
}
