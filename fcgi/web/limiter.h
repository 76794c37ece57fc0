/*
 * Limits for each payer and each address: how often, and how many at a time.
 * Token buckets in one table of a fixed size. Pure but for its lock: the time
 * is passed in. Thread-safe.
 *
 * The table cannot grow: when it is full, an entry gives way that would be the
 * same if it were made anew (full bucket, nothing held); if there is none, the
 * one that has been quiet for longest. So a flood of names costs memory that
 * was there already, and lets at worst a few of them begin anew.
 */
#ifndef LIMITER_H
#define LIMITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct limiter;

struct limiter_rule {
	uint64_t per_minute; /* 0: no such limit */
	uint64_t burst;	     /* at once after a rest; at least 1 */
	uint64_t at_a_time;  /* 0: no such limit */
	/* Fairness: of `shared` places in all, from the moment that busy_from
	 * are taken, no name may hold more than an even share; cheap names
	 * count as one to the others. 0: no such limit. */
	uint64_t shared;
	uint64_t busy_from;
};

/* For `entries` names (a power of two is made of it) of at most 127 bytes.
 * ST_OK, ST_NOMEM. */
enum status limiter_open(struct limiter **out, const struct limiter_rule *rule,
    size_t entries) __attribute__((warn_unused_result));
void limiter_close(struct limiter *l); /* NULL is fine */

enum limiter_verdict {
	LIMITER_GO,
	LIMITER_TOO_OFTEN,
	LIMITER_TOO_MANY, /* at a time */
};

/* May name have one more? cheap: anybody has as many such names as he likes. GO
 * takes it: one token, and a place that limiter_leave() gives back. Else
 * nothing was taken, and *wait_s says in how many seconds (at least 1) it is
 * worth another try. */
enum limiter_verdict limiter_enter(struct limiter *l, const char *name,
    bool cheap, int64_t now_ms, uint64_t *wait_s)
    __attribute__((warn_unused_result));
void limiter_leave(struct limiter *l, const char *name);

/* The place back and the token as well: what was asked for did not happen. */
void limiter_undo(struct limiter *l, const char *name);

#endif
