#include "box/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "box/shelf.h"

/* Of the smallest tier (api.md 4): most jobs need no other ones then. */
static const struct limits usual = { .timeout_ms = 10000,
	.memory_bytes = 256u << 20,
	.output_bytes = 1u << 20,
	.work_bytes = 64u << 20 };

#define SHELVES (2 * CONF_RUNTIMES)
/* Descriptors of one sandbox that idles, and of one that starts. */
#define ITEM_FDS 24
#define SECOND 1000000ll
#define MOST_AGE (1800 * SECOND)
/* A start keeps the boxer busy for longer than a short run takes, so it waits
 * a little after one was taken that is warm: its job may be on its way. */
#define HOLD 5000ll

struct item {
	LIST_ENTRY(item) link;
	struct pool *pool;
	struct shelf *shelf;
	struct cell *cell;
	int pipes[3];
	int64_t since_us;
	bool dying;
	bool ended;
};

struct pool {
	struct loop *loop;
	struct hull_host *host;
	struct shelf shelves[SHELVES];
	size_t n;
	uint64_t at_once; /* that may start */
	int64_t hold_us;  /* none is started before */
	bool stopped;
	struct loop_timer alarm;      /* wakes the loop: pool_tend() follows */
	LIST_HEAD(items, item) items; /* the newest first */
};

static struct shelf *
shelf_of(struct pool *p, const struct conf_runtime *runtime, const char *entry)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->shelves[i].runtime == runtime &&
		    strcmp(p->shelves[i].entry, entry) == 0)
			return &p->shelves[i];
	}
	return NULL;
}

static bool
is_warm(const struct item *i)
{
	return !i->dying && cell_waits(i->cell);
}

static bool
is_starting(const struct item *i)
{
	return !i->dying && !cell_waits(i->cell);
}

/* ---- one sandbox: no program has run that could hold its pipes ---- */

static void
close_pipes(const int pipes[3])
{
	for (int i = 0; i < 3; i++) {
		if (pipes[i] >= 0)
			close(pipes[i]);
	}
}

/* Without the cell: that is freed, or another's. */
static void
item_free(struct item *i)
{
	LIST_REMOVE(i, link);
	free(i);
}

static void
kill_item(struct item *i)
{
	if (i->dying)
		return;
	i->dying = true;
	cell_kill(i->cell);
}

static void
on_ready(void *ctx)
{
	struct item *i = ctx;

	shelf_succeeded(i->shelf, cell_bytes(i->cell));
}

static void
on_started(void *ctx)
{
	(void)ctx; /* never: it has no job */
}

static void
on_ended(void *ctx)
{
	struct item *i = ctx;

	if (!i->dying)
		shelf_failed(i->shelf);
	i->dying = true;
	i->ended = true;
}

static struct cell_hooks
hooks_of(struct item *i)
{
	const struct cell_hooks hooks = { .ready = on_ready,
		.started = on_started,
		.ended = on_ended,
		.ctx = i };

	return hooks;
}

static struct item *
item_new(struct pool *p, struct shelf *s)
{
	struct item *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return NULL;
	i->pool = p;
	i->shelf = s;
	i->since_us = io_now_us();
	LIST_INSERT_HEAD(&p->items, i, link);
	return i;
}

static void
start(struct pool *p, struct shelf *s)
{
	struct item *i = item_new(p, s);
	struct cell_hooks hooks;
	enum status st = ST_NOMEM;

	if (i != NULL) {
		hooks = hooks_of(i);
		st = cell_open(&i->cell, i->pipes, p->loop, p->host, s->runtime,
		    s->entry, &usual, &s->hook, &hooks);
	}
	if (st == ST_OK) {
		cell_yield(i->cell);
		return;
	}
	if (i != NULL)
		item_free(i);
	shelf_failed(s);
}

/* ---- taking ---- */

/* The oldest that waits, else the oldest that starts. */
static struct item *
best(struct pool *p, const struct shelf *s)
{
	struct item *i, *found = NULL;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		if (i->shelf == s && !i->dying &&
		    (found == NULL || is_warm(i) || !is_warm(found)))
			found = i;
	}
	return found;
}

