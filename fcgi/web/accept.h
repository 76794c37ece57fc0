/*
 * What a site takes for money: elements of `accepts`, each with the facilitator
 * that settles it and perhaps a second one.
 */
#ifndef ACCEPT_H
#define ACCEPT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/conf.h"
#include "base/status.h"
#include "pay/facilitator.h"
#include "pay/u256.h"
#include "pay/x402.h"

#define ACCEPT_MAX CONF_ASSETS
#define ACCEPT_TEXT 128

struct accept {
	const char *name;    /* of its section, NULL: the site's own asset */
	const char *network; /* CAIP-2 */
	char asset[ACCEPT_TEXT]; /* EVM: EIP-55, as pay_to */
	char pay_to[ACCEPT_TEXT];
	const char *asset_name; /* NULL where there is none */
	const char *asset_version;
	unsigned decimals;
	bool evm;
	struct facilitator *by;
	struct facilitator *fallback; /* or NULL */
};

/* Make one from settings, which lend it their text; by and fallback are the
 * caller's to set. ST_OK, ST_FORMAT with f. */
enum status accept_build(struct accept *out, const struct conf_asset *c,
    struct fault *f) __attribute__((warn_unused_result));

/* What it asks for now, at the price of `micros` millionths of a dollar. False:
 * neither facilitator offers it, in no version (*out is filled all the same).
 * Borrows from a and its facilitators. */
bool accept_requirement(
    struct x402_requirement *out, const struct accept *a, uint64_t micros);

/* Why a is not sold, in words that name the facilitator; "" if it is. */
void accept_lack(char out[256], const struct accept *a);

/* Which element a payment means, and what else of it depends on that. */
struct accept_choice {
	const struct accept *accept;
	const char *extra; /* see struct x402_requirement */
	const char *extra_v1;
	struct facilitator *by;	      /* to settle it */
	struct facilitator *fallback; /* one that may do it as well, or NULL */
};

/* The element of n (at least one) that p means: by the asset that it names; of
 * version 1, which names none, the one it was signed for, else the one that the
 * 402 offers there. Where it means none the first of its network, else the
 * first, is chosen: x402_match() says what differs. */
void accept_choose(struct accept_choice *out, const struct x402_payment *p,
    const struct accept *list, size_t n);

/* The element for that network and asset, as it was claimed once; where there
 * is none any more, the first of the network, else the first. */
void accept_find(struct accept_choice *out, const char *network,
    const char *asset, const struct accept *list, size_t n);

/* The requirement of a choice. */
void accept_chosen(struct x402_requirement *out, const struct accept_choice *c,
    uint64_t micros);

/* Who settles a payment of that version now: offers it and is not down. NULL:
 * nobody, f then says so for the caller. *other (may be NULL) gets a second
 * one, or NULL. */
struct facilitator *accept_facilitator(const struct accept_choice *c,
    int version, struct facilitator **other, struct fault *f);

#endif
