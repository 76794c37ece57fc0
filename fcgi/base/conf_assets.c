#include "base/conf_assets.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct conf_assets_row rows[] = {
	{ "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
	    "USD Coin", "2", 6 },
	{ "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC",
	    "2", 6 },
	{ "eip155:1", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin",
	    "2", 6 },
	{ "eip155:43114", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
	    "USD Coin", "2", 6 },
	{ "eip155:137", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
	    "USD Coin", "2", 6 },
	{ "eip155:42161", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
	    "USD Coin", "2", 6 },
	{ "eip155:421614", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d",
	    "USD Coin", "2", 6 },
	{ "eip155:143", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC",
	    "2", 6 },
	{ "eip155:42220", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC",
	    "2", 6 },
	{ "eip155:42220", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e",
	    "Tether USD", "1", 6 },
	{ "eip155:42220", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771",
	    "Tether America USD", "1", 6 },
	{ "eip155:11142220", "0x01C5C0122039549AD1493B8220cABEdD739BC44E",
	    "USDC", "2", 6 },
	{ "eip155:1329", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC",
	    "2", 6 },
	{ "eip155:1328", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC",
	    "2", 6 },
	{ "eip155:988", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0",
	    "1", 6 },
	{ "eip155:2201", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0",
	    "1", 6 },
	{ "eip155:14", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D",
	    "USD\u20ae0", "1", 6 },
	{ "eip155:50", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC",
	    "2", 6 },
	{ "eip155:51", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC",
	    "2", 6 },
	{ "eip155:36900", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2",
	    "USDC.e", "2", 6 },
	{ "eip155:190415", "0x401eCb1D350407f13ba348573E5630B83638E30D",
	    "Bridged USDC", "2", 6 },
	{ "eip155:181228", "0x401eCb1D350407f13ba348573E5630B83638E30D",
	    "Bridged USDC", "2", 6 },
	{ "eip155:4326", "0xFAfDdbb3FC7688494971a79cc65DCa3EF82079E7",
	    "MegaUSD", "1", 18 },
	{ "eip155:31612", "0xdD468A1DDc392dcdbEf6db6e34E89AA338F9F186",
	    "Mezo USD", "1", 18 },
	{ "eip155:31611", "0x118917a40FAF1CD7a13dB0Ef56C86De7973Ac503",
	    "Mezo USD", "1", 18 },
	{ "eip155:723487", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb",
	    "Stable Coin", "1", 6 },
	{ "eip155:72344", "0x33ad9e4BD16B69B5BFdED37D8B5D9fF9aba014Fb",
	    "Stable Coin", "1", 6 },
	{ "eip155:38833", "0xA5b8BF902b2844dA17d4506cc827F7F1681735E7", "USDC",
	    "1", 6 },
	{ "eip155:43113", "0x5425890298aed601595a70AB815c96711a31Bc65",
	    "USD Coin", "2", 6 },
	{ "eip155:80002", "0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582", "USDC",
	    "2", 6 },
	{ "eip155:4689", "0xcdf79194c6c285077a58da47641d4dbe51f63542",
	    "Bridged USDC", "2", 6 },
	{ "eip155:3338", "0xbbA60da06c2c5424f03f7434542280FCAd453d10", "USDC",
	    "2", 6 },
};

const struct conf_assets_row *
conf_assets_find(const char *network, const char *asset)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].network, network) == 0 &&
		    strcasecmp(rows[i].asset, asset) == 0)
			return &rows[i];
	return NULL;
}

enum status
conf_assets_fill(struct conf *c)
{
	for (size_t i = 0; i < c->n_assets; i++) {
		struct conf_asset *a = &c->assets[i];
		const struct conf_assets_row *row = NULL;

		if (a->network != NULL && a->asset != NULL)
			row = conf_assets_find(a->network, a->asset);
		if (row == NULL)
			continue;
		if (a->asset_name == NULL)
			a->asset_name = strdup(row->name);
		if (a->asset_version == NULL)
			a->asset_version = strdup(row->version);
		if (a->asset_name == NULL || a->asset_version == NULL)
			return ST_NOMEM;
	}
	return ST_OK;
}
