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
#include "pay/eth.h"
#include "pay/facilitator.h"
#include "pay/x402.h"
#include "web/http.h"

#define SITE_URL 1024

struct site_tier {
	const char *name;
	uint64_t price_micros;
	struct limits limits;
	struct u256 amount; /* in the asset's atomic units */
	char amount_text[U256_TEXT];
};

struct site {
	struct conf_site conf;
	const struct conf *base;
	const struct conf_facilitator *facilitator_conf;
	struct facilitator *facilitator;
	char pay_to[128]; /* EVM: EIP-55 */
	char asset[128];
	bool evm;
	struct site_tier tiers[CONF_TIERS]; /* offered, by price */
	size_t n_tiers;
	struct limits max;   /* the largest that some tier holds, per limit */
	struct fault broken; /* not ST_OK: this location's settings are wrong */
};

struct sites;

/* c must outlive it. Opens the facilitators. */
enum status sites_open(struct sites **out, const struct conf *c)
    __attribute__((warn_unused_result));
void sites_close(struct sites *s);

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

/* What a tier asks for. Borrows from s and t. */
void site_requirement(struct x402_requirement *out, const struct site *s,
    const struct site_tier *t);
/* What is sold at path: url goes to the caller's buffer of SITE_URL bytes. */
void site_resource(struct x402_resource *out, char *url, const struct site *s,
    const char *path);

#endif
