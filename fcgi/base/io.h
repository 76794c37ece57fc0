/*
 * Descriptors and clocks: full reads and writes, EINTR, close-on-exec,
 * messages that carry a descriptor, and the one monotonic clock.
 */
#ifndef IO_H
#define IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Monotonic time. Nothing but this clock decides about deadlines. */
int64_t io_now_us(void);
int64_t io_now_ms(void);

/* Write all of it. ST_OK, ST_CLOSED (EPIPE, ECONNRESET), ST_IO. */
enum status io_write_all(int fd, const void *data, size_t len)
    __attribute__((warn_unused_result));

/* Read to the end of the file, at most max bytes, into a fresh NUL-terminated
 * block (free it). ST_OK, ST_TOO_BIG, ST_NOMEM, ST_IO. *out is NULL on
 * failure. len may be NULL. */
enum status io_read_file(int fd, size_t max, char **out, size_t *len)
    __attribute__((warn_unused_result));

/* As io_read_file for a path, opened close-on-exec. ST_NOT_FOUND if it is not
 * there. */
enum status io_read_path(const char *path, size_t max, char **out, size_t *len)
    __attribute__((warn_unused_result));

/* Send one SEQPACKET message, with fd attached unless it is -1 (it stays the
 * caller's). flags as for sendmsg; MSG_NOSIGNAL is added. ST_OK, ST_CLOSED,
 * ST_TIMEOUT (would block), ST_IO. */
enum status io_send_msg(int sock, const void *data, size_t len, int fd,
    int flags) __attribute__((warn_unused_result));

/* Receive one SEQPACKET message of at most cap bytes. *len is its length,
 * *fd (may be NULL: then descriptors are refused) the descriptor that came
 * with it or -1, close-on-exec, the caller's from now on. ST_OK, ST_CLOSED
 * (end), ST_TIMEOUT (would block), ST_FORMAT (truncated, or more descriptors
 * than one; all closed), ST_IO. */
enum status io_recv_msg(int sock, void *data, size_t cap, size_t *len, int *fd,
    int flags) __attribute__((warn_unused_result));

/* Wait until fd is ready for events (poll(2)) or the deadline (io_now_ms)
 * passes; a negative deadline waits for ever. ST_OK, ST_TIMEOUT, ST_IO. */
enum status io_wait(int fd, short events, int64_t deadline_ms)
    __attribute__((warn_unused_result));

/* Has the process of pidfd not ended? False for -1. */
bool io_alive(int pidfd);

/* Set O_NONBLOCK. */
enum status io_nonblock(int fd) __attribute__((warn_unused_result));

/* Move fd to a number >= 64, close-on-exec, so that it cannot collide with the
 * low numbers a child is given. Gives the new number, closes the old one; -1
 * on failure (the old one is closed then too). */
int io_move_high(int fd) __attribute__((warn_unused_result));

#endif
