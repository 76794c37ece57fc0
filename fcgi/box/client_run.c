#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "base/point.h"
#include "box/client_work.h"
#include "box/extras.h"

/* What the boxer may take beyond the run's own time, before it is taken to
 * hang: boot, files, kill, and a slow reader. */
#define RUN_EXTRA_MS 90000

union answer {
	uint32_t type;
	struct wire_simple simple;
	struct wire_refused refused;
	struct wire_chunk chunk;
	struct wire_result result;
};

struct listener {
	client_started_fn on_start;
	client_chunk_fn on_chunk;
	client_idle_fn on_idle;
	client_extras_fn on_extras; /* NULL: none are asked for */
	void *ctx;
	uint64_t output_bytes;
	uint64_t left; /* output that may still come */
	bool started;
};

static bool
chunk_ok(const struct listener *l, const struct wire_chunk *m, size_t len)
{
	return l->started && len > offsetof(struct wire_chunk, data) &&
	       (m->stream == 1 || m->stream == 2) &&
	       m->len == len - offsetof(struct wire_chunk, data) &&
	       m->len <= l->left;
}

/* One of the program's own ends, and figures that fit together. */
static bool
result_ok(const struct listener *l, const struct wire_result *m)
{
	bool by_itself = m->exit_code >= 0 || m->signal > 0;

	if (!l->started || m->exit_code < -1 || m->exit_code > 255 ||
	    m->signal < 0 || m->signal > 64 ||
	    (m->exit_code >= 0 && m->signal > 0) ||
	    memchr(m->text, '\0', sizeof(m->text)) == NULL)
		return false;
	switch (m->status) {
	case ST_OK:
		return m->exit_code == 0 && m->text[0] == '\0';
	case ST_SANDBOX_TIMEOUT:
	case ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED:
		return !by_itself;
	case ST_EXECUTION_MEMORY_LIMIT_EXCEEDED:
		return true;
	case ST_EXECUTION_RUNTIME_ERROR:
	case ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED:
	case ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL:
		return by_itself && m->exit_code != 0;
	default:
		return false;
	}
}

/* Is image len bytes long, as long as it may be, and can nobody change it? */
static bool
image_ok(const struct listener *l, int image, uint64_t len)
{
	const int needed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(image, F_GET_SEALS);
	struct stat s;

	return seals >= 0 && (seals & needed) == needed &&
	       fstat(image, &s) == 0 && s.st_size >= 0 &&
	       (uint64_t)s.st_size == len &&
	       len <= extras_most(l->output_bytes);
}

/* What the sandbox made of it is no reason to lose the run: without a sound
 * image there are no extras. */
static void
hand_on_extras(const struct listener *l, int image, uint64_t len)
{
	void *at;

	if (image < 0 || l->on_extras == NULL || len == 0)
		return;
	if (!image_ok(l, image, len)) {
		log_warn("a sandbox gave an extras image that is none");
		return;
	}
	at = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, image, 0);
	if (at == MAP_FAILED) {
		log_err("map extras: %s", strerror(errno));
		return;
	}
	l->on_extras(l->ctx, at, (size_t)len);
	munmap(at, (size_t)len);
}

/* Handle one message. ST_OK: go on; ST_CLOSED: *out is the result; else the
 * end with f. */
static enum status
hear(struct listener *l, const union answer *m, size_t len,
    struct wire_result *out, struct fault *f)
{
	if (len == sizeof(m->simple) && m->type == WIRE_STARTED &&
	    !l->started) {
		l->started = true;
		if (l->on_start != NULL)
			l->on_start(l->ctx);
		return ST_OK;
	}
	if (len > sizeof(m->type) && m->type == WIRE_CHUNK &&
	    chunk_ok(l, &m->chunk, len)) {
		l->left -= m->chunk.len;
		l->on_chunk(
		    l->ctx, (int)m->chunk.stream, m->chunk.data, m->chunk.len);
		return ST_OK;
	}
	if (len == sizeof(m->result) && m->type == WIRE_RESULT &&
	    result_ok(l, &m->result)) {
		*out = m->result;
		return ST_CLOSED;
	}
	if (len == sizeof(m->refused) && m->type == WIRE_REFUSED)
		return client_refused(&m->refused, f);
	log_err("boxer sent a message that is none");
	return fault_set(f, ST_SANDBOX_SETUP_FAILED,
	    "the sandbox service answered with nonsense");
}

