#include "web/quote.h"

#include "base/json.h"
#include "box/job.h"
#include "pay/price.h"
#include "pay/x402.h"
#include "web/answer.h"
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
put_quote(struct http_reply *a, const struct site *s, const struct site_tier *t,
    const struct limits *l)
{
	struct x402_requirement req[ACCEPT_MAX];
	size_t n = site_requirements(req, s, t);
	struct x402_resource res;
	struct buf *out = &a->body;
	char url[SITE_URL];
	char text[32];

	if (n == 0) {
		answer_unsold(a);
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
	site_resource(&res, url, s, "/execute");
	for (size_t i = 0; i < n; i++) {
		if (req[i].not_v2)
			continue;
		json_sep(out);
		x402_put_requirement(out, &req[i], &res, 2);
	}
	buf_adds(out, "]}");
}

void
quote_answer(struct http_reply *a, struct context *g, const struct site *s,
    const struct http_request *q)
{
	const struct site_tier *tier = NULL;
	struct job job = { .runtime = NULL };
	struct fault f = { .st = ST_BUG };
	struct intake in;
	enum status st;

	intake_init(&in, g);
	st = intake_read(&in, q, &f);
	if (st == ST_OK)
		st = quota_address(g->quota, q, &f);
	if (st == ST_OK)
		st = request_parse(
		    &job, &tier, s, buf_cstr(&in.body), in.body.len, true, &f);
	if (st == ST_OK)
		put_quote(a, s, tier, &job.limits);
	else
		answer_error(a, &f);
	job_free(&job);
	intake_free(&in);
}
