/*
 * The thread that looks after unknown settlements: one row after the other, as
 * they become due or are recalled. Never holds up a request: a payment that
 * somebody works on is left for later.
 */
#ifndef MENDER_H
#define MENDER_H

#include "base/status.h"
#include "web/context.h"

struct mender;

/* g must outlive it. */
enum status mender_start(struct mender **out, struct context *g)
    __attribute__((warn_unused_result));
/* Waits until the row in hand is done. NULL is fine. */
void mender_stop(struct mender *m);

#endif
