/*
 * EVM: addresses, EIP-712 digest of EIP-3009's TransferWithAuthorization, and
 * recovery of the signer (x402.md 4.1 to 4.3). The only user of libsecp256k1.
 */
#ifndef ETH_H
#define ETH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/u256.h"

#define ETH_ADDRESS_TEXT 43 /* 0x, 40 digits, NUL */

struct eth_address {
	uint8_t b[20];
};

struct eth_domain {
	const char *name;
	const char *version;
	struct u256 chain_id;
	struct eth_address contract;
};

struct eth_authorization {
	struct eth_address from;
	struct eth_address to;
	struct u256 value;
	struct u256 valid_after;
	struct u256 valid_before;
	uint8_t nonce[32];
};

/* 0x and 40 hex digits in any case. ST_OK or ST_FORMAT. */
enum status eth_address_parse(struct eth_address *out, const char *text)
    __attribute__((warn_unused_result));
/* EIP-55 checksummed text. */
void eth_address_text(char out[ETH_ADDRESS_TEXT], const struct eth_address *a);
bool eth_address_equal(
    const struct eth_address *a, const struct eth_address *b);

/* The chain id of "eip155:84532". ST_OK, or ST_FORMAT for another namespace
 * or no canonical decimal. */
enum status eth_chain_id(struct u256 *out, const char *network)
    __attribute__((warn_unused_result));

void eth_domain_separator(uint8_t out[32], const struct eth_domain *d);
void eth_struct_hash(uint8_t out[32], const struct eth_authorization *a);
void eth_digest(uint8_t out[32], const struct eth_domain *d,
    const struct eth_authorization *a);

/* The signer of digest. sig is r, s, v with v 27 or 28. ST_OK; ST_FORMAT for
 * another v; ST_REFUSED for a high s (the chain refuses it) or when no key
 * can be recovered. */
enum status eth_recover(struct eth_address *out, const uint8_t digest[32],
    const uint8_t sig[65]) __attribute__((warn_unused_result));

#endif
