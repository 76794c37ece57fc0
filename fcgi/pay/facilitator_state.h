/*
 * Whether a facilitator is there, as far as is known: its circuit, and when it
 * is to be asked again what it offers. Thread-safe. Private to facilitator.c.
 */
#ifndef FACILITATOR_STATE_H
#define FACILITATOR_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/breaker.h"

struct facilitator_state {
	_Atomic bool stop;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t news;
	struct breaker breaker;
	int64_t retry_ms;  /* after a look in vain, else 0 */
	int64_t next_ms;   /* when the next look is due */
	bool looked;	   /* at least once */
	struct fault last; /* why the last one was in vain, "" if not */
};

enum facilitator_state_turn {
	FACILITATOR_STATE_SAME,
	FACILITATOR_STATE_DOWN,
	FACILITATOR_STATE_BACK
};

enum status facilitator_state_init(struct facilitator_state *s)
    __attribute__((warn_unused_result));
void facilitator_state_free(struct facilitator_state *s);

/* A call has ended. */
enum facilitator_state_turn facilitator_state_call(
    struct facilitator_state *s, enum breaker_news news);
bool facilitator_state_down(struct facilitator_state *s);

/* A look at /supported has ended: why->message says why it was in vain, or is
 * "". *told: nothing else was said the last time. The next one is due in
 * every_s seconds, or sooner. */
enum facilitator_state_turn facilitator_state_looked(
    struct facilitator_state *s, const struct fault *why, uint64_t every_s,
    bool *told);

/* Wait until the next look is due. False: it is time to stop. */
bool facilitator_state_next(struct facilitator_state *s);
/* Wait until the first look is over, or deadline_ms (io_now_ms()) is. */
void facilitator_state_await(struct facilitator_state *s, int64_t deadline_ms);
void facilitator_state_stop(struct facilitator_state *s);

#endif
