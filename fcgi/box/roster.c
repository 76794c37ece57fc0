#include "box/roster.h"

#include <stdlib.h>

/* How many may wait: more than that would only wait to be sent away. */
#define QUEUE(slots) (4 * (slots) + 64)

enum status
roster_init(struct roster *o, uint64_t slots, uint64_t bytes)
{
	o->slots = slots;
	o->bytes = bytes;
	o->strangers = false;
	o->n = 0;
	/* Beside slots and queue there are those that were refused and whose
	 * gate has not closed yet. */
	o->max = (size_t)(slots + 2 * QUEUE(slots));
	o->runs = calloc(o->max, sizeof(struct run *));
	return o->runs == NULL ? ST_NOMEM : ST_OK;
}

void
roster_free(struct roster *o)
{
	for (size_t i = 0; i < o->n; i++)
		run_free(o->runs[i]);
	free(o->runs);
	o->runs = NULL;
	o->n = 0;
}

struct roster_count
roster_count(const struct roster *o)
{
	struct roster_count c = { 0 };
	struct run_view v;

	for (size_t i = 0; i < o->n; i++) {
		v = run_look(o->runs[i]);
		c.waiting += v.waits;
		c.holding += v.holds;
		c.busy += v.busy;
		c.running += v.running;
		c.lost += v.lost;
	}
	return c;
}

size_t
roster_booting(const struct roster *o, const struct conf_runtime *rt)
{
	size_t n = 0;
	struct run_view v;

	for (size_t i = 0; i < o->n; i++) {
		v = run_look(o->runs[i]);
		n += v.booting && v.runtime == rt;
	}
	return n;
}

bool
roster_full(const struct roster *o)
{
	return o->n == o->max;
}

void
roster_add(struct roster *o, struct run *r)
{
	o->runs[o->n++] = r;
	if (run_bytes(r) > o->bytes)
		run_refuse(r, ST_SANDBOX_UNAVAILABLE,
		    "the run needs more memory than this host grants");
	else if (roster_count(o).waiting > QUEUE(o->slots))
		run_refuse(r, ST_SERVICE_BUSY, "the queue is full");
}

/* The one of this kind that has waited longest, or NULL. */
static struct run *
first(const struct roster *o, bool stranger)
{
	for (size_t i = 0; i < o->n; i++) {
		struct run_view v = run_look(o->runs[i]);

		if (v.waits && v.stranger == stranger)
			return o->runs[i];
	}
	return NULL;
}

/* Nobody gets past the first who waits, or a large run would wait for ever
 * behind small ones; but a stranger, who may not be able to pay, holds nobody
 * up but strangers. */
static struct run *
next(const struct roster *o, uint64_t bytes)
{
	struct run *guest = first(o, true);
	struct run *known = first(o, false);

	if (guest != NULL && bytes + run_bytes(guest) > o->bytes)
		guest = NULL;
	if (known != NULL && (guest == NULL || !o->strangers))
		return bytes + run_bytes(known) > o->bytes ? NULL : known;
	return guest;
}

void
roster_admit(struct roster *o)
{
	uint64_t slots = 0, bytes = 0;

	for (size_t i = 0; i < o->n; i++) {
		if (!run_look(o->runs[i]).holds)
			continue;
		slots++;
		bytes += run_bytes(o->runs[i]);
	}
	while (slots < o->slots) {
		struct run *r = next(o, bytes);

		if (r == NULL)
			return;
		o->strangers = !run_look(r).stranger;
		bytes += run_bytes(r);
		slots++;
		run_admit(r);
	}
}

void
roster_free_over(struct roster *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->n; i++) {
		if (run_over(o->runs[i]))
			run_free(o->runs[i]);
		else
			o->runs[kept++] = o->runs[i];
	}
	o->n = kept;
}

void
roster_refuse_waiting(struct roster *o, const char *why)
{
	for (size_t i = 0; i < o->n; i++)
		run_refuse(o->runs[i], ST_SANDBOX_UNAVAILABLE, why);
}

void
roster_abort(struct roster *o)
{
	for (size_t i = 0; i < o->n; i++)
		run_abort(o->runs[i]);
}

void
roster_reaped(struct roster *o, pid_t pid)
{
	for (size_t i = 0; i < o->n; i++) {
		if (run_reaped(o->runs[i], pid))
			return;
	}
}
