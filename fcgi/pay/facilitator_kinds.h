/*
 * What a facilitator offers: its last good /supported answer. Thread-safe. Text
 * that is lent out stays good for as long as the list is open: offers that
 * were made with it may be paid minutes later.
 */
#ifndef FACILITATOR_KINDS_H
#define FACILITATOR_KINDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "pay/facilitator_answer.h"

#define FACILITATOR_KINDS 256	     /* remembered; more are left out */
#define FACILITATOR_KINDS_EXTRAS 8   /* of one kind, over the time */
#define FACILITATOR_KINDS_EXTRA 1024 /* bytes of one */

struct facilitator_kinds;

/* Empty: nothing is offered. */
enum status facilitator_kinds_open(struct facilitator_kinds **out)
    __attribute__((warn_unused_result));
void facilitator_kinds_close(struct facilitator_kinds *k); /* NULL is fine */

/* Put a /supported answer in the list's place. ST_OK; ST_FORMAT: it is none,
 * and the list stays as it is; ST_NOMEM: likewise, or new kinds are missing. */
enum status facilitator_kinds_take(struct facilitator_kinds *k,
    const struct facilitator_reply *r) __attribute__((warn_unused_result));

/* Was one ever taken? */
bool facilitator_kinds_known(struct facilitator_kinds *k);

/* Is it offered? *extra (may be NULL) gets what its requirements carry under
 * `extra`: the members of that object as JSON text without the braces
 * ("\"feePayer\":\"…\""), or NULL. A value that was told stays, as long as the
 * facilitator says that it still signs with it (signers): one of several keys
 * comes at random with every answer, and a payment is made for one of them. */
bool facilitator_kinds_offer(struct facilitator_kinds *k, int version,
    const char *scheme, const char *network, const char **extra);

/* Number i of the values of extra that were ever told, or NULL. */
const char *facilitator_kinds_extra(struct facilitator_kinds *k, int version,
    const char *scheme, const char *network, size_t i);

#endif
