#include "pay/breaker.h"

static void
open_it(struct breaker *b, int64_t now_ms)
{
	b->open = true;
	b->trying = false;
	/* One that fails right after a good probe is not waited for less. */
	if (b->pause_ms == 0)
		b->pause_ms = BREAKER_PAUSE_MS;
	b->probe_ms = now_ms + b->pause_ms;
}

static void
longer_pause(struct breaker *b)
{
	b->pause_ms *= 2;
	if (b->pause_ms > BREAKER_PAUSE_MOST_MS)
		b->pause_ms = BREAKER_PAUSE_MOST_MS;
}

bool
breaker_call(struct breaker *b, enum breaker_news news, int64_t now_ms)
{
	switch (news) {
	case BREAKER_GOOD:
		/* A call that was under way when it opened may still end well:
		 * then it is not down. */
		if (b->open) {
			*b = (struct breaker){ 0 };
			return true;
		}
		*b = (struct breaker){ 0 };
		return false;
	case BREAKER_BAD:
		if (b->open)
			return false;
		b->bad++;
		if (!b->trying && b->bad < BREAKER_BAD_CALLS)
			return false;
		if (b->trying)
			longer_pause(b);
		open_it(b, now_ms);
		return true;
	case BREAKER_NONE:
	case BREAKER_NEWS_MAX:
		break;
	}
	return false;
}

bool
breaker_probe(struct breaker *b, bool good, int64_t now_ms)
{
	if (!b->open)
		return false;
	if (good) {
		b->open = false;
		b->trying = true;
		return true;
	}
	longer_pause(b);
	b->probe_ms = now_ms + b->pause_ms;
	return false;
}

int64_t
breaker_due(const struct breaker *b, int64_t now_ms)
{
	if (!b->open)
		return -1;
	return b->probe_ms > now_ms ? b->probe_ms - now_ms : 0;
}
