/* Who has a SQLite store to change: a lock on a file beside it. */
#ifndef LEDGER_LOCK_H
#define LEDGER_LOCK_H

#include <stdbool.h>

#include "base/status.h"

/* Take the lock of the store at path; closing *out gives it back. ST_OK; ST_IO,
 * logged: another process has it, or it cannot be made; ST_NOMEM. */
enum status ledger_lock_take(int *out, const char *path)
    __attribute__((warn_unused_result));

/* As ledger_held(). */
enum status ledger_lock_held(bool *held, const char *path)
    __attribute__((warn_unused_result));

#endif