static size_t
on_shelf(const struct pool *p, const struct shelf *s, bool warm_only)
{
	const struct item *i;
	size_t n = 0;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		n += i->shelf == s && !i->dying && (!warm_only || is_warm(i));
	}
	return n;
}

struct cell *
pool_take(struct pool *p, int pipes[3], const struct conf_runtime *runtime,
    const char *entry)
{
	struct shelf *s = shelf_of(p, runtime, entry);
	struct item *i = s == NULL ? NULL : best(p, s);
	int64_t now = io_now_us();
	struct cell *c = NULL;

	if (s == NULL || p->stopped)
		return NULL;
	if (i == NULL || !is_warm(i))
		p->hold_us = 0;
	else if (p->hold_us < now)
		p->hold_us = now + HOLD;
	if (i != NULL) {
		c = i->cell;
		memcpy(pipes, i->pipes, sizeof(i->pipes));
		item_free(i);
	}
	/* Who comes next should not find it empty. */
	if (on_shelf(p, s, true) == 0)
		shelf_short(s);
	return c;
}

bool
pool_put(struct pool *p, struct cell *c, const int pipes[3],
    const struct conf_runtime *runtime, const char *entry)
{
	struct shelf *s = shelf_of(p, runtime, entry);
	struct item *i = s == NULL || p->stopped ? NULL : item_new(p, s);
	struct cell_hooks hooks;

	if (i == NULL)
		return false;
	i->cell = c;
	memcpy(i->pipes, pipes, sizeof(i->pipes));
	hooks = hooks_of(i);
	cell_hand_over(c, &usual, &hooks);
	return true;
}

/* ---- tending ---- */

static uint64_t
bytes_used(const struct pool *p)
{
	const struct item *i;
	uint64_t bytes = 0;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		bytes += i->shelf->bytes;
	}
	return bytes;
}

static void
free_ended(struct pool *p)
{
	struct item *i = LIST_FIRST(&p->items), *next;

	for (; i != NULL; i = next) {
		next = LIST_NEXT(i, link);
		if (!i->ended || !cell_closed(i->cell))
			continue;
		cell_free(i->cell);
		close_pipes(i->pipes);
		item_free(i);
	}
}

/* One too old, or one too many. */
static void
thin_out(struct pool *p, int64_t now)
{
	struct item *i;
	struct shelf *s;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		if (is_warm(i) && now - i->since_us > MOST_AGE)
			kill_item(i);
	}
	for (size_t k = 0; k < p->n; k++) {
		s = &p->shelves[k];
		shelf_calm(s, now);
		i = on_shelf(p, s, false) > s->want ? best(p, s) : NULL;
		if (i != NULL)
			kill_item(i);
	}
}

/* The shelf that lacks most of what it should hold, if one may be filled. */
static struct shelf *
neediest(struct pool *p, int64_t now)
{
	uint64_t room = p->host->conf->pool_bytes, used = bytes_used(p);
	struct shelf *s, *found = NULL;
	uint64_t have, lacks, most = 0;

	for (size_t k = 0; k < p->n; k++) {
		s = &p->shelves[k];
		have = on_shelf(p, s, false);
		if (have >= s->want || now < s->retry_us ||
		    used + s->bytes > room)
			continue;
		lacks = (s->want - have) * 100 / s->want;
		if (lacks > most) {
			most = lacks;
			found = s;
		}
	}
	return found;
}

/* When there will be something to do although nothing happened. */
static void
set_alarm(struct pool *p, int64_t now)
{
	const struct item *i;
	int64_t at = now + MOST_AGE, other;

	if (p->hold_us > now)
		at = p->hold_us;
	for (size_t k = 0; k < p->n; k++) {
		other = shelf_alarm_us(&p->shelves[k], now);
		if (other != 0 && other < at)
			at = other;
	}
	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		if (is_warm(i) && i->since_us + MOST_AGE < at)
			at = i->since_us + MOST_AGE;
	}
	loop_timer_set(p->loop, &p->alarm, at + 1000);
}

