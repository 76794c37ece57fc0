#include "web/outlet.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/io.h"
#include "base/point.h"

/* The FastCGI protocol's own numbers. */
#define RECORD_VERSION 1
#define RECORD_STDOUT 6

/* Content of one record: half of a buffer of nginx's (tollbox-pass.conf). */
#define RECORD_BYTES ((size_t)16384)

/* The head of an answer, or one event: queued when nothing else is. */
#define PENDING_BYTES (512u << 10)
#define PIECE_BYTES (4 * RECORD_BYTES)

static struct {
	pthread_mutex_t lock;
	struct outlet *first;
	/* Less those that were cut: */
	size_t n;
	size_t held;
} waiting = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What a small answer takes is that of any thread: to cut it frees nothing. */
static size_t
weight(const struct outlet *o)
{
	return o->held < PENDING_BYTES ? 0 : o->held;
}

static void
uncount(const struct outlet *o)
{
	waiting.n--;
	waiting.held -= weight(o);
}

/* The one that has stood still for longest, of those that weigh least or more,
 * must go; its own thread sees it. False: none has for long enough. */
static bool
cut_slowest(size_t least)
{
	struct outlet *slowest = NULL;

	for (struct outlet *o = waiting.first; o != NULL; o = o->next)
		if (!o->cut && weight(o) >= least &&
		    (slowest == NULL || o->moved_ms < slowest->moved_ms))
			slowest = o;
	if (slowest == NULL || io_now_ms() - slowest->moved_ms < OUTLET_CUT_MS)
		return false;
	slowest->cut = true;
	uncount(slowest);
	(void)shutdown(slowest->fd, SHUT_RDWR);
	return true;
}

/* For one more of that weight. */
static void
make_room(size_t more)
{
	if (waiting.n >= OUTLET_WAITING)
		(void)cut_slowest(0);
	while (more > 0 && waiting.held + more > OUTLET_BYTES)
		if (!cut_slowest(1))
			break;
}

/* o's reader is slow just now. As long as o is in the list its descriptor is
 * open. */
static void
wait_begins(struct outlet *o)
{
	pthread_mutex_lock(&waiting.lock);
	make_room(weight(o));
	o->cut = false;
	o->moved_ms = io_now_ms();
	o->next = waiting.first;
	waiting.first = o;
	waiting.n++;
	waiting.held += weight(o);
	pthread_mutex_unlock(&waiting.lock);
}

static void
wait_goes_on(struct outlet *o)
{
	pthread_mutex_lock(&waiting.lock);
	o->moved_ms = io_now_ms();
	pthread_mutex_unlock(&waiting.lock);
}

static void
wait_ends(struct outlet *o)
{
	struct outlet **at = &waiting.first;

	pthread_mutex_lock(&waiting.lock);
	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	if (!o->cut)
		uncount(o);
	pthread_mutex_unlock(&waiting.lock);
}

void
outlet_open(struct outlet *o, int fd, uint16_t id)
{
	o->fd = fd;
	o->id = id;
	o->held = 0;
	o->gone = false;
	o->sent = 0;
	buf_init(&o->pending, PENDING_BYTES);
}

void
outlet_free(struct outlet *o)
{
	buf_free(&o->pending);
}

void
outlet_put(struct outlet *o, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0 && !o->gone) {
		size_t n = len < RECORD_BYTES ? len : RECORD_BYTES;
		const uint8_t head[8] = { RECORD_VERSION, RECORD_STDOUT,
			(uint8_t)(o->id >> 8), (uint8_t)o->id,
			(uint8_t)(n >> 8), (uint8_t)n };

		buf_add(&o->pending, head, sizeof(head));
		buf_add(&o->pending, p, n);
		p += n;
		len -= n;
	}
	/* An answer with a hole in it is worse than one that ends. */
	if (buf_status(&o->pending) != ST_OK)
		o->gone = true;
}

/* One step; false when nothing moved. */
static bool
step(struct outlet *o)
{
	size_t left = o->pending.len - o->sent;
	ssize_t n;

	POINT("answer.part");
	do
		n = send(o->fd, o->pending.data + o->sent, left,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			o->gone = true;
		return false;
	}
	o->sent += (size_t)n;
	if (o->sent == o->pending.len) {
		buf_clear(&o->pending);
		o->sent = 0;
	}
	return true;
}

bool
outlet_push(struct outlet *o)
{
	while (!o->gone && o->pending.len > 0)
		if (!step(o))
			break;
	return !o->gone && o->pending.len == 0;
}

/* True when nothing is left. In the list of those that wait from the first time
 * that the reader is slow until all is sent. */
static bool
drain(struct outlet *o, int64_t deadline_ms, bool *listed)
{
	while (!outlet_push(o) && !o->gone) {
		int64_t until = io_now_ms() + OUTLET_STALL_MS;

		if (!*listed)
			wait_begins(o);
		*listed = true;
		if (until > deadline_ms)
			until = deadline_ms;
		if (io_wait(o->fd, POLLOUT, until) != ST_OK)
			o->gone = true;
		else
			wait_goes_on(o);
	}
	return !o->gone;
}

bool
outlet_drain(struct outlet *o, int64_t deadline_ms)
{
	bool listed = false;
	bool all = drain(o, deadline_ms, &listed);

	if (listed)
		wait_ends(o);
	return all;
}

bool
outlet_send(struct outlet *o, const void *data, size_t len, int64_t deadline_ms)
{
	const uint8_t *p = data;
	bool listed = false;
	bool all;

	if (o->held < len)
		o->held = len;
	do {
		size_t n = len < PIECE_BYTES ? len : PIECE_BYTES;

		outlet_put(o, p, n);
		all = drain(o, deadline_ms, &listed);
		p += n;
		len -= n;
	} while (all && len > 0);
	if (listed)
		wait_ends(o);
	return all;
}
