/*
 * Is a request an earlier one again? What a payer knows his request by besides
 * the payment: Idempotency-Key and payment-identifier (api.md section 10).
 */
#ifndef REPEAT_H
#define REPEAT_H

#include "base/status.h"
#include "pay/ledger.h"
#include "web/run_state.h"

/* Hash the request's key, if it has one. ST_OK; else f. */
enum status repeat_init(struct run *r) __attribute__((warn_unused_result));

/* The payment that the key was used with before. ST_OK: *identity (free it) or
 * NULL: there is none, or none that counts. ST_PAYMENT_REPLAYED: the payer used
 * the key for another body. f is set where it is not ST_OK. */
enum status repeat_find(char **identity, struct run *r)
    __attribute__((warn_unused_result));

/* May the request, by its payment, have what the row of that payment bought?
 * Only the same request, of who holds what was signed and the key, if there was
 * one. (A key that led to the row has been asked already.) ST_OK;
 * ST_PAYMENT_REPLAYED, and ST_PAYMENT_INVALID where the row is FAILED: a 402
 * makes clients sign again, which is right where no money moved only. f is set
 * where it is not ST_OK. */
enum status repeat_allowed(struct run *r, const struct ledger_row *row)
    __attribute__((warn_unused_result));

/* Is the payment's identifier still free? ST_OK; ST_PAYMENT_REPLAYED. */
enum status repeat_identifier(struct run *r)
    __attribute__((warn_unused_result));

/* The ledger refused the claim: what is used already, key, identifier or
 * payment? For a payer who is named by `verify` only, the first two could not
 * be asked before. Never ST_OK: ST_PAYMENT_REPLAYED with f, which names it, or
 * ST_SERVICE_INTERNAL_FAILURE. */
enum status repeat_conflict(struct run *r) __attribute__((warn_unused_result));

#endif
