/*
 * All runs of the boxer in order of arrival, and who of them may have a slot:
 * so many at once, and so much memory together. Private to box.
 */
#ifndef ROSTER_H
#define ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "base/wire.h"
#include "box/run.h"

struct roster {
	struct run **runs;
	size_t n;
	size_t max;
	uint64_t slots;
	uint64_t bytes; /* of memory for all runs with a slot */
	bool strangers; /* it is their turn to be admitted */
};

/* ST_OK or ST_NOMEM. */
enum status roster_init(struct roster *o, uint64_t slots, uint64_t bytes)
    __attribute__((warn_unused_result));
/* Frees the runs too. A zeroed struct is fine. */
void roster_free(struct roster *o);

/* Take a run in; one that can never be admitted, or is too many in the queue,
 * is refused at once. */
void roster_add(struct roster *o, struct run *r);
bool roster_full(const struct roster *o);

/* Let those in that have waited longest, as far as there is room; strangers and
 * others in turns, where both wait. */
void roster_admit(struct roster *o);
/* Free the runs that are over. Only between two turns of the loop. */
void roster_free_over(struct roster *o);

void roster_refuse_waiting(struct roster *o, const char *why);
void roster_abort(struct roster *o);
/* The boxer has reaped pid. */
void roster_reaped(struct roster *o, pid_t pid);

struct roster_count {
	size_t waiting;
	size_t holding;
	size_t busy;
	size_t running;
	size_t lost;
};
struct roster_count roster_count(const struct roster *o);
/* Sandboxes of this runtime that start just now. */
size_t roster_booting(const struct roster *o, const struct conf_runtime *rt);

#endif
