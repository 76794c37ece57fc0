/* Every statement of the SQLite ledger, and its schema: text only. */
#ifndef LEDGER_SQL_H
#define LEDGER_SQL_H

/* "Toll" in the file's header: tells our file from any other database. */
#define LEDGER_SQL_APPLICATION 0x546f6c6c
#define LEDGER_SQL_VERSION 1 /* of the schema, user_version */

/* Seconds after valid_before in which a chain could still take a payment. */
#define LEDGER_SQL_MARGIN_S 600
/* Rows that one step of expiry deletes at most: it must not hold up others. */
#define LEDGER_SQL_EXPIRE_STEP 200

enum ledger_sql {
	LEDGER_SQL_BEGIN,
	LEDGER_SQL_COMMIT,
	LEDGER_SQL_ROLLBACK,
	LEDGER_SQL_SAVE,
	LEDGER_SQL_SAVE_UNDO,
	LEDGER_SQL_SAVE_KEEP,
	LEDGER_SQL_CLAIM,
	LEDGER_SQL_RELEASE,
	LEDGER_SQL_SETTLING,
	LEDGER_SQL_FACILITATOR,
	LEDGER_SQL_SETTLED,
	LEDGER_SQL_SETTLED_NOT,
	LEDGER_SQL_UNKNOWN,
	LEDGER_SQL_FAILED,
	LEDGER_SQL_RUNNING,
	LEDGER_SQL_STARTS,
	LEDGER_SQL_OWED,
	LEDGER_SQL_DONE,
	LEDGER_SQL_ANSWER,
	LEDGER_SQL_EXPIRE_ANSWERS,
	LEDGER_SQL_EXPIRE_ROWS,
	LEDGER_SQL_LOST_CLAIMS,
	LEDGER_SQL_LOST_SETTLES,
	LEDGER_SQL_LOST_RUNS,
	LEDGER_SQL_FIND,
	LEDGER_SQL_LOOK,
	LEDGER_SQL_LIST,
	LEDGER_SQL_LIST_STATE,
	LEDGER_SQL_BYTES,
	LEDGER_SQL_MAX
};

/* The text of q. Parameters ?1, ?2… are listed beside it. */
const char *ledger_sql_text(enum ledger_sql q);

/* What makes an empty file a ledger, for one transaction. */
const char *ledger_sql_schema(void);

#endif
