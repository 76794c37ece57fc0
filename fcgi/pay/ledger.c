#include "pay/ledger.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger_change.h"
#include "pay/ledger_db.h"
#include "pay/ledger_lock.h"
#include "pay/ledger_pack.h"
#include "pay/ledger_queue.h"
#include "pay/ledger_read.h"

#define URL_SCHEME "sqlite:"

struct ledger {
	int lock_fd; /* held as long as this process may change the store */
	struct ledger_db *writer;   /* the queue's */
	struct ledger_queue *queue; /* NULL: opened to read only */
	struct ledger_db *reader;   /* under read_lock */
	pthread_mutex_t read_lock;
	_Atomic uint64_t answer_bytes; /* not counted in a reader */
};

static enum status
run(struct ledger *l, ledger_change_fn *make, const void *arg)
{
	/* Opened to read only: a caller's mistake. */
	return l->queue != NULL ? ledger_queue_run(l->queue, make, arg)
				: ST_BUG;
}

/* "sqlite:PATH" to a path that SQLite takes for nothing else: it knows names
 * (":memory:", "file:…") that are no paths. */
static enum status
url_path(char **out, const char *url)
{
	const char *path = url + strlen(URL_SCHEME);

	*out = NULL;
	if (strncmp(url, URL_SCHEME, strlen(URL_SCHEME)) != 0 ||
	    path[0] == '\0') {
		log_err("ledger: the store must be given as sqlite:PATH");
		return ST_IO;
	}
	if (asprintf(out, "%s%s", path[0] == '/' ? "" : "./", path) < 0) {
		*out = NULL;
		return ST_NOMEM;
	}
	return ST_OK;
}

static enum status
open_path(struct ledger *l, const char *path, enum ledger_db_mode mode)
{
	enum status st = ST_OK;

	if (mode == LEDGER_DB_BESIDE) {
		st = ledger_db_open(&l->writer, path, LEDGER_DB_BESIDE);
		if (st == ST_OK)
			st = ledger_queue_open(&l->queue, l->writer);
	}
	if (mode == LEDGER_DB_WRITE) {
		st = ledger_lock_take(&l->lock_fd, path);
		if (st == ST_OK)
			st = ledger_db_open(&l->writer, path, LEDGER_DB_WRITE);
		if (st == ST_OK)
			st = ledger_queue_open(&l->queue, l->writer);
		if (st == ST_OK)
			st = run(l, ledger_change_recovery, NULL);
	}
	if (st == ST_OK)
		st = ledger_db_open(&l->reader, path, LEDGER_DB_READ);
	if (st == ST_OK) {
		uint64_t bytes = 0;

		st = ledger_read_bytes(l->reader, &bytes);
		atomic_store(&l->answer_bytes, bytes);
	}
	return st;
}

static enum status
open_mode(struct ledger **out, const char *url, enum ledger_db_mode mode)
{
	OWN_FREE char *path = NULL;
	struct ledger *l = NULL;
	enum status st = ST_BUG;

	*out = NULL;
	st = url_path(&path, url);
	if (st != ST_OK)
		return st;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return ST_NOMEM;
	l->lock_fd = -1;
	if (pthread_mutex_init(&l->read_lock, NULL) != 0) {
		free(l);
		return ST_NOMEM;
	}
	st = open_path(l, path, mode);
	if (st == ST_OK)
		*out = OWN_STEAL(l);
	ledger_close(l);
	return st;
}

enum status
ledger_open(struct ledger **out, const char *url)
{
	return open_mode(out, url, LEDGER_DB_WRITE);
}

enum status
ledger_open_reader(struct ledger **out, const char *url)
{
	return open_mode(out, url, LEDGER_DB_READ);
}

enum status
ledger_open_beside(struct ledger **out, const char *url)
{
	return open_mode(out, url, LEDGER_DB_BESIDE);
}

enum status
ledger_held(bool *held, const char *url)
{
	OWN_FREE char *path = NULL;
	enum status st = url_path(&path, url);

	*held = false;
	return st == ST_OK ? ledger_lock_held(held, path) : st;
}

void
ledger_close(struct ledger *l)
{
	if (l == NULL)
		return;
	ledger_db_close(l->reader);
	ledger_queue_close(l->queue);
	ledger_db_close(l->writer);
	/* Last: who gets the lock next must find the file at rest. */
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	pthread_mutex_destroy(&l->read_lock);
	free(l);
}

