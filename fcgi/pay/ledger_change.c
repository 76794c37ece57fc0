#include "pay/ledger_change.h"

#include <string.h>
#include <time.h>

#include "base/log.h"

int64_t
ledger_change_time(uint64_t t)
{
	return t > INT64_MAX ? INT64_MAX : (int64_t)t;
}

static int64_t
now(void)
{
	return (int64_t)time(NULL);
}

/* Run the statement that was started, which must change exactly one row:
 * ST_CONFLICT if that was not in its state. */
static enum status
run_one(struct ledger_db *db)
{
	int64_t changed = 0;
	enum status st = ledger_db_run(db, &changed);

	if (st != ST_OK)
		return st;
	return changed == 1 ? ST_OK : ST_CONFLICT;
}

/* Run a statement of ?1 identity, ?2 time and, if third, ?3 text, as
 * run_one() does. */
static enum status
step(struct ledger_db *db, enum ledger_sql q, const char *identity, bool third,
    const char *text)
{
	ledger_db_start(db, q);
	ledger_db_text(db, identity);
	ledger_db_number(db, now());
	if (third)
		ledger_db_text(db, text);
	return run_one(db);
}

enum status
ledger_change_claim(struct ledger_db *db, const void *arg)
{
	const struct ledger_claim *c = arg;

	ledger_db_start(db, LEDGER_SQL_CLAIM);
	ledger_db_text(db, c->identity);
	ledger_db_number(db, now());
	ledger_db_text(db, c->site);
	ledger_db_text(db, c->route);
	ledger_db_text(db, c->request_digest);
	ledger_db_text(db, c->payer);
	ledger_db_text(db, c->network);
	ledger_db_text(db, c->asset);
	ledger_db_text(db, c->pay_to);
	ledger_db_text(db, c->amount);
	ledger_db_text(db, c->facilitator);
	ledger_db_bytes(db, c->settle_body, c->settle_body_len);
	ledger_db_number(db, ledger_change_time(c->valid_before));
	ledger_db_number(db, c->version);
	ledger_db_text(db, c->identifier);
	if (c->key != NULL)
		ledger_db_bytes(db, c->key, LEDGER_KEY_BYTES);
	else
		ledger_db_text(db, NULL);
	return run_one(db);
}

enum status
ledger_change_release(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	ledger_db_start(db, LEDGER_SQL_RELEASE);
	ledger_db_text(db, m->identity);
	return run_one(db);
}

static enum status
settling(struct ledger_db *db, const char *identity, enum ledger_first first)
{
	ledger_db_start(db, LEDGER_SQL_SETTLING);
	ledger_db_text(db, identity);
	ledger_db_number(db, now());
	ledger_db_number(db, first);
	return run_one(db);
}

enum status
ledger_change_settling(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	return settling(db, m->identity, LEDGER_FIRST_LOST);
}

enum status
ledger_change_reopened(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	return settling(db, m->identity, LEDGER_FIRST_NONE);
}

enum status
ledger_change_first(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	ledger_db_start(db, LEDGER_SQL_FIRST);
	ledger_db_text(db, m->identity);
	ledger_db_number(db, now());
	ledger_db_number(db, m->first);
	return run_one(db);
}

enum status
ledger_change_facilitator(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	return step(db, LEDGER_SQL_FACILITATOR, m->identity, true, m->text);
}

/* In the wrong state this changes nothing either; else the one thing in the way
 * was the transaction, which another payment holds. */
static enum status
settled_not(struct ledger_db *db, const char *identity)
{
	enum status st = step(db, LEDGER_SQL_SETTLED_NOT, identity, true,
	    "the transaction told belongs to another payment");

	return st == ST_OK ? ST_CONFLICT : st;
}

enum status
ledger_change_settled(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;
	enum status st =
	    step(db, LEDGER_SQL_SETTLED, m->identity, true, m->text);

	return st == ST_CONFLICT ? settled_not(db, m->identity) : st;
}

enum status
ledger_change_proved(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;
	int64_t changed = 0;
	enum status st = ST_BUG;

	ledger_db_start(db, LEDGER_SQL_PROVED);
	ledger_db_text(db, m->identity);
	ledger_db_number(db, now());
	ledger_db_text(db, m->text);
	ledger_db_number(db, m->log);
	st = ledger_db_run(db, &changed);
	if (st == ST_OK && changed == 1)
		return ST_OK;
	if (st != ST_OK && st != ST_CONFLICT)
		return st;
	return settled_not(db, m->identity);
}

enum status
ledger_change_unknown(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	return step(db, LEDGER_SQL_UNKNOWN, m->identity, true, m->text);
}

enum status
ledger_change_failed(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	return step(db, LEDGER_SQL_FAILED, m->identity, true, m->text);
}

enum status
ledger_change_later(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	ledger_db_start(db, LEDGER_SQL_LATER);
	ledger_db_text(db, m->identity);
	ledger_db_number(db, m->next_try);
	ledger_db_text(db, m->text);
	return run_one(db);
}

enum status
ledger_change_recall(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;
	int64_t changed = 0;
	enum status st = ST_BUG;

	ledger_db_start(db, LEDGER_SQL_RECALL);
	ledger_db_text(db, m->identity);
	ledger_db_number(db, m->never ? INT64_MAX : INT64_MAX - 1);
	st = ledger_db_run(db, &changed);
	if (st != ST_OK)
		return st;
	return changed > 0 || m->identity == NULL ? ST_OK : ST_CONFLICT;
}

