#include "pay/ledger_sql.h"

#include "pay/ledger.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* The statements spell states as numbers, as the file holds them. */
_Static_assert(LEDGER_CLAIMED == 1 && LEDGER_SETTLING == 2 &&
		   LEDGER_UNKNOWN == 3 && LEDGER_FAILED == 4 &&
		   LEDGER_SETTLED == 5 && LEDGER_RUNNING == 6 &&
		   LEDGER_DONE == 7,
    "states are stored: never renumber");
_Static_assert(LEDGER_FIRST_NONE == 0 && LEDGER_FIRST_LOST == 1 &&
		   LEDGER_FIRST_USED == 2 && LEDGER_FIRST_REFUSED == 3,
    "so are these");

/* None is written with the state: the change may be older than the wish. */
#define NEXT_TRY                                                               \
	"coalesce(p.next_try, p.changed + " TEXT(LEDGER_FIRST_TRY_S) ")"

/* Rests beyond what anything may. The number is what ledger_change_time() makes
 * of LEDGER_NEVER. */
#define TOO_LONG                                                               \
	NEXT_TRY " - " TEXT(LEDGER_REST_S) " > ?1 AND " NEXT_TRY               \
					   " < 9223372036854775807"

/* In the order in which ledger_read.c takes the columns. */
#define ROW                                                                    \
	"SELECT p.id, p.identity, p.state, p.version, p.starts, p.created,"    \
	" p.valid_before, p.site, p.route, p.request_digest, p.payer,"         \
	" p.network, p.asset, p.pay_to, p.amount, p.facilitator, p.txn,"       \
	" p.reason, p.settle_body, p.tries, p.payment_identifier,"             \
	" p.idempotency_key, p.first_call, " NEXT_TRY

/* Where valid_before is unknown, the longest that a payment may be valid (a
 * day) stands for it. */
#define END "iif(valid_before = 0, created + 86400, valid_before)"

/* Those of owed payments stay. */
#define OLD_ANSWERS                                                            \
	"SELECT payment FROM answers WHERE stored < ?1"                        \
	" AND (SELECT state FROM payments WHERE id = payment) = 7"             \
	" ORDER BY stored, bytes, payment LIMIT " TEXT(LEDGER_SQL_EXPIRE_STEP)

/* Of the identity `at` what is behind ?1, up to the next slash. */
#define BEHIND "substr(at, length(?1) + 1)"
#define PART "substr(" BEHIND ", 1, instr(" BEHIND " || '/', '/') - 1)"

