/*
 * Dollar tokens that released x402 clients know (x402.md 4.5). A wrong name or
 * version makes every signature wrong, and verify may not notice. Private to
 * conf*.c.
 */
#ifndef CONF_ASSETS_H
#define CONF_ASSETS_H

#include "base/conf.h"

struct conf_assets_row {
	const char *network;
	const char *asset;
	const char *name; /* of the EIP-712 domain */
	const char *version;
	unsigned decimals;
};

/* The row of a token, addresses compared without case; NULL if unknown. */
const struct conf_assets_row *conf_assets_find(
    const char *network, const char *asset);

/* Give each [asset:NAME] of a known token the name and version that its
 * section leaves out. ST_OK, ST_NOMEM. */
enum status conf_assets_fill(struct conf *c)
    __attribute__((warn_unused_result));

#endif
