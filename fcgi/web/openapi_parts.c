#include "web/openapi_parts.h"

#include <stdio.h>

#include "base/json.h"
#include "base/status.h"
#include "web/dialect.h"
#include "web/member_schema.h"

/* ---- refusals: one table of codes makes them (api.md section 7) ---- */

static void
put_codes(struct buf *out, int http)
{
	const char *before = "";

	for (int st = ST_REQUEST_MALFORMED; st < ST_MAX; st++) {
		const struct status_api *row = status_api((enum status)st);

		if (row->http != http || row->code == NULL)
			continue;
		buf_addf(out, "%s%s", before, row->code);
		before = ", ";
	}
}

static bool
has_retry(int http)
{
	return http == 429 || http == 503;
}

/* The refusal with that HTTP code. */
static void
put_refusal(struct buf *out, int http, const char *schema)
{
	char key[8];

	snprintf(key, sizeof(key), "%d", http);
	json_key(out, key);
	member_schema_json(out, "{'description':'");
	put_codes(out, http);
	member_schema_json(out, "'");
	if (has_retry(http))
		member_schema_json(out, ",'headers':{'Retry-After':{'$ref':"
					"'#/components/headers/RetryAfter'}}");
	member_schema_json(out,
	    ",'content':{'application/json':{'schema':{'$ref':"
	    "'#/components/schemas/");
	buf_adds(out, schema);
	member_schema_json(out, "'}}}}");
}

static void
put_refusals(struct buf *out, const int *http, size_t n, const char *schema)
{
	for (size_t i = 0; i < n; i++)
		put_refusal(out, http[i], schema);
}

void
openapi_parts_put_refusals(struct buf *out, bool own_body)
{
	static const int http[] = { 400, 409, 413, 415, 429, 500, 503 };

	json_key(out, "402");
	member_schema_json(
	    out, "{'$ref':'#/components/responses/PaymentRequired'}");
	put_refusals(out, http, sizeof(http) / sizeof(http[0]),
	    own_body ? "ErrorText" : "Error");
}

void
openapi_parts_put_free_refusals(struct buf *out)
{
	static const int http[] = { 400, 404, 413, 415, 429, 500, 503 };

	put_refusals(out, http, sizeof(http) / sizeof(http[0]), "Error");
}

/* ---- answers ---- */

void
openapi_parts_put_live(struct buf *out)
{
	member_schema_json(out,
	    ",'text/event-stream':{'schema':{'type':'string','description':"
	    "'The events started, stdout, stderr, then result, whose data is "
	    "the whole answer, or error.'}},"
	    "'application/x-ndjson':{'schema':{'type':'string','description':"
	    "'The same, one object with type and data a line.'}}");
}

void
openapi_parts_put_quote(struct buf *out)
{
	member_schema_json(out,
	    "{'description':'What it would cost.','content':{"
	    "'application/json':{'schema':{'type':'object',"
	    "'required':['tier','price','priceUsd','limits','accepts'],"
	    "'properties':{'tier':{'type':'string'},"
	    "'price':{'type':'string','pattern':'^\\\\$[0-9]+\\\\.[0-9]{4,}$'},"
	    "'priceUsd':{'type':'number'},"
	    "'limits':{'$ref':'#/components/schemas/Limits'},"
	    "'accepts':{'type':'array','items':"
	    "{'$ref':'#/components/schemas/Requirement'}}}}}}}");
}

void
openapi_parts_put_rpc(struct buf *out)
{
	static const int http[] = { 400, 413, 415, 429, 500, 503 };

	member_schema_json(out,
	    ",'requestBody':{'required':true,'content':{'application/json':"
	    "{'schema':{'type':'object','required':['jsonrpc','method'],"
	    "'properties':{'jsonrpc':{'const':'2.0'},"
	    "'id':{'type':['string','integer']},'method':{'type':'string'},"
	    "'params':{'type':'object'}}}}}},"
	    "'responses':{'200':{'description':'The answer of JSON-RPC. "
	    "Where a tool is to be paid, its result says what.','content':{"
	    "'application/json':{'schema':{'type':'object',"
	    "'required':['jsonrpc','id']}},"
	    "'text/event-stream':{'schema':{'type':'string'}}}},"
	    "'202':{'description':'A notification was taken.'}");
	put_refusals(out, http, sizeof(http) / sizeof(http[0]), "Error");
	buf_addc(out, '}');
}

