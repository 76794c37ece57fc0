/* POST /api/code/run: the dialect of x402engine and x402-gateway (api.md
 * section 8). */
#ifndef X402ENGINE_H
#define X402ENGINE_H

#include "web/dialect.h"

extern const struct dialect x402engine_dialect;

#endif
