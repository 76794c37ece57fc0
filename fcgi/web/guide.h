/* How to call a site, in plain words for people and agents. */
#ifndef GUIDE_H
#define GUIDE_H

#include "base/buf.h"
#include "web/site.h"

#define GUIDE_BYTES (64u << 10)
#define GUIDE_BRIEF                                                            \
	4000 /* characters: catalogues read no more (x402.md 5.5)              \
	      */

/* Append what fits openapi.json's `x-guidance`, plain text of at most
 * GUIDE_BRIEF characters. Errors stick in out, here and below. */
void guide_put_brief(struct buf *out, const struct site *s);

/* Append GET /llms.txt, Markdown. */
void guide_put(struct buf *out, const struct site *s);

/* Append the JSON string of path's address. */
void guide_put_link(struct buf *out, const struct site *s, const char *path);

#endif
