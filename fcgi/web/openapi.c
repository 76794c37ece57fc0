#include "web/openapi.h"

#include <string.h>

#include "base/json.h"
#include "pay/price.h"
#include "web/dialect.h"
#include "web/guide.h"
#include "web/member_schema.h"
#include "web/openapi_parts.h"

static void
put_text(struct buf *out, const char *key, const char *text)
{
	json_key(out, key);
	json_put_string(out, text);
}

/* ---- price ---- */

static void
put_dollars(struct buf *out, const char *key, uint64_t micros)
{
	char text[32];

	price_number(text, micros);
	put_text(out, key, text);
}

static void
put_payment_info(struct buf *out, const struct dialect *d, const struct site *s)
{
	uint64_t least, most;

	dialect_prices(&least, &most, d, s);
	json_key(out, "x-payment-info");
	if (least == most) {
		member_schema_json(
		    out, "{'price':{'mode':'fixed','currency':'USD'");
		put_dollars(out, "amount", least);
	} else {
		member_schema_json(
		    out, "{'price':{'mode':'dynamic','currency':'USD'");
		put_dollars(out, "min", least);
		put_dollars(out, "max", most);
	}
	member_schema_json(out, "},'protocols':[{'x402':{}}]}");
}

/* ---- paid routes ---- */

static void
put_operation_id(struct buf *out, const char *path)
{
	json_key(out, "operationId");
	buf_addc(out, '"');
	for (const char *p = path + 1; *p != '\0'; p++)
		buf_addc(out, *p == '/' ? '_' : *p);
	buf_addc(out, '"');
}

static void
put_request(struct buf *out, const struct dialect *d, const struct site *s)
{
	json_key(out, "requestBody");
	member_schema_json(
	    out, "{'required':true,'content':{'application/json':{'schema':");
	member_schema_put(out, d->form, s, MEMBER_SCHEMA_WHOLE);
	json_key(out, "example");
	dialect_put_example(out, d, s);
	buf_adds(out, "}}}");
}

static void
put_answer(struct buf *out, const struct dialect *d)
{
	json_key(out, "200");
	member_schema_json(out,
	    "{'description':'The program ran, however it ended: it was paid "
	    "for.','headers':{"
	    "'PAYMENT-RESPONSE':{'$ref':'#/components/headers/Settlement'},"
	    "'X-PAYMENT-RESPONSE':{'$ref':'#/components/headers/"
	    "SettlementV1'},"
	    "'Idempotency-Replayed':{'$ref':'#/components/headers/"
	    "Replayed'}");
	if (!d->receipt_in_body)
		member_schema_json(out,
		    ",'TOLLBOX-RECEIPT':{'$ref':'#/components/headers/"
		    "Receipt'}");
	member_schema_json(out, "},'content':{'application/json':{'schema':");
	member_schema_json(out, d->answer_schema);
	buf_addc(out, '}');
	if (d->live)
		openapi_parts_put_live(out);
	buf_adds(out, "}}");
}

static void
put_paid(struct buf *out, const struct dialect *d, const struct site *s)
{
	json_key(out, d->path);
	member_schema_json(out,
	    "{'parameters':[{'$ref':'#/components/parameters/"
	    "IdempotencyKey'}],'post':{'tags':['paid'],'security':[]");
	put_operation_id(out, d->path);
	put_text(out, "summary", d->summary);
	put_payment_info(out, d, s);
	put_request(out, d, s);
	json_key(out, "responses");
	buf_addc(out, '{');
	put_answer(out, d);
	openapi_parts_put_refusals(out, d->put_error != NULL);
	buf_adds(out, "}}}");
}

/* MCP asks for money in its own answers: by itself the route is free. */
static void
put_rpc(struct buf *out, const struct dialect *d)
{
	json_key(out, d->path);
	member_schema_json(out, "{'post':{'tags':['mcp'],'security':[]");
	put_operation_id(out, d->path);
	put_text(out, "summary", d->summary);
	openapi_parts_put_rpc(out);
	buf_adds(out, "}}");
}

/* ---- free routes ---- */

static void
put_paths(struct buf *out, const struct site *s)
{
	for (size_t i = 0; dialects[i] != NULL; i++) {
		if (!dialect_offered(dialects[i], s))
			continue;
		json_sep(out);
		json_put_string(out, dialects[i]->path);
	}
}

/* The body of each paid route, of which all may be missing. */
static void
put_quote(struct buf *out, const struct site *s)
{
	json_key(out, "/quote");
	member_schema_json(out,
	    "{'post':{'tags':['free'],'security':[],'operationId':'quote',"
	    "'summary':'The price of a request, or the error that it would "
	    "get.','parameters':[{'name':'route','in':'query','description':"
	    "'The paid route that is asked about; /execute where it is "
	    "missing.','schema':{'type':'string','examples':[");
	put_paths(out, s);
	member_schema_json(out,
	    "]}}],'requestBody':{'required':false,'content':"
	    "{'application/json':{'schema':{'anyOf':[");
	for (size_t i = 0; dialects[i] != NULL; i++) {
		/* Of the first one where none is named, offered or not. */
		if (i > 0 &&
		    (dialects[i]->rpc || !dialect_offered(dialects[i], s)))
			continue;
		json_sep(out);
		member_schema_put(
		    out, dialects[i]->form, s, MEMBER_SCHEMA_PARTIAL);
	}
	member_schema_json(out, "]}}}},'responses':{'200':");
	openapi_parts_put_quote(out);
	openapi_parts_put_free_refusals(out);
	buf_adds(out, "}}}");
}

/* ---- the document ---- */

static void
put_info(struct buf *out, const struct site *s)
{
	OWN_BUF struct buf guide;

	buf_init(&guide, GUIDE_BYTES);
	guide_put_brief(&guide, s);
	json_key(out, "info");
	buf_addc(out, '{');
	put_text(out, "title", s->conf.name != NULL ? s->conf.name : "Tollbox");
	put_text(out, "version", TOLLBOX_VERSION);
	put_text(out, "description", s->conf.description);
	if (s->conf.contact != NULL) {
		json_key(out, "contact");
		buf_addc(out, '{');
		put_text(out,
		    strstr(s->conf.contact, "://") != NULL ? "url" : "email",
		    s->conf.contact);
		buf_addc(out, '}');
	}
	put_text(out, "x-guidance", buf_cstr(&guide));
	buf_addc(out, '}');
}

void
openapi_put(struct buf *out, const struct site *s)
{
	member_schema_json(out, "{'openapi':'3.1.0'");
	put_info(out, s);
	json_key(out, "servers");
	member_schema_json(out, "[{'url':");
	json_put_string(out, s->conf.public_url);
	member_schema_json(out, "}],'x-agentcash-guidance':{'llmsTxtUrl':");
	guide_put_link(out, s, "/llms.txt");
	member_schema_json(out, "},'tags':[{'name':'paid'},{'name':'free'},{'"
				"name':'mcp'}],'paths':{");
	for (size_t i = 0; dialects[i] != NULL; i++) {
		if (!dialect_offered(dialects[i], s))
			continue;
		if (dialects[i]->rpc)
			put_rpc(out, dialects[i]);
		else
			put_paid(out, dialects[i], s);
	}
	if (site_route(s, "/quote"))
		put_quote(out, s);
	openapi_parts_put_free(out, s);
	member_schema_json(out, "},'components':");
	openapi_parts_put_components(out);
	buf_addc(out, '}');
}
