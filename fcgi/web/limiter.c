#include "web/limiter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define WAYS 8	      /* entries that a name may be in */
#define NAME 128      /* as long as any name here, with its NUL */
#define MINUTE 60000u /* tokens are counted in 1/60000: exact, no floats */

struct entry {
	char name[NAME]; /* "" if free */
	uint64_t tokens; /* times MINUTE */
	int64_t at_ms;	 /* when that was so */
	uint64_t held;
	bool cheap; /* as what it holds was taken */
};

struct limiter {
	pthread_mutex_t lock;
	struct limiter_rule rule;
	uint64_t held;	 /* by all together */
	uint64_t active; /* names that hold something, */
	uint64_t cheap;	 /* and cheap ones that do */
	uint64_t seed;	 /* nobody outside can choose names that collide */
	size_t sets;	 /* a power of two */
	struct entry *entries;
};

enum status
limiter_open(
    struct limiter **out, const struct limiter_rule *rule, size_t entries)
{
	struct limiter *l = calloc(1, sizeof(*l));

	*out = NULL;
	if (l == NULL)
		return ST_NOMEM;
	l->rule = *rule;
	if (l->rule.burst == 0)
		l->rule.burst = 1;
	for (l->sets = 1; l->sets * WAYS < entries; l->sets *= 2)
		;
	l->entries = calloc(l->sets * WAYS, sizeof(l->entries[0]));
	if (l->entries == NULL ||
	    getrandom(&l->seed, sizeof(l->seed), 0) !=
		(ssize_t)sizeof(l->seed) ||
	    pthread_mutex_init(&l->lock, NULL) != 0) {
		free(l->entries);
		free(l);
		return ST_NOMEM;
	}
	*out = l;
	return ST_OK;
}

void
limiter_close(struct limiter *l)
{
	if (l == NULL)
		return;
	pthread_mutex_destroy(&l->lock);
	free(l->entries);
	free(l);
}

/* FNV-1a over the seed and the name, its high bits stirred into the low. */
static uint64_t
hash(const struct limiter *l, const char *name)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ l->seed;

	for (; *name != '\0'; name++) {
		h ^= (uint8_t)*name;
		h *= UINT64_C(1099511628211);
	}
	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ (h >> 32);
}

static uint64_t
full(const struct limiter *l)
{
	return l->rule.burst * MINUTE;
}

/* Bring the bucket up to now. per_minute tokens a minute are as many
 * 1/60000 tokens a millisecond. */
static void
fill(const struct limiter *l, struct entry *e, int64_t now_ms)
{
	uint64_t passed = now_ms > e->at_ms ? (uint64_t)(now_ms - e->at_ms) : 0;

	if (l->rule.per_minute > 0 &&
	    passed > (full(l) - e->tokens) / l->rule.per_minute)
		e->tokens = full(l);
	else
		e->tokens += passed * l->rule.per_minute;
	if (now_ms > e->at_ms)
		e->at_ms = now_ms;
}

static struct entry *
find(struct limiter *l, const char *name)
{
	struct entry *set = &l->entries[(hash(l, name) & (l->sets - 1)) * WAYS];

	for (size_t i = 0; i < WAYS; i++)
		if (strcmp(set[i].name, name) == 0)
			return &set[i];
	return NULL;
}

/* Would a new one differ from this? */
static bool
idle(const struct limiter *l, const struct entry *e)
{
	return e->name[0] == '\0' || (e->held == 0 && e->tokens == full(l));
}

/* The entry of a name, taken from another if need be; NULL: all of its places
 * are held by others at this moment. */
static struct entry *
take(struct limiter *l, const char *name, int64_t now_ms)
{
	struct entry *set = &l->entries[(hash(l, name) & (l->sets - 1)) * WAYS];
	struct entry *e = find(l, name);

	if (e != NULL) {
		fill(l, e, now_ms);
		return e;
	}
	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].name[0] != '\0')
			fill(l, &set[i], now_ms);
		if (set[i].held > 0)
			continue;
		if (e == NULL || (idle(l, &set[i]) && !idle(l, e)) ||
		    (idle(l, &set[i]) == idle(l, e) &&
			set[i].tokens > e->tokens))
			e = &set[i];
	}
	if (e == NULL)
		return NULL;
	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->tokens = full(l);
	e->at_ms = now_ms;
	return e;
}

/* When all places are taken that work is done in, those that are left to wait
 * in go round by name: nobody may hold more than an even share with one to
 * come. All cheap names are one to the others: else whoever makes many of them
 * would leave a share of one place. */
static bool
over_share(const struct limiter *l, const struct entry *e, bool cheap)
{
	uint64_t others = cheap ? l->cheap : (l->cheap > 0 ? 1 : 0);
	uint64_t names = l->active + others + (e->held == 0 ? 1 : 0) + 1;
	uint64_t share = l->rule.shared / names;

	return l->rule.shared > 0 && l->held >= l->rule.busy_from &&
	       e->held >= (share > 0 ? share : 1);
}

/* A name begins to hold something, or has ceased to. */
static uint64_t *
counter_of(struct limiter *l, const struct entry *e)
{
	return e->cheap ? &l->cheap : &l->active;
}

static uint64_t
seconds_until_token(const struct limiter *l, const struct entry *e)
{
	uint64_t ms =
	    (MINUTE - e->tokens + l->rule.per_minute - 1) / l->rule.per_minute;

	return (ms + 999) / 1000;
}

enum limiter_verdict
limiter_enter(struct limiter *l, const char *name, bool cheap, int64_t now_ms,
    uint64_t *wait_s)
{
	enum limiter_verdict v = LIMITER_GO;
	struct entry *e;

	*wait_s = 1;
	pthread_mutex_lock(&l->lock);
	e = take(l, name, now_ms);
	if (e == NULL ||
	    (l->rule.at_a_time > 0 && e->held >= l->rule.at_a_time) ||
	    over_share(l, e, cheap)) {
		v = LIMITER_TOO_MANY;
	} else if (l->rule.per_minute > 0 && e->tokens < MINUTE) {
		v = LIMITER_TOO_OFTEN;
		*wait_s = seconds_until_token(l, e);
	} else {
		if (l->rule.per_minute > 0)
			e->tokens -= MINUTE;
		if (e->held == 0) {
			e->cheap = cheap;
			(*counter_of(l, e))++;
		}
		e->held++;
		l->held++;
	}
	pthread_mutex_unlock(&l->lock);
	return v;
}

static void
give_back(struct limiter *l, const char *name, bool token)
{
	struct entry *e;

	pthread_mutex_lock(&l->lock);
	e = find(l, name);
	if (e != NULL && e->held > 0) {
		e->held--;
		l->held--;
		if (e->held == 0)
			(*counter_of(l, e))--;
	}
	if (e != NULL && token && l->rule.per_minute > 0 &&
	    e->tokens + MINUTE <= full(l))
		e->tokens += MINUTE;
	pthread_mutex_unlock(&l->lock);
}

void
limiter_leave(struct limiter *l, const char *name)
{
	give_back(l, name, false);
}

void
limiter_undo(struct limiter *l, const char *name)
{
	give_back(l, name, true);
}
