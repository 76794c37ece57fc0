/*
 * A growing byte buffer with a required maximum. Errors stick: after the first
 * failure every further call does nothing, and buf_status() tells; so a writer
 * appends freely and checks once at the end.
 */
#ifndef BUF_H
#define BUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct buf {
	uint8_t *data; /* NUL-terminated beyond len once anything was added */
	size_t len;
	size_t cap;
	size_t max;
	enum status st;
};

/* Empty buffer that never holds more than max bytes. Allocates nothing. */
void buf_init(struct buf *b, size_t max);
/* Release; NULL and a twice freed buffer are fine. */
void buf_free(struct buf *b);
/* Free at the end of the scope, as base/own.h does; buf_init() it before any
 * way out. */
#define OWN_BUF __attribute__((cleanup(buf_free)))
/* Forget the content and a sticky error, keep the memory. */
void buf_clear(struct buf *b);

void buf_add(struct buf *b, const void *data, size_t len);
void buf_addc(struct buf *b, char c);
void buf_adds(struct buf *b, const char *s);
void buf_addf(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ST_OK, ST_NOMEM or ST_TOO_BIG. */
enum status buf_status(const struct buf *b) __attribute__((warn_unused_result));

/* The content as a C string, "" when empty or failed. Borrowed; dead at the
 * next change. */
const char *buf_cstr(const struct buf *b);

/* Hand the memory over (free(3) it): NUL-terminated, its length in *len (may
 * be NULL). NULL after a failure. The buffer is empty afterwards. */
char *buf_take(struct buf *b, size_t *len) __attribute__((warn_unused_result));

#endif
