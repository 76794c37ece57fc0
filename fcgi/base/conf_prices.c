#include "base/conf_prices.h"

#include <string.h>

bool
conf_prices_same(const char *text, const char *word, size_t len)
{
	return strlen(text) == len && strncmp(text, word, len) == 0;
}

bool
conf_prices_tier(const struct conf *c, const char *word, size_t len)
{
	for (size_t i = 0; i < c->n_tiers; i++)
		if (conf_prices_same(c->tiers[i].name, word, len))
			return true;
	for (size_t i = 0;
	     c->tiers_dropped != NULL && c->tiers_dropped[i] != NULL; i++)
		if (conf_prices_same(c->tiers_dropped[i], word, len))
			return true;
	return false;
}

bool
conf_prices_known(const struct conf *c, const char *word, size_t len)
{
	for (size_t i = 0; i < c->n_dialects; i++)
		if (conf_prices_same(c->dialects[i].name, word, len))
			return true;
	return conf_prices_tier(c, word, len);
}

/* micros * 10^decimals / 10^6 must be whole: nothing is ever rounded. */
static bool
whole(uint64_t micros, uint64_t decimals)
{
	uint64_t unit = 1;

	for (uint64_t d = decimals; d < 6; d++)
		unit *= 10;
	return micros % unit == 0;
}

/* Is it offered (words: what is, NULL: all), and for the price of its own
 * section? */
static bool
sold_as_is(const struct conf_site *s, char *const *words, const char *what,
    const char *name)
{
	bool offered = words == NULL;

	for (size_t i = 0; words != NULL && words[i] != NULL; i++)
		offered = offered || strcmp(words[i], what) == 0;
	for (size_t i = 0; s->prices != NULL && s->prices[i] != NULL; i++)
		if (conf_prices_same(
			name, s->prices[i], strcspn(s->prices[i], "=")))
			return false;
	return offered;
}

static enum status
broken(struct fault *f, const char *section, const char *name, const char *key)
{
	return fault_set(f, ST_FORMAT,
	    "[%s:%s] price is no whole number of the asset's smallest units "
	    "(%s)",
	    section, name, key);
}

enum status
conf_prices_check(const struct conf *c, const struct conf_site *s,
    uint64_t decimals, const char *key, struct fault *f)
{
	for (size_t i = 0; i < c->n_tiers; i++) {
		const struct conf_tier *t = &c->tiers[i];

		if (sold_as_is(s, s->tiers, t->name, t->name) &&
		    !whole(t->price_micros, decimals))
			return broken(f, "tier", t->name, key);
	}
	for (size_t i = 0; i < c->n_dialects; i++) {
		const struct conf_dialect *d = &c->dialects[i];

		if (sold_as_is(s, s->routes, d->route, d->name) &&
		    !whole(d->price_micros, decimals))
			return broken(f, "dialect", d->name, key);
	}
	for (size_t i = 0; s->prices != NULL && s->prices[i] != NULL; i++) {
		const char *price = strchr(s->prices[i], '=');
		uint64_t micros;

		if (price == NULL || conf_price(&micros, price + 1) != ST_OK)
			return fault_set(f, ST_FORMAT,
			    "[site] prices (TOLLBOX_PRICES): \"%s\" is no "
			    "TIER=PRICE",
			    s->prices[i]);
		if (!whole(micros, decimals))
			return fault_set(f, ST_FORMAT,
			    "[site] prices (TOLLBOX_PRICES): \"%s\" is no "
			    "whole number of the asset's smallest units (%s)",
			    s->prices[i], key);
	}
	return ST_OK;
}
