/*
 * The sites of a daemon, made when a request first comes from one, and kept for
 * the next. Handlers borrow them. There is room for a few hundred, which
 * locations written by people never need; where parameters are made of the
 * request (a public URL of $host), those not used for longest go.
 */
#ifndef SITES_H
#define SITES_H

#include <stdint.h>

#include "base/conf.h"
#include "base/status.h"
#include "pay/facilitator.h"
#include "pay/keyring.h"
#include "web/http.h"
#include "web/site.h"
#include "web/site_params.h"

struct sites;

/* A site in use. */
struct sites_loan {
	const struct site *site;
	struct sites *from; /* NULL: nothing is lent */
	struct sites_entry *entry;
};

/* c and keys must outlive it; keys may be NULL where nothing will be signed.
 * Opens the facilitators. ST_OK, ST_NOMEM. */
enum status sites_open(struct sites **out, const struct conf *c,
    const struct keyring *keys) __attribute__((warn_unused_result));
/* Nothing may be lent any more. NULL is fine. */
void sites_close(struct sites *s);

/* Begin to watch every facilitator, and wait until each was asked once what it
 * offers, wait_ms at most. Logs what site s lacks. ST_OK, ST_NOMEM. */
enum status sites_watch(struct sites *all, const struct site *s,
    uint64_t wait_ms) __attribute__((warn_unused_result));

/* The facilitator of that name, or NULL. */
struct facilitator *sites_facilitator(struct sites *s, const char *name);

/* The site of a request's location; its settings may be wrong: see broken,
 * which the log then has told, with the location. ST_OK: sites_return() is due
 * at the end of the request. ST_NOMEM, or ST_TOO_BIG for parameters without
 * measure. */
enum status sites_of(struct sites_loan *out, struct sites *s,
    const struct http_request *q) __attribute__((warn_unused_result));

/* The site of these parameters, which the log calls place. As sites_of(). */
enum status sites_with(struct sites_loan *out, struct sites *s,
    const struct site_params *p, const char *place)
    __attribute__((warn_unused_result));

/* Give it back; one that lends nothing is fine. */
void sites_return(struct sites_loan *l);
/* Give back at the end of the scope. Begin with { .from = NULL }. */
#define OWN_SITE __attribute__((cleanup(sites_return)))

/* The site of the bare configuration, lent until sites_close(); errors in it
 * stop the start. ST_OK, ST_NOMEM. */
enum status sites_default(const struct site **out, struct sites *s)
    __attribute__((warn_unused_result));

#endif
