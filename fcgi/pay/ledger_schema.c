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

static const char *const steps[LEDGER_SCHEMA_VERSION] = { first, second };

const char *
ledger_schema_step(int from)
{
	return steps[from];
}
