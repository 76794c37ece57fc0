/*
 * EVM: addresses, EIP-712 digest of EIP-3009's TransferWithAuthorization, and
 * recovery of the signer (x402.md 4.1 to 4.3); signing of other typed data. The
 * only user of libsecp256k1.
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

/* EIP-712's digest of any separator and struct hash. */
void eth_typed_digest(uint8_t out[32], const uint8_t separator[32],
    const uint8_t struct_hash[32]);

/* The signer of digest. sig is r, s, v with v 27 or 28. ST_OK; ST_FORMAT for
 * another v; ST_REFUSED for a high s (the chain refuses it) or when no key
 * can be recovered. */
enum status eth_recover(struct eth_address *out, const uint8_t digest[32],
    const uint8_t sig[65]) __attribute__((warn_unused_result));

/* ---- signing ---- */

struct eth_signer; /* a private key; threads may share it */

/* ST_OK; ST_FORMAT: no number that can be a key; ST_NOMEM. The caller wipes
 * its copy of secret. */
enum status eth_signer_open(struct eth_signer **out, const uint8_t secret[32])
    __attribute__((warn_unused_result));
void eth_signer_close(struct eth_signer *s); /* wipes it; NULL is fine */

const struct eth_address *eth_signer_address(const struct eth_signer *s);
/* The public key's coordinates: x, then y. */
const uint8_t *eth_signer_point(const struct eth_signer *s);

/* Sign digest: r, s (low) and v (27 or 28), deterministic (RFC 6979). ST_OK or
 * ST_BUG. */
enum status eth_sign(uint8_t sig[65], const struct eth_signer *s,
    const uint8_t digest[32]) __attribute__((warn_unused_result));

#endif