/* ?1 is the identity, ?2 the time, where nothing else is said. */
static const char *const text[LEDGER_SQL_MAX] = {
	[LEDGER_SQL_BEGIN] = "BEGIN IMMEDIATE",
	[LEDGER_SQL_COMMIT] = "COMMIT",
	[LEDGER_SQL_ROLLBACK] = "ROLLBACK",
	[LEDGER_SQL_SAVE] = "SAVEPOINT change",
	[LEDGER_SQL_SAVE_UNDO] = "ROLLBACK TO change",
	[LEDGER_SQL_SAVE_KEEP] = "RELEASE change",

	/* ?3… in the order of struct ledger_claim. The index on keys leaves out
	 * FAILED rows, but their key stays bound to their digest. */
	[LEDGER_SQL_CLAIM] =
	    "INSERT INTO payments (identity, created, changed, state, site,"
	    " route, request_digest, payer, network, asset, pay_to, amount,"
	    " facilitator, settle_body, valid_before, version,"
	    " payment_identifier, idempotency_key)"
	    " SELECT ?1, ?2, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
	    " ?12, ?13, ?14, ?15, ?16"
	    " WHERE NOT EXISTS (SELECT 1 FROM payments WHERE payer = ?6"
	    "  AND idempotency_key = ?16 AND request_digest <> ?5)"
	    " ON CONFLICT DO NOTHING",
	[LEDGER_SQL_RELEASE] =
	    "DELETE FROM payments WHERE identity = ?1 AND state = 1",

	/* ?3 what the first call, if none was sent yet, is from now on */
	[LEDGER_SQL_SETTLING] =
	    "UPDATE payments SET state = 2, changed = ?2, tries = tries + 1,"
	    " first_call = iif(first_call = 0, ?3, first_call)"
	    " WHERE identity = ?1 AND state IN (1, 3, 4)",
	/* ?3 how the first call ended */
	[LEDGER_SQL_FIRST] =
	    "UPDATE payments SET changed = ?2, first_call = ?3"
	    " WHERE identity = ?1 AND state = 2 AND first_call = 1",
	/* ?3 facilitator */
	[LEDGER_SQL_FACILITATOR] =
	    "UPDATE payments SET changed = ?2, facilitator = ?3"
	    " WHERE identity = ?1 AND state = 2",
	/* ?3 transaction, which no other may have, proved or not */
	[LEDGER_SQL_SETTLED] =
	    "UPDATE payments SET state = 5, changed = ?2, txn = ?3,"
	    " reason = NULL WHERE identity = ?1 AND state IN (2, 3)"
	    " AND NOT EXISTS (SELECT 1 FROM payments o"
	    "  WHERE o.txn IS NOT NULL AND o.network = payments.network"
	    "  AND lower(o.txn) = lower(?3))",
	/* ?3 transaction, ?4 the log in it, which no other may have */
	[LEDGER_SQL_PROVED] =
	    "UPDATE payments SET state = 5, changed = ?2, txn = ?3,"
	    " txn_log = ?4, reason = NULL"
	    " WHERE identity = ?1 AND state IN (2, 3)",
	/* ?3 reason */
	[LEDGER_SQL_SETTLED_NOT] =
	    "UPDATE payments SET state = 3, changed = ?2, reason = ?3"
	    " WHERE identity = ?1 AND state IN (2, 3)",
	/* ?3 reason */
	[LEDGER_SQL_UNKNOWN] =
	    "UPDATE payments SET state = 3, changed = ?2, reason = ?3,"
	    " next_try = NULL"
	    " WHERE identity = ?1 AND state = 2",
	/* ?3 reason */
	[LEDGER_SQL_FAILED] =
	    "UPDATE payments SET state = 4, changed = ?2, reason = ?3"
	    " WHERE identity = ?1 AND state IN (2, 3)",

	/* ?2 next try, ?3 reason */
	[LEDGER_SQL_LATER] = "UPDATE payments SET next_try = ?2, reason = ?3"
			     " WHERE identity = ?1 AND state = 3",
	/* ?1 may be NULL, ?2 the latest next try that counts */
	[LEDGER_SQL_RECALL] = "UPDATE payments SET next_try = 0 WHERE state = 3"
			      " AND (identity = ?1 OR ?1 IS NULL AND"
			      "  coalesce(next_try, 0) <= ?2)",
	/* ?1 now */
	[LEDGER_SQL_DUE] = "SELECT p.identity FROM payments p WHERE p.state = 3"
			   " AND (" NEXT_TRY " <= ?1 OR " TOO_LONG ")"
			   " ORDER BY " NEXT_TRY ", p.id LIMIT 1",

	[LEDGER_SQL_RUNNING] =
	    "UPDATE payments SET state = 6, changed = ?2, starts = starts + 1"
	    " WHERE identity = ?1 AND state = 5"
	    " AND starts < " TEXT(LEDGER_STARTS),
	/* ?1 identity: are its starts used up? */
	[LEDGER_SQL_STARTS] =
	    "SELECT 1 FROM payments WHERE identity = ?1 AND state = 5"
	    " AND starts >= " TEXT(LEDGER_STARTS),
	[LEDGER_SQL_OWED] = "UPDATE payments SET state = 5, changed = ?2"
			    " WHERE identity = ?1 AND state = 6",
	[LEDGER_SQL_DONE] = "UPDATE payments SET state = 7, changed = ?2"
			    " WHERE identity = ?1 AND state = 6",
	[LEDGER_SQL_GIVEN_UP] =
	    "UPDATE payments SET changed = ?2 WHERE identity = ?1"
	    " AND state = 5 AND starts >= " TEXT(
		LEDGER_STARTS) " AND NOT EXISTS (SELECT 1 FROM answers WHERE "
			       "payment = id)",
	/* ?3 HTTP status, ?4 bytes, ?5 headers, ?6 body, ?7 its length before
	 * it was packed, or NULL */
	[LEDGER_SQL_ANSWER] =
	    "INSERT INTO answers (payment, stored, http, bytes, headers, body,"
	    " unpacked) SELECT id, ?2, ?3, ?4, ?5, ?6, ?7"
	    " FROM payments WHERE identity = ?1",

	/* ?1 payer */
	[LEDGER_SQL_DOUBT] = "UPDATE payers SET good = 0 WHERE payer = ?1",

	/* ?1 stored before this: the bytes of a step, and the step */
	[LEDGER_SQL_EXPIRE_BYTES] =
	    "SELECT coalesce(sum(bytes), 0) FROM answers"
	    " WHERE payment IN (" OLD_ANSWERS ")",
	[LEDGER_SQL_EXPIRE_ANSWERS] =
	    "DELETE FROM answers WHERE payment IN (" OLD_ANSWERS ")",
	/* ?1 changed before this (refused ones go as soon as nobody can use
	 * them any more), ?2 now */
	[LEDGER_SQL_EXPIRE_ROWS] =
	    "DELETE FROM payments WHERE id IN (SELECT id FROM payments"
	    " WHERE (state = 4 OR state = 7 AND changed < ?1)"
	    " AND " END " < ?2 - " TEXT(
		LEDGER_SQL_MARGIN_S) " AND NOT EXISTS (SELECT 1 FROM answers "
				     "WHERE payment = id)"
				     " LIMIT " TEXT(LEDGER_SQL_EXPIRE_STEP) ")",
	/* ?1 now less LEDGER_UNKNOWN_KEEP_S */
	[LEDGER_SQL_EXPIRE_UNKNOWN] =
	    "DELETE FROM payments WHERE id IN (SELECT id FROM payments"
	    " WHERE state = 3 AND " END " < ?1"
	    " LIMIT " TEXT(LEDGER_SQL_EXPIRE_STEP) ")",

	/* ?1 seen before this. Who is owed a run stays: its answer, when it
	 * comes, is counted for him, and taken off again later. */
	[LEDGER_SQL_EXPIRE_PAYERS] =
	    "DELETE FROM payers WHERE payer IN (SELECT payer FROM payers"
	    " WHERE seen < ?1 AND bytes = 0 AND payer NOT IN"
	    " (SELECT payer FROM payments WHERE state IN (5, 6))"
	    " LIMIT " TEXT(LEDGER_SQL_EXPIRE_STEP) ")",

	[LEDGER_SQL_LOST_CLAIMS] = "DELETE FROM payments WHERE state = 1",
	/* ?1 time, ?2 reason */
	[LEDGER_SQL_LOST_SETTLES] =
	    "UPDATE payments SET state = 3, changed = ?1, reason = ?2"
	    " WHERE state = 2",
	/* ?1 time */
	[LEDGER_SQL_LOST_RUNS] =
	    "UPDATE payments SET state = 5, changed = ?1 WHERE state = 6",

	[LEDGER_SQL_FIND] = ROW ", a.http, a.headers, a.body, a.unpacked"
				" FROM payments p"
				" LEFT JOIN answers a ON a.payment = p.id"
				" WHERE p.identity = ?1",
	[LEDGER_SQL_LOOK] = ROW ", a.http FROM payments p"
				" LEFT JOIN answers a ON a.payment = p.id"
				" WHERE p.identity = ?1",
	/* ?1 key, ?2 payer, ?3 digest: the digest of his with this key */
	[LEDGER_SQL_KEY_OF_PAYER] =
	    "SELECT identity, request_digest = ?3 FROM payments"
	    " WHERE idempotency_key = ?1 AND payer = ?2"
	    " AND (state <> 4 OR request_digest <> ?3) ORDER BY id LIMIT 1",
	/* ?1 key, ?2 digest: whoever's is furthest on, as states go */
	[LEDGER_SQL_KEY_OF_ANY] =
	    "SELECT identity FROM payments"
	    " WHERE idempotency_key = ?1 AND request_digest = ?2 AND state <> 4"
	    " ORDER BY state DESC, id LIMIT 1",
	/* ?1 payer, ?2 identifier */
	[LEDGER_SQL_IDENTIFIER] =
	    "SELECT identity FROM payments"
	    " WHERE payer = ?1 AND payment_identifier = ?2",
	/* ?1 head, ?2 tail: from the first identity of each part to the first
	 * of the next one ('0' is the character behind the slash) */
	[LEDGER_SQL_AROUND] =
	    "WITH RECURSIVE step (at) AS ("
	    " SELECT min(identity) FROM payments WHERE identity > ?1"
	    " UNION ALL SELECT (SELECT min(identity) FROM payments"
	    "  WHERE identity > ?1 || " PART " || '0')"
	    " FROM step WHERE substr(at, 1, length(?1)) = ?1)"
	    " SELECT p.identity FROM step JOIN payments p"
	    " ON p.identity = ?1 || " PART " || ?2 LIMIT 1",
	/* ?1 id below this */
	[LEDGER_SQL_LIST] =
	    ROW " FROM payments p WHERE p.id < ?1 ORDER BY p.id DESC LIMIT 1",
	/* ?1 id below this, ?2 state */
	[LEDGER_SQL_LIST_STATE] =
	    ROW " FROM payments p WHERE p.id < ?1 AND p.state = ?2"
		" ORDER BY p.id DESC LIMIT 1",
	[LEDGER_SQL_BYTES] = "SELECT coalesce(sum(bytes), 0) FROM answers",
	/* ?1 payer */
	[LEDGER_SQL_PAYER] = "SELECT good, bytes FROM payers WHERE payer = ?1",
	/* state, has it an answer, rows */
	[LEDGER_SQL_COUNT] =
	    "SELECT p.state, a.payment IS NOT NULL, count(*) FROM payments p"
	    " LEFT JOIN answers a ON a.payment = p.id WHERE p.state < 7"
	    " GROUP BY 1, 2",
};

const char *
ledger_sql_text(enum ledger_sql q)
{
	return text[q];
}
