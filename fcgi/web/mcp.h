/*
 * MCP at POST /mcp (api.md section 9): streamable HTTP without sessions, the
 * tools `execute` (paid, x402 in _meta) and `quote`. A paid call goes the way
 * of every paid run; this is the frame around it.
 */
#ifndef MCP_H
#define MCP_H

#include "web/context.h"
#include "web/dialect.h"
#include "web/http.h"
#include "web/site.h"

/* POST on the route of d. Where site s does not offer it, only a run that was
 * paid there before is served, and all else is a 404. Fills *a; never fails. */
void mcp_answer(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q);

#endif
