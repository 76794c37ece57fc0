/* Look-ups in the ledger: rows out of columns. The caller holds the lock of
 * the connection. */
#ifndef LEDGER_READ_H
#define LEDGER_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/ledger.h"
#include "pay/ledger_db.h"

/* As ledger_find(), but where *unpacked is not 0 the body is still packed, from
 * that many bytes. */
enum status ledger_read_find(struct ledger_db *db, const char *identity,
    struct ledger_row *out, size_t *unpacked)
    __attribute__((warn_unused_result));

/* As ledger_look(). */
enum status ledger_read_look(struct ledger_db *db, const char *identity,
    struct ledger_row *out) __attribute__((warn_unused_result));

/* As ledger_find_key(), ledger_find_identifier(), ledger_find_around(). */
enum status ledger_read_key(struct ledger_db *db, const uint8_t *key,
    const char *payer, const char *request_digest, char **identity)
    __attribute__((warn_unused_result));
enum status ledger_read_identifier(struct ledger_db *db, const char *payer,
    const char *identifier, char **identity)
    __attribute__((warn_unused_result));

enum status ledger_read_around(struct ledger_db *db, const char *head,
    const char *tail, char **identity) __attribute__((warn_unused_result));

/* The newest row with an id below *id, of one state (0: any), without its
 * answer; its id and identity (free it) go to *id and *identity. ST_OK,
 * ST_NOT_FOUND, ST_IO, ST_NOMEM. */
enum status ledger_read_next(struct ledger_db *db, enum ledger_state state,
    int64_t *id, char **identity, struct ledger_row *out)
    __attribute__((warn_unused_result));

/* As ledger_due(). */
enum status ledger_read_due(struct ledger_db *db, int64_t now, char **identity)
    __attribute__((warn_unused_result));

/* As ledger_payer(). */
enum status ledger_read_payer(struct ledger_db *db, const char *payer,
    struct ledger_payer *out) __attribute__((warn_unused_result));
/* As ledger_count(). */
enum status ledger_read_count(struct ledger_db *db, struct ledger_counts *out)
    __attribute__((warn_unused_result));

enum status ledger_read_bytes(struct ledger_db *db, uint64_t *out)
    __attribute__((warn_unused_result));

#endif