enum status
ledger_change_running(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;
	enum status st = step(db, LEDGER_SQL_RUNNING, m->identity, false, NULL);

	if (st != ST_CONFLICT)
		return st;
	ledger_db_start(db, LEDGER_SQL_STARTS);
	ledger_db_text(db, m->identity);
	st = ledger_db_row(db);
	ledger_db_end(db);
	if (st == ST_OK)
		return ST_TOO_BIG;
	return st == ST_NOT_FOUND ? ST_CONFLICT : st;
}

enum status
ledger_change_owed(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	return step(db, LEDGER_SQL_OWED, m->identity, false, NULL);
}

enum status
ledger_change_doubt(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;

	ledger_db_start(db, LEDGER_SQL_DOUBT);
	ledger_db_text(db, m->identity);
	return run_one(db);
}

static enum status
put_answer(struct ledger_db *db, const struct ledger_move *m)
{
	ledger_db_start(db, LEDGER_SQL_ANSWER);
	ledger_db_text(db, m->identity);
	ledger_db_number(db, now());
	ledger_db_number(db, m->http);
	ledger_db_number(db, (int64_t)(strlen(m->headers) + m->body_len));
	ledger_db_text(db, m->headers);
	ledger_db_bytes(db, m->body, m->body_len);
	if (m->unpacked > 0)
		ledger_db_number(db, (int64_t)m->unpacked);
	else
		ledger_db_text(db, NULL);
	return ledger_db_run(db, NULL);
}

enum status
ledger_change_done(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;
	enum status st = step(db, LEDGER_SQL_DONE, m->identity, false, NULL);

	if (st != ST_OK)
		return st;
	st = put_answer(db, m);
	/* DONE without its answer must not stay: ST_BUG undoes both. */
	return st == ST_CONFLICT ? ST_BUG : st;
}

enum status
ledger_change_given_up(struct ledger_db *db, const void *arg)
{
	const struct ledger_move *m = arg;
	enum status st =
	    step(db, LEDGER_SQL_GIVEN_UP, m->identity, false, NULL);

	return st == ST_OK ? put_answer(db, m) : st;
}

/* The process that held these is gone. */
enum status
ledger_change_recovery(struct ledger_db *db, const void *arg)
{
	int64_t claims = 0, settles = 0, runs = 0;
	enum status st = ST_BUG;

	(void)arg;
	ledger_db_start(db, LEDGER_SQL_LOST_CLAIMS);
	st = ledger_db_run(db, &claims);
	if (st == ST_OK) {
		ledger_db_start(db, LEDGER_SQL_LOST_SETTLES);
		ledger_db_number(db, now());
		ledger_db_text(db, "the service stopped while settling");
		st = ledger_db_run(db, &settles);
	}
	if (st == ST_OK) {
		ledger_db_start(db, LEDGER_SQL_LOST_RUNS);
		ledger_db_number(db, now());
		st = ledger_db_run(db, &runs);
	}
	if (st == ST_OK && claims + settles + runs > 0)
		log_warn("ledger: found %lld claims (released), %lld "
			 "settlements (unknown now), %lld runs (owed now)",
		    (long long)claims, (long long)settles, (long long)runs);
	return st;
}

/* Bytes of the answers that the next step deletes. */
static enum status
bytes_to_go(struct ledger_db *db, int64_t before, int64_t *out)
{
	enum status st = ST_BUG;

	ledger_db_start(db, LEDGER_SQL_EXPIRE_BYTES);
	ledger_db_number(db, before);
	st = ledger_db_row(db);
	*out = st == ST_OK ? ledger_db_get_number(db, 0) : 0;
	ledger_db_end(db);
	return st;
}

static enum status
expire_unknown(struct ledger_db *db, int64_t at, int64_t *rows)
{
	enum status st = ST_BUG;

	ledger_db_start(db, LEDGER_SQL_EXPIRE_UNKNOWN);
	ledger_db_number(
	    db, at < LEDGER_UNKNOWN_KEEP_S ? 0 : at - LEDGER_UNKNOWN_KEEP_S);
	st = ledger_db_run(db, rows);
	if (*rows > 0)
		log_warn("ledger: %lld settlements stayed unknown for %d days, "
			 "dropped",
		    (long long)*rows, LEDGER_UNKNOWN_KEEP_S / 86400);
	return st;
}

enum status
ledger_change_expiry(struct ledger_db *db, const void *arg)
{
	const struct ledger_expiry *e = arg;
	int64_t answers = 0, rows = 0, unknown = 0, payers = 0;
	enum status st = bytes_to_go(db, e->before, e->freed);

	if (st == ST_OK) {
		ledger_db_start(db, LEDGER_SQL_EXPIRE_ANSWERS);
		ledger_db_number(db, e->before);
		st = ledger_db_run(db, &answers);
	}
	if (st == ST_OK) {
		ledger_db_start(db, LEDGER_SQL_EXPIRE_ROWS);
		ledger_db_number(db, e->before);
		ledger_db_number(db, e->now);
		st = ledger_db_run(db, &rows);
	}
	if (st == ST_OK)
		st = expire_unknown(db, e->now, &unknown);
	if (st == ST_OK) {
		ledger_db_start(db, LEDGER_SQL_EXPIRE_PAYERS);
		ledger_db_number(db, e->now - LEDGER_PAYER_KEEP_S);
		st = ledger_db_run(db, &payers);
	}
	*e->deleted = answers + rows + unknown + payers;
	return st;
}
