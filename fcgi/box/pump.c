#include "box/pump.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/io.h"
#include "box/ferry.h"

/* A thread costs a tenth of what a short program takes in all, and its output
 * can as well be taken when it has ended. So only what goes on for this long
 * after its first output gets one. */
#define LATE_US 2000
/* Where there was none to be had; meanwhile the program is made to wait. */
#define AGAIN_US 50000

struct pump {
	struct loop *loop;
	struct pump_hooks hooks;
	struct ferry *ferry;
	struct loop_watch news;
	struct loop_watch first[2]; /* of output; their pipes are the ferry's */
	struct loop_timer late;
	uint64_t lost[2];
	uint64_t left; /* of the budget */
	bool over;
	bool counted; /* the chunk at the front, against the budget */
	bool held;    /* it was refused and waits */
	bool ended;
	bool alone; /* then: nothing of the program lives */
};

/* Count a chunk against the budget; what does not fit is cut off. */
static void
count(struct pump *p, struct wire_chunk *c)
{
	uint32_t n = c->len;

	if (n > p->left)
		c->len = (uint32_t)p->left;
	p->left -= c->len;
	p->lost[c->stream - 1] += n - c->len;
	p->counted = true;
	if (c->len < n && !p->over) {
		p->over = true;
		p->hooks.over(p->hooks.ctx);
	}
}

/* Pass on what has come, no more than was there at first. True: all of it was
 * taken. */
static bool
pass_on(struct pump *p)
{
	struct wire_chunk *c;

	p->held = false;
	for (int i = 0; i < FERRY_PIECES; i++) {
		c = ferry_front(p->ferry);
		if (c == NULL)
			return true;
		if (!p->counted)
			count(p, c);
		if (c->len > 0 && !p->hooks.emit(p->hooks.ctx, c)) {
			p->held = true;
			return false;
		}
		p->counted = false;
		ferry_pop(p->ferry);
	}
	return true;
}

static void
on_news(void *ctx, uint32_t events)
{
	struct pump *p = ctx;
	eventfd_t unused;

	(void)events;
	/* First, so that what comes from now on is news again. */
	(void)eventfd_read(p->news.fd, &unused);
	if (p->ended)
		p->hooks.back(p->hooks.ctx);
	else if (!p->held)
		(void)pass_on(p);
}

/* ---- the thread ---- */

static enum status
start_ferry(struct pump *p)
{
	return ferry_start(p->ferry, &p->news.fd);
}

/* What it moved before the program was known to run has waited, and its news
 * too. */
static void
listen_to_ferry(struct pump *p)
{
	if ((p->news.fd < 0 && start_ferry(p) != ST_OK) ||
	    loop_watch(p->loop, &p->news, EPOLLIN) != ST_OK)
		loop_timer_set(p->loop, &p->late, io_now_us() + AGAIN_US);
}

static void on_first(void *ctx, uint32_t events);

static void
unwatch_first(struct pump *p)
{
	for (int i = 0; i < 2; i++) {
		if (loop_watch(p->loop, &p->first[i], 0) == ST_OK)
			loop_watch_init(&p->first[i], -1, on_first, p);
	}
}

static void
on_late(void *ctx)
{
	unwatch_first(ctx);
	listen_to_ferry(ctx);
}

static void
on_first(void *ctx, uint32_t events)
{
	struct pump *p = ctx;

	(void)events;
	unwatch_first(p);
	loop_timer_set(p->loop, &p->late, io_now_us() + LATE_US);
}

void
pump_start(struct pump *p)
{
	if (p->news.fd >= 0) {
		listen_to_ferry(p);
		return;
	}
	/* To look whether there is something takes no pipe's lock. */
	for (int i = 0; i < 2; i++) {
		loop_watch_init(
		    &p->first[i], ferry_output(p->ferry, i), on_first, p);
		if (loop_watch(p->loop, &p->first[i], EPOLLIN) != ST_OK)
			loop_timer_set(
			    p->loop, &p->late, io_now_us() + LATE_US);
	}
}

void
pump_resume(struct pump *p)
{
	if (p->held)
		(void)pass_on(p);
}

void
pump_end(struct pump *p, bool alone)
{
	p->ended = true;
	p->alone = alone;
	loop_timer_clear(&p->late);
	unwatch_first(p);
}

bool
pump_drain(struct pump *p)
{
	/* Of a sandbox that would not die, what there is. */
	if (!p->alone)
		return pass_on(p);
	if (!ferry_recall(p->ferry))
		return false;
	do {
		if (!pass_on(p))
			return false;
	} while (ferry_fill(p->ferry));
	return true;
}

uint64_t
pump_lost(const struct pump *p, int stream)
{
	return p->lost[stream];
}

enum status
pump_open(struct pump **out, struct loop *l, const int pipes[3], int image,
    const struct wire_job *job, uint64_t output_bytes,
    const struct pump_hooks *hooks)
{
	struct pump *p = calloc(1, sizeof(*p));
	struct ferry *ferry;
	enum status st = ST_BUG;

	*out = NULL;
	st = ferry_open(&ferry, pipes, image, job->stdin_at, job->stdin_len);
	if (st == ST_OK && p == NULL) {
		ferry_leave(ferry);
		st = ST_NOMEM;
	}
	if (st != ST_OK) {
		free(p);
		return st;
	}
	p->loop = l;
	p->hooks = *hooks;
	p->left = output_bytes;
	p->ferry = ferry;
	loop_watch_init(&p->news, -1, on_news, p);
	loop_timer_init(&p->late, on_late, p);
	for (int i = 0; i < 2; i++)
		loop_watch_init(&p->first[i], -1, on_first, p);
	if (ferry_feeds(ferry))
		st = start_ferry(p);
	if (st != ST_OK) {
		pump_close(p);
		return st;
	}
	*out = p;
	return ST_OK;
}

void
pump_close(struct pump *p)
{
	if (p == NULL)
		return;
	loop_timer_clear(&p->late);
	unwatch_first(p);
	ferry_leave(p->ferry);
	loop_watch_close(p->loop, &p->news);
	free(p);
}
