/*
 * Does a payer pay? Keys are free and signatures prove no money: without this a
 * flood of keys that hold nothing takes all places, slots and room for answers
 * until the facilitator has refused each. Who has paid here before, and was not
 * refused since, is known (pay/ledger.h); all others are strangers until their
 * payment is settled, and a payment that was refused is a stranger's, whoever
 * sends it again.
 */
#ifndef STANDING_H
#define STANDING_H

#include "base/status.h"
#include "web/run_state.h"

/* Before r's payment is claimed, or settled again: a stranger takes one of
 * their places. Before the claim alone, and while strangers are being refused,
 * his balance is read first, where the chain can be read. ST_OK, or
 * ST_PAYMENT_AMOUNT_INSUFFICIENT, ST_EXECUTE_IP_RATE_LIMITED (both before the
 * claim alone), ST_SERVICE_BUSY with r->f. */
enum status standing_take(struct run *r) __attribute__((warn_unused_result));

/* What became of the settlement: no stranger any more, or not known any more.
 * Gives the place back. */
void standing_settled(struct run *r, enum status st);

/* Give the place back, if there is one: it did not come to that. */
void standing_leave(struct run *r);

#endif
