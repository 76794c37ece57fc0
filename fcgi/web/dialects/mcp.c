#include "web/dialects/mcp.h"

#include "web/result.h"

static enum status
put(struct dialect_answer *out, const struct result *r)
{
	return result_put(out->body, r);
}

const struct dialect mcp_dialect = {
	.name = "mcp",
	.path = "/mcp",
	.form = &request_native,
	.put = put,
	.receipt_in_body = true,
	.rpc = true,
	.summary = "MCP (streamable HTTP): the tool `execute` runs a program",
};
