/* POST /execute: our own dialect (api.md sections 2 and 3). */
#ifndef NATIVE_H
#define NATIVE_H

#include "web/dialect.h"

extern const struct dialect native_dialect;

#endif
