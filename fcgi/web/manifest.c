#include "web/manifest.h"

#include "base/json.h"
#include "web/dialect.h"
#include "web/guide.h"
#include "web/member_schema.h"

static void
put_accepts(struct buf *out, const struct site *s, const struct site_tier *t,
    const struct x402_resource *res)
{
	struct x402_requirement req[ACCEPT_MAX];
	size_t n = site_requirements(req, s, t);

	/* What is accepted, though nobody could settle it just now. */
	if (n == 0)
		n = site_requirements_all(req, s, t);
	json_key(out, "accepts");
	buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (!x402_put_fits(req, i, 2))
			continue;
		json_sep(out);
		x402_put_requirement(out, &req[i], res, 2);
	}
	buf_addc(out, ']');
}

/* How it is called and what comes back. */
static void
put_call(struct buf *out, const struct dialect *d, const struct site *s)
{
	json_key(out, "input");
	if (d->rpc)
		member_schema_json(out,
		    "{'toolName':'execute','transport':'streamable-http',"
		    "'inputSchema':");
	else
		member_schema_json(
		    out, "{'method':'POST','bodyType':'json','body':");
	member_schema_put(out, d->form, s, MEMBER_SCHEMA_WHOLE);
	member_schema_json(
	    out, "},'output':{'mimeType':'application/json','example':");
	member_schema_json(
	    out, d->rpc ? dialects[0]->answer_example : d->answer_example);
	buf_addc(out, '}');
}

static void
put_item(struct buf *out, const struct dialect *d, const struct site *s)
{
	struct x402_resource res;
	char url[SITE_URL];

	site_resource(&res, url, s, d->path);
	json_sep(out);
	buf_addc(out, '{');
	json_key(out, "resource");
	x402_put_resource(out, &res);
	json_key(out, "type");
	json_put_string(out, d->rpc ? "mcp" : "http");
	put_accepts(out, s, request_base(d->form, s), &res);
	put_call(out, d, s);
	buf_addc(out, '}');
}

void
manifest_put(struct buf *out, const struct site *s)
{
	OWN_BUF struct buf guide;

	buf_init(&guide, GUIDE_BYTES);
	guide_put_brief(&guide, s);
	member_schema_json(out, "{'version':1,'x402Version':2,'resources':[");
	/* Readers expect a 402 of each, which MCP never answers. */
	for (size_t i = 0; dialects[i] != NULL; i++) {
		if (!dialect_offered(dialects[i], s) || dialects[i]->rpc)
			continue;
		json_sep(out);
		guide_put_link(out, s, dialects[i]->path);
	}
	buf_addc(out, ']');
	json_key(out, "instructions");
	json_put_string(out, buf_cstr(&guide));
	json_key(out, "lastUpdated");
	buf_addf(out, "%llu", (unsigned long long)s->made_at);
	json_key(out, "items");
	buf_addc(out, '[');
	for (size_t i = 0; dialects[i] != NULL; i++)
		if (dialect_offered(dialects[i], s))
			put_item(out, dialects[i], s);
	buf_adds(out, "]}");
}
