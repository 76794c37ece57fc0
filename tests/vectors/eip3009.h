/*
 * x402.md 4.2: authorizations signed with a public test key by viem.
 */
#ifndef VECTORS_EIP3009_H
#define VECTORS_EIP3009_H

#include <stdint.h>

#define FROM "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
#define TO "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
#define USDC_SEPOLIA "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
#define USDC_BASE "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"

#define A_NONCE                                                                \
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define A_R "f4b71be07c9ad2a1c68e1d575a85a9d5d0c5502689a3e9a2c56f94903595163b"
#define A_S "47afcd2953e2d4aa2088b64b8333ee2ea6201a8dc118aefd38a8eb477cbce2fe"
#define A_HIGH_S                                                               \
	"b85032d6ac1d2b55df7749b47ccc11d0148ec258ee2ff13e8729734553795e43"
/* Who seems to have signed 10001 with the signature for 10000. */
#define A_WRONG_SIGNER "0x317AAb61CBdc2c8c1A1a978F5d8c867509ff1fcF"

struct eip3009_vector {
	const char *name;
	const char *version;
	uint64_t chain_id;
	const char *contract;
	uint64_t valid_after;
	uint64_t valid_before;
	const char *nonce;
	const char *struct_hash;
	const char *digest;
	const char *signature;
};

static const struct eip3009_vector EIP3009[] = {
	{ "USDC", "2", 84532, USDC_SEPOLIA, 1740672089, 1740672389, A_NONCE,
	    "7ffc1120077937326023660b1b3ccc055c04df713062d6a012db82915a8afb4e",
	    "a0ef41480b89b2c7e6a472ab9569a08f1516871013204429bcf9d1bd74e03a17",
	    A_R A_S "1b" },
	{ "USD Coin", "2", 8453, USDC_BASE, 0, 1740672389, A_NONCE,
	    "1bd40b464001d7a0d7ab32a4ccfcf8e1abf5c2f0412e2495c5818eed9b4eafab",
	    "2d5173e08f80671e3a271f817161d77ca2e2e339b004f45727c91c3b6c7ee78e",
	    "0d935c6794e92482e58b4d4ebbc74305edf50abf22284e926536fea7e8cbe6df"
	    "67d3636691c5c270505a131e33afa15127673f4c220799fda189923ff35c7393"
	    "1b" },
	{ "USDC", "2", 84532, USDC_SEPOLIA, 1740672089, 1740672389,
	    "0101010101010101010101010101010101010101010101010101010101010101",
	    "ab471d38d86cd53c83acad8ebe3da99c3079d80e4c0d1b0caeeebe509b9e5396",
	    "a5ace3c9b6102b5797353e87f35aab73a0ebf2d872f48c5397b3c2d3e1ed55cd",
	    "2458bbed73851d430315b537de4e54ba606e2172e4728cd69200c1ce154191b4"
	    "1b3f1550c40a8ad7044958b3a243a28923632d5fe6b3bdecc2e530ea73e3ef4a"
	    "1c" },
};
#define N_EIP3009 (sizeof(EIP3009) / sizeof(EIP3009[0]))

#endif
