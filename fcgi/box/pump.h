/*
 * A run's input and output: stdin out of the job image, stdout and stderr in
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
	 * by pump_resume() or pump_drain(). */
	bool (*emit)(void *ctx, const struct wire_chunk *chunk);
	/* The first byte beyond the budget was read. */
	void (*over)(void *ctx);
	/* After pump_end(): pump_drain() is worth another call. */
	void (*back)(void *ctx);
	void *ctx;
};

/* Before the program runs: its stdin, from image (stays the caller's) as job
 * has it, is fed from now on, then closed; a program that does not read it is
 * no error. pipes as of hull_start(), taken, also on failure. ST_OK, ST_NOMEM,
 * ST_IO. */
enum status pump_open(struct pump **out, struct loop *l, const int pipes[3],
    int image, const struct wire_job *job, uint64_t output_bytes,
    const struct pump_hooks *hooks) __attribute__((warn_unused_result));
/* When nothing of the program lives any more, or is given up on. NULL is fine.
 */
void pump_close(struct pump *p);

/* The program runs: pass on output from now on. */
void pump_start(struct pump *p);
/* Output may be taken again. */
void pump_resume(struct pump *p);

/* The run has ended; alone: nothing of the program lives. */
void pump_end(struct pump *p, bool alone);
/* Then: pass on all that is left; of a program that is not gone, only what was
 * read before. True when all of it was taken; else call it again after
 * pump_resume() or when the hook back is called. */
bool pump_drain(struct pump *p) __attribute__((warn_unused_result));

/* Bytes beyond the budget so far; index 0 stdout, 1 stderr. */
uint64_t pump_lost(const struct pump *p, int stream);

#endif
