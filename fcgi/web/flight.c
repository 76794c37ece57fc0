#include "web/flight.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct entry {
	struct entry *next;
	char *key;
	size_t users; /* the worker and all who wait */
	size_t waiting;
	bool taken;
	pthread_cond_t freed;
};

struct flight {
	pthread_mutex_t lock;
	struct entry *entries;
	size_t waiting;
	size_t max_waiting;
	uint64_t held; /* by all who wait */
	uint64_t max_held;
};

enum status
flight_open(struct flight **out, size_t max_waiting, uint64_t max_held)
{
	struct flight *f = calloc(1, sizeof(*f));

	*out = f;
	if (f == NULL)
		return ST_NOMEM;
	f->max_waiting = max_waiting;
	f->max_held = max_held;
	pthread_mutex_init(&f->lock, NULL);
	return ST_OK;
}

void
flight_close(struct flight *f)
{
	if (f == NULL)
		return;
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static struct entry *
find_or_make(struct flight *f, const char *key)
{
	pthread_condattr_t attr;
	struct entry *e;

	for (e = f->entries; e != NULL; e = e->next)
		if (strcmp(e->key, key) == 0)
			return e;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return NULL;
	e->key = strdup(key);
	if (e->key == NULL) {
		free(e);
		return NULL;
	}
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->freed, &attr);
	pthread_condattr_destroy(&attr);
	e->next = f->entries;
	f->entries = e;
	return e;
}

static void
drop(struct flight *f, struct entry *gone)
{
	struct entry **at = &f->entries;

	if (--gone->users > 0)
		return;
	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	pthread_cond_destroy(&gone->freed);
	free(gone->key);
	free(gone);
}

/* The places to wait in are shared evenly among the keys, with one to come: who
 * repeats one request without end leaves room for the others' repeats. */
static bool
full(const struct flight *f, const struct entry *e)
{
	size_t keys = 2; /* this one, and one to come */

	for (const struct entry *o = f->entries; o != NULL; o = o->next)
		if (o != e && o->waiting > 0)
			keys++;
	return f->waiting >= f->max_waiting ||
	       e->waiting >= f->max_waiting / keys;
}

/* To wait for a run of one's own costs nothing more, so that large bodies which
 * wait must not take all of the budget from those that could be worked on. */
static bool
too_much(const struct flight *f, uint64_t held)
{
	return held > 0 && f->held + held > f->max_held;
}

enum status
flight_enter(struct flight *f, const char *key, uint64_t wait_ms, uint64_t held)
{
	struct timespec until;
	struct entry *e;
	enum status st = ST_OK;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(wait_ms / 1000);
	pthread_mutex_lock(&f->lock);
	e = find_or_make(f, key);
	if (e == NULL) {
		pthread_mutex_unlock(&f->lock);
		return ST_NOMEM;
	}
	e->users++;
	if (e->taken && (full(f, e) || too_much(f, held)))
		st = ST_SERVICE_BUSY;
	f->waiting++;
	f->held += held;
	e->waiting++;
	while (st == ST_OK && e->taken)
		if (pthread_cond_timedwait(&e->freed, &f->lock, &until) ==
			ETIMEDOUT &&
		    e->taken)
			st = ST_SERVICE_BUSY;
	f->waiting--;
	f->held -= held;
	e->waiting--;
	if (st == ST_OK)
		e->taken = true;
	else
		drop(f, e);
	pthread_mutex_unlock(&f->lock);
	return st;
}

void
flight_leave(struct flight *f, const char *key)
{
	struct entry *e;

	pthread_mutex_lock(&f->lock);
	for (e = f->entries; strcmp(e->key, key) != 0; e = e->next)
		;
	e->taken = false;
	pthread_cond_signal(&e->freed);
	drop(f, e);
	pthread_mutex_unlock(&f->lock);
}
