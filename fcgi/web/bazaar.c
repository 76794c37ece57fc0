#include "web/bazaar.h"

#include "base/json.h"
#include "web/member_schema.h"

/* A tool of MCP: what it takes is told by a schema, not by an example alone. */
static void
put_tool(struct buf *out, const struct dialect *d, const struct site *s)
{
	member_schema_json(out,
	    "{'info':{'input':{'type':'mcp','toolName':'execute',"
	    "'description':");
	json_put_string(out, d->summary);
	member_schema_json(
	    out, ",'transport':'streamable-http','inputSchema':");
	member_schema_put(out, d->form, s, MEMBER_SCHEMA_BRIEF);
	json_key(out, "example");
	dialect_put_example(out, d, s);
	member_schema_json(out, "},'output':{'type':'json','example':");
	member_schema_json(out, dialects[0]->answer_example);
	member_schema_json(out,
	    "}},'schema':{"
	    "'$schema':'https://json-schema.org/draft/2020-12/schema',"
	    "'type':'object','properties':{"
	    "'input':{'type':'object','properties':{"
	    "'type':{'type':'string','const':'mcp'},"
	    "'toolName':{'type':'string'},'description':{'type':'string'},"
	    "'transport':{'type':'string','enum':['streamable-http']},"
	    "'inputSchema':{'type':'object'},'example':{'type':'object'}},"
	    "'required':['type','toolName','inputSchema'],"
	    "'additionalProperties':false},"
	    "'output':{'type':'object','properties':{"
	    "'type':{'type':'string'},'example':{'type':'object'}},"
	    "'required':['type']}},'required':['input']}}");
}

void
bazaar_put(struct buf *out, const struct dialect *d, const struct site *s)
{
	if (d->rpc) {
		put_tool(out, d, s);
		return;
	}
	member_schema_json(out,
	    "{'info':{'input':{'type':'http','method':'POST',"
	    "'bodyType':'json','body':");
	dialect_put_example(out, d, s);
	member_schema_json(out, "},'output':{'type':'json','example':");
	member_schema_json(out, d->answer_example);
	/* It travels in headers, there and back: types and words only. */
	member_schema_json(out,
	    "}},'schema':{"
	    "'$schema':'https://json-schema.org/draft/2020-12/schema',"
	    "'type':'object','properties':{"
	    "'input':{'type':'object','properties':{"
	    "'type':{'type':'string','const':'http'},"
	    "'method':{'type':'string','enum':['POST']},"
	    "'bodyType':{'type':'string','enum':['json']},"
	    "'body':");
	member_schema_put(out, d->form, s, MEMBER_SCHEMA_BRIEF);
	member_schema_json(out,
	    "},'required':['type','method','bodyType','body'],"
	    "'additionalProperties':false},"
	    "'output':{'type':'object','properties':{"
	    "'type':{'type':'string'},'example':{'type':'object'}},"
	    "'required':['type']}},'required':['input']}}");
}

void
bazaar_put_v1(struct buf *out, const struct dialect *d, const struct site *s)
{
	member_schema_json(out,
	    "{'input':{'type':'http','method':'POST','discoverable':true,"
	    "'bodyType':'json','bodyFields':");
	member_schema_put_fields(out, d->form, s);
	member_schema_json(out, "},'output':");
	member_schema_json(
	    out, d->rpc ? dialects[0]->answer_example : d->answer_example);
	buf_addc(out, '}');
}