static void
on_alarm(void *ctx)
{
	(void)ctx; /* that the loop turns is all */
}

void
pool_tend(struct pool *p)
{
	int64_t now = io_now_us();
	struct shelf *s;

	free_ended(p);
	if (p->stopped)
		return;
	thin_out(p, now);
	while (now >= p->hold_us && pool_count(p, NULL).starting < p->at_once) {
		s = neediest(p, now);
		if (s == NULL)
			break;
		start(p, s);
	}
	set_alarm(p, now);
}

/* ---- the whole ---- */

const struct hook *
pool_hook(struct pool *p, const struct conf_runtime *runtime, const char *entry)
{
	const struct shelf *s = shelf_of(p, runtime, entry);

	return s == NULL ? NULL : &s->hook;
}

uint64_t
pool_fds(const struct conf *c)
{
	const struct conf_runtime *r;
	uint64_t n = 0;

	for (size_t i = 0; c->pool_bytes > 0 && i < c->n_runtimes; i++) {
		r = &c->runtimes[i];
		if (r->hook_text != NULL)
			n += r->pool * (r->entry_module == NULL ? 1 : 2);
	}
	return n * ITEM_FDS;
}

static enum status
add_shelf(struct pool *p, const struct conf_runtime *runtime, const char *entry)
{
	enum status st = ST_OK;

	if (entry != NULL)
		st = shelf_init(&p->shelves[p->n], runtime, entry);
	if (st == ST_OK && entry != NULL)
		p->n++;
	return st;
}

enum status
pool_open(struct pool **out, struct loop *l, struct hull_host *host)
{
	struct pool *p = calloc(1, sizeof(*p));
	const struct conf_runtime *r;
	enum status st = ST_OK;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	*out = NULL;
	if (p == NULL)
		return ST_NOMEM;
	p->loop = l;
	p->host = host;
	p->at_once = cores > 1 ? (uint64_t)cores : 1;
	LIST_INIT(&p->items);
	loop_timer_init(&p->alarm, on_alarm, p);
	for (size_t i = 0; st == ST_OK && i < host->conf->n_runtimes; i++) {
		r = &host->conf->runtimes[i];
		/* Without a pool its helper needs the hook all the same. */
		if (r->hook_text == NULL)
			continue;
		st = add_shelf(p, r, r->entry);
		if (st == ST_OK)
			st = add_shelf(p, r, r->entry_module);
	}
	if (st != ST_OK) {
		pool_close(p);
		return st;
	}
	*out = p;
	return ST_OK;
}

void
pool_close(struct pool *p)
{
	struct item *i;

	if (p == NULL)
		return;
	while (!LIST_EMPTY(&p->items)) {
		i = LIST_FIRST(&p->items);
		cell_free(i->cell);
		close_pipes(i->pipes);
		item_free(i);
	}
	for (size_t k = 0; k < p->n; k++)
		shelf_free(&p->shelves[k]);
	loop_timer_clear(&p->alarm);
	free(p);
}

void
pool_stop(struct pool *p)
{
	struct item *i;

	p->stopped = true;
	loop_timer_clear(&p->alarm);
	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		kill_item(i);
	}
}

bool
pool_gone(const struct pool *p)
{
	const struct item *i;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		if (!cell_lost(i->cell))
			return false;
	}
	return true;
}

bool
pool_reaped(struct pool *p, pid_t pid)
{
	struct item *i;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		if (cell_reaped(i->cell, pid))
			return true;
	}
	return false;
}

struct pool_count
pool_count(const struct pool *p, const struct conf_runtime *runtime)
{
	struct pool_count n = { 0 };
	const struct item *i;

	for (i = LIST_FIRST(&p->items); i != NULL; i = LIST_NEXT(i, link)) {
		if (runtime != NULL && i->shelf->runtime != runtime)
			continue;
		n.warm += is_warm(i);
		n.starting += is_starting(i);
		n.lost += cell_lost(i->cell);
	}
	return n;
}
