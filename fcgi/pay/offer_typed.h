/* EIP-712 digests of the extension's offer and receipt (x402.md 5.3). Private
 * to offer.c and tests. */
#ifndef OFFER_TYPED_H
#define OFFER_TYPED_H

#include <stdint.h>

#include "pay/offer.h"

#define OFFER_TYPED_VERSION 1 /* of both payloads */

void offer_typed_offer(uint8_t digest[32], const struct x402_requirement *req,
    const char *resource_url, uint64_t valid_until);
void offer_typed_receipt(uint8_t digest[32], const struct offer_paid *paid);

#endif
