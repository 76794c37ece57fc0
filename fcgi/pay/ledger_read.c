#include "pay/ledger_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"

/* Columns of ROW in ledger_sql.c, in its order. */
enum column {
	COL_ID,
	COL_IDENTITY,
	COL_STATE,
	COL_VERSION,
	COL_STARTS,
	COL_CREATED,
	COL_VALID_BEFORE,
	COL_SITE,
	COL_ROUTE,
	COL_REQUEST_DIGEST,
	COL_PAYER,
	COL_NETWORK,
	COL_ASSET,
	COL_PAY_TO,
	COL_AMOUNT,
	COL_FACILITATOR,
	COL_TRANSACTION,
	COL_REASON,
	COL_SETTLE_BODY,
	COL_TRIES,
	COL_IDENTIFIER,
	COL_KEY,
	COL_FIRST,
	COL_NEXT_TRY,
	/* of ledger_read_look() and _find() */
	COL_ANSWER_HTTP,
	/* of ledger_read_find() alone */
	COL_ANSWER_HEADERS,
	COL_ANSWER_BODY,
	COL_ANSWER_UNPACKED,
};

static uint64_t
next_try(int64_t stored)
{
	return stored == INT64_MAX ? LEDGER_NEVER : (uint64_t)stored;
}

static enum status
read_key(struct ledger_db *db, struct ledger_row *out)
{
	OWN_FREE char *key = NULL;
	size_t len = 0;
	enum status st = ledger_db_get(db, COL_KEY, &key, &len);

	out->keyed = st == ST_OK && len == sizeof(out->key);
	if (out->keyed)
		memcpy(out->key, key, sizeof(out->key));
	return st;
}

static enum status
read_row(struct ledger_db *db, struct ledger_row *out)
{
	struct {
		int column;
		char **to;
	} texts[] = {
		{ COL_SITE, &out->site },
		{ COL_ROUTE, &out->route },
		{ COL_REQUEST_DIGEST, &out->request_digest },
		{ COL_PAYER, &out->payer },
		{ COL_NETWORK, &out->network },
		{ COL_ASSET, &out->asset },
		{ COL_PAY_TO, &out->pay_to },
		{ COL_AMOUNT, &out->amount },
		{ COL_FACILITATOR, &out->facilitator },
		{ COL_TRANSACTION, &out->transaction },
		{ COL_REASON, &out->reason },
		{ COL_IDENTIFIER, &out->identifier },
	};
	enum status st = ST_OK;
	size_t i;

	/* In range by the schema's CHECK. */
	out->state = (enum ledger_state)ledger_db_get_number(db, COL_STATE);
	out->version = (int)ledger_db_get_number(db, COL_VERSION);
	out->starts = (int)ledger_db_get_number(db, COL_STARTS);
	out->tries = (int)ledger_db_get_number(db, COL_TRIES);
	out->first = (enum ledger_first)ledger_db_get_number(db, COL_FIRST);
	out->created = (uint64_t)ledger_db_get_number(db, COL_CREATED);
	out->next_try = next_try(ledger_db_get_number(db, COL_NEXT_TRY));
	out->valid_before =
	    (uint64_t)ledger_db_get_number(db, COL_VALID_BEFORE);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]) && st == ST_OK; i++)
		st = ledger_db_get(db, texts[i].column, texts[i].to, NULL);
	if (st == ST_OK)
		st = ledger_db_get(db, COL_SETTLE_BODY, &out->settle_body,
		    &out->settle_body_len);
	if (st == ST_OK)
		st = read_key(db, out);
	return st;
}

static enum status
read_answer(struct ledger_db *db, struct ledger_row *out, size_t *unpacked)
{
	enum status st = ST_BUG;

	*unpacked = (size_t)ledger_db_get_number(db, COL_ANSWER_UNPACKED);
	st = ledger_db_get(db, COL_ANSWER_HEADERS, &out->answer_headers, NULL);
	if (st == ST_OK)
		st = ledger_db_get(db, COL_ANSWER_BODY, &out->answer_body,
		    &out->answer_body_len);
	return st;
}

static enum status
read_one(struct ledger_db *db, enum ledger_sql query, const char *identity,
    struct ledger_row *out, size_t *unpacked)
{
	enum status st = ST_BUG;

	memset(out, 0, sizeof(*out));
	ledger_db_start(db, query);
	ledger_db_text(db, identity);
	st = ledger_db_row(db);
	if (st == ST_OK)
		st = read_row(db, out);
	if (st == ST_OK)
		out->answer_http =
		    (int)ledger_db_get_number(db, COL_ANSWER_HTTP);
	if (st == ST_OK && query == LEDGER_SQL_FIND)
		st = read_answer(db, out, unpacked);
	ledger_db_end(db);
	if (st != ST_OK)
		ledger_row_free(out);
	return st;
}

enum status
ledger_read_find(struct ledger_db *db, const char *identity,
    struct ledger_row *out, size_t *unpacked)
{
	*unpacked = 0;
	return read_one(db, LEDGER_SQL_FIND, identity, out, unpacked);
}

enum status
ledger_read_look(
    struct ledger_db *db, const char *identity, struct ledger_row *out)
{
	size_t unused = 0;

