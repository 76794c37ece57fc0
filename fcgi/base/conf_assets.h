/*
 * Dollar tokens that released x402 clients know (x402.md 4.5). A wrong name or
 * version makes every signature wrong, and verify may not notice. Private to
 * conf*.c.
 */
#ifndef CONF_ASSETS_H
#define CONF_ASSETS_H

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

#endif
