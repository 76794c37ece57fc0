/*
 * What a site sells and for how much: its tiers, and the dialects with a flat
 * price. Private to site*.c.
 */
#ifndef SITE_TIERS_H
#define SITE_TIERS_H

#include "base/status.h"
#include "web/site.h"

/* Is name among the words of a list? NULL: everything is. */
bool site_tiers_word(char *const *words, const char *name);

/* Fill in tiers, flat, max and whole of a site with all the rest. ST_OK,
 * ST_FORMAT with f. */
enum status site_tiers_build(struct site *s, struct fault *f)
    __attribute__((warn_unused_result));

#endif
