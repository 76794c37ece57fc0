#include "box/shelf.h"

#include <string.h>

#include "base/io.h"
#include "base/log.h"

/* What one is taken to need before the first of its kind has told. */
#define GUESS_BYTES (64u << 20)

#define SECOND 1000000ll
/* So long without shortage, and one less is wanted. */
#define CALM (60 * SECOND)
/* After a failure the next try waits, twice as long each time. */
#define RETRY_FIRST SECOND
#define RETRY_MOST (300 * SECOND)
#define FAILURES_TOLD 3

enum status
shelf_init(
    struct shelf *s, const struct conf_runtime *runtime, const char *entry)
{
	enum status st = ST_BUG;

	memset(s, 0, sizeof(*s));
	st = hook_open(&s->hook, runtime);
	if (st != ST_OK) {
		log_err(
		    "runtime %s: its hook: %s", runtime->name, status_name(st));
		return st;
	}
	s->runtime = runtime;
	s->entry = entry;
	s->want = runtime->pool > 0;
	s->bytes = GUESS_BYTES;
	return ST_OK;
}

void
shelf_free(struct shelf *s)
{
	hook_free(&s->hook);
}

void
shelf_succeeded(struct shelf *s, uint64_t bytes)
{
	if (bytes > 0)
		s->bytes = bytes;
	if (s->failures >= FAILURES_TOLD)
		log_info("runtime %s: %s can be started ahead again",
		    s->runtime->name, s->entry);
	s->failures = 0;
}

void
shelf_failed(struct shelf *s)
{
	int64_t wait = RETRY_FIRST;

	for (uint64_t i = 0; i < s->failures && wait < RETRY_MOST; i++)
		wait *= 2;
	s->retry_us = io_now_us() + (wait < RETRY_MOST ? wait : RETRY_MOST);
	s->failures++;
	if (s->failures == FAILURES_TOLD)
		log_err("runtime %s: %s cannot be started ahead; its runs "
			"start cold",
		    s->runtime->name, s->entry);
}

void
shelf_short(struct shelf *s)
{
	if (s->want < s->runtime->pool)
		s->want++;
	s->short_us = io_now_us();
}

void
shelf_calm(struct shelf *s, int64_t now_us)
{
	if (s->want > 1 && now_us - s->short_us > CALM) {
		s->want--;
		s->short_us = now_us;
	}
}

int64_t
shelf_alarm_us(const struct shelf *s, int64_t now_us)
{
	int64_t at = 0;

	if (s->want > 1)
		at = s->short_us + CALM;
	if (s->retry_us > now_us && (at == 0 || s->retry_us < at))
		at = s->retry_us;
	return at;
}
