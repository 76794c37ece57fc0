/*
 * Where a request comes from. X-Forwarded-For is believed as far as it was
 * written by proxies that the settings trust; what stands before that is the
 * client's own invention. Pure.
 */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cidr.h"
#include "base/status.h"

#define ADDRESS_TEXT 64

struct address_proxies {
	struct cidr *list;
	size_t n;
};

/* The settings' words; NULL: none. ST_OK, ST_FORMAT, ST_NOMEM. */
enum status address_proxies_parse(struct address_proxies *out,
    char *const *words) __attribute__((warn_unused_result));
void address_proxies_free(struct address_proxies *p);

/* The name under which limits are kept: an IPv4 address, or the /64 of an IPv6
 * one, since one customer has as many as he likes of those. False: it is this
 * host itself (a loopback address, or a unix socket), which has no limits. */
bool address_of(char out[ADDRESS_TEXT], const char *remote,
    const char *forwarded, const struct address_proxies *p);

#endif
