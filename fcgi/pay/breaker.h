/*
 * The circuit breaker of one facilitator: while it is down, callers are told
 * so at once instead of waiting for it one by one. Pure: a value, and the time
 * is passed in. Whoever shares one brings the lock.
 *
 *   closed --BREAKER_BAD in a row--> open --probe answered--> half open
 *      ^                              ^  '--not: later again     |   |
 *      '------------------ a good call ------------------------'   |
 *                                     '------- a bad call ----------'
 */
#ifndef BREAKER_H
#define BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define BREAKER_BAD_CALLS 5	    /* in a row, and it opens */
#define BREAKER_PAUSE_MS 2000	    /* from there to the first probe */
#define BREAKER_PAUSE_MOST_MS 30000 /* each probe that fails doubles it */

/* What a call tells about the service, not about the payment. */
enum breaker_news {
	BREAKER_GOOD, /* it gave a verdict, whichever */
	BREAKER_NONE, /* tells nothing either way */
	BREAKER_BAD,  /* it was not reached, or answers nobody */
	BREAKER_NEWS_MAX
};

/* All zero: closed, nothing known. */
struct breaker {
	unsigned bad; /* in a row */
	bool open;
	bool trying; /* half open: the next bad call opens it at once */
	int64_t pause_ms;
	int64_t probe_ms; /* when the next probe is due, while open */
};

/* A call has ended. True if that opened or closed it. */
bool breaker_call(struct breaker *b, enum breaker_news news, int64_t now_ms)
    __attribute__((warn_unused_result));

/* A probe has ended. True if that closed it (half open). One that fails while
 * closed counts nothing: only calls open it. */
bool breaker_probe(struct breaker *b, bool good, int64_t now_ms)
    __attribute__((warn_unused_result));

/* Milliseconds until the next probe is due (0: now), -1: none is. */
int64_t breaker_due(const struct breaker *b, int64_t now_ms);

#endif
