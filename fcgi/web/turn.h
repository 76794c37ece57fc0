/*
 * Turns: one request at a time works on a key and on a payment, the others wait
 * (flight.h). Turns end with run_state_release(), or run_state_leave().
 */
#ifndef TURN_H
#define TURN_H

#include "base/status.h"
#include "web/run_state.h"

/* Wait for whoever works on a request of the same Idempotency-Key, if this one
 * has a key: two that come at once with two payments must not both be charged.
 * Before the payment's own turn. ST_OK, else f. */
enum status turn_key(struct run *r) __attribute__((warn_unused_result));

/* Become the one who works on the payment r->identity, and see how it stands:
 * r->row without the answer; where there is none, its state is
 * LEDGER_STATE_MAX. ST_OK, else f. */
enum status turn_take(struct run *r) __attribute__((warn_unused_result));

#endif
