#include "pay/keccak.h"

#include <nettle/sha3.h>

#define RATE 136 /* bytes absorbed at a time, for 256 bits of output */

static void
xor_byte(struct sha3_state *s, size_t at, uint8_t byte)
{
	s->a[at / 8] ^= (uint64_t)byte << (at % 8 * 8);
}

void
keccak_256(uint8_t out[32], const void *data, size_t len)
{
	struct sha3_state s = { 0 };
	const uint8_t *p = data;
	size_t at = 0;

	for (size_t i = 0; i < len; i++) {
		xor_byte(&s, at++, p[i]);
		if (at == RATE) {
			sha3_permute(&s);
			at = 0;
		}
	}
	/* Ethereum froze the padding before SHA-3 put its own bits there. */
	xor_byte(&s, at, 0x01);
	xor_byte(&s, RATE - 1, 0x80);
	sha3_permute(&s);
	for (size_t i = 0; i < 32; i++)
		out[i] = (uint8_t)(s.a[i / 8] >> (i % 8 * 8));
}
