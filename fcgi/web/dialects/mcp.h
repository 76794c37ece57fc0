/* POST /mcp: the native dialect inside MCP's frame (web/mcp.h). */
#ifndef DIALECTS_MCP_H
#define DIALECTS_MCP_H

#include "web/dialect.h"

extern const struct dialect mcp_dialect;

#endif
