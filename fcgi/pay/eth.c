#include "pay/eth.h"

#include <ctype.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>
#include <string.h>

#include "base/hex.h"
#include "pay/keccak.h"

#define WORD 32

/* keccak of the encoded types, x402.md 4.1. */
static const uint8_t DOMAIN_TYPE[WORD] = { 0x8b, 0x73, 0xc3, 0xc6, 0x9b, 0xb8,
	0xfe, 0x3d, 0x51, 0x2e, 0xcc, 0x4c, 0xf7, 0x59, 0xcc, 0x79, 0x23, 0x9f,
	0x7b, 0x17, 0x9b, 0x0f, 0xfa, 0xca, 0xa9, 0xa7, 0x5d, 0x52, 0x2b, 0x39,
	0x40, 0x0f };
static const uint8_t TRANSFER_TYPE[WORD] = { 0x7c, 0x7c, 0x6c, 0xdb, 0x67, 0xa1,
	0x87, 0x43, 0xf4, 0x9e, 0xc6, 0xfa, 0x9b, 0x35, 0xf5, 0x0d, 0x52, 0xed,
	0x05, 0xcb, 0xed, 0x4c, 0xc5, 0x92, 0xe1, 0x3b, 0x44, 0x50, 0x1c, 0x1a,
	0x22, 0x67 };

/* Half of the curve's order: the largest s that the token's contract takes. */
static const uint8_t HALF_ORDER[WORD] = { 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff,
	0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57,
	0x6e, 0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b,
	0x20, 0xa0 };

enum status
eth_address_parse(struct eth_address *out, const char *text)
{
	return hex_decode0x(out->b, sizeof(out->b), text);
}

void
eth_address_text(char out[ETH_ADDRESS_TEXT], const struct eth_address *a)
{
	uint8_t hash[32];
	char *digits = out + 2;

	out[0] = '0';
	out[1] = 'x';
	hex_encode(digits, a->b, sizeof(a->b));
	keccak_256(hash, digits, 2 * sizeof(a->b));
	for (size_t i = 0; i < 2 * sizeof(a->b); i++) {
		unsigned nibble =
		    i % 2 == 0 ? hash[i / 2] >> 4 : hash[i / 2] & 15u;

		if (nibble >= 8)
			digits[i] = (char)toupper((unsigned char)digits[i]);
	}
}

bool
eth_address_equal(const struct eth_address *a, const struct eth_address *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

enum status
eth_chain_id(struct u256 *out, const char *network)
{
	static const char ns[] = "eip155:";

	if (strncmp(network, ns, sizeof(ns) - 1) != 0)
		return ST_FORMAT;
	return u256_parse(out, network + sizeof(ns) - 1);
}

static void
put_address(uint8_t word[WORD], const struct eth_address *a)
{
	memset(word, 0, WORD - sizeof(a->b));
	memcpy(word + WORD - sizeof(a->b), a->b, sizeof(a->b));
}

void
eth_domain_separator(uint8_t out[32], const struct eth_domain *d)
{
	uint8_t pre[5][WORD];

	memcpy(pre[0], DOMAIN_TYPE, WORD);
	keccak_256(pre[1], d->name, strlen(d->name));
	keccak_256(pre[2], d->version, strlen(d->version));
	memcpy(pre[3], d->chain_id.be, WORD);
	put_address(pre[4], &d->contract);
	keccak_256(out, pre, sizeof(pre));
}

void
eth_struct_hash(uint8_t out[32], const struct eth_authorization *a)
{
	uint8_t pre[7][WORD];

	memcpy(pre[0], TRANSFER_TYPE, WORD);
	put_address(pre[1], &a->from);
	put_address(pre[2], &a->to);
	memcpy(pre[3], a->value.be, WORD);
	memcpy(pre[4], a->valid_after.be, WORD);
	memcpy(pre[5], a->valid_before.be, WORD);
	memcpy(pre[6], a->nonce, WORD);
	keccak_256(out, pre, sizeof(pre));
}

void
eth_digest(uint8_t out[32], const struct eth_domain *d,
    const struct eth_authorization *a)
{
	uint8_t pre[2 + 2 * WORD] = { 0x19, 0x01 };

	eth_domain_separator(pre + 2, d);
	eth_struct_hash(pre + 2 + WORD, a);
	keccak_256(out, pre, sizeof(pre));
}

enum status
eth_recover(
    struct eth_address *out, const uint8_t digest[32], const uint8_t sig[65])
{
	const secp256k1_context *ctx = secp256k1_context_static;
	secp256k1_ecdsa_recoverable_signature parsed;
	secp256k1_pubkey key;
	uint8_t point[65], hash[32];
	size_t len = sizeof(point);

	if (sig[64] != 27 && sig[64] != 28)
		return ST_FORMAT;
	if (memcmp(sig + WORD, HALF_ORDER, WORD) > 0)
		return ST_REFUSED;

	/* The static context asks for this; it costs next to nothing. */
	secp256k1_selftest();
	if (!secp256k1_ecdsa_recoverable_signature_parse_compact(
		ctx, &parsed, sig, sig[64] - 27))
		return ST_REFUSED;
	if (!secp256k1_ecdsa_recover(ctx, &key, &parsed, digest))
		return ST_REFUSED;
	if (!secp256k1_ec_pubkey_serialize(
		ctx, point, &len, &key, SECP256K1_EC_UNCOMPRESSED))
		return ST_BUG;
	keccak_256(hash, point + 1, sizeof(point) - 1);
	memcpy(out->b, hash + 12, sizeof(out->b));
	return ST_OK;
}
