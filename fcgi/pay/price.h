/* Prices: dollars in millionths to atomic units of an asset and to text. The
 * asset is a dollar token; nothing is ever rounded. */
#ifndef PRICE_H
#define PRICE_H

#include <stdint.h>

#include "base/status.h"
#include "pay/u256.h"

/* micros * 10^decimals / 10^6. ST_OK; ST_FORMAT when that is no whole number
 * of atomic units (the service then refuses to start) or decimals > 60. */
enum status price_atomic(struct u256 *out, uint64_t micros, unsigned decimals)
    __attribute__((warn_unused_result));

/* The way back, of an amount in decimal digits. ST_OK; ST_FORMAT when it is no
 * whole number of millionths, or more than fit. */
enum status price_micros(uint64_t *out, const char *amount, unsigned decimals)
    __attribute__((warn_unused_result));

/* "$0.0010": at least four decimals, no more than needed beyond. */
void price_dollars(char out[32], uint64_t micros);

/* "0.001": the JSON number priceUsd as JCS writes it. */
void price_number(char out[32], uint64_t micros);

#endif
