/*
 * A new store is made by the same steps that an old one goes through, so each
 * is tried whenever a store is made. A step that was released is never
 * changed: files of its version are out there.
 */
#include "pay/ledger_schema.h"

#include "pay/ledger.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* Hashes of a chain's transactions are hex in any letter case: the same one
 * spelled otherwise must not pay twice, hence lower(). */
static const char first[] =
    "CREATE TABLE payments ("
    " id INTEGER PRIMARY KEY,"
    " identity TEXT NOT NULL UNIQUE CHECK (identity <> ''),"
    " state INTEGER NOT NULL CHECK (state BETWEEN 1 AND 7),"
    " starts INTEGER NOT NULL DEFAULT 0 CHECK (starts BETWEEN 0 AND 3),"
    " tries INTEGER NOT NULL DEFAULT 0,"
    " next_try INTEGER,"
    " created INTEGER NOT NULL,"
    " changed INTEGER NOT NULL,"
    " valid_before INTEGER NOT NULL,"
    " version INTEGER NOT NULL,"
    " site TEXT NOT NULL,"
    " route TEXT NOT NULL,"
    " request_digest TEXT NOT NULL CHECK (length(request_digest) = 64),"
    " payer TEXT NOT NULL,"
    " network TEXT NOT NULL,"
    " asset TEXT NOT NULL,"
    " pay_to TEXT NOT NULL,"
    " amount TEXT NOT NULL,"
    " facilitator TEXT NOT NULL,"
    " txn TEXT CHECK (txn <> ''),"
    " reason TEXT,"
    " payment_identifier TEXT,"
    " idempotency_key BLOB,"
    " settle_body BLOB NOT NULL,"
    " CHECK ((txn IS NOT NULL) = (state IN (5, 6, 7))),"
    " CHECK (state <> 6 OR starts > 0)"
    ") STRICT;"
    "CREATE UNIQUE INDEX payments_txn ON payments (network, lower(txn))"
    " WHERE txn IS NOT NULL;"
    "CREATE INDEX payments_request"
    " ON payments (site, route, request_digest);"
    "CREATE INDEX payments_state ON payments (state, changed);"
    "CREATE TABLE answers ("
    " payment INTEGER PRIMARY KEY"
    "  REFERENCES payments (id) ON DELETE CASCADE,"
    " http INTEGER NOT NULL CHECK (http BETWEEN 100 AND 599),"
    " bytes INTEGER NOT NULL,"
    " stored INTEGER NOT NULL,"
    " headers TEXT NOT NULL,"
    " body BLOB NOT NULL"
    ") STRICT;"
    "CREATE INDEX answers_age ON answers (stored, bytes);"
    "PRAGMA application_id = " TEXT(
	LEDGER_SCHEMA_APPLICATION) ";"
				   "PRAGMA user_version = 1;";

_Static_assert(LEDGER_STARTS == 3, "the first step says 3: it needs a new one");

/* Claims found by key and by identifier, answers packed. A payer who is not
 * known ("") must not block other people's identifiers; keys are secrets. */
static const char second[] =
    "CREATE UNIQUE INDEX payments_key ON payments (idempotency_key, payer)"
    " WHERE idempotency_key IS NOT NULL AND state <> 4;"
    "CREATE INDEX payments_key_all ON payments (idempotency_key)"
    " WHERE idempotency_key IS NOT NULL;"
    "CREATE UNIQUE INDEX payments_identifier"
    " ON payments (payer, payment_identifier)"
    " WHERE payment_identifier IS NOT NULL AND payer <> '';"
    "ALTER TABLE answers ADD COLUMN unpacked INTEGER;"
    "PRAGMA user_version = 2;";

/* One transaction may hold several payments: what the chain has proved is told
 * apart by its log, what a facilitator merely says has the transaction alone
 * (LEDGER_SQL_SETTLED). And payers: who pays, and what is kept for them. Only
 * those who have paid are in there, so that nobody fills it for nothing. */
static const char third[] =
    "ALTER TABLE payments ADD COLUMN txn_log INTEGER;"
    "DROP INDEX payments_txn;"
    "CREATE UNIQUE INDEX payments_txn"
    " ON payments (network, lower(txn), coalesce(txn_log, -1))"
    " WHERE txn IS NOT NULL;"
    "CREATE TABLE payers ("
    " payer TEXT PRIMARY KEY CHECK (payer <> ''),"
    " good INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL,"
    " seen INTEGER NOT NULL"
    ") STRICT, WITHOUT ROWID;"
    "CREATE INDEX payers_seen ON payers (seen) WHERE bytes = 0;"
    "INSERT INTO payers"
    " SELECT p.payer, 1, coalesce(sum(a.bytes), 0), max(p.changed)"
    " FROM payments p LEFT JOIN answers a ON a.payment = p.id"
    " WHERE p.state IN (5, 6, 7) AND p.payer <> '' GROUP BY p.payer;"
    /* Once a day is enough to know who is there. */
    "CREATE TRIGGER payers_paid AFTER UPDATE OF state ON payments"
    " WHEN new.state = 5 AND old.state IN (2, 3) AND new.payer <> ''"
    " BEGIN"
    "  INSERT INTO payers VALUES (new.payer, 1, 0, new.changed)"
    "  ON CONFLICT (payer) DO UPDATE SET good = 1, seen = excluded.seen"
    "  WHERE good = 0 OR seen < excluded.seen - 86400;"
    " END;"
    "CREATE TRIGGER payers_kept AFTER INSERT ON answers BEGIN"
    "  UPDATE payers SET bytes = bytes + new.bytes WHERE payer ="
    "  (SELECT payer FROM payments WHERE id = new.payment);"
    " END;"
    "CREATE TRIGGER payers_dropped AFTER DELETE ON answers BEGIN"
    "  UPDATE payers SET bytes = bytes - old.bytes WHERE payer ="
    "  (SELECT payer FROM payments WHERE id = old.payment);"
    " END;"
    "PRAGMA user_version = 3;";

/* How the first call of settle ended. Of older rows it is not known, and what
 * is not known must neither sell nor refuse: 3, not 1. */
static const char fourth[] =
    "ALTER TABLE payments ADD COLUMN first_call INTEGER NOT NULL DEFAULT 0"
    " CHECK (first_call BETWEEN 0 AND 3);"
    "UPDATE payments SET first_call = 3 WHERE state IN (2, 3, 4);"
    "PRAGMA user_version = 4;";

static const char *const steps[LEDGER_SCHEMA_VERSION] = { first, second, third,
	fourth };

const char *
ledger_schema_step(int from)
{
	return steps[from];
}
