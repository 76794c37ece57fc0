/* Keccak-256 as Ethereum uses it (padding byte 0x01, not SHA-3's 0x06), on
 * nettle's permutation, of which this is the only user. */
#ifndef KECCAK_H
#define KECCAK_H

#include <stddef.h>
#include <stdint.h>

void keccak_256(uint8_t out[32], const void *data, size_t len);

#endif
