/*
 * What a site's tiers and dialects cost. Private to conf*.c.
 */
#ifndef CONF_PRICES_H
#define CONF_PRICES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/conf.h"

/* Is text the first len bytes of word? */
bool conf_prices_same(const char *text, const char *word, size_t len);

/* Are the first len bytes of word a tier's name, or one that was dropped? */
bool conf_prices_tier(const struct conf *c, const char *word, size_t len);
/* The same, or a dialect's with a flat price? */
bool conf_prices_known(const struct conf *c, const char *word, size_t len);

/* Is each price at the site a whole number of smallest units of an asset with
 * so many decimals? key: of the decimals, as an operator knows it. ST_OK or
 * ST_FORMAT with f. */
enum status conf_prices_check(const struct conf *c, const struct conf_site *s,
    uint64_t decimals, const char *key, struct fault *f)
    __attribute__((warn_unused_result));

#endif
