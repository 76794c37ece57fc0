/*
 * A site: one location's settings made ready for requests. Built once for
 * each distinct set of TOLLBOX_* parameters and kept for the life of the
 * process, so that handlers may borrow from it.
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
#include "web/http.h"

#define SITE_URL 1024

struct site_tier {
	const char *name;
	uint64_t price_micros;
	struct limits limits;
};

struct site {
	struct conf_site conf;
	const struct conf *base;
	struct accept accepts[ACCEPT_MAX]; /* in order of preference */
	size_t n_accepts;
	const struct keyring *keys;
	char did[DID_BYTES];		    /* of the public URL: who signs */
	struct site_tier tiers[CONF_TIERS]; /* offered, by price */
	size_t n_tiers;
	struct limits max;   /* the largest that some tier holds, per limit */
	struct site *whole;  /* the same with all tiers there are, or NULL */
	struct fault broken; /* not ST_OK: this location's settings are wrong */
};

struct sites;

/* c and keys must outlive it; keys may be NULL where nothing will be signed.
 * Opens the facilitators. */
enum status sites_open(struct sites **out, const struct conf *c,
    const struct keyring *keys) __attribute__((warn_unused_result));
void sites_close(struct sites *s);

/* Begin to watch every facilitator, and wait until each was asked once what it
 * offers, wait_ms at most. Logs what site s lacks. ST_OK, ST_NOMEM. */
enum status sites_watch(struct sites *all, const struct site *s,
    uint64_t wait_ms) __attribute__((warn_unused_result));

/* The facilitator of that name, or NULL. */
struct facilitator *sites_facilitator(struct sites *s, const char *name);

/* The site of a request's location, never NULL on ST_OK; its settings may be
 * wrong: see broken. ST_NOMEM, or ST_TOO_BIG for too many different ones. */
enum status sites_of(const struct site **out, struct sites *s,
    const struct http_request *q) __attribute__((warn_unused_result));

/* The site of the bare configuration; errors in it stop the start. */
enum status sites_default(const struct site **out, struct sites *s)
    __attribute__((warn_unused_result));

/* The smallest tier that holds l, or NULL. */
const struct site_tier *site_tier(const struct site *s, const struct limits *l);
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
