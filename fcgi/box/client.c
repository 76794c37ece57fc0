#include "box/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
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
#include "box/extras.h"

/* What the boxer may take beyond the time that was asked for. It has deadlines
 * of its own; these are for a boxer that hangs. */
#define RESERVE_EXTRA_MS 5000
#define RUN_EXTRA_MS 90000 /* boot, files, kill, and a slow reader */
#define STATE_MS 1000

struct client {
	pthread_mutex_t lock; /* of sock */
	int sock;
	/* Answers on the common socket carry no name, so one asks at a time.
	 * Always taken before lock. */
	pthread_mutex_t asking;
};

struct client_slot {
	int sock;
	client_idle_fn on_idle; /* NULL: none */
	client_extras_fn on_extras;
};

/* ---- the common socket ---- */

enum status
client_open(struct client **out, int sock)
{
	struct client *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (c == NULL) {
		close(sock);
		return ST_NOMEM;
	}
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->asking, NULL);
	c->sock = sock;
	*out = c;
	return ST_OK;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	close(c->sock);
	pthread_mutex_destroy(&c->lock);
	pthread_mutex_destroy(&c->asking);
	free(c);
}

void
client_attach(struct client *c, int sock)
{
	int old;

	pthread_mutex_lock(&c->lock);
	old = c->sock;
	c->sock = sock;
	pthread_mutex_unlock(&c->lock);
	close(old);
}

/* A descriptor of one's own for the common socket: it stays good while
 * another thread attaches a new one. -1 on failure. */
static int
borrow(struct client *c)
{
	int fd;

	pthread_mutex_lock(&c->lock);
	fd = fcntl(c->sock, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_unlock(&c->lock);
	if (fd < 0)
		log_err("fcntl: %s", strerror(errno));
	return fd;
}

/* Send on a socket that others send on too, at most until the deadline. */
static enum status
send_until(int sock, const void *m, size_t len, int fd, int64_t deadline_ms)
{
	enum status st = ST_BUG;

	for (;;) {
		st = io_send_msg(sock, m, len, fd, MSG_DONTWAIT);
		if (st != ST_TIMEOUT)
			return st;
		st = io_wait(sock, POLLOUT, deadline_ms);
		if (st != ST_OK)
			return st;
	}
}

static enum status
recv_until(int sock, void *m, size_t cap, size_t *len, int64_t deadline_ms)
{
	enum status st = ST_BUG;

	for (;;) {
		st = io_recv_msg(sock, m, cap, len, NULL, MSG_DONTWAIT);
		if (st != ST_TIMEOUT)
			return st;
		st = io_wait(sock, POLLIN, deadline_ms);
		if (st != ST_OK)
			return st;
	}
}

static enum status
gone(struct fault *f)
{
	return fault_set(f, ST_SANDBOX_UNAVAILABLE,
	    "the sandbox service is not available now");
}

/* ---- refusals ---- */

/* What a refusal means to the caller; a code that the boxer has no business
 * to give is an error of ours. */
static enum status
refused(const struct wire_refused *m, struct fault *f)
{
	char text[WIRE_TEXT];

	memcpy(text, m->text, sizeof(text));
	text[sizeof(text) - 1] = '\0';
	switch (m->status) {
	case ST_SERVICE_BUSY:
		return fault_set(f, ST_SERVICE_BUSY, "%s", text);
	case ST_SANDBOX_UNAVAILABLE:
		return fault_set(f, ST_SANDBOX_UNAVAILABLE, "%s", text);
	case ST_SANDBOX_INVALID_REQUEST:
		return fault_set(f, ST_SANDBOX_INVALID_REQUEST, "%s", text);
	default:
		return fault_set(f, ST_SANDBOX_SETUP_FAILED, "%s", text);
	}
}

/* ---- reserving ---- */

/* May the job run in an interpreter that was started before it? */
static bool
is_plain(const struct job *j)
{
	char **cold = j->runtime->cold_files;

	/* A helper puts arguments and variables in their places. */
	if (job_hooked(j))
		return true;
	for (; cold != NULL && *cold != NULL; cold++) {
		for (size_t i = 0; i < j->n_files; i++) {
			if (strcmp(j->files[i].path, *cold) == 0)
				return false;
		}
	}
	return j->n_args == 0 && j->n_env == 0;
}

static enum status
ask_for_slot(struct client *c, const struct job *j, int theirs,
    uint64_t wait_ms, int64_t deadline_ms)
{
	OWN_FD int common = borrow(c);
	struct wire_reserve m = { .type = WIRE_RESERVE,
		.wait_ms =
		    wait_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)wait_ms,
		.limits = j->limits,
		.plain = is_plain(j),
		.hooked = job_hooked(j) };
	size_t runtime = strlen(j->runtime->name);
	size_t entry = strlen(j->entry);

	if (common < 0)
		return ST_IO;
	if (runtime >= sizeof(m.runtime) || entry >= sizeof(m.entry))
		return ST_TOO_BIG;
	memcpy(m.runtime, j->runtime->name, runtime);
	memcpy(m.entry, j->entry, entry);
	return send_until(common, &m, sizeof(m), theirs, deadline_ms);
}