/* Outside of the lock: others look up meanwhile. */
static enum status
unpack(struct ledger_row *row, size_t unpacked)
{
	char *body = NULL;
	enum status st = ledger_pack_undo(
	    &body, unpacked, row->answer_body, row->answer_body_len);

	if (st == ST_FORMAT) {
		log_err("ledger: a stored answer is damaged");
		st = ST_IO;
	}
	if (st != ST_OK)
		return st;
	free(row->answer_body);
	row->answer_body = body;
	row->answer_body_len = unpacked;
	return ST_OK;
}

enum status
ledger_find(struct ledger *l, const char *identity, struct ledger_row *out)
{
	size_t unpacked = 0;
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_find(l->reader, identity, out, &unpacked);
	pthread_mutex_unlock(&l->read_lock);
	if (st == ST_OK && unpacked > 0)
		st = unpack(out, unpacked);
	if (st != ST_OK)
		ledger_row_free(out);
	return st;
}

enum status
ledger_look(struct ledger *l, const char *identity, struct ledger_row *out)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_look(l->reader, identity, out);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_find_key(struct ledger *l, const uint8_t *key, const char *payer,
    const char *request_digest, char **identity)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_key(l->reader, key, payer, request_digest, identity);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_find_identifier(struct ledger *l, const char *payer,
    const char *identifier, char **identity)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_identifier(l->reader, payer, identifier, identity);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_find_around(
    struct ledger *l, const char *head, const char *tail, char **identity)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_around(l->reader, head, tail, identity);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_claim(struct ledger *l, const struct ledger_claim *c)
{
	return run(l, ledger_change_claim, c);
}

enum status
ledger_release(struct ledger *l, const char *identity)
{
	return run(l, ledger_change_release,
	    &(struct ledger_move){ .identity = identity });
}

enum status
ledger_settling(struct ledger *l, const char *identity)
{
	return run(l, ledger_change_settling,
	    &(struct ledger_move){ .identity = identity });
}

enum status
ledger_reopened(struct ledger *l, const char *identity)
{
	return run(l, ledger_change_reopened,
	    &(struct ledger_move){ .identity = identity });
}

enum status
ledger_first(struct ledger *l, const char *identity, enum ledger_first first)
{
	return run(l, ledger_change_first,
	    &(struct ledger_move){ .identity = identity, .first = first });
}

enum status
ledger_facilitator(struct ledger *l, const char *identity, const char *name)
{
	return run(l, ledger_change_facilitator,
	    &(struct ledger_move){ .identity = identity, .text = name });
}

enum status
ledger_settled(struct ledger *l, const char *identity, const char *transaction)
{
	return run(l, ledger_change_settled,
	    &(struct ledger_move){ .identity = identity, .text = transaction });
}

enum status
ledger_proved(struct ledger *l, const char *identity, const char *transaction,
    uint64_t log)
{
	return run(l, ledger_change_proved,
	    &(struct ledger_move){ .identity = identity,
		.text = transaction,
		.log = ledger_change_time(log) });
}

enum status
ledger_unknown(struct ledger *l, const char *identity, const char *reason)
{
	return run(l, ledger_change_unknown,
	    &(struct ledger_move){ .identity = identity, .text = reason });
}

enum status
ledger_failed(struct ledger *l, const char *identity, const char *reason)
{
	return run(l, ledger_change_failed,
	    &(struct ledger_move){ .identity = identity, .text = reason });
}

enum status
ledger_later(struct ledger *l, const char *identity, uint64_t next_try,
    const char *reason)
{
	return run(l, ledger_change_later,
	    &(struct ledger_move){ .identity = identity,
		.text = reason,
		.next_try = ledger_change_time(next_try) });
}

enum status
ledger_due(struct ledger *l, uint64_t now, char **identity)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_due(l->reader, ledger_change_time(now), identity);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_recall(struct ledger *l, const char *identity, bool never)
{
	return run(l, ledger_change_recall,
	    &(struct ledger_move){ .identity = identity, .never = never });
}

enum status
ledger_running(struct ledger *l, const char *identity)
{
	return run(l, ledger_change_running,
	    &(struct ledger_move){ .identity = identity });
}

