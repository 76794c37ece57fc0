/*
 * Answers as they are stored: compressed where that makes them smaller, so
 * that nobody fills the budget of answers with a page of control characters,
 * of which JSON makes six bytes each. The only user of zlib.
 */
#ifndef LEDGER_PACK_H
#define LEDGER_PACK_H

#include <stddef.h>

#include "base/status.h"

/* The smaller form of a body, *out (free it) and *out_len. *out is NULL where
 * there is none: it is stored as it is. ST_OK; ST_NOMEM. */
enum status ledger_pack(char **out, size_t *out_len, const char *body,
    size_t len) __attribute__((warn_unused_result));

/* The body again, len bytes (free it, a NUL behind). ST_OK; ST_FORMAT: it was
 * not packed by ledger_pack() from len bytes; ST_NOMEM. */
enum status ledger_pack_undo(char **out, size_t len, const char *packed,
    size_t packed_len) __attribute__((warn_unused_result));

#endif