union answer {
	uint32_t type;
	struct wire_simple simple;
	struct wire_refused refused;
	struct wire_chunk chunk;
	struct wire_result result;
};

/* The answer to a reservation. Small, so it has a buffer of its own. */
static enum status
await_slot(int sock, int64_t deadline_ms, struct fault *f)
{
	union {
		uint32_t type;
		struct wire_simple simple;
		struct wire_refused refused;
	} m;
	enum status st = ST_BUG;
	size_t len;

	st = recv_until(sock, &m, sizeof(m), &len, deadline_ms);
	if (st != ST_OK)
		return gone(f);
	if (len == sizeof(m.simple) && m.type == WIRE_RESERVED)
		return ST_OK;
	if (len == sizeof(m.refused) && m.type == WIRE_REFUSED) {
		st = refused(&m.refused, f);
		if (st == ST_SERVICE_BUSY)
			return st;
		/* Before a job there is nothing that could be invalid. */
		if (f != NULL)
			f->st = ST_SANDBOX_UNAVAILABLE;
		return ST_SANDBOX_UNAVAILABLE;
	}
	log_err("boxer answered a reservation with nonsense");
	return gone(f);
}

enum status
client_reserve(struct client_slot **out, struct client *c, const struct job *j,
    uint64_t wait_ms, struct fault *f)
{
	int64_t deadline = io_now_ms() + (int64_t)wait_ms + RESERVE_EXTRA_MS;
	OWN_FD int ours = -1;
	OWN_FD int theirs = -1;
	enum status st = ST_BUG;
	struct client_slot *s;
	int pair[2];

	*out = NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		log_err("socketpair: %s", strerror(errno));
		return gone(f);
	}
	ours = pair[0];
	theirs = pair[1];
	if (ask_for_slot(c, j, theirs, wait_ms, deadline) != ST_OK)
		return gone(f);
	/* While this end is open here, the boxer's death would not show. */
	close(own_steal_fd(&theirs));
	st = await_slot(ours, deadline, f);
	if (st != ST_OK)
		return st;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return gone(f);
	s->sock = own_steal_fd(&ours);
	*out = s;
	return ST_OK;
}

void
client_release(struct client_slot *s)
{
	if (s == NULL)
		return;
	close(s->sock);
	free(s);
}

/* ---- running ---- */

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
		return refused(&m->refused, f);
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
		return gone(f);
	while (st == ST_OK) {
		OWN_FD int image = -1;

		if (recv_idle(sock, l, m, sizeof(*m), &len, &image,
			deadline_ms) != ST_OK)
			return gone(f);
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

void
client_extras(struct client_slot *s, client_extras_fn fn)
{
	s->on_extras = fn;
}

void
client_idle(struct client_slot *s, client_idle_fn fn)
{
	s->on_idle = fn;
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
	st = send_job(s->sock, j);
	/* A sandbox that failed to boot was refused meanwhile: that answer
	 * waits to be read although nothing can be sent any more. */
	if (st == ST_OK || st == ST_CLOSED)
		st = listen_to_end(s->sock, &l,
		    io_now_ms() + (int64_t)j->limits.timeout_ms + RUN_EXTRA_MS,
		    out, f);
	else
		st = gone(f);
	client_release(s);
	return st;
}

/* ---- state ---- */

/* Throw away the answer that came too late for an earlier question. */
static void
forget_old(int sock, struct wire_state *scratch)
{
	size_t len;

	while (io_recv_msg(sock, scratch, sizeof(*scratch), &len, NULL,
		   MSG_DONTWAIT) == ST_OK)
		continue;
}

static bool
state_ok(const struct wire_state *m, size_t len)
{
	if (len != sizeof(*m) || m->type != WIRE_STATE || m->mechanism > 2 ||
	    m->n_pools > sizeof(m->pools) / sizeof(m->pools[0]))
		return false;
	for (uint32_t i = 0; i < m->n_pools; i++) {
		if (memchr(m->pools[i].runtime, '\0', WIRE_NAME) == NULL)
			return false;
	}
	return true;
}

enum status
client_state(struct client *c, struct wire_state *out)
{
	struct wire_simple ask = { .type = WIRE_STATE_ASK };
	int64_t deadline = io_now_ms() + STATE_MS;
	OWN_FD int sock = -1;
	enum status st = ST_BUG;
	size_t len;

	pthread_mutex_lock(&c->asking);
	sock = borrow(c);
	st = sock < 0 ? ST_IO : ST_OK;
	if (st == ST_OK) {
		forget_old(sock, out);
		st = send_until(sock, &ask, sizeof(ask), -1, deadline);
	}
	if (st == ST_OK)
		st = recv_until(sock, out, sizeof(*out), &len, deadline);
	pthread_mutex_unlock(&c->asking);
	if (st == ST_OK && state_ok(out, len))
		return ST_OK;
	memset(out, 0, sizeof(*out));
	return ST_SANDBOX_UNAVAILABLE;
}
