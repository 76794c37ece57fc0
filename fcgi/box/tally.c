#include "box/tally.h"

#include <string.h>
#include <sys/wait.h>

#include "base/io.h"

/* The last real-time signal of every Linux there is. A status has room for
 * more, and the gate takes no such answer. */
#define SIGNAL_MOST 64

void
tally_init(struct tally *t, const struct limits *limits, uint64_t cores)
{
	memset(t, 0, sizeof(*t));
	t->since_us = io_now_us();
	t->ev.limits = *limits;
	t->ev.cores = cores > 0 ? cores : 1;
}

static uint64_t
beyond(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void
raise_to(uint64_t *most, uint64_t now)
{
	if (now > *most)
		*most = now;
}

enum status
tally_first(struct tally *t, const struct hull *h, int init)
{
	return hull_use(&t->first, h, init);
}

void
tally_release(struct tally *t, const struct hull *h, int init)
{
	struct hull_use now;

	t->released_us = io_now_us();
	/* Neither the warm-up nor writing the files took any of the program's
	 * time. */
	if (!hull_cpu_us(&t->first.cpu_us, h) &&
	    hull_use(&now, h, init) == ST_OK)
		t->first.cpu_us = now.cpu_us;
}

enum verdict_stop
tally_look(struct tally *t, const struct hull *h, int init)
{
	struct hull_use now;
	uint64_t memory, cpu_us;

	if (hull_use(&now, h, init) != ST_OK)
		return VERDICT_STOP_NONE;
	cpu_us = beyond(now.cpu_us, t->first.cpu_us);
	raise_to(&t->ev.cpu_us, cpu_us);
	raise_to(&t->others_most, now.others);
	memory = beyond(now.memory, t->first.memory);
	raise_to(&t->ev.memory_used, memory);
	if (memory > t->ev.limits.memory_bytes)
		return VERDICT_STOP_MEMORY;
	if (cpu_us > t->ev.limits.timeout_ms * 1000 * t->ev.cores)
		return VERDICT_STOP_CPU;
	return VERDICT_STOP_NONE;
}

/* Its times must lie where they can lie. */
enum status
tally_report(struct tally *t, const struct hull *h, int init,
    const struct wire_init_report *m)
{
	uint64_t now = (uint64_t)io_now_us();

	if (!WIFEXITED(m->wait_status) &&
	    (!WIFSIGNALED(m->wait_status) ||
		WTERMSIG(m->wait_status) > SIGNAL_MOST))
		return ST_FORMAT;
	/* PID 1 still holds the folders of a program that is gone, and the
	 * group what the kernel keeps. */
	if (h->group == NULL || WIFSIGNALED(m->wait_status))
		(void)tally_look(t, h, init);
	if (h->group == NULL) {
		/* What came and went between two looks. */
		raise_to(&t->ev.cpu_us, m->cpu_us);
		raise_to(&t->ev.memory_used, m->max_rss_bytes);
	}
	t->ev.reported = true;
	t->ev.wait_status = m->wait_status;
	t->ev.box_full = m->box_full != 0;
	t->ev.seen = m->seen;
	t->ev.duration_us = now - (uint64_t)t->released_us;
	if (m->started_us >= (uint64_t)t->since_us &&
	    m->started_us <= m->ended_us && m->ended_us <= now)
		t->ev.duration_us = m->ended_us - m->started_us;
	return ST_OK;
}

void
tally_last(struct tally *t, const struct hull *h)
{
	struct hull_use now;

	if (t->released_us > 0 && !t->ev.reported)
		t->ev.duration_us = (uint64_t)(io_now_us() - t->released_us);
	/* The counters of the group outlive its processes. */
	if (!hull_counters(&now, h))
		return;
	t->ev.memory_peak = now.memory_peak;
	t->ev.oom_kills = now.oom_kills;
	t->ev.wall_hits = now.wall_hits;
	/* A program that gave up for lack of memory may have grown between the
	 * last look and its end. The kernel missed nothing, but counts all: the
	 * work folder, the pages of /usr that the program was the first to
	 * read, its own tables. Most of that is there still. */
	if (t->ev.reported && WIFSIGNALED(t->ev.wait_status) &&
	    t->others_most > 0)
		raise_to(&t->ev.memory_used,
		    beyond(now.memory_peak, t->others_most + t->first.memory));
	raise_to(&t->ev.cpu_us, beyond(now.cpu_us, t->first.cpu_us));
}
