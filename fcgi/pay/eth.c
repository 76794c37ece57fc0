#include "pay/eth.h"

#include <ctype.h>
#include <secp256k1.h>
#include <secp256k1_recovery.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hex.h"
#include "pay/keccak.h"

#define WORD 32
#define POINT 64 /* a public key's coordinates */

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
eth_typed_digest(
    uint8_t out[32], const uint8_t separator[32], const uint8_t struct_hash[32])
{
	uint8_t pre[2 + 2 * WORD] = { 0x19, 0x01 };

	memcpy(pre + 2, separator, WORD);
	memcpy(pre + 2 + WORD, struct_hash, WORD);
	keccak_256(out, pre, sizeof(pre));
}

void
eth_digest(uint8_t out[32], const struct eth_domain *d,
    const struct eth_authorization *a)
{
	uint8_t separator[WORD], struct_hash[WORD];

	eth_domain_separator(separator, d);
	eth_struct_hash(struct_hash, a);
	eth_typed_digest(out, separator, struct_hash);
}

/* The address of a public key, given as its coordinates. */
static void
address_of(struct eth_address *out, const uint8_t point[POINT])
{
	uint8_t hash[WORD];

	keccak_256(hash, point, POINT);
	memcpy(out->b, hash + 12, sizeof(out->b));
}

enum status
eth_recover(
    struct eth_address *out, const uint8_t digest[32], const uint8_t sig[65])
{
	const secp256k1_context *ctx = secp256k1_context_static;
	secp256k1_ecdsa_recoverable_signature parsed;
	secp256k1_pubkey key;
	uint8_t point[1 + POINT];
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
	address_of(out, point + 1);
	return ST_OK;
}

/* ---- signing ---- */

struct eth_signer {
	secp256k1_context *ctx;
	uint8_t secret[WORD];
	uint8_t point[POINT];
	struct eth_address address;
};

enum status
eth_signer_open(struct eth_signer **out, const uint8_t secret[32])
{
	struct eth_signer *s = calloc(1, sizeof(*s));
	uint8_t point[1 + POINT], seed[WORD];
	size_t len = sizeof(point);
	secp256k1_pubkey key;

	*out = NULL;
	if (s == NULL)
		return ST_NOMEM;
	memcpy(s->secret, secret, WORD);
	s->ctx = secp256k1_context_create(SECP256K1_CONTEXT_SIGN);
	/* Blinds what the time of signing could tell. */
	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed) ||
	    !secp256k1_context_randomize(s->ctx, seed)) {
		eth_signer_close(s);
		return ST_NOMEM;
	}
	explicit_bzero(seed, sizeof(seed));
	if (!secp256k1_ec_pubkey_create(s->ctx, &key, s->secret)) {
		eth_signer_close(s);
		return ST_FORMAT;
	}
	secp256k1_ec_pubkey_serialize(
	    s->ctx, point, &len, &key, SECP256K1_EC_UNCOMPRESSED);
	memcpy(s->point, point + 1, sizeof(s->point));
	address_of(&s->address, s->point);
	*out = s;
	return ST_OK;
}

void
eth_signer_close(struct eth_signer *s)
{
	if (s == NULL)
		return;
	secp256k1_context_destroy(s->ctx);
	explicit_bzero(s->secret, sizeof(s->secret));
	free(s);
}

const struct eth_address *
eth_signer_address(const struct eth_signer *s)
{
	return &s->address;
}

const uint8_t *
eth_signer_point(const struct eth_signer *s)
{
	return s->point;
}

enum status
eth_sign(uint8_t sig[65], const struct eth_signer *s, const uint8_t digest[32])
{
	secp256k1_ecdsa_recoverable_signature made;
	int v = 0;

	if (!secp256k1_ecdsa_sign_recoverable(
		s->ctx, &made, digest, s->secret, NULL, NULL) ||
	    !secp256k1_ecdsa_recoverable_signature_serialize_compact(
		s->ctx, sig, &v, &made))
		return ST_BUG;
	sig[64] = (uint8_t)(27 + v);
	return ST_OK;
}