/* ---- free reads ---- */

static const struct read {
	const char *path;
	const char *id;
	const char *summary;
	const char *media;
	const char *schema; /* with ' in place of " */
	const char *route;  /* it comes with that one; NULL: with all */
} reads[] = {
	{ "/health", "health", "Is there room for a run?", "application/json",
	    "{'type':'object','required':['status','version','queue','slots',"
	    "'pool','memoryLimit'],'properties':{"
	    "'status':{'enum':['ok','degraded']},'version':{'type':'string'},"
	    "'queue':{'type':'integer'},'slots':{'type':'integer'},"
	    "'pool':{'type':'object','additionalProperties':{'type':'object',"
	    "'properties':{'warm':{'type':'integer'},"
	    "'starting':{'type':'integer'}}}},"
	    "'memoryLimit':{'enum':['cgroup2','cgroup1','meter',null]}}}",
	    NULL },
	{ "/version", "version", "Which Tollbox this is.", "application/json",
	    "{'type':'object','required':['name','version','commit'],"
	    "'properties':{'name':{'const':'tollbox'},"
	    "'version':{'type':'string'},'commit':{'type':'string'}}}",
	    NULL },
	{ "/v1/health", "v1_health", "Is it there?", "application/json",
	    "{'type':'object','required':['status'],'properties':{"
	    "'status':{'enum':['ok','degraded']}}}",
	    "/v1/code" },
	{ "/v1/version", "v1_version", "Its version.", "application/json",
	    "{'type':'object','required':['version'],'properties':{"
	    "'version':{'type':'string'}}}",
	    "/v1/code" },
	{ "/.well-known/did.json", "did",
	    "The DID document of who signs receipts and offers.",
	    "application/json",
	    "{'type':'object','required':['id','verificationMethod']}", NULL },
	{ "/.well-known/jwks.json", "jwks", "The same keys as a JWK set.",
	    "application/json", "{'type':'object','required':['keys']}", NULL },
	{ "/.well-known/x402", "x402", "The paid routes with what they accept.",
	    "application/json",
	    "{'type':'object','required':['version','resources','items']}",
	    NULL },
	{ "/.well-known/x402.json", "x402_json", "The same.",
	    "application/json",
	    "{'type':'object','required':['version','resources','items']}",
	    NULL },
	{ "/llms.txt", "llms", "How to call this service, in words.",
	    "text/markdown", "{'type':'string'}", NULL },
};

void
openapi_parts_put_free(struct buf *out, const struct site *s)
{
	for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
		const struct read *r = &reads[i];

		if (r->route != NULL &&
		    !dialect_offered(dialect_of(r->route), s))
			continue;
		json_key(out, r->path);
		member_schema_json(
		    out, "{'get':{'tags':['free'],'security':[]");
		json_key(out, "operationId");
		json_put_string(out, r->id);
		json_key(out, "summary");
		json_put_string(out, r->summary);
		member_schema_json(
		    out, ",'responses':{'200':{'description':'OK','content':");
		buf_addc(out, '{');
		json_key(out, r->media);
		member_schema_json(out, "{'schema':");
		member_schema_json(out, r->schema);
		buf_adds(out, "}}}");
		put_refusal(out, 500, r->route == NULL ? "Error" : "ErrorText");
		buf_adds(out, "}}}");
	}
}

/* ---- components ---- */

