/*
 * Changes to the ledger, committed in groups: one fsync for all that wait.
 * Thread-safe.
 */
#ifndef LEDGER_QUEUE_H
#define LEDGER_QUEUE_H

#include "base/status.h"
#include "pay/ledger_db.h"

struct ledger_queue;

/* One change, made inside a transaction that is already open. It may be called
 * a second time for the same arg after its first work was undone, so it must
 * depend on nothing but the store and arg. Returning ST_IO, ST_NOMEM or ST_BUG
 * undoes what it wrote; any other status keeps it. */
typedef enum status ledger_change_fn(struct ledger_db *db, const void *arg);

/* db is used by the queue alone from now on, and stays the caller's to close
 * after ledger_queue_close(). */
enum status ledger_queue_open(struct ledger_queue **out, struct ledger_db *db)
    __attribute__((warn_unused_result));
void ledger_queue_close(struct ledger_queue *q); /* NULL is fine */

/* Make one change and wait until it is durable. What make returned, or ST_IO
 * (ST_NOMEM, ST_BUG) when the commit failed. */
enum status ledger_queue_run(struct ledger_queue *q, ledger_change_fn *make,
    const void *arg) __attribute__((warn_unused_result));

#endif
