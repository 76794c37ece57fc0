#include "pay/receipt.h"

#include <string.h>

#include "base/jcs.h"
#include "base/json.h"
#include "pay/jws.h"
#include "pay/price.h"

#define FRAME 256	   /* bytes of the digested object beside its texts */
#define PAYLOAD_BYTES 8192 /* what is signed */

/* Members are written in the order that JCS sorts them into, everywhere in
 * this file. */

static void
put_bool(struct buf *out, const char *name, bool b)
{
	json_key(out, name);
	buf_adds(out, b ? "true" : "false");
}

static void
open_object(struct buf *out, const char *name)
{
	json_key(out, name);
	buf_addc(out, '{');
}

static void
put_limits(struct buf *out, const struct limits *l)
{
	open_object(out, "limits");
	json_member_uint(out, "maxMemoryBytes", l->memory_bytes);
	json_member_uint(out, "maxOutputBytes", l->output_bytes);
	json_member_uint(out, "timeoutMs", l->timeout_ms);
	json_member_uint(out, "workDirBytes", l->work_bytes);
	buf_addc(out, '}');
}

static void
put_payment(struct buf *out, const struct receipt *r)
{
	open_object(out, "payment");
	json_member_string(out, "amount", r->amount);
	json_member_string(out, "asset", r->asset);
	json_member_string(out, "network", r->network);
	json_member_string(out, "payer", r->payer);
	json_member_string(out, "reference", r->reference);
	buf_addc(out, '}');
}

static void
put_status(struct buf *out, enum status st)
{
	const struct status_api *api = status_api(st);

	open_object(out, "status");
	put_bool(out, "billable", api->billable);
	json_member_string(out, "category", api->category);
	if (api->code != NULL) {
		json_member_string(out, "code", api->code);
	} else {
		json_key(out, "code");
		buf_adds(out, "null");
	}
	buf_addc(out, '}');
}

static void
put_exit_code(struct buf *out, const struct receipt *r)
{
	json_key(out, "exitCode");
	if (r->exited)
		buf_addf(out, "%d", r->exit_code);
	else
		buf_adds(out, "null");
}

static void
put_truncated(struct buf *out, const struct receipt *r)
{
	open_object(out, "truncated");
	put_bool(out, "stderr", r->truncated_stderr);
	put_bool(out, "stdout", r->truncated_stdout);
	buf_addc(out, '}');
}

static void
put_usage(struct buf *out, const struct receipt *r)
{
	open_object(out, "usage");
	json_key(out, "durationMs");
	json_put_tenths(out, r->duration_tenths);
	put_exit_code(out, r);
	json_member_string(out, "outcome", r->outcome);
	put_truncated(out, r);
	buf_addc(out, '}');
}

/* The members before `signature`, in the order of their names. */
static void
put_first(struct buf *out, const struct receipt *r)
{
	char dollars[32], number[32];

	price_dollars(dollars, r->price_micros);
	price_number(number, r->price_micros);
	if (r->extras_digest != NULL)
		json_member_string(out, "extrasDigest", r->extras_digest);
	json_member_uint(out, "issuedAt", r->issued_at);
	json_member_string(out, "issuer", r->issuer);
	put_limits(out, &r->limits);
	json_member_string(out, "outputDigest", r->output_digest);
	put_payment(out, r);
	json_member_string(out, "price", dollars);
	json_key(out, "priceUsd");
	buf_adds(out, number);
	json_member_string(out, "requestDigest", r->request_digest);
	json_member_string(out, "runtime", r->runtime);
}

/* Those behind it. */
static void
put_rest(struct buf *out, const struct receipt *r)
{
	put_status(out, r->status);
	json_member_string(out, "tier", r->tier);
	put_usage(out, r);
}

void
receipt_put(struct buf *out, const struct receipt *r, const struct edkey *key)
{
	OWN_BUF struct buf payload;
	size_t first;

	buf_init(&payload, PAYLOAD_BYTES);
	buf_addc(&payload, '{');
	put_first(&payload, r);
	first = payload.len;
	put_rest(&payload, r);
	buf_addc(&payload, '}');
	if (buf_status(&payload) != ST_OK) {
		out->st = buf_status(&payload);
		return;
	}
	buf_add(out, payload.data, first);
	json_key(out, "signature");
	buf_addc(out, '"');
	jws_put_detached(
	    out, key, r->issuer, JWS_RECEIPT_TYPE, payload.data, payload.len);
	buf_addc(out, '"');
	buf_add(out, payload.data + first, payload.len - first);
}

enum status
receipt_output_digest(char out[65], const struct receipt *r,
    const char *out_text, size_t out_len, const char *err_text, size_t err_len)
{
	OWN_BUF struct buf b;
	enum status st = ST_BUG;

	/* An escaped control byte takes six. */
	buf_init(&b, 6 * (out_len + err_len + strlen(r->outcome)) + FRAME);
	buf_addc(&b, '{');
	put_exit_code(&b, r);
	json_member_string(&b, "outcome", r->outcome);
	json_key(&b, "stderr");
	json_put_bytes(&b, err_text, err_len);
	json_key(&b, "stdout");
	json_put_bytes(&b, out_text, out_len);
	put_truncated(&b, r);
	buf_addc(&b, '}');
	st = buf_status(&b);
	if (st != ST_OK)
		return st;
	return jcs_sha256(out, b.data, b.len);
}

/* The text of a member that was asked for, or null. */
static void
put_given(struct buf *out, const char *name, const struct buf *text)
{
	json_key(out, name);
	if (text != NULL)
		buf_add(out, text->data, text->len);
	else
		buf_adds(out, "null");
}

enum status
receipt_extras_digest(
    char out[65], const struct buf *outputs, const struct buf *result)
{
	size_t n = outputs != NULL ? outputs->len : 0;
	OWN_BUF struct buf b;
	enum status st = ST_BUG;

	buf_init(&b, n + (result != NULL ? result->len : 0) + FRAME);
	buf_addc(&b, '{');
	put_given(&b, "outputs", outputs);
	put_given(&b, "result", result);
	buf_addc(&b, '}');
	st = buf_status(&b);
	if (st != ST_OK)
		return st;
	return jcs_sha256(out, b.data, b.len);
}
