/* POST /api/code-run: the dialect of agent402 (api.md section 8). */
#ifndef AGENT402_H
#define AGENT402_H

#include "web/dialect.h"

extern const struct dialect agent402_dialect;

#endif