enum status
ledger_owed(struct ledger *l, const char *identity)
{
	return run(l, ledger_change_owed,
	    &(struct ledger_move){ .identity = identity });
}

static enum status
run_answer(struct ledger *l, ledger_change_fn *make, struct ledger_move *m)
{
	OWN_FREE char *packed = NULL;
	size_t packed_len = 0;
	enum status st =
	    ledger_pack(&packed, &packed_len, m->body, m->body_len);

	if (st != ST_OK)
		return st;
	if (packed != NULL) {
		m->unpacked = m->body_len;
		m->body = packed;
		m->body_len = packed_len;
	}
	if (m->headers == NULL)
		m->headers = "";
	st = run(l, make, m);
	if (st == ST_OK)
		atomic_fetch_add(
		    &l->answer_bytes, strlen(m->headers) + m->body_len);
	return st;
}

enum status
ledger_done(struct ledger *l, const char *identity, int http,
    const char *headers, const char *body, size_t body_len)
{
	return run_answer(l, ledger_change_done,
	    &(struct ledger_move){ .identity = identity,
		.http = http,
		.headers = headers,
		.body = body,
		.body_len = body_len });
}

enum status
ledger_given_up(struct ledger *l, const char *identity, int http,
    const char *headers, const char *body, size_t body_len)
{
	return run_answer(l, ledger_change_given_up,
	    &(struct ledger_move){ .identity = identity,
		.http = http,
		.headers = headers,
		.body = body,
		.body_len = body_len });
}

enum status
ledger_expire(struct ledger *l, uint64_t at, uint64_t answer_age_s)
{
	int64_t deleted = 1, freed = 0;
	struct ledger_expiry e = { .now = ledger_change_time(at),
		.deleted = &deleted,
		.freed = &freed };
	enum status st = ST_OK;

	e.before =
	    answer_age_s > at ? 0 : ledger_change_time(at - answer_age_s);
	/* In small steps, so that others' changes come in between. */
	while (st == ST_OK && deleted > 0) {
		st = run(l, ledger_change_expiry, &e);
		if (st == ST_OK)
			atomic_fetch_sub(&l->answer_bytes, (uint64_t)freed);
	}
	return st;
}

enum status
ledger_answer_bytes(struct ledger *l, uint64_t *out)
{
	enum status st = ST_BUG;

	if (l->queue != NULL) {
		*out = atomic_load(&l->answer_bytes);
		return ST_OK;
	}
	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_bytes(l->reader, out);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_payer(struct ledger *l, const char *payer, struct ledger_payer *out)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_payer(l->reader, payer, out);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_doubt(struct ledger *l, const char *payer)
{
	return run(
	    l, ledger_change_doubt, &(struct ledger_move){ .identity = payer });
}

enum status
ledger_count(struct ledger *l, struct ledger_counts *out)
{
	enum status st = ST_BUG;

	pthread_mutex_lock(&l->read_lock);
	st = ledger_read_count(l->reader, out);
	pthread_mutex_unlock(&l->read_lock);
	return st;
}

enum status
ledger_list(struct ledger *l, enum ledger_state state,
    bool (*fn)(void *ctx, const char *identity, const struct ledger_row *row),
    void *ctx)
{
	int64_t id = INT64_MAX;
	bool more = true;
	enum status st = ST_OK;

	/* Row by row, and fn without the lock: it may be slow, or look up. */
	while (more) {
		OWN_FREE char *identity = NULL;
		struct ledger_row row = { 0 };

		pthread_mutex_lock(&l->read_lock);
		st = ledger_read_next(l->reader, state, &id, &identity, &row);
		pthread_mutex_unlock(&l->read_lock);
		if (st != ST_OK)
			break;
		more = fn(ctx, identity, &row);
		ledger_row_free(&row);
	}
	return st == ST_NOT_FOUND ? ST_OK : st;
}

const char *
ledger_state_name(enum ledger_state s)
{
	switch (s) {
	case LEDGER_CLAIMED:
		return "claimed";
	case LEDGER_SETTLING:
		return "settling";
	case LEDGER_UNKNOWN:
		return "unknown";
	case LEDGER_FAILED:
		return "failed";
	case LEDGER_SETTLED:
		return "settled";
	case LEDGER_RUNNING:
		return "running";
	case LEDGER_DONE:
		return "done";
	case LEDGER_STATE_MAX:
		break;
	}
	return "?";
}
