/* What a command of this host writes. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Run program with argv (ends with NULL), a plain PATH as its only environment,
 * nothing to read and nowhere to complain, and give what it writes to standard
 * output, NUL-terminated (free it). It is killed after wait_ms. ST_OK only if
 * it ends with 0; ST_TOO_BIG over max bytes; ST_TIMEOUT, ST_REFUSED (it ended
 * otherwise), ST_IO, ST_NOMEM. */
enum status capture_output(char **out, const char *program, char *const *argv,
    size_t max, uint64_t wait_ms) __attribute__((warn_unused_result));

#endif
