#include "web/answer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/log.h"
#include "pay/x402.h"
#include "web/bazaar.h"
#include "web/dialect.h"
#include "web/extensions.h"

#define RESPONSE_BYTES (16u << 10) /* of JSON, the receipt included */
#define RESPONSE_HEADER_BYTES (32u << 10)
/* Of JSON in PAYMENT-REQUIRED: there are hops that refuse header lines over
 * 8 KB (x402.md 1.11). Extensions give way, offers never. */
#define REQUIRED_BYTES ((size_t)8000 / 4 * 3)

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
retry_after(char out[16], const struct fault *f)
{
	enum status st = f->st;

	if (f->retry_s > 0) {
		snprintf(out, 16, "%u", f->retry_s);
		return out;
	}
	if (st == ST_PAYMENT_SETTLEMENT_INDETERMINATE)
		return "5";
	if (st == ST_PAYMENT_FACILITATOR_UNAVAILABLE)
		return "10";
	return "2";
}

static void
common(struct http_reply *a, const struct fault *f)
{
	const struct status_api *row = status_api(f->st);
	char text[16];

	buf_clear(&a->body);
	buf_clear(&a->headers);
	a->status = row->http;
	a->told = f->st;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "no-store");
	if (row->retry_after)
		http_header(a, "Retry-After", retry_after(text, f));
}

static void
put_error(struct buf *out, const struct fault *f)
{
	buf_adds(out, "{\"error\":");
	answer_put_error(out, f);
	buf_addc(out, '}');
}

void
answer_error_as(struct http_reply *a, const struct fault *f,
    void (*put)(struct buf *out, const struct fault *f))
{
	struct fault told = *f;

	if (f->st < ST_REQUEST_MALFORMED ||
	    f->st == ST_SERVICE_INTERNAL_FAILURE)
		fault_set(&told, ST_SERVICE_INTERNAL_FAILURE,
		    "something failed on our side; the same request with the "
		    "same payment is never charged twice");
	common(a, &told);
	if (put != NULL)
		put(&a->body, &told);
	else
		put_error(&a->body, &told);
}

void
answer_error(struct http_reply *a, const struct fault *f)
{
	answer_error_as(a, f, NULL);
}

/* An extension is a thing more: the answer goes out without it when it cannot
 * be made. */
static const struct buf *
if_sound(const struct buf *extensions)
{
	if (buf_status(extensions) == ST_OK)
		return extensions;
	log_err("extensions left out: %s", status_name(extensions->st));
	return NULL;
}

void
answer_unsold(struct http_reply *a, const struct dialect *d)
{
	struct fault f = { .st = ST_BUG };

	fault_set(&f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
	    "no facilitator that could settle a payment is there now; nothing "
	    "is sold until then");
	answer_error_as(a, &f, d != NULL ? d->put_error : NULL);
}

/* The value of PAYMENT-REQUIRED, with as many extensions as it has room for,
 * and the extensions of the body. */
static void
put_header(struct buf *out, struct buf *v1, const struct site *s,
    const struct dialect *d, const struct x402_requirement *req, size_t n,
    const struct x402_resource *res, const char *error)
{
	const struct extensions_sale sale = {
		.site = s,
		.dialect = d,
		.req = req,
		.n = n,
		.resource_url = res->url,
		.now = (uint64_t)time(NULL),
	};
	OWN_BUF struct buf json;
	OWN_BUF struct buf more; /* extensions */

	buf_init(&json, HTTP_HEADERS_BYTES / 2);
	buf_init(&more, HTTP_HEADERS_BYTES / 4);
	x402_put_required(&json, req, n, res, error, NULL);
	extensions_put_required(&more, v1, &sale,
	    json.len < REQUIRED_BYTES ? REQUIRED_BYTES - json.len : 0);
	buf_clear(&json);
	x402_put_required(&json, req, n, res, error, if_sound(&more));
	hex_base64(out, json.data, json.len);
	if (buf_status(&json) != ST_OK)
		out->st = buf_status(&json);
}

/* A client that sees the header never reads the body: with nothing to accept in
 * it, it would turn its back on what the body offers. */
static bool
in_header(const struct x402_requirement *req, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x402_put_fits(req, i, 2))
			return true;
	return false;
}

void
answer_required(struct http_reply *a, const struct site *s,
    const struct site_tier *t, const struct dialect *d, const struct fault *f)
{
	struct x402_requirement req[ACCEPT_MAX];
	size_t n = site_requirements(req, s, t);
	struct x402_resource res;
	char url[SITE_URL];
	OWN_BUF struct buf header;
	OWN_BUF struct buf v1; /* extensions there */
	OWN_BUF struct buf schema;

	if (n == 0 && f->st == ST_PAYMENT_REQUIRED) {
		answer_unsold(a, d);
		return;
	}
	/* What was paid and refused is a 402 whoever is away. */
	if (n == 0)
		n = site_requirements_all(req, s, t);
	site_resource(&res, url, s, d->path);
	common(a, f);
	buf_init(&header, HTTP_HEADERS_BYTES);
	buf_init(&v1, HTTP_HEADERS_BYTES / 4);
	buf_init(&schema, HTTP_HEADERS_BYTES / 4);
	put_header(&header, &v1, s, d, req, n, &res, f->message);
	if (in_header(req, n) && buf_status(&header) == ST_OK)
		http_header(a, "PAYMENT-REQUIRED", buf_cstr(&header));
	bazaar_put_v1(&schema, d, s);
	if (if_sound(&schema) != NULL)
		res.output_schema = buf_cstr(&schema);
	x402_put_required_v1(&a->body, req, n, &res, f->message, if_sound(&v1));
	json_key(&a->body, "details");
	answer_put_error(&a->body, f);
	buf_addc(&a->body, '}');
}

/* The extensions of a success by a payer whom we know. */
static const struct buf *
receipt_of(struct buf *out, const struct site *s, const char *path,
    const struct answer_settlement *t)
{
	struct x402_resource res;
	char url[SITE_URL];
	const struct offer_paid paid = {
		.network = t->network,
		.resource_url = url,
		.payer = t->payer,
		.transaction = t->transaction,
		.issued_at = t->issued_at,
	};

	if (t->reason != NULL || t->payer[0] == '\0')
		return NULL;
	site_resource(&res, url, s, path);
	extensions_put_response(out, s, &paid);
	return if_sound(out);
}

void
answer_payment_response(struct http_reply *a, const struct site *s,
    const char *path, const struct answer_settlement *t)
{
	OWN_BUF struct buf json;
	OWN_BUF struct buf header;
	OWN_BUF struct buf more;

	buf_init(&json, RESPONSE_BYTES);
	buf_init(&header, RESPONSE_HEADER_BYTES);
	buf_init(&more, RESPONSE_BYTES);
	x402_put_response(&json, t->version, t->transaction, t->network,
	    t->payer, t->reason, receipt_of(&more, s, path, t));
	hex_base64(&header, json.data, json.len);
	if (buf_status(&json) == ST_OK && buf_status(&header) == ST_OK)
		http_header(a,
		    t->version == 1 ? "X-PAYMENT-RESPONSE" : "PAYMENT-RESPONSE",
		    buf_cstr(&header));
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
