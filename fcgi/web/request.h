/*
 * A body of POST /execute or /quote, checked and turned into a job (api.md
 * sections 2 and 4). One table of members drives it.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "box/job.h"
#include "web/site.h"

/* Ranges of a limit at a site for a runtime (NULL: not known yet). */
struct request_range {
	const char *name; /* "timeoutMs" */
	uint64_t min, def, max;
};
#define REQUEST_LIMITS 4
void request_ranges(struct request_range out[REQUEST_LIMITS],
    const struct site *s, const struct conf_runtime *rt);

/* Parse and check. quote: source and runtime may be missing, and an empty body
 * counts as {}. ST_OK: *out is the caller's to job_free(), *tier (lent by s)
 * holds its limits. Else f names the member at fault, and *out is empty. */
enum status request_parse(struct job *out, const struct site_tier **tier,
    const struct site *s, const char *body, size_t len, bool quote,
    struct fault *f) __attribute__((warn_unused_result));

/* The tier that a body which may be anything asks for: its own limits where it
 * parses, else the base tier (api.md section 1, step 3). */
const struct site_tier *request_price(
    const struct site *s, const char *body, size_t len);

#endif
