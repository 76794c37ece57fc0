#include "web/answer.h"

#include <string.h>

#include "base/hex.h"
#include "base/json.h"
#include "pay/x402.h"

void
answer_put_error(struct buf *out, const struct fault *f)
{
	const struct status_api *row = status_api(f->st);

	buf_addc(out, '{');
	json_key(out, "code");
	if (row->code == NULL)
		buf_adds(out, "null");
	else
		json_put_string(out, row->code);
	json_key(out, "message");
	json_put_string(out, f->message);
	json_key(out, "billable");
	buf_adds(out, row->billable ? "true" : "false");
	json_key(out, "category");
	json_put_string(out, row->category);
	buf_addc(out, '}');
}

/* Seconds after which another try may do better. */
static const char *
retry_after(enum status st)
{
	if (st == ST_PAYMENT_SETTLEMENT_INDETERMINATE)
		return "5";
	if (st == ST_PAYMENT_FACILITATOR_UNAVAILABLE)
		return "10";
	return "2";
}

static void
common(struct http_reply *a, enum status st)
{
	const struct status_api *row = status_api(st);

	buf_clear(&a->body);
	buf_clear(&a->headers);
	a->status = row->http;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "no-store");
	if (row->retry_after)
		http_header(a, "Retry-After", retry_after(st));
}

void
answer_error(struct http_reply *a, const struct fault *f)
{
	struct fault told = *f;

	if (f->st < ST_REQUEST_MALFORMED ||
	    f->st == ST_SERVICE_INTERNAL_FAILURE)
		fault_set(&told, ST_SERVICE_INTERNAL_FAILURE,
		    "something failed on our side; the same request with the "
		    "same payment is never charged twice");
	common(a, told.st);
	buf_adds(&a->body, "{\"error\":");
	answer_put_error(&a->body, &told);
	buf_addc(&a->body, '}');
}

void
answer_unsold(struct http_reply *a)
{
	struct fault f = { .st = ST_BUG };

	fault_set(&f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
	    "no facilitator that could settle a payment is there now; nothing "
	    "is sold until then");
	answer_error(a, &f);
}

void
answer_required(struct http_reply *a, const struct site *s,
    const struct site_tier *t, const char *path, const struct fault *f)
{
	struct x402_requirement req[ACCEPT_MAX];
	size_t n = site_requirements(req, s, t);
	struct x402_resource res;
	char url[SITE_URL];
	struct buf json;
	struct buf header;

	if (n == 0 && f->st == ST_PAYMENT_REQUIRED) {
		answer_unsold(a);
		return;
	}
	/* What was paid and refused is a 402 whoever is away. */
	if (n == 0)
		n = site_requirements_all(req, s, t);
	site_resource(&res, url, s, path);
	common(a, f->st);
	buf_init(&json, HTTP_HEADERS_BYTES / 2);
	buf_init(&header, HTTP_HEADERS_BYTES);
	x402_put_required(&json, req, n, &res, f->message);
	hex_base64(&header, json.data, json.len);
	if (buf_status(&json) == ST_OK && buf_status(&header) == ST_OK)
		http_header(a, "PAYMENT-REQUIRED", buf_cstr(&header));
	buf_free(&json);
	buf_free(&header);
	x402_put_required_v1(&a->body, req, n, &res, f->message);
	json_key(&a->body, "details");
	answer_put_error(&a->body, f);
	buf_addc(&a->body, '}');
}

void
answer_payment_response(struct http_reply *a, int version,
    const char *transaction, const char *network, const char *payer,
    const char *reason)
{
	struct buf json;
	struct buf header;

	buf_init(&json, 4096);
	buf_init(&header, 8192);
	x402_put_response(&json, version, transaction, network, payer, reason);
	hex_base64(&header, json.data, json.len);
	if (buf_status(&json) == ST_OK && buf_status(&header) == ST_OK)
		http_header(a,
		    version == 1 ? "X-PAYMENT-RESPONSE" : "PAYMENT-RESPONSE",
		    buf_cstr(&header));
	buf_free(&json);
	buf_free(&header);
}

void
answer_replay(struct http_reply *a, const struct ledger_row *row)
{
	buf_clear(&a->headers);
	buf_free(&a->body);
	buf_init(&a->body, row->answer_body_len);
	a->status = row->answer_http;
	buf_adds(&a->headers, row->answer_headers);
	http_header(a, "Idempotency-Replayed", "true");
	buf_add(&a->body, row->answer_body, row->answer_body_len);
}
