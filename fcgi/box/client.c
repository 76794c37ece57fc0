#include "box/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/client_work.h"

/* What the boxer may take beyond the time that was asked for. It has deadlines
 * of its own; this is for a boxer that hangs. */
#define RESERVE_EXTRA_MS 5000
#define STATE_MS 1000

struct client {
	pthread_mutex_t lock; /* of sock */
	int sock;
	/* Answers on the common socket carry no name, so one asks at a time.
	 * Always taken before lock. */
	pthread_mutex_t asking;
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

/* ---- failures ---- */

enum status
client_gone(const char *doing, enum status why, struct fault *f)
{
	log_warn("the boxer is gone or hangs: %s: %s", doing, status_name(why));
	return fault_set(f, ST_SANDBOX_UNAVAILABLE,
	    "the sandbox service is not available now");
}

enum status
client_refused(const struct wire_refused *m, struct fault *f)
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
		.hooked = job_hooked(j),
		.stranger = j->stranger };
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
		return client_gone("waiting for a place", st, f);
	if (len == sizeof(m.simple) && m.type == WIRE_RESERVED)
		return ST_OK;
	if (len == sizeof(m.refused) && m.type == WIRE_REFUSED) {
		st = client_refused(&m.refused, f);
		if (st == ST_SERVICE_BUSY)
			return st;
		/* Before a job there is nothing that could be invalid. */
		if (f != NULL)
			f->st = ST_SANDBOX_UNAVAILABLE;
		return ST_SANDBOX_UNAVAILABLE;
	}
	return client_gone("waiting for a place", ST_FORMAT, f);
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
		return client_gone("asking for a place", ST_IO, f);
	}
	ours = pair[0];
	theirs = pair[1];
	st = ask_for_slot(c, j, theirs, wait_ms, deadline);
	if (st != ST_OK)
		return client_gone("asking for a place", st, f);
	/* While this end is open here, the boxer's death would not show. */
	close(own_steal_fd(&theirs));
	st = await_slot(ours, deadline, f);
	if (st != ST_OK)
		return st;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return client_gone("asking for a place", ST_NOMEM, f);
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
