/*
 * The program's three pipes: stdin out of the job image, stdout and stderr in
 * order of arrival within one budget of bytes. When whoever takes the output
 * cannot take more, the pipes are not read either. Private to box.
 */
#ifndef PUMP_H
#define PUMP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/wire.h"
#include "box/loop.h"

struct pump;

struct pump_hooks {
	/* Take a chunk, whole (true) or not at all; then it is offered again
	 * by pump_resume(). */
	bool (*emit)(void *ctx, const struct wire_chunk *chunk);
	/* The first byte beyond the budget was read. */
	void (*over)(void *ctx);
	void *ctx;
};

/* pipes as of hull_start(), taken, also on failure. ST_OK, ST_NOMEM. */
enum status pump_open(struct pump **out, struct loop *l, const int pipes[3],
    uint64_t output_bytes, const struct pump_hooks *hooks)
    __attribute__((warn_unused_result));
void pump_close(struct pump *p); /* NULL is fine */

/* Feed stdin from image (taken), len bytes from at, then close it. A program
 * that does not read them is no error. */
void pump_feed(struct pump *p, int image, uint64_t at, uint64_t len);

/* Read output from now on. */
void pump_start(struct pump *p);
/* Output may be taken again. */
void pump_resume(struct pump *p);

/* Nobody writes any more: read all that is left. True when all of it was
 * taken; else call it again after pump_resume(). */
bool pump_drain(struct pump *p);

/* Bytes beyond the budget so far; index 0 stdout, 1 stderr. */
uint64_t pump_lost(const struct pump *p, int stream);

#endif
