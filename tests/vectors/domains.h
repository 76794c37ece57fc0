/*
 * Domain separators of the tokens in x402.md 4.5, as viem computed them.
 */
#ifndef VECTORS_DOMAINS_H
#define VECTORS_DOMAINS_H

static const struct {
	const char *network;
	const char *contract;
	const char *name;
	const char *version;
	const char *separator;
} DOMAINS[] = {
	{ "eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
	    "USD Coin", "2",
	    "02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834"
	    "f" },
	{ "eip155:84532", "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC",
	    "2",
	    "71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c981"
	    "8" },
	{ "eip155:1", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USD Coin",
	    "2",
	    "06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae33"
	    "5" },
	{ "eip155:43114", "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
	    "USD Coin", "2",
	    "bbea200329a938bc3438984a49cb0732e66d66d7bd59c127abacc1710e77f7b"
	    "3" },
	{ "eip155:137", "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
	    "USD Coin", "2",
	    "caa2ce1a5703ccbe253a34eb3166df60a705c561b44b192061e28f2a985be2c"
	    "a" },
	{ "eip155:42161", "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
	    "USD Coin", "2",
	    "08d11903f8419e68b1b8721bcbe2e9fc68569122a77ef18c216f10b3b5112c7"
	    "8" },
	{ "eip155:421614", "0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d",
	    "USD Coin", "2",
	    "85944e1292d007732838d6eadfa67589b78ffcededbd4df60488d0af251308b"
	    "b" },
	{ "eip155:143", "0x754704Bc059F8C67012fEd69BC8A327a5aafb603", "USDC",
	    "2",
	    "fe22123edc0dd4aeb912eb7948c5f0e531592c2053b3067612f427db342c93c"
	    "6" },
	{ "eip155:42220", "0xcebA9300f2b948710d2653dD7B07f33A8B32118C", "USDC",
	    "2",
	    "b2ce31d2838445fa765a491f550e7c78ac7280ab0f3bc9d6063a86df9c3fb57"
	    "8" },
	{ "eip155:42220", "0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e",
	    "Tether USD", "1",
	    "bcb4d62e4834b598d0eacecd84c0b397a0254e077c41cf2143e394d5701d108"
	    "8" },
	{ "eip155:42220", "0xD2ab3C9A02DBBAB236BfEC45D1d755DF4267F771",
	    "Tether America USD", "1",
	    "e6bbb7920a85afd44befe87c998da24b8b655c972faf8a8acbdf38c829ff8bf"
	    "2" },
	{ "eip155:11142220", "0x01C5C0122039549AD1493B8220cABEdD739BC44E",
	    "USDC", "2",
	    "23f491197bb8c5ea4fe8dd4c2293b600f073553f9814015e7a5eb57724df957"
	    "8" },
	{ "eip155:1329", "0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392", "USDC",
	    "2",
	    "0a19136106ae98d2c245cbbd451f3cb2bbbb1670e1ee191abacb5a5e255c025"
	    "5" },
	{ "eip155:1328", "0x4fCF1784B31630811181f670Aea7A7bEF803eaED", "USDC",
	    "2",
	    "154bb5980ce1d584a1067dc67730720e6046d0364a2ade0b692dd488e71fe65"
	    "3" },
	{ "eip155:988", "0x779Ded0c9e1022225f8E0630b35a9b54bE713736", "USDT0",
	    "1",
	    "f21cc02b28f1a6c8d5ae07aaf9d8954535a11acbaf36923aef1b21d0fc27b22"
	    "1" },
	{ "eip155:2201", "0x78Cf24370174180738C5B8E352B6D14c83a6c9A9", "USDT0",
	    "1",
	    "8ab6d6926f29d5cf5137b569b2033492d332e54bfc801640d48745da4ab8c1f"
	    "e" },
	{ "eip155:14", "0xe7cd86e13AC4309349F30B3435a9d337750fC82D",
	    "USD"
	    "\xe2\x82\xae"
	    "0",
	    "1",
	    "4c53d754dcb2f406ecf83695856d8c10b13296a318d9a481043412bf253d43a"
	    "e" },
	{ "eip155:50", "0xfA2958CB79b0491CC627c1557F441eF849Ca8eb1", "USDC",
	    "2",
	    "e3bb44ae105af7e23bb39b117e22bbcbf435066554f45b3a9bbcba42c80fe56"
	    "d" },
	{ "eip155:51", "0xb5AB69F7bBada22B28e79C8FFAECe55eF1c771D4", "USDC",
	    "2",
	    "3835afe643ce123f3bc71a8e3123e24651d2d4309bbf3ba58329a1db60b9b2c"
	    "3" },
	{ "eip155:36900", "0x9cb8142aEBBcdc60AF7c97Af897A67A8f3CA71C2",
	    "USDC.e", "2",
	    "4369b2ef8a73be962c9aaf8dcddc38d022dca40af0729d7e4c80a3b44f6698f"
	    "a" },
	{ "eip155:190415", "0x401eCb1D350407f13ba348573E5630B83638E30D",
	    "Bridged USDC", "2",
	    "ec205e80d13812cd615a90f0751d6abc05df7ebcbb86c5c50e6abb874d53df6"
	    "a" },
	{ "eip155:181228", "0x401eCb1D350407f13ba348573E5630B83638E30D",
	    "Bridged USDC", "2",
	    "770326a81f629cc1072c47674445f4894838dbc10fb9e90abbb0f05c105ba4f"
	    "2" },
};
#define N_DOMAINS (sizeof(DOMAINS) / sizeof(DOMAINS[0]))

#endif
