/*
 * Between a program's pipes and the loop: a thread of the run's own. Reading,
 * writing and closing a pipe wait for its lock, O_NONBLOCK or not, and whoever
 * has the other end can hold it for seconds (a write whose pages come from a
 * disk, one by one). So the loop touches no pipe while a program may live that
 * has its other end; the thread does, and where it waits only its run waits.
 *
 * It reads ahead no more than FERRY_PIECES chunks. Private to box.
 */
#ifndef FERRY_H
#define FERRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/wire.h"

#define FERRY_PIECES 2

struct ferry;

/* Before any of the program's code runs. pipes as of hull_start(), taken, also
 * on failure. stdin is len bytes of image (stays the caller's) from at; what
 * the pipe holds is in it at once, with its end. ST_OK, ST_NOMEM, ST_IO
 * (logged). */
enum status ferry_open(struct ferry **out, const int pipes[3], int image,
    uint64_t at, uint64_t len) __attribute__((warn_unused_result));

/* Start the thread, once. A run that ends before needs none: ferry_recall()
 * gives it all. *news is the caller's, who closes it after ferry_leave(): an
 * eventfd, written when a chunk has come or the pipes are back. ST_OK; ST_IO
 * or ST_NOMEM (logged), and it can be tried again. */
enum status ferry_start(struct ferry *f, int *news)
    __attribute__((warn_unused_result));
/* Before that: the pipe of stdout (0) or stderr (1), lent, to be watched. */
int ferry_output(const struct ferry *f, int which);
/* Is there stdin that waits for the thread to be started? */
bool ferry_feeds(const struct ferry *f);

/* The chunk of output that came first, or NULL; lent until ferry_pop(). */
struct wire_chunk *ferry_front(struct ferry *f);
void ferry_pop(struct ferry *f);

/* Nothing that has the other ends lives any more: the pipes shall be the
 * caller's. False: the thread has them in hand; ask again after news. */
bool ferry_recall(struct ferry *f) __attribute__((warn_unused_result));
/* They are, and no chunk waits: take what is left in them as far as there is
 * room. False: nothing was. */
bool ferry_fill(struct ferry *f) __attribute__((warn_unused_result));

/* Forget it. Pipes that the thread has, it closes, and ends by itself, once it
 * can; without a thread nothing that has the other ends may live any more. NULL
 * is fine. */
void ferry_leave(struct ferry *f);

#endif