static const char schemas[] =
    "'Fault':{'type':'object','required':['code','message','billable',"
    "'category'],'properties':{'code':{'type':['string','null']},"
    "'message':{'type':'string'},'billable':{'type':'boolean'},"
    "'category':{'type':'string'}}},"
    "'Error':{'type':'object','required':['error'],'properties':{"
    "'error':{'$ref':'#/components/schemas/Fault'}}},"
    "'ErrorText':{'type':'object','required':['error','details'],"
    "'properties':{'error':{'type':'string'},"
    "'details':{'$ref':'#/components/schemas/Fault'}}},"
    "'Limits':{'type':'object','required':['timeoutMs','maxMemoryBytes',"
    "'maxOutputBytes','workDirBytes'],'properties':{"
    "'timeoutMs':{'type':'integer'},'maxMemoryBytes':{'type':'integer'},"
    "'maxOutputBytes':{'type':'integer'},"
    "'workDirBytes':{'type':'integer'}}},"
    "'Requirement':{'type':'object','description':'What to sign, in x402 "
    "version 2.','required':['scheme','network','amount','asset','payTo',"
    "'maxTimeoutSeconds'],'properties':{'scheme':{'type':'string'},"
    "'network':{'type':'string'},'amount':{'type':'string',"
    "'pattern':'^[0-9]+$'},'asset':{'type':'string'},"
    "'payTo':{'type':'string'},'maxTimeoutSeconds':{'type':'integer'},"
    "'extra':{'type':'object'}}},"
    "'RequirementV1':{'type':'object','description':'What to sign, in x402 "
    "version 1.','required':['scheme','network','maxAmountRequired',"
    "'resource','description','mimeType','payTo','maxTimeoutSeconds',"
    "'asset'],'properties':{'scheme':{'type':'string'},"
    "'network':{'type':'string'},'maxAmountRequired':{'type':'string',"
    "'pattern':'^[0-9]+$'},'resource':{'type':'string'},"
    "'description':{'type':'string'},'mimeType':{'type':'string'},"
    "'payTo':{'type':'string'},'maxTimeoutSeconds':{'type':'integer'},"
    "'asset':{'type':'string'},'outputSchema':{'type':'object'},"
    "'extra':{'type':'object'}}}";

static const char responses[] =
    "'PaymentRequired':{'description':'What to pay. The same for clients of "
    "both versions of x402: version 2 in the header, version 1 in the "
    "body.','headers':{'PAYMENT-REQUIRED':{'required':true,'description':"
    "'Base64 of the JSON object PaymentRequired of x402 version 2.',"
    "'schema':{'type':'string'}},'PAYMENT-RESPONSE':{'description':'After "
    "a settlement that failed: base64 of its JSON.','schema':{'type':"
    "'string'}}},'content':{'application/json':{'schema':{'type':'object',"
    "'required':['x402Version','error','accepts','details'],'properties':{"
    "'x402Version':{'const':1},'error':{'type':'string'},"
    "'accepts':{'type':'array','items':"
    "{'$ref':'#/components/schemas/RequirementV1'}},"
    "'extensions':{'type':'object'},"
    "'details':{'$ref':'#/components/schemas/Fault'}}}}}}";

static const char headers[] =
    "'Settlement':{'description':'Base64 of the JSON that tells how it was "
    "paid, with a signed receipt; for payments of version 2.',"
    "'schema':{'type':'string'}},"
    "'SettlementV1':{'description':'The same for payments of version 1.',"
    "'schema':{'type':'string'}},"
    "'Replayed':{'description':'true where this is the stored answer of an "
    "earlier request.','schema':{'type':'string','enum':['true']}},"
    "'Receipt':{'description':'Base64url of the signed receipt.',"
    "'schema':{'type':'string'}},"
    "'RetryAfter':{'description':'Seconds.','schema':{'type':'integer'}}";

static const char parameters[] =
    "'IdempotencyKey':{'name':'Idempotency-Key','in':'header','required':"
    "false,'description':'A secret of your own. The same request with the "
    "same key gets the same answer, charged once.','schema':{'type':'string',"
    "'minLength':32,'maxLength':128,'pattern':'^[!-~]*$'}}";

void
openapi_parts_put_components(struct buf *out)
{
	const struct {
		const char *key;
		const char *text;
	} parts[] = {
		{ "schemas", schemas },
		{ "responses", responses },
		{ "headers", headers },
		{ "parameters", parameters },
	};

	buf_addc(out, '{');
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		json_key(out, parts[i].key);
		buf_addc(out, '{');
		member_schema_json(out, parts[i].text);
		buf_addc(out, '}');
	}
	buf_addc(out, '}');
}
