/*
 * How this works. A caller puts its change, on its own stack, into the list.
 * Who finds no leader becomes the leader: it takes the whole list, makes all
 * changes in one transaction, commits (the one fsync), gives each its status
 * and wakes everyone. What came in meanwhile is the next leader's group. There
 * is no thread of the ledger's own, and a lone caller waits for nobody.
 *
 * Each change has a savepoint, so that one that fails takes only its own
 * writes with it. Some errors (a full disk above all) make SQLite give up the
 * whole transaction; then nothing of the group was committed and each change
 * is made again in a transaction of its own, so that a huge answer that does
 * not fit fails alone.
 */
#include "pay/ledger_queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/point.h"

struct change {
	struct change *next;
	ledger_change_fn *make;
	const void *arg;
	enum status st;
	bool done; /* st is final; under the queue's lock */
};

struct ledger_queue {
	struct ledger_db *db; /* the leader's alone */
	pthread_mutex_t lock;
	pthread_cond_t woken;
	struct change *first, **last;
	bool led;
};

enum status
ledger_queue_open(struct ledger_queue **out, struct ledger_db *db)
{
	struct ledger_queue *q = calloc(1, sizeof(*q));

	*out = NULL;
	if (q == NULL)
		return ST_NOMEM;
	if (pthread_mutex_init(&q->lock, NULL) != 0 ||
	    pthread_cond_init(&q->woken, NULL) != 0) {
		free(q);
		return ST_NOMEM;
	}
	q->db = db;
	q->last = &q->first;
	*out = q;
	return ST_OK;
}

void
ledger_queue_close(struct ledger_queue *q)
{
	if (q == NULL)
		return;
	pthread_cond_destroy(&q->woken);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

static enum status
plain(struct ledger_db *db, enum ledger_sql what)
{
	ledger_db_start(db, what);
	return ledger_db_run(db, NULL);
}

static bool
undoes(enum status st)
{
	return st == ST_IO || st == ST_NOMEM || st == ST_BUG;
}

/* Make one change in its savepoint. ST_OK means the transaction is still good,
 * whatever became of the change. */
static enum status
make_one(struct ledger_db *db, struct change *c)
{
	enum status st = plain(db, LEDGER_SQL_SAVE);

	if (st != ST_OK)
		return st;
	c->st = c->make(db, c->arg);
	if (!ledger_db_open_transaction(db))
		return undoes(c->st) ? c->st : ST_IO;
	if (undoes(c->st)) {
		st = plain(db, LEDGER_SQL_SAVE_UNDO);
		if (st != ST_OK)
			return st;
	}
	return plain(db, LEDGER_SQL_SAVE_KEEP);
}

/* All changes from first on, in one transaction. Not ST_OK: none of them was
 * committed and their st say nothing. */
static enum status
make_group(struct ledger_db *db, struct change *first)
{
	struct change *c = NULL;
	enum status st = plain(db, LEDGER_SQL_BEGIN);

	if (st != ST_OK)
		return st;
	for (c = first; c != NULL && st == ST_OK; c = c->next)
		st = make_one(db, c);
	POINT("commit.before");
	if (st == ST_OK)
		st = plain(db, LEDGER_SQL_COMMIT);
	POINT("commit.after");
	if (st != ST_OK && ledger_db_open_transaction(db) &&
	    plain(db, LEDGER_SQL_ROLLBACK) != ST_OK)
		log_err("ledger: a failed transaction cannot be rolled back");
	return st;
}

static void
lead(struct ledger_db *db, struct change *first)
{
	struct change *c = NULL, *next = NULL;
	enum status st = make_group(db, first);

	if (st == ST_OK)
		return;
	if (first->next == NULL) {
		first->st = st;
		return;
	}
	for (c = first; c != NULL; c = next) {
		next = c->next;
		c->next = NULL;
		st = make_group(db, c);
		if (st != ST_OK)
			c->st = st;
		c->next = next;
	}
}

enum status
ledger_queue_run(
    struct ledger_queue *q, ledger_change_fn *make, const void *arg)
{
	struct change own = { .make = make, .arg = arg, .st = ST_BUG };
	struct change *group = NULL, *c = NULL;

	pthread_mutex_lock(&q->lock);
	/* This frame outlives its place in the list: it waits for done. */
	/* cppcheck-suppress autoVariables */
	*q->last = &own;
	/* cppcheck-suppress autoVariables */
	q->last = &own.next;
	while (!own.done && q->led)
		pthread_cond_wait(&q->woken, &q->lock);
	if (!own.done) {
		group = q->first;
		q->first = NULL;
		q->last = &q->first;
		q->led = true;
		pthread_mutex_unlock(&q->lock);
		lead(q->db, group);
		pthread_mutex_lock(&q->lock);
		/* A change lives on its caller's stack, which may be gone as
		 * soon as it is done and the lock is free: not before. */
		for (c = group; c != NULL; c = c->next)
			c->done = true;
		q->led = false;
		pthread_cond_broadcast(&q->woken);
	}
	pthread_mutex_unlock(&q->lock);
	return own.st;
}
