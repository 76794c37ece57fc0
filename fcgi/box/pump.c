#include "box/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"

#define FEED_BYTES 65536
/* Reads in a drain: more than the largest pipe holds, so that it ends even
 * where something still writes (a sandbox that would not die). */
#define DRAIN_READS 64

struct source {
	struct pump *pump;
	struct loop_watch watch;
	uint32_t stream; /* 1 stdout, 2 stderr */
	uint64_t lost;
};

struct pump {
	struct loop *loop;
	struct pump_hooks hooks;
	struct source out[2];
	uint64_t left; /* of the budget */
	bool over;
	bool held; /* chunk was refused and waits */
	struct loop_watch in;
	int image;
	uint64_t at; /* stdin inside the image */
	uint64_t end;
	struct wire_chunk chunk;
};

/* ---- output ---- */

static void
watch_outputs(struct pump *p, bool on)
{
	for (int i = 0; i < 2; i++) {
		if (p->out[i].watch.fd >= 0 &&
		    loop_watch(p->loop, &p->out[i].watch, on ? EPOLLIN : 0) !=
			ST_OK)
			loop_watch_close(p->loop, &p->out[i].watch);
	}
}

/* Offer the chunk in hand. */
static void
offer(struct pump *p)
{
	p->held = !p->hooks.emit(p->hooks.ctx, &p->chunk);
}

/* Count n bytes in the chunk against the budget and pass on what fits. */
static void
account(struct source *s, size_t n)
{
	struct pump *p = s->pump;
	size_t fits = n < p->left ? n : (size_t)p->left;

	p->left -= fits;
	s->lost += n - fits;
	if (fits > 0) {
		p->chunk.type = WIRE_CHUNK;
		p->chunk.stream = s->stream;
		p->chunk.len = (uint32_t)fits;
		offer(p);
	}
	if (fits < n && !p->over) {
		p->over = true;
		p->hooks.over(p->hooks.ctx);
	}
}

/* Read once. False: nothing there, or the end. */
static bool
read_source(struct source *s)
{
	struct pump *p = s->pump;
	ssize_t n;

	if (s->watch.fd < 0)
		return false;
	n = read(s->watch.fd, p->chunk.data, sizeof(p->chunk.data));
	if (n > 0) {
		account(s, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0)
		log_err("read a program's output: %s", strerror(errno));
	loop_watch_close(p->loop, &s->watch);
	return false;
}

static void
on_output(void *ctx, uint32_t events)
{
	struct source *s = ctx;

	(void)events;
	(void)read_source(s);
	if (s->pump->held)
		watch_outputs(s->pump, false);
}

void
pump_start(struct pump *p)
{
	watch_outputs(p, true);
}

void
pump_resume(struct pump *p)
{
	if (!p->held)
		return;
	offer(p);
	if (!p->held)
		watch_outputs(p, true);
}

bool
pump_drain(struct pump *p)
{
	for (int i = 0; i < 2; i++) {
		for (int n = 0; n < DRAIN_READS && !p->held; n++) {
			if (!read_source(&p->out[i]))
				break;
		}
	}
	/* Nothing more will come, so nothing is to be waited for. */
	if (p->held)
		watch_outputs(p, false);
	return !p->held;
}

uint64_t
pump_lost(const struct pump *p, int stream)
{
	return p->out[stream].lost;
}

/* ---- stdin ---- */

static void
end_input(struct pump *p)
{
	loop_watch_close(p->loop, &p->in);
	if (p->image >= 0)
		close(p->image);
	p->image = -1;
}

/* Write one piece. */
static void
on_input(void *ctx, uint32_t events)
{
	struct pump *p = ctx;
	uint8_t piece[FEED_BYTES];
	size_t want = sizeof(piece);
	ssize_t n;

	(void)events;
	if (want > p->end - p->at)
		want = (size_t)(p->end - p->at);
	n = want == 0 ? 0 : pread(p->image, piece, want, (off_t)p->at);
	if (n < 0)
		log_err("read stdin out of a job: %s", strerror(errno));
	if (n > 0) {
		n = write(p->in.fd, piece, (size_t)n);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
	}
	/* All written, or the program closed its end: both are its right. */
	if (n > 0)
		p->at += (uint64_t)n;
	if (n <= 0 || p->at == p->end)
		end_input(p);
}

void
pump_feed(struct pump *p, int image, uint64_t at, uint64_t len)
{
	p->image = image;
	p->at = at;
	p->end = at + len;
	/* The first piece at once: a short stdin is then there, with its end,
	 * before the program asks for it. */
	on_input(p, 0);
	if (p->in.fd >= 0 && loop_watch(p->loop, &p->in, EPOLLOUT) != ST_OK)
		end_input(p);
}

/* ---- both ---- */

enum status
pump_open(struct pump **out, struct loop *l, const int pipes[3],
    uint64_t output_bytes, const struct pump_hooks *hooks)
{
	struct pump *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (p == NULL) {
		for (int i = 0; i < 3; i++)
			close(pipes[i]);
		return ST_NOMEM;
	}
	p->loop = l;
	p->hooks = *hooks;
	p->left = output_bytes;
	p->image = -1;
	loop_watch_init(&p->in, pipes[0], on_input, p);
	for (int i = 0; i < 2; i++) {
		p->out[i].pump = p;
		p->out[i].stream = (uint32_t)i + 1;
		loop_watch_init(
		    &p->out[i].watch, pipes[i + 1], on_output, &p->out[i]);
	}
	*out = p;
	return ST_OK;
}

void
pump_close(struct pump *p)
{
	if (p == NULL)
		return;
	end_input(p);
	for (int i = 0; i < 2; i++)
		loop_watch_close(p->loop, &p->out[i].watch);
	free(p);
}
