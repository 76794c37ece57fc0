/*
 * A body of a paid route, or of POST /quote, checked and turned into a job
 * (api.md sections 2, 4 and 8). One table of members for each dialect drives
 * it.
 */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "box/job.h"
#include "web/member.h"
#include "web/site.h"

/* Ranges of a limit at a site for a runtime (NULL: not known yet). */
struct request_range {
	const char *name; /* "timeoutMs" */
	uint64_t min, def, max;
};
#define REQUEST_LIMITS 4
void request_ranges(struct request_range out[REQUEST_LIMITS],
    const struct site *s, const struct conf_runtime *rt);

struct request_work; /* web/request_work.h */

/* What a dialect's bodies are: the table that they are read by, and that the
 * documents are made from. */
struct request_form {
	const struct member *members;
	size_t n_members;
	bool strict; /* unknown members are refused */
	/* The dialect's name where it has one flat price (site_flat()); NULL:
	 * the limits make the tier, and the tier is the price. */
	const char *flat;
	/* Append keywords of the schema that join several members, each with a
	 * comma before it; NULL: none. */
	void (*put_more)(struct buf *out, const struct site *s);
	/* Once all members are read: what they leave open, and the tier. */
	enum status (*finish)(
	    struct request_work *p, const struct site_tier **tier);
};

extern const struct request_form request_native; /* api.md section 2 */

/* Parse and check. quote: required members may be missing, and an empty body
 * counts as {}. ST_OK: *out is the caller's to job_free(), *tier (lent by s)
 * is what it costs. Else f names the member at fault, and *out is empty. */
enum status request_read(struct job *out, const struct site_tier **tier,
    const struct request_form *form, const struct site *s, const char *body,
    size_t len, bool quote, struct fault *f)
    __attribute__((warn_unused_result));

/* The tier that a body which may be anything asks for: its own limits where it
 * parses, else the base one (api.md section 1, step 3). Never NULL at a site
 * that offers the route. */
const struct site_tier *request_price(const struct request_form *form,
    const struct site *s, const char *body, size_t len);

/* The cheapest one. */
const struct site_tier *request_base(
    const struct request_form *form, const struct site *s);

#endif
