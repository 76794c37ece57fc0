#include "web/guide.h"

#include <string.h>

#include "base/json.h"
#include "pay/price.h"
#include "web/dialect.h"
#include "web/member_schema.h"

void
guide_put_link(struct buf *out, const struct site *s, const char *path)
{
	char url[SITE_URL];
	struct x402_resource res;

	site_resource(&res, url, s, path);
	json_put_string(out, url);
}

/* ---- parts ---- */

static const char *
first_path(const struct site *s)
{
	for (size_t i = 0; dialects[i] != NULL; i++)
		if (dialect_offered(dialects[i], s))
			return dialects[i]->path;
	return NULL;
}

static void
put_price(struct buf *out, const struct dialect *d, const struct site *s)
{
	uint64_t least, most;
	char text[32];

	dialect_prices(&least, &most, d, s);
	price_dollars(text, least);
	buf_adds(out, text);
	if (most == least)
		return;
	price_dollars(text, most);
	buf_addf(out, " to %s", text);
}

static void
put_paid_list(struct buf *out, const struct site *s)
{
	for (size_t i = 0; dialects[i] != NULL; i++) {
		const struct dialect *d = dialects[i];

		if (!dialect_offered(d, s))
			continue;
		if (d->rpc)
			buf_addf(out, "- %s%s: %s; ", s->conf.public_url,
			    d->path, d->summary);
		else
			buf_addf(out, "- `POST %s%s`: %s; ", s->conf.public_url,
			    d->path, d->summary);
		put_price(out, d, s);
		buf_adds(out, " a call.\n");
	}
}

static void
put_runtimes(struct buf *out, const struct site *s)
{
	const char *before = "";

	for (size_t i = 0; i < s->base->n_runtimes; i++) {
		if (site_runtime(s, s->base->runtimes[i].name) == NULL)
			continue;
		buf_addf(out, "%s`%s`", before, s->base->runtimes[i].name);
		before = ", ";
	}
}

static void
put_networks(struct buf *out, const struct site *s)
{
	for (size_t i = 0; i < s->n_accepts; i++) {
		const struct accept *a = &s->accepts[i];

		buf_addf(out, "%s%s on `%s` (`%s`)", i > 0 ? ", " : "",
		    a->asset_name != NULL ? a->asset_name : "the asset",
		    a->network, a->asset);
	}
}

/* The order of a call, which is the same whatever is called. */
static void
put_steps(struct buf *out)
{
	buf_adds(out,
	    "1. Send the request without a payment. The answer is 402: its "
	    "header `PAYMENT-REQUIRED` (base64 JSON, x402 version 2) and its "
	    "body (version 1) say what to pay.\n"
	    "2. Sign one of `accepts` and send the same request again, with "
	    "the payment in `PAYMENT-SIGNATURE` (version 2) or `X-PAYMENT` "
	    "(version 1).\n"
	    "3. 200 means that the program ran, however it ended; the answer "
	    "holds a signed receipt. A refused request (400) costs nothing.\n"
	    "4. If the answer is lost, or is 429, 500 or 503: send the same "
	    "request with the same payment again, and do not sign anew. It is "
	    "never charged twice, and an answer is kept for 24 hours.\n");
}

static void
put_tiers(struct buf *out, const struct site *s)
{
	char text[32];

	buf_adds(out,
	    "| tier | price | timeoutMs | maxMemoryBytes | maxOutputBytes | "
	    "workDirBytes |\n| --- | --- | --- | --- | --- | --- |\n");
	for (size_t i = 0; i < s->n_tiers; i++) {
		const struct site_tier *t = &s->tiers[i];

		price_dollars(text, t->price_micros);
		buf_addf(out, "| %s | %s | %llu | %llu | %llu | %llu |\n",
		    t->name, text, (unsigned long long)t->limits.timeout_ms,
		    (unsigned long long)t->limits.memory_bytes,
		    (unsigned long long)t->limits.output_bytes,
		    (unsigned long long)t->limits.work_bytes);
	}
}

static void
put_examples(struct buf *out, const struct site *s)
{
	for (size_t i = 0; dialects[i] != NULL; i++) {
		const struct dialect *d = dialects[i];

		if (!dialect_offered(d, s) || d->rpc)
			continue;
		buf_addf(out, "`POST %s`\n\n```json\n", d->path);
		dialect_put_example(out, d, s);
		buf_adds(out, "\n```\n\nanswers, among others,\n\n```json\n");
		member_schema_json(out, d->answer_example);
		buf_adds(out, "\n```\n\n");
	}
}

/* ---- whole texts ---- */

void
guide_put_brief(struct buf *out, const struct site *s)
{
	if (first_path(s) == NULL) {
		buf_adds(out, "Nothing is sold here now.");
		return;
	}
	buf_adds(out,
	    "Runs a program in a sandbox without network and hands back its "
	    "output. No account: each call is paid by x402.\n");
	put_steps(out);
	buf_adds(out, "Accepted: ");
	put_networks(out, s);
	buf_adds(out, ".\n");
}

static void
put_sold(struct buf *out, const struct site *s)
{
	buf_adds(out, "## Routes\n\n");
	put_paid_list(out, s);
	buf_adds(out, "\nRuntimes: ");
	put_runtimes(out, s);
	buf_adds(out, ".\n\nAccepted: ");
	put_networks(out, s);
	buf_adds(out, ".\n\n## How to pay\n\n");
	put_steps(out);
	if (dialect_offered(dialects[0], s)) {
		buf_adds(out,
		    "\n## Tiers\n\nThe smallest tier that holds all four "
		    "`limits` of a request is its price.\n\n");
		put_tiers(out, s);
	}
	buf_adds(out, "\n## Examples\n\n");
	put_examples(out, s);
}

static void
put_links(struct buf *out, const struct site *s)
{
	static const struct {
		const char *path;
		const char *about;
	} links[] = {
		{ "/openapi.json", "every route, member and answer" },
		{ "/.well-known/x402", "the paid routes with what they "
				       "accept" },
		{ "/health", "is there room for a run" },
		{ "/.well-known/jwks.json", "the keys of receipts" },
		{ "/.well-known/did.json", "the same for `did:web`" },
	};

	buf_adds(out, "## Documents\n\n");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		buf_addf(out, "- [%s](%s%s): %s\n", links[i].path,
		    s->conf.public_url, links[i].path, links[i].about);
}

void
guide_put(struct buf *out, const struct site *s)
{
	buf_addf(out, "# %s\n\n> %s\n\n",
	    s->conf.name != NULL ? s->conf.name : "Tollbox",
	    s->conf.description);
	buf_adds(out,
	    "Runs a program in a sandbox without network and hands back its "
	    "output, exit code and a signed receipt. No account and no key: "
	    "each call is paid by [x402](https://www.x402.org).\n\n");
	if (first_path(s) == NULL)
		buf_adds(out, "Nothing is sold here now.\n\n");
	else
		put_sold(out, s);
	put_links(out, s);
}
