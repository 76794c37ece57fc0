#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 64

void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max, .st = ST_OK };
}

void
buf_free(struct buf *b)
{
	if (b == NULL)
		return;
	free(b->data);
	b->data = NULL;
	b->len = 0;
	b->cap = 0;
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	b->st = ST_OK;
	if (b->data != NULL)
		b->data[0] = '\0';
}

/* Room for more bytes and the NUL, or a sticky error and false. */
static bool
reserve(struct buf *b, size_t more)
{
	size_t need, cap;
	uint8_t *data;

	if (b->st != ST_OK)
		return false;
	if (more > b->max - b->len || b->len + more == SIZE_MAX) {
		b->st = ST_TOO_BIG;
		return false;
	}
	need = b->len + more + 1;
	if (need <= b->cap)
		return true;
	cap = b->cap > SIZE_MAX / 2 ? need : b->cap * 2;
	if (cap < FIRST_BYTES)
		cap = FIRST_BYTES;
	if (cap - 1 > b->max)
		cap = b->max + 1;
	if (cap < need)
		cap = need;
	data = realloc(b->data, cap);
	if (data == NULL) {
		b->st = ST_NOMEM;
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void
buf_add(struct buf *b, const void *data, size_t len)
{
	if (!reserve(b, len))
		return;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void
buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	size_t room;
	int n;

	if (!reserve(b, 0))
		return;
	room = b->cap - b->len;
	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf((char *)b->data + b->len, room, fmt, ap);
	if (n < 0) {
		b->st = ST_TOO_BIG; /* longer than an int can tell */
	} else if (!reserve(b, (size_t)n)) {
		b->data[b->len] = '\0';
	} else {
		if ((size_t)n >= room)
			vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt,
			    again);
		b->len += (size_t)n;
	}
	va_end(again);
	va_end(ap);
}

enum status
buf_status(const struct buf *b)
{
	return b->st;
}

const char *
buf_cstr(const struct buf *b)
{
	if (b->st != ST_OK || b->data == NULL)
		return "";
	return (const char *)b->data;
}

char *
buf_take(struct buf *b, size_t *len)
{
	char *data = NULL;

	if (len != NULL)
		*len = 0;
	if (reserve(b, 0)) {
		b->data[b->len] = '\0';
		data = (char *)b->data;
		if (len != NULL)
			*len = b->len;
		b->data = NULL;
	}
	buf_free(b);
	return data;
}
