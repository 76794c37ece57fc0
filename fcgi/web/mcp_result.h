/* The answer of a paid run, or of a quote, as the result of an MCP tool
 * (api.md section 9, x402.md section 6). */
#ifndef MCP_RESULT_H
#define MCP_RESULT_H

#include <stdbool.h>

#include "base/buf.h"
#include "web/http.h"

/* Append the result object for what the same paid request by HTTP would get.
 * v1: it was paid in version 1 of x402, so a 402 is told in that too. Equal
 * answers give equal bytes. Errors stick in out. */
void mcp_result_put_run(
    struct buf *out, const struct http_reply *http, bool v1);

/* The same of a free tool, whose JSON is both structure and text. */
void mcp_result_put_free(struct buf *out, const struct http_reply *http);

/* The bytes that it may take at most. */
size_t mcp_result_most(const struct http_reply *http);

#endif
