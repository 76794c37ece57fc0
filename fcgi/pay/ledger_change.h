/*
 * The arrows of the ledger's state machine, each one function for the queue:
 * one UPDATE that names the states it may come from. Return as the function of
 * ledger.h of the same name does.
 */
#ifndef LEDGER_CHANGE_H
#define LEDGER_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/ledger.h"
#include "pay/ledger_db.h"

/* What a change of one row needs; each uses some of it. Borrowed. */
struct ledger_move {
	const char *identity; /* or the payer */
	const char *text;     /* transaction, reason or facilitator */
	int64_t log;	      /* of the transaction */
	int64_t next_try;
	enum ledger_first first;
	bool never;
	int http;
	const char *headers;
	const char *body; /* as it is stored */
	size_t body_len;
	size_t unpacked; /* its length before it was packed; 0: it was not */
};

struct ledger_expiry {
	int64_t before; /* what was changed or stored before this may go */
	int64_t now;
	int64_t *deleted; /* rows that went: 0 when nothing is left to do */
	int64_t *freed;	  /* bytes of the answers among them */
};

/* SQLite's integers are signed; a time beyond them is "never" all the same. */
int64_t ledger_change_time(uint64_t t);

/* arg is a struct ledger_claim */
enum status ledger_change_claim(struct ledger_db *db, const void *arg);
/* arg is a struct ledger_move */
enum status ledger_change_release(struct ledger_db *db, const void *arg);
enum status ledger_change_settling(struct ledger_db *db, const void *arg);
enum status ledger_change_reopened(struct ledger_db *db, const void *arg);
enum status ledger_change_first(struct ledger_db *db, const void *arg);
enum status ledger_change_facilitator(struct ledger_db *db, const void *arg);
enum status ledger_change_settled(struct ledger_db *db, const void *arg);
enum status ledger_change_proved(struct ledger_db *db, const void *arg);
enum status ledger_change_unknown(struct ledger_db *db, const void *arg);
enum status ledger_change_failed(struct ledger_db *db, const void *arg);
enum status ledger_change_later(struct ledger_db *db, const void *arg);
enum status ledger_change_recall(struct ledger_db *db, const void *arg);
enum status ledger_change_running(struct ledger_db *db, const void *arg);
enum status ledger_change_owed(struct ledger_db *db, const void *arg);
enum status ledger_change_done(struct ledger_db *db, const void *arg);
enum status ledger_change_given_up(struct ledger_db *db, const void *arg);
enum status ledger_change_doubt(struct ledger_db *db, const void *arg);
/* arg is a struct ledger_expiry: one step of it */
enum status ledger_change_expiry(struct ledger_db *db, const void *arg);
/* arg is NULL: what ledger_open() mends */
enum status ledger_change_recovery(struct ledger_db *db, const void *arg);

#endif
