#include "pay/facilitator_state.h"

#include <string.h>
#include <time.h>

#include "base/io.h"

#define RETRY_MS 1000	    /* after the first look in vain, */
#define RETRY_MOST_MS 60000 /* doubling up to about here */

enum status
facilitator_state_init(struct facilitator_state *s)
{
	pthread_condattr_t attr;
	enum status st = ST_NOMEM;

	memset(s, 0, sizeof(*s));
	if (pthread_condattr_init(&attr) != 0)
		return ST_NOMEM;
	if (pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
	    pthread_mutex_init(&s->lock, NULL) == 0) {
		if (pthread_cond_init(&s->news, &attr) == 0)
			st = ST_OK;
		else
			pthread_mutex_destroy(&s->lock);
	}
	pthread_condattr_destroy(&attr);
	return st;
}

void
facilitator_state_free(struct facilitator_state *s)
{
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->lock);
}

enum facilitator_state_turn
facilitator_state_call(struct facilitator_state *s, enum breaker_news news)
{
	enum facilitator_state_turn turn = FACILITATOR_STATE_SAME;

	pthread_mutex_lock(&s->lock);
	if (breaker_call(&s->breaker, news, io_now_ms())) {
		turn = s->breaker.open ? FACILITATOR_STATE_DOWN
				       : FACILITATOR_STATE_BACK;
		pthread_cond_broadcast(&s->news);
	}
	pthread_mutex_unlock(&s->lock);
	return turn;
}

bool
facilitator_state_down(struct facilitator_state *s)
{
	bool open;

	pthread_mutex_lock(&s->lock);
	open = s->breaker.open;
	pthread_mutex_unlock(&s->lock);
	return open;
}

enum facilitator_state_turn
facilitator_state_looked(struct facilitator_state *s, const struct fault *why,
    uint64_t every_s, bool *told)
{
	bool good = why->message[0] == '\0';
	int64_t now = io_now_ms();
	bool closed;

	pthread_mutex_lock(&s->lock);
	closed = breaker_probe(&s->breaker, good, now);
	*told = strcmp(s->last.message, why->message) == 0;
	s->last = *why;
	if (good)
		s->retry_ms = 0;
	else if (s->retry_ms == 0)
		s->retry_ms = RETRY_MS;
	else if (s->retry_ms < RETRY_MOST_MS)
		s->retry_ms *= 2;
	s->next_ms = now + (good ? (int64_t)every_s * 1000 : s->retry_ms);
	s->looked = true;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
	return closed ? FACILITATOR_STATE_BACK : FACILITATOR_STATE_SAME;
}

/* How long until the next look; the lock is held. */
static int64_t
pause_ms(const struct facilitator_state *s)
{
	int64_t now = io_now_ms();
	int64_t probe = breaker_due(&s->breaker, now);
	int64_t list = s->next_ms > now ? s->next_ms - now : 0;

	return probe >= 0 && probe < list ? probe : list;
}

/* Wait for news, left_ms at most; the lock is held. */
static void
doze(struct facilitator_state *s, int64_t left_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += left_ms / 1000;
	until.tv_nsec += left_ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_cond_timedwait(&s->news, &s->lock, &until);
}

bool
facilitator_state_next(struct facilitator_state *s)
{
	int64_t left;

	pthread_mutex_lock(&s->lock);
	for (left = pause_ms(s); left > 0 && !atomic_load(&s->stop);
	     left = pause_ms(s))
		doze(s, left);
	pthread_mutex_unlock(&s->lock);
	return !atomic_load(&s->stop);
}

void
facilitator_state_await(struct facilitator_state *s, int64_t deadline_ms)
{
	int64_t left;

	pthread_mutex_lock(&s->lock);
	for (left = deadline_ms - io_now_ms(); left > 0 && !s->looked;
	     left = deadline_ms - io_now_ms())
		doze(s, left);
	pthread_mutex_unlock(&s->lock);
}

void
facilitator_state_stop(struct facilitator_state *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->stop, true);
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->lock);
}
