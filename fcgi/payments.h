/* `tollbox payments` and `tollbox reconcile`: the ledger for its operator. */
#ifndef PAYMENTS_H
#define PAYMENTS_H

#include <stdbool.h>

#include "base/conf.h"
#include "base/status.h"
#include "pay/ledger.h"

/* Print the payments of one state (0: all), newest first. Gives up root's
 * rights. ST_OK, or what went wrong, logged. */
enum status payments_list(const struct conf *c, enum ledger_state state)
    __attribute__((warn_unused_result));

/* Look after unknown settlements now: the one of that identity, or (NULL) all
 * that are not given up, with `all` those too. Through the running service,
 * which is waited for; where none runs, by itself. Prints what was found of
 * each. Gives up root's rights. ST_OK; ST_UNKNOWN: some are unknown still, or
 * the service has not answered; ST_NOT_FOUND, ST_CONFLICT: no such payment, or
 * it is not unknown; else logged. */
enum status payments_reconcile(struct conf *c, const char *identity, bool all)
    __attribute__((warn_unused_result));

#endif
