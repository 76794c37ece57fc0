/*
 * Which payment a request brings: its name in the ledger, whatever the settings
 * have become since it was sold.
 */
#ifndef IDENTIFY_H
#define IDENTIFY_H

#include "base/status.h"
#include "web/run_state.h"

/* Write r->identity anew, from r->pay, r->req and r->signature. A payment of
 * version 1 does not say which asset it is for: one whose signature proves none
 * of those that are accepted is looked for in the ledger, under all that there
 * ever were. Having found a row says nothing of who asks for it. ST_OK, else
 * f. */
enum status identify_payment(struct run *r) __attribute__((warn_unused_result));

#endif
