#include "web/outlet.h"

#include <errno.h>
#include <poll.h>
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

void
outlet_open(struct outlet *o, int fd, uint16_t id)
{
	o->fd = fd;
	o->id = id;
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

bool
outlet_drain(struct outlet *o, int64_t deadline_ms)
{
	while (!outlet_push(o) && !o->gone) {
		int64_t until = io_now_ms() + OUTLET_STALL_MS;

		if (until > deadline_ms)
			until = deadline_ms;
		if (io_wait(o->fd, POLLOUT, until) != ST_OK)
			o->gone = true;
	}
	return !o->gone;
}

bool
outlet_send(struct outlet *o, const void *data, size_t len, int64_t deadline_ms)
{
	const uint8_t *p = data;
	bool all;

	do {
		size_t n = len < PIECE_BYTES ? len : PIECE_BYTES;

		outlet_put(o, p, n);
		all = outlet_drain(o, deadline_ms);
		p += n;
		len -= n;
	} while (all && len > 0);
	return all;
}
