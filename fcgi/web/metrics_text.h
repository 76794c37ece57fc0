/* Lines of Prometheus' text format 0.0.4. */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include <stdint.h>

#include "base/buf.h"

/* Begin the family `name`: its type ("counter", "gauge", "histogram") and, in
 * plain ASCII without a line's end, what it is. */
void metrics_text_family(
    struct buf *out, const char *name, const char *type, const char *help);

/* One sample. labels: name, value, name, value, NULL; values are escaped.
 * NULL: none. */
void metrics_text_number(struct buf *out, const char *name,
    const char *const labels[], uint64_t value);
/* The same, the value as text: a decimal number. */
void metrics_text_sample(struct buf *out, const char *name,
    const char *const labels[], const char *value);

/* Microseconds as seconds, "0.001500". */
#define METRICS_TEXT_SECONDS 32
void metrics_text_seconds(char out[METRICS_TEXT_SECONDS], uint64_t us);

#endif
