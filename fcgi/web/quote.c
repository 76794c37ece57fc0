#include "web/quote.h"

#include "base/json.h"
#include "box/job.h"
#include "pay/price.h"
#include "pay/x402.h"
#include "web/answer.h"
#include "web/dialect.h"
#include "web/intake.h"
#include "web/quota.h"
#include "web/request.h"

static void
put_limits(struct buf *out, const struct limits *l)
{
	buf_addf(out,
	    "{\"timeoutMs\":%llu,\"maxMemoryBytes\":%llu,"
	    "\"maxOutputBytes\":%llu,\"workDirBytes\":%llu}",
	    (unsigned long long)l->timeout_ms,
	    (unsigned long long)l->memory_bytes,
	    (unsigned long long)l->output_bytes,
	    (unsigned long long)l->work_bytes);
}

static void
put_terms(struct http_reply *a, const struct site *s, const struct dialect *d,
    const struct site_tier *t, const struct limits *l)
{
	struct x402_requirement req[ACCEPT_MAX];
	size_t n = site_requirements(req, s, t);
	struct x402_resource res;
	struct buf *out = &a->body;
	char url[SITE_URL];
	char text[32];

	if (n == 0) {
		answer_unsold(a, NULL);
		return;
	}
	a->status = 200;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "no-store");
	buf_addc(out, '{');
	json_key(out, "tier");
	json_put_string(out, t->name);
	price_dollars(text, t->price_micros);
	json_key(out, "price");
	json_put_string(out, text);
	price_number(text, t->price_micros);
	json_key(out, "priceUsd");
	buf_adds(out, text);
	json_key(out, "limits");
	put_limits(out, l);
	json_key(out, "accepts");
	buf_addc(out, '[');
	site_resource(&res, url, s, d->path);
	for (size_t i = 0; i < n; i++) {
		if (req[i].not_v2)
			continue;
		json_sep(out);
		x402_put_requirement(out, &req[i], &res, 2);
	}
	buf_adds(out, "]}");
}

/* The dialect that ?route= names; the native one where it names none. NULL: it
 * is none of this site, says f. */
static const struct dialect *
find_dialect(
    const struct site *s, const struct http_request *q, struct fault *f)
{
	char route[64] = "/execute";
	enum status st = http_query(route, sizeof(route), q, "route");
	const struct dialect *d = st == ST_FORMAT ? NULL : dialect_of(route);

	if (d != NULL && (st == ST_NOT_FOUND || dialect_offered(d, s)))
		return d;
	fault_set(
	    f, ST_REQUEST_NOT_FOUND, "route names no paid route of this site");
	return NULL;
}

static enum status
put_quote(struct http_reply *a, const struct site *s, const struct dialect *d,
    const struct buf *body, struct fault *f)
{
	const struct site_tier *tier = NULL;
	struct job job = { .runtime = NULL };
	enum status st = request_read(
	    &job, &tier, d->form, s, buf_cstr(body), body->len, true, f);

	if (st == ST_OK)
		put_terms(a, s, d, tier, &job.limits);
	job_free(&job);
	return st;
}

void
quote_put(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q,
    const struct buf *body)
{
	struct fault f = { .st = ST_BUG };
	enum status st = quota_address(g->quota, q, &f);

	if (st == ST_OK)
		st = put_quote(a, s, d, body, &f);
	if (st != ST_OK)
		answer_error(a, &f);
}

void
quote_answer(struct http_reply *a, struct context *g, const struct site *s,
    const struct http_request *q)
{
	const struct dialect *d = NULL;
	struct fault f = { .st = ST_BUG };
	struct intake in;
	enum status st;

	intake_init(&in, g);
	st = intake_read(&in, q, &f);
	if (st == ST_OK)
		st = quota_address(g->quota, q, &f);
	if (st == ST_OK)
		d = find_dialect(s, q, &f);
	if (d != NULL)
		st = put_quote(a, s, d, &in.body, &f);
	if (d == NULL || st != ST_OK)
		answer_error(a, &f);
	intake_free(&in);
}
