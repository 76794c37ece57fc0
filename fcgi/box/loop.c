/*
 * How this works. epoll tells what is to be done. How much it may watch is
 * counted for each user of the host, and programs, which are the same user to
 * the kernel, can use all of that up. What it has no room for is polled: by
 * poll(2), which takes no such thing, beside epoll's own descriptor.
 */
#include "box/loop.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"

#define EVENTS 64

struct loop {
	int epoll;
	/* Those polled: in the list, and by their number in a turn. */
	LIST_HEAD(loop_watches, loop_watch) polled;
	size_t n_polled;
	struct loop_watch **turn;
	struct pollfd *ask; /* epoll's own first */
	size_t room;	    /* in both */
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
	LIST_INIT(&l->polled);
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
	free(l->turn);
	free(l->ask);
	free(l);
}

/* ---- watches ---- */

void
loop_watch_init(struct loop_watch *w, int fd,
    void (*fn)(void *ctx, uint32_t events), void *ctx)
{
	w->fd = fd;
	w->fn = fn;
	w->ctx = ctx;
	w->on = 0;
	w->polled = false;
}

/* Room for one more in a turn, so that no turn lacks it. */
static bool
make_room(struct loop *l)
{
	size_t want = l->n_polled + 2, room = want * 2;
	struct loop_watch **turn;
	struct pollfd *ask;

	if (want <= l->room)
		return true;
	turn = realloc(l->turn, room * sizeof(void *));
	if (turn != NULL)
		l->turn = turn;
	ask = realloc(l->ask, room * sizeof(*ask));
	if (ask != NULL)
		l->ask = ask;
	if (turn == NULL || ask == NULL)
		return false;
	l->room = room;
	return true;
}

static void
stop_polling(struct loop *l, struct loop_watch *w)
{
	LIST_REMOVE(w, link);
	w->polled = false;
	l->n_polled--;
}

/* epoll has no room for it. */
static enum status
start_polling(struct loop *l, struct loop_watch *w)
{
	if (!make_room(l))
		return ST_NOMEM;
	LIST_INSERT_HEAD(&l->polled, w, link);
	w->polled = true;
	l->n_polled++;
	return ST_OK;
}

enum status
loop_watch(struct loop *l, struct loop_watch *w, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = w };
	int op = EPOLL_CTL_MOD;

	if (events == w->on)
		return ST_OK;
	if (w->polled) {
		if (events == 0)
			stop_polling(l, w);
		w->on = events;
		return ST_OK;
	}
	/* epoll reports hang-ups even when it is asked for nothing, and would
	 * do so in a busy loop; so a paused descriptor is taken out. */
	if (events == 0)
		op = EPOLL_CTL_DEL;
	else if (w->on == 0)
		op = EPOLL_CTL_ADD;
	if (epoll_ctl(l->epoll, op, w->fd, &ev) < 0 &&
	    (op != EPOLL_CTL_ADD || errno != ENOSPC ||
		start_polling(l, w) != ST_OK)) {
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
	if (w->polled)
		stop_polling(l, w);
	else if (w->on != 0)
		(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
	close(w->fd);
	w->fd = -1;
	w->on = 0;
}

/* ---- timers ---- */

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

/* ---- a turn ---- */

/* Wait for, and handle, what epoll watches. False: it failed. */
static bool
turn_epoll(struct loop *l, int ms)
{
	struct epoll_event events[EVENTS];
	struct loop_watch *w;
	int n = epoll_wait(l->epoll, events, EVENTS, ms);

	if (n < 0 && errno != EINTR) {
		log_err("epoll_wait: %s", strerror(errno));
		return false;
	}
	for (int i = 0; i < n; i++) {
		w = events[i].data.ptr;
		/* An earlier event of this turn may have closed or paused it.
		 */
		if (w->fd >= 0 && w->on != 0)
			w->fn(w->ctx, events[i].events);
	}
	return true;
}

/* The same where some are polled. What is done may make others polled, and so
 * move both lists, but this turn's part of them stays. */
static bool
turn_polled(struct loop *l, int ms)
{
	size_t n = 0;
	struct loop_watch *w;

	l->ask[0] = (struct pollfd){ .fd = l->epoll, .events = POLLIN };
	for (w = LIST_FIRST(&l->polled); w != NULL; w = LIST_NEXT(w, link)) {
		l->turn[++n] = w;
		/* The same bits as epoll's. */
		l->ask[n] =
		    (struct pollfd){ .fd = w->fd, .events = (short)w->on };
	}
	if (poll(l->ask, n + 1, ms) < 0) {
		if (errno == EINTR)
			return true;
		log_err("poll: %s", strerror(errno));
		return false;
	}
	for (size_t i = 1; i <= n; i++) {
		w = l->turn[i];
		if (l->ask[i].revents != 0 && w->fd >= 0 && w->on != 0)
			w->fn(w->ctx, (uint32_t)l->ask[i].revents);
	}
	return l->ask[0].revents == 0 || turn_epoll(l, 0);
}

enum status
loop_turn(struct loop *l)
{
	int ms = wait_ms(l);
	struct loop_timer *t;
	int64_t now;

	if (l->n_polled > 0 ? !turn_polled(l, ms) : !turn_epoll(l, ms))
		return ST_IO;
	/* What a timer sets anew lies after now, so this ends. */
	now = io_now_us();
	for (t = earliest(l); t != NULL && t->at_us <= now; t = earliest(l)) {
		loop_timer_clear(t);
		t->fn(t->ctx);
	}
	return ST_OK;
}