/* Wait for the boxer, and for what the caller wants besides. */
static enum status
wait_idle(int sock, const struct listener *l, int64_t deadline_ms)
{
	struct client_wake w = { .fd = -1, .at_ms = -1 };
	struct pollfd p[2] = { { .fd = sock, .events = POLLIN } };
	int64_t now;
	int64_t until;

	if (l->on_idle == NULL)
		return io_wait(sock, POLLIN, deadline_ms);
	l->on_idle(l->ctx, &w);
	now = io_now_ms();
	if (now >= deadline_ms)
		return ST_TIMEOUT;
	until = w.at_ms >= 0 && w.at_ms < deadline_ms ? w.at_ms : deadline_ms;
	p[1].fd = w.fd;
	p[1].events = w.events;
	if (poll(p, 2, until <= now ? 0 : (int)(until - now)) < 0 &&
	    errno != EINTR)
		return ST_IO;
	return ST_OK;
}

static enum status
recv_idle(int sock, const struct listener *l, void *m, size_t cap, size_t *len,
    int *fd, int64_t deadline_ms)
{
	enum status st = ST_BUG;

	for (;;) {
		st = io_recv_msg(sock, m, cap, len, fd, MSG_DONTWAIT);
		if (st != ST_TIMEOUT)
			return st;
		st = wait_idle(sock, l, deadline_ms);
		if (st != ST_OK)
			return st;
	}
}

static enum status
listen_to_end(int sock, struct listener *l, int64_t deadline_ms,
    struct wire_result *out, struct fault *f)
{
	OWN_FREE union answer *m = malloc(sizeof(*m));
	enum status st = ST_OK;
	size_t len;

	if (m == NULL)
		return client_gone("listening", ST_NOMEM, f);
	while (st == ST_OK) {
		OWN_FD int image = -1;

		st = recv_idle(
		    sock, l, m, sizeof(*m), &len, &image, deadline_ms);
		if (st != ST_OK)
			return client_gone("waiting for the run", st, f);
		st = hear(l, m, len, out, f);
		if (st == ST_CLOSED)
			hand_on_extras(l, image, out->extras_len);
	}
	return st == ST_CLOSED ? ST_OK : st;
}

static enum status
send_job(int sock, const struct job *j)
{
	struct wire_job m = { .type = WIRE_JOB,
		.flags = job_flags(j),
		.stdin_len = j->stdin_len };
	OWN_FD int image = -1;
	enum status st = ST_BUG;

	st = job_image(&image, &m.image_len, &m.stdin_at, j);
	if (st != ST_OK)
		return st;
	return io_send_msg(sock, &m, sizeof(m), image, MSG_DONTWAIT);
}

enum status
client_run(struct client_slot *s, const struct job *j,
    client_started_fn on_start, client_chunk_fn on_chunk, void *ctx,
    struct wire_result *out, struct fault *f)
{
	struct listener l = { .on_start = on_start,
		.on_chunk = on_chunk,
		.on_idle = s->on_idle,
		.on_extras = job_flags(j) != 0 ? s->on_extras : NULL,
		.ctx = ctx,
		.output_bytes = j->limits.output_bytes,
		.left = j->limits.output_bytes };
	enum status st = ST_BUG;

	memset(out, 0, sizeof(*out));
	POINT("job.before");
	st = send_job(s->sock, j);
	POINT("job.sent");
	/* A sandbox that failed to boot was refused meanwhile: that answer
	 * waits to be read although nothing can be sent any more. */
	if (st == ST_OK || st == ST_CLOSED)
		st = listen_to_end(s->sock, &l,
		    io_now_ms() + (int64_t)j->limits.timeout_ms + RUN_EXTRA_MS,
		    out, f);
	else
		st = client_gone("sending the job", st, f);
	client_release(s);
	return st;
}
