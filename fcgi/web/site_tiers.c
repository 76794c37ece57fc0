#include "web/site_tiers.h"

#include <stdlib.h>
#include <string.h>

#include "pay/price.h"

bool
site_tiers_word(char *const *words, const char *name)
{
	if (words == NULL)
		return true;
	for (size_t i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return false;
}

/* The location's own price for a tier, if it has one. */
static enum status
own_price(uint64_t *micros, const struct conf_site *c, const char *tier,
    struct fault *f)
{
	size_t n = strlen(tier);

	for (size_t i = 0; c->prices != NULL && c->prices[i] != NULL; i++) {
		const char *w = c->prices[i];

		if (strncmp(w, tier, n) != 0 || w[n] != '=')
			continue;
		if (conf_price(micros, w + n + 1) != ST_OK)
			return fault_set(
			    f, ST_FORMAT, "prices: \"%s\" holds no price", w);
		return ST_OK;
	}
	return ST_OK;
}

/* Nothing is rounded, in no asset. */
static enum status
check_price(const struct site *s, const struct site_tier *t, struct fault *f)
{
	struct u256 amount;

	for (size_t i = 0; i < s->n_accepts; i++)
		if (price_atomic(&amount, t->price_micros,
			s->accepts[i].decimals) != ST_OK)
			return fault_set(f, ST_FORMAT,
			    "%s: its price is no whole number of atomic "
			    "units with %u decimals",
			    t->name, s->accepts[i].decimals);
	return ST_OK;
}

/* n as the file has it, at the location's own price. */
static enum status
price(struct site_tier *n, const struct site *s, struct fault *f)
{
	enum status st = own_price(&n->price_micros, &s->conf, n->name, f);

	return st == ST_OK ? check_price(s, n, f) : st;
}

static enum status
add_tier(struct site *s, const struct conf_tier *t, struct fault *f)
{
	struct site_tier *n = &s->tiers[s->n_tiers];
	size_t at = s->n_tiers;
	enum status st;

	*n = (struct site_tier){ .name = t->name,
		.price_micros = t->price_micros,
		.limits = t->limits };
	st = price(n, s, f);
	if (st != ST_OK)
		return st;
	if (t->limits.timeout_ms > s->max.timeout_ms)
		s->max.timeout_ms = t->limits.timeout_ms;
	if (t->limits.memory_bytes > s->max.memory_bytes)
		s->max.memory_bytes = t->limits.memory_bytes;
	if (t->limits.output_bytes > s->max.output_bytes)
		s->max.output_bytes = t->limits.output_bytes;
	if (t->limits.work_bytes > s->max.work_bytes)
		s->max.work_bytes = t->limits.work_bytes;
	s->n_tiers++;
	/* Keep them by price: own prices may have changed the order. */
	while (at > 0 &&
	       s->tiers[at - 1].price_micros > s->tiers[at].price_micros) {
		struct site_tier swap = s->tiers[at];

		s->tiers[at] = s->tiers[at - 1];
		s->tiers[at - 1] = swap;
		at--;
	}
	return ST_OK;
}

static enum status
add_flat(struct site *s, const struct conf_dialect *d, struct fault *f)
{
	struct site_tier *n = &s->flat[s->n_flat];
	enum status st;

	*n = (struct site_tier){ .name = d->name,
		.price_micros = d->price_micros,
		.limits = d->limits };
	st = price(n, s, f);
	if (st == ST_OK)
		s->n_flat++;
	return st;
}

/* What was paid when more was offered here is served all the same. What could
 * not be offered here is no reason to offer none. */
static void
build_whole(struct site *s)
{
	const struct conf *c = s->base;
	struct site *w = NULL;

	if (s->conf.tiers == NULL && s->conf.runtimes == NULL &&
	    s->conf.routes == NULL)
		return;
	w = malloc(sizeof(*w));
	if (w == NULL)
		return;
	*w = *s;
	w->conf.runtimes = NULL; /* all there are */
	w->n_tiers = 0;
	for (size_t i = 0; i < c->n_tiers; i++)
		(void)add_tier(w, &c->tiers[i], NULL);
	w->n_flat = 0;
	for (size_t i = 0; i < c->n_dialects; i++)
		if (conf_dialect_fits(c, &c->dialects[i]))
			(void)add_flat(w, &c->dialects[i], NULL);
	s->whole = w;
}

enum status
site_tiers_build(struct site *s, struct fault *f)
{
	const struct conf *c = s->base;

	for (size_t i = 0; i < c->n_tiers; i++) {
		enum status st = ST_OK;

		if (site_tiers_word(s->conf.tiers, c->tiers[i].name))
			st = add_tier(s, &c->tiers[i], f);
		if (st != ST_OK)
			return st;
	}
	if (s->n_tiers == 0)
		return fault_set(f, ST_FORMAT, "no tier is offered");
	for (size_t i = 0; i < c->n_dialects; i++) {
		const struct conf_dialect *d = &c->dialects[i];
		enum status st = ST_OK;

		if (site_tiers_word(s->conf.routes, d->route) &&
		    conf_dialect_fits(c, d))
			st = add_flat(s, d, f);
		if (st != ST_OK)
			return st;
	}
	build_whole(s);
	return ST_OK;
}
