#include "web/mender.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"
#include "web/flight.h"
#include "web/reconcile.h"

/* How soon a row that was recalled by another process is seen. */
#define LOOK_EVERY_S 1
#define TROUBLE_S 30 /* until a store that failed is tried again */
#define BUSY_S 5

struct mender {
	struct context *g;
	pthread_t thread;
	pthread_mutex_t lock; /* of stop */
	pthread_cond_t news;
	bool stop;
};

/* True when it is time to end; else after that many seconds. */
static bool
stopping(struct mender *m, int rest_s)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += rest_s;
	pthread_mutex_lock(&m->lock);
	while (rest_s > 0 && !m->stop)
		if (pthread_cond_timedwait(&m->news, &m->lock, &until) != 0)
			break;
	stop = m->stop;
	pthread_mutex_unlock(&m->lock);
	return stop;
}

/* One row whose turn is ours. It may have changed while we took it. */
static enum status
mend(struct mender *m, const char *identity)
{
	struct reconcile_found found = { .transaction = NULL };
	struct ledger_row row = { .state = LEDGER_STATE_MAX };
	enum status st = ledger_look(m->g->ledger, identity, &row);

	if (st == ST_OK && row.state == LEDGER_UNKNOWN)
		st = reconcile_row(m->g->reconcile, identity, &row, &found);
	free(found.transaction);
	ledger_row_free(&row);
	/* Gone, or moved on: as good as mended. */
	return st == ST_NOT_FOUND || st == ST_CONFLICT ? ST_OK : st;
}

/* How many seconds to rest after it. */
static int
mend_next(struct mender *m)
{
	uint64_t now = (uint64_t)time(NULL);
	OWN_FREE char *identity = NULL;
	enum status st = ledger_due(m->g->ledger, now, &identity);

	if (st == ST_NOT_FOUND)
		return LOOK_EVERY_S;
	if (st == ST_OK &&
	    flight_enter(m->g->flight, identity, 0, 0) == ST_OK) {
		st = mend(m, identity);
		flight_leave(m->g->flight, identity);
	} else if (st == ST_OK) {
		st = ledger_later(m->g->ledger, identity, now + BUSY_S,
		    "a request is at work on it");
		if (st == ST_CONFLICT)
			st = ST_OK;
	}
	if (st == ST_OK)
		return 0;
	log_err(
	    "unknown settlements cannot be looked after: %s", status_name(st));
	return TROUBLE_S;
}

static void *
run(void *arg)
{
	struct mender *m = arg;
	int rest_s = LOOK_EVERY_S;

	while (!stopping(m, rest_s))
		rest_s = mend_next(m);
	return NULL;
}

enum status
mender_start(struct mender **out, struct context *g)
{
	struct mender *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;

	*out = NULL;
	if (m == NULL)
		return ST_NOMEM;
	m->g = g;
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&m->news, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&m->thread, NULL, run, m) != 0) {
		pthread_cond_destroy(&m->news);
		pthread_mutex_destroy(&m->lock);
		free(m);
		return ST_IO;
	}
	*out = m;
	return ST_OK;
}

void
mender_stop(struct mender *m)
{
	if (m == NULL)
		return;
	pthread_mutex_lock(&m->lock);
	m->stop = true;
	pthread_cond_signal(&m->news);
	pthread_mutex_unlock(&m->lock);
	pthread_join(m->thread, NULL);
	pthread_cond_destroy(&m->news);
	pthread_mutex_destroy(&m->lock);
	free(m);
}
