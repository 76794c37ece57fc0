/*
 * Tiers: the shipped ones, their order, and those that this host's memory
 * cannot hold. Private to conf*.c.
 */
#ifndef CONF_TIERS_H
#define CONF_TIERS_H

#include "base/conf.h"

/* Add the tiers of api.md section 4. ST_OK, ST_NOMEM. */
enum status conf_tiers_ship(struct conf *c) __attribute__((warn_unused_result));

/* Put them in order of price. */
void conf_tiers_sort(struct conf *c);

/* Take out those whose memory is over c->memory_bytes, with a warning each,
 * and name them in c->tiers_dropped. ST_OK; ST_FORMAT with f if none is left;
 * ST_NOMEM. */
enum status conf_tiers_drop(struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

/* Take the dropped ones out of a site's lists. ST_OK, or ST_FORMAT with f if
 * its list of tiers then is empty. */
enum status conf_tiers_prune(struct conf_site *s, const struct conf *c,
    struct fault *f) __attribute__((warn_unused_result));

#endif
