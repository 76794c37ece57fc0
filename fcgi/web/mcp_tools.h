/* The documents of MCP at a site: its tools and how they are paid. */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "base/buf.h"
#include "web/site.h"

/* Append {"tools":[…]}. The paid one has no outputSchema: clients would hold
 * a PaymentRequired against it (x402.md section 6). */
void mcp_tools_put(struct buf *out, const struct site *s);

/* Append a JSON string for the agent that reads it. */
void mcp_tools_put_instructions(struct buf *out);

#endif
