#include "box/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"

#define EVENTS 64

struct loop {
	int epoll;
	LIST_HEAD(loop_timers, loop_timer) timers;
};

enum status
loop_open(struct loop **out)
{
	struct loop *l;

	*out = NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return ST_NOMEM;
	LIST_INIT(&l->timers);
	l->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll < 0) {
		log_err("epoll_create1: %s", strerror(errno));
		free(l);
		return ST_IO;
	}
	*out = l;
	return ST_OK;
}

void
loop_close(struct loop *l)
{
	if (l == NULL)
		return;
	close(l->epoll);
	free(l);
}

void
loop_watch_init(struct loop_watch *w, int fd,
    void (*fn)(void *ctx, uint32_t events), void *ctx)
{
	w->fd = fd;
	w->fn = fn;
	w->ctx = ctx;
	w->on = 0;
}

enum status
loop_watch(struct loop *l, struct loop_watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };
	int op = EPOLL_CTL_MOD;

	if (events == w->on)
		return ST_OK;
	/* epoll reports hang-ups even when it is asked for nothing, and would
	 * do so in a busy loop; so a paused descriptor is taken out. */
	if (events == 0)
		op = EPOLL_CTL_DEL;
	else if (w->on == 0)
		op = EPOLL_CTL_ADD;
	if (epoll_ctl(l->epoll, op, w->fd, &ev) < 0) {
		log_err("epoll_ctl: %s", strerror(errno));
		return ST_IO;
	}
	w->on = events;
	return ST_OK;
}

void
loop_watch_close(struct loop *l, struct loop_watch *w)
{
	if (w->fd < 0)
		return;
	/* Closing alone is not enough: a child between fork and exec still
	 * holds the file, and epoll goes on reporting it. */
	if (w->on != 0)
		(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
	w->on = 0;
}

void
loop_timer_init(struct loop_timer *t, void (*fn)(void *ctx), void *ctx)
{
	t->fn = fn;
	t->ctx = ctx;
	t->at_us = 0;
}

void
loop_timer_set(struct loop *l, struct loop_timer *t, int64_t at_us)
{
	if (t->at_us == 0)
		LIST_INSERT_HEAD(&l->timers, t, link);
	t->at_us = at_us > 0 ? at_us : 1;
}

void
loop_timer_clear(struct loop_timer *t)
{
	if (t->at_us == 0)
		return;
	t->at_us = 0;
	LIST_REMOVE(t, link);
}

/* The timer that is due first, or NULL. There are a few per run, so a walk is
 * cheaper than keeping them sorted. */
static struct loop_timer *
earliest(const struct loop *l)
{
	struct loop_timer *t, *first = NULL;

	LIST_FOREACH(t, &l->timers, link)
	if (first == NULL || t->at_us < first->at_us)
		first = t;
	return first;
}

static int
wait_ms(const struct loop *l)
{
	const struct loop_timer *first = earliest(l);
	int64_t left;

	if (first == NULL)
		return -1;
	left = first->at_us - io_now_us();
	if (left <= 0)
		return 0;
	left = (left + 999) / 1000;
	return left > INT_MAX ? INT_MAX : (int)left;
}

enum status
loop_turn(struct loop *l)
{
	struct epoll_event events[EVENTS];
	struct loop_timer *t;
	struct loop_watch *w;
	int64_t now;
	int n;

	n = epoll_wait(l->epoll, events, EVENTS, wait_ms(l));
	if (n < 0 && errno != EINTR) {
		log_err("epoll_wait: %s", strerror(errno));
		return ST_IO;
	}
	for (int i = 0; i < n; i++) {
		w = events[i].data.ptr;
		/* An earlier event of this turn may have closed or paused it.
		 */
		if (w->fd >= 0 && w->on != 0)
			w->fn(w->ctx, events[i].events);
	}
	/* What a timer sets anew lies after now, so this ends. */
	now = io_now_us();
	for (t = earliest(l); t != NULL && t->at_us <= now; t = earliest(l)) {
		loop_timer_clear(t);
		t->fn(t->ctx);
	}
	return ST_OK;
}
