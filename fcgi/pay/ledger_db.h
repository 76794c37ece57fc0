/*
 * One connection to the ledger's SQLite file: opening, schema, statements with
 * values bound in order. The only user of sqlite3. Not thread-safe: whoever
 * shares a connection holds a lock around it.
 *
 * A statement is begun with ledger_db_start(), given its values in the order
 * of its parameters, and ended by ledger_db_run() (a change), or by
 * ledger_db_row() and ledger_db_end() (a look-up). A value that could not be
 * bound is remembered and told by run or row.
 */
#ifndef LEDGER_DB_H
#define LEDGER_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/ledger_sql.h"

struct ledger_db;

enum ledger_db_mode {
	LEDGER_DB_WRITE,  /* makes the file and its tables if missing */
	LEDGER_DB_READ,	  /* the file must be there; changes are refused */
	LEDGER_DB_BESIDE, /* the file must be there */
};

/* ST_OK; ST_IO with the reason logged (not ours, newer, damaged, no rights, no
 * write-ahead log possible); ST_NOMEM. */
enum status ledger_db_open(struct ledger_db **out, const char *path,
    enum ledger_db_mode mode) __attribute__((warn_unused_result));
void ledger_db_close(struct ledger_db *db); /* NULL is fine */

void ledger_db_start(struct ledger_db *db, enum ledger_sql q);
void ledger_db_text(struct ledger_db *db, const char *s); /* NULL: SQL NULL */
void ledger_db_number(struct ledger_db *db, int64_t n);
void ledger_db_bytes(struct ledger_db *db, const void *p, size_t len);

/* Do it to the end. *changed (may be NULL) is the number of rows. ST_OK;
 * ST_CONFLICT: a unique value is taken; ST_BUG: a value the schema refuses;
 * ST_NOMEM; ST_IO (logged). */
enum status ledger_db_run(struct ledger_db *db, int64_t *changed)
    __attribute__((warn_unused_result));

/* Go to the (only) row of a look-up: ST_OK, ST_NOT_FOUND, ST_NOMEM, ST_IO. To
 * be followed by ledger_db_end() in any case. */
enum status ledger_db_row(struct ledger_db *db)
    __attribute__((warn_unused_result));
int64_t ledger_db_get_number(struct ledger_db *db, int column);
/* A copy (free it) with a NUL behind; NULL where the column is NULL. len may
 * be NULL. ST_OK or ST_NOMEM. */
enum status ledger_db_get(struct ledger_db *db, int column, char **out,
    size_t *len) __attribute__((warn_unused_result));
void ledger_db_end(struct ledger_db *db);

/* Is a transaction open? SQLite ends one by itself on some errors. */
bool ledger_db_open_transaction(struct ledger_db *db);

#endif
