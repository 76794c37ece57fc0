/*
 * Rows that nobody will take further by himself. Those that a write which
 * failed (a full disk, say) left in the middle of something: CLAIMED, SETTLING
 * or RUNNING with nobody at work on them. They are read as a restart would, by
 * the next request for the payment or, where none comes, by the gate's round.
 */
#ifndef LEFTOVER_H
#define LEFTOVER_H

#include <stdint.h>

#include "base/status.h"
#include "pay/ledger.h"
#include "web/context.h"

/* The row of a payment whose turn in flight is the caller's, if it is such a
 * one: *state, as found, becomes what it is now, LEDGER_STATE_MAX if it is
 * gone. ST_OK, or as the ledger's changes. */
enum status leftover_mend(struct ledger *l, const char *identity,
    enum ledger_state *state) __attribute__((warn_unused_result));

/* All of them; those that somebody works on are left alone. */
void leftover_round(struct context *g);

/* How many payments of other sites are unknown or owed: which is how it looks
 * where public_url has changed, and their payers are refused then. The log is
 * told. */
uint64_t leftover_elsewhere(struct ledger *l, const char *site);

#endif
