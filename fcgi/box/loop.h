/*
 * The boxer's event loop: descriptors and deadlines, one thread. Watches and
 * timers live inside their owners' structs; an owner may be freed between two
 * turns, never from within one (events of the same turn may still name it).
 */
#ifndef LOOP_H
#define LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/status.h"

struct loop;

struct loop_watch {
	int fd; /* owned; -1: none */
	void (*fn)(void *ctx, uint32_t events);
	void *ctx;
	uint32_t on; /* events asked for; private, as all that follows */
	bool polled;
	LIST_ENTRY(loop_watch) link;
};

struct loop_timer {
	void (*fn)(void *ctx);
	void *ctx;
	int64_t at_us; /* io_now_us() of the deadline; 0: not set; private */
	LIST_ENTRY(loop_timer) link;
};

enum status loop_open(struct loop **out) __attribute__((warn_unused_result));
/* NULL is fine. Nothing may be watched or set any more. */
void loop_close(struct loop *l);

/* Fill in a watch that watches nothing yet; takes fd. */
void loop_watch_init(struct loop_watch *w, int fd,
    void (*fn)(void *ctx, uint32_t events), void *ctx);
/* Ask for these events (EPOLLIN...); 0: for none, not even hang-ups. That the
 * host's user may watch no more by epoll is no failure. ST_OK, or ST_IO (no
 * memory, a descriptor that cannot be watched) and nothing is watched. */
enum status loop_watch(struct loop *l, struct loop_watch *w, uint32_t events)
    __attribute__((warn_unused_result));
/* Stop watching and close. Fine if there is no descriptor. */
void loop_watch_close(struct loop *l, struct loop_watch *w);

void loop_timer_init(struct loop_timer *t, void (*fn)(void *ctx), void *ctx);
/* Call fn once, at or after the monotonic time at_us. Set again: moved. */
void loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_us);
void loop_timer_clear(struct loop_timer *t);

/* Wait for the next thing and handle all that is due. ST_OK, ST_IO. */
enum status loop_turn(struct loop *l) __attribute__((warn_unused_result));

#endif
