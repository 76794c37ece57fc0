#include "web/room.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRANGERS 2 /* one part in so many is theirs at most */
#define SCARCE 2    /* with more than that taken, shares count */
#define SHARE 8

struct room {
	pthread_mutex_t lock;
	uint64_t budget;
	uint64_t due; /* of all parts */
	uint64_t strangers;
	struct room_part *parts; /* as many as there are threads at most */
};

enum status
room_open(struct room **out, uint64_t budget)
{
	struct room *r = calloc(1, sizeof(*r));

	*out = NULL;
	if (r == NULL)
		return ST_NOMEM;
	if (pthread_mutex_init(&r->lock, NULL) != 0) {
		free(r);
		return ST_NOMEM;
	}
	r->budget = budget;
	*out = r;
	return ST_OK;
}

void
room_close(struct room *r)
{
	if (r == NULL)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static uint64_t
due_to(const struct room *r, const char *payer)
{
	uint64_t bytes = 0;

	for (const struct room_part *p = r->parts; p != NULL; p = p->next)
		if (strcmp(p->payer, payer) == 0)
			bytes += p->bytes;
	return bytes;
}

static bool
fits(const struct room *r, const struct room_ask *ask)
{
	uint64_t taken = r->due + ask->kept;

	if (ask->bytes > r->budget || taken > r->budget - ask->bytes)
		return false;
	if (ask->paid)
		return true;
	/* One of them always may: a small budget must not shut them all out. */
	if (ask->stranger && r->strangers > 0 &&
	    r->strangers + ask->bytes > r->budget / STRANGERS)
		return false;
	return taken + ask->bytes <= r->budget / SCARCE ||
	       ask->kept_payer + due_to(r, ask->payer) <= r->budget / SHARE;
}

enum status
room_take(struct room *r, struct room_part *part, const struct room_ask *ask)
{
	enum status st = ST_SERVICE_BUSY;

	pthread_mutex_lock(&r->lock);
	if (fits(r, ask)) {
		part->bytes = ask->bytes;
		part->stranger = ask->stranger;
		(void)snprintf(
		    part->payer, sizeof(part->payer), "%s", ask->payer);
		part->next = r->parts;
		r->parts = part;
		r->due += part->bytes;
		r->strangers += part->stranger ? part->bytes : 0;
		st = ST_OK;
	}
	pthread_mutex_unlock(&r->lock);
	return st;
}

static void
paid(struct room *r, struct room_part *part)
{
	r->strangers -= part->stranger ? part->bytes : 0;
	part->stranger = false;
}

void
room_paid(struct room *r, struct room_part *part)
{
	pthread_mutex_lock(&r->lock);
	paid(r, part);
	pthread_mutex_unlock(&r->lock);
}

void
room_leave(struct room *r, struct room_part *part)
{
	struct room_part **at = &r->parts;

	if (part->bytes == 0)
		return;
	pthread_mutex_lock(&r->lock);
	paid(r, part);
	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	r->due -= part->bytes;
	pthread_mutex_unlock(&r->lock);
	memset(part, 0, sizeof(*part));
}

uint64_t
room_due(struct room *r)
{
	uint64_t due;

	pthread_mutex_lock(&r->lock);
	due = r->due;
	pthread_mutex_unlock(&r->lock);
	return due;
}
