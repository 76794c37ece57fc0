/* Token amounts: unsigned 256-bit integers, decimal text both ways. Never a
 * double (x402.md 7.14). */
#ifndef U256_H
#define U256_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct u256 {
	uint8_t be[32]; /* big-endian, as EIP-712 words are */
};

#define U256_TEXT 79 /* longest decimal text and its NUL */

/* Canonical decimal: digits only, no sign, no leading zero but "0" itself, at
 * most 2^256 - 1. ST_OK or ST_FORMAT. */
enum status u256_parse(struct u256 *out, const char *text)
    __attribute__((warn_unused_result));
void u256_text(char out[U256_TEXT], const struct u256 *v);
struct u256 u256_from(uint64_t v);
/* out = a + b, which may be out, modulo 2^256. */
void u256_add(struct u256 *out, const struct u256 *a, const struct u256 *b);
/* <0, 0, >0. */
int u256_cmp(const struct u256 *a, const struct u256 *b);
/* True and *out if v fits 64 bits. */
bool u256_fits64(uint64_t *out, const struct u256 *v);

#endif
