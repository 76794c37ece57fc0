/*
 * The x402 extension `offer-receipt` (x402.md 5.3): what we offer, signed, in a
 * 402, and that it was paid, signed, in the payment response. Signed as a JWS,
 * or, where there is an EVM key and the network is EVM, as EIP-712.
 */
#ifndef OFFER_H
#define OFFER_H

#include <stdint.h>

#include "base/buf.h"
#include "pay/keyring.h"
#include "pay/x402.h"

#define OFFER_KEY "offer-receipt" /* in `extensions` */
#define OFFER_BYTES (8u << 10)	  /* one signed offer or receipt, at most */

/* Who signs. Borrowed. */
struct offer_issuer {
	const struct keyring *keys;
	const char *did;
};

/* Append one signed offer without its envelope: the members format, payload
 * (EIP-712 only) and signature. Errors stick in out. */
void offer_sign(struct buf *out, const struct offer_issuer *by,
    const struct x402_requirement *req, const char *resource_url,
    uint64_t valid_until);

/* Append the extension's value for a 402. offers are n texts of offer_sign();
 * the one of accepts[i] is offers[index[i]]. */
void offer_put(
    struct buf *out, const struct buf *offers, const size_t *index, size_t n);

/* What was paid. Borrowed. */
struct offer_paid {
	const char *network; /* CAIP-2 */
	const char *resource_url;
	const char *payer;
	const char *transaction;
	uint64_t issued_at; /* Unix seconds */
};

/* Append the extension's value for a payment response. Errors stick in out. */
void offer_put_receipt(struct buf *out, const struct offer_issuer *by,
    const struct offer_paid *paid);

#endif
