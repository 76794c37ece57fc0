#include "pay/x402.h"

#include <string.h>

/* Names outside this list exist, but one of them among the v1 elements makes
 * released clients throw the whole 402 away: they are not offered in v1, so
 * they are not understood either. */
static const struct {
	const char *v1;
	const char *caip2;
} NETWORKS[] = {
	{ "base", "eip155:8453" },
	{ "base-sepolia", "eip155:84532" },
	{ "avalanche", "eip155:43114" },
	{ "avalanche-fuji", "eip155:43113" },
	{ "polygon", "eip155:137" },
	{ "polygon-amoy", "eip155:80002" },
	{ "sei", "eip155:1329" },
	{ "sei-testnet", "eip155:1328" },
	{ "abstract", "eip155:2741" },
	{ "abstract-testnet", "eip155:11124" },
	{ "iotex", "eip155:4689" },
	{ "peaq", "eip155:3338" },
	{ "story", "eip155:1514" },
	{ "educhain", "eip155:41923" },
	{ "skale-base-sepolia", "eip155:324705682" },
	{ "solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" },
	{ "solana-devnet", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" },
};
#define N_NETWORKS (sizeof(NETWORKS) / sizeof(NETWORKS[0]))

const char *
x402_v1_name(const char *network)
{
	for (size_t i = 0; i < N_NETWORKS; i++) {
		if (strcmp(NETWORKS[i].caip2, network) == 0)
			return NETWORKS[i].v1;
	}
	return NULL;
}

const char *
x402_caip2(const char *v1_name)
{
	for (size_t i = 0; i < N_NETWORKS; i++) {
		if (strcmp(NETWORKS[i].v1, v1_name) == 0)
			return NETWORKS[i].caip2;
	}
	return NULL;
}
