/*
 * A site: one location's settings made ready for requests (api.md section 11).
 * sites.h keeps them, one for each distinct set of parameters.
 */
#ifndef SITE_H
#define SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/conf.h"
#include "base/limits.h"
#include "base/status.h"
#include "pay/did.h"
#include "pay/facilitator.h"
#include "pay/keyring.h"
#include "pay/x402.h"
#include "web/accept.h"

#define SITE_URL 1024

struct site_tier {
	const char *name;
	uint64_t price_micros;
	struct limits limits;
};

struct site {
	struct conf_site conf;
	const struct conf *base;
	uint64_t made_at; /* Unix seconds: its settings are not older */
	struct accept accepts[ACCEPT_MAX]; /* in order of preference */
	size_t n_accepts;
	const struct keyring *keys;
	char did[DID_BYTES];		    /* of the public URL: who signs */
	struct site_tier tiers[CONF_TIERS]; /* offered, by price */
	size_t n_tiers;
	/* Dialects with a flat price that are offered. */
	struct site_tier flat[CONF_DIALECTS];
	size_t n_flat;
	struct limits max;   /* the largest that some tier holds, per limit */
	struct site *whole;  /* with all tiers, runtimes and flat prices there
			      * are, or NULL: it is that itself */
	struct fault broken; /* not ST_OK: this location's settings are wrong */
};

/* What all sites of a daemon share. */
struct site_common {
	const struct conf *conf;
	const struct keyring *keys; /* NULL where nothing will be signed */
	/* In the order of the settings' sections. */
	struct facilitator *facilitators[CONF_FACILITATORS];
};

/* The facilitator of that name, or NULL. */
struct facilitator *site_facilitator(
    const struct site_common *c, const char *name);

/* Make out (zeroed) from the settings with a location's parameters over them;
 * get as in conf_site_resolve(). What is wrong with them is in out->broken. It
 * borrows from c; site_free() in any case. */
void site_make(struct site *out, const struct site_common *c,
    const char *(*get)(void *ctx, const char *name), void *ctx);
void site_free(struct site *s);

/* The smallest tier that holds l, or NULL. */
const struct site_tier *site_tier(const struct site *s, const struct limits *l);
/* What a dialect with a flat price costs and holds, or NULL: it is not offered
 * here. */
const struct site_tier *site_flat(const struct site *s, const char *name);
/* Is the runtime offered here? NULL if not. */
const struct conf_runtime *site_runtime(const struct site *s, const char *name);
/* Is the route offered here? */
bool site_route(const struct site *s, const char *path);

/* What a tier asks for: an element for each thing accepted that a facilitator
 * offers to settle. Their number: 0 means that nothing can be sold now.
 * Borrows from s. */
size_t site_requirements(struct x402_requirement out[ACCEPT_MAX],
    const struct site *s, const struct site_tier *t);
/* The same, settled by somebody or not. */
size_t site_requirements_all(struct x402_requirement out[ACCEPT_MAX],
    const struct site *s, const struct site_tier *t);
/* What is sold at path: url goes to the caller's buffer of SITE_URL bytes. */
void site_resource(struct x402_resource *out, char *url, const struct site *s,
    const char *path);

#endif