	return read_one(db, LEDGER_SQL_LOOK, identity, out, &unused);
}

/* The first column of the statement that was started. */
static enum status
read_identity(struct ledger_db *db, char **identity)
{
	enum status st = ledger_db_row(db);

	if (st == ST_OK)
		st = ledger_db_get(db, 0, identity, NULL);
	return st;
}

enum status
ledger_read_key(struct ledger_db *db, const uint8_t *key, const char *payer,
    const char *request_digest, char **identity)
{
	enum status st = ST_BUG;

	*identity = NULL;
	ledger_db_start(db,
	    payer != NULL ? LEDGER_SQL_KEY_OF_PAYER : LEDGER_SQL_KEY_OF_ANY);
	ledger_db_bytes(db, key, LEDGER_KEY_BYTES);
	if (payer != NULL)
		ledger_db_text(db, payer);
	ledger_db_text(db, request_digest);
	st = read_identity(db, identity);
	if (st == ST_OK && payer != NULL && ledger_db_get_number(db, 1) == 0) {
		free(*identity);
		*identity = NULL;
		st = ST_CONFLICT;
	}
	ledger_db_end(db);
	return st;
}

static enum status
read_by_two(struct ledger_db *db, enum ledger_sql query, const char *first,
    const char *second, char **identity)
{
	enum status st = ST_BUG;

	*identity = NULL;
	ledger_db_start(db, query);
	ledger_db_text(db, first);
	ledger_db_text(db, second);
	st = read_identity(db, identity);
	ledger_db_end(db);
	return st;
}

enum status
ledger_read_identifier(struct ledger_db *db, const char *payer,
    const char *identifier, char **identity)
{
	return read_by_two(
	    db, LEDGER_SQL_IDENTIFIER, payer, identifier, identity);
}

enum status
ledger_read_around(
    struct ledger_db *db, const char *head, const char *tail, char **identity)
{
	return read_by_two(db, LEDGER_SQL_AROUND, head, tail, identity);
}

enum status
ledger_read_next(struct ledger_db *db, enum ledger_state state, int64_t *id,
    char **identity, struct ledger_row *out)
{
	enum status st = ST_BUG;

	*identity = NULL;
	memset(out, 0, sizeof(*out));
	ledger_db_start(
	    db, state == 0 ? LEDGER_SQL_LIST : LEDGER_SQL_LIST_STATE);
	ledger_db_number(db, *id);
	if (state != 0)
		ledger_db_number(db, state);
	st = ledger_db_row(db);
	if (st == ST_OK) {
		*id = ledger_db_get_number(db, COL_ID);
		st = ledger_db_get(db, COL_IDENTITY, identity, NULL);
	}
	if (st == ST_OK)
		st = read_row(db, out);
	ledger_db_end(db);
	if (st != ST_OK) {
		ledger_row_free(out);
		free(*identity);
		*identity = NULL;
	}
	return st;
}

enum status
ledger_read_due(struct ledger_db *db, int64_t now, char **identity)
{
	enum status st = ST_BUG;

	*identity = NULL;
	ledger_db_start(db, LEDGER_SQL_DUE);
	ledger_db_number(db, now);
	st = ledger_db_row(db);
	if (st == ST_OK)
		st = ledger_db_get(db, 0, identity, NULL);
	ledger_db_end(db);
	return st;
}

enum status
ledger_read_bytes(struct ledger_db *db, uint64_t *out)
{
	enum status st = ST_BUG;

	*out = 0;
	ledger_db_start(db, LEDGER_SQL_BYTES);
	st = ledger_db_row(db);
	if (st == ST_OK)
		*out = (uint64_t)ledger_db_get_number(db, 0);
	ledger_db_end(db);
	return st;
}

enum status
ledger_read_payer(
    struct ledger_db *db, const char *payer, struct ledger_payer *out)
{
	enum status st = ST_BUG;

	memset(out, 0, sizeof(*out));
	ledger_db_start(db, LEDGER_SQL_PAYER);
	ledger_db_text(db, payer);
	st = ledger_db_row(db);
	if (st == ST_OK) {
		out->good = ledger_db_get_number(db, 0) != 0;
		out->answer_bytes = (uint64_t)ledger_db_get_number(db, 1);
	}
	ledger_db_end(db);
	return st == ST_NOT_FOUND ? ST_OK : st;
}

enum status
ledger_read_count(struct ledger_db *db, struct ledger_counts *out)
{
	enum status st = ST_BUG;

	memset(out, 0, sizeof(*out));
	ledger_db_start(db, LEDGER_SQL_COUNT);
	for (st = ledger_db_row(db); st == ST_OK; st = ledger_db_row(db)) {
		/* In range by the schema's CHECK. */
		int64_t state = ledger_db_get_number(db, 0);
		uint64_t n = (uint64_t)ledger_db_get_number(db, 2);

		out->rows[state] += n;
		if (state == LEDGER_SETTLED && ledger_db_get_number(db, 1) != 0)
			out->given_up += n;
	}
	ledger_db_end(db);
	return st == ST_NOT_FOUND ? ST_OK : st;
}
