/*
 * One sandbox from its start to the moment when nothing of it is left. One
 * job, then gone. The cell knows nothing of the gate: its owner (run.c) hands
 * it a job and hears through hooks. Everything that waits has a deadline; a
 * sandbox that will not die is told of and kept aside, never waited for.
 *
 *	BOOTING -> READY -> LOADING -> RUNNING -> ENDING -> DYING -> GONE
 *
 * with WARMING before READY where the interpreter is started ahead of the job,
 * and a short cut from each state to DYING. Private to box.
 */
#ifndef CELL_H
#define CELL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/limits.h"
#include "base/status.h"
#include "box/hull.h"
#include "box/loop.h"
#include "box/verdict.h"

struct cell;
struct hook;

/* Called from within loop turns. The cell may not be freed in one. */
struct cell_hooks {
	void (*ready)(void *ctx);   /* waits for cell_load() */
	void (*started)(void *ctx); /* the program was released */
	void (*ended)(void *ctx);   /* all of the program's processes gone, or
				     * given up on */
	void *ctx;
};

/* Start a sandbox; loop, host, runtime, entry and hook outlive it. With a hook
 * it is a warm start. pipes as of hull_start(). ST_OK, ST_IO, ST_NOMEM,
 * ST_FORMAT; logged. */
enum status cell_open(struct cell **out, int pipes[3], struct loop *l,
    struct hull_host *host, const struct conf_runtime *runtime,
    const char *entry, const struct limits *limits, const struct hook *hook,
    const struct cell_hooks *hooks) __attribute__((warn_unused_result));

/* Nobody waits for it: let others run first, until it is ready or handed
 * over. */
void cell_yield(struct cell *c);

/* Before a job was loaded: another owner, and other limits. If these cannot be
 * set the cell dies. ready() is not called again where it was before. */
void cell_hand_over(struct cell *c, const struct limits *limits,
    const struct cell_hooks *hooks);
/* Does it wait for cell_load()? */
bool cell_waits(const struct cell *c);
/* Bytes of memory that it has taken so far at most; 0: cannot be told. */
uint64_t cell_bytes(const struct cell *c);

/* The cell is ready: give it the job image (stays the caller's), flags as of
 * struct wire_job. */
void cell_load(struct cell *c, int image, uint64_t image_len, uint32_t flags);

/* End the run for this reason; asks first, so that the report is not lost.
 * The first reason stays. Does nothing where no program runs. */
void cell_stop(struct cell *c, enum verdict_stop why);

/* End everything now, whatever the state. */
void cell_kill(struct cell *c);

/* The boxer has reaped pid: is it this cell's? */
bool cell_reaped(struct cell *c, pid_t pid);

/* After ended: what was measured, output left out. ST_OK, or why the run must
 * not be charged: ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_INVALID_REQUEST (its
 * files did not fit). */
enum status cell_outcome(struct verdict_evidence *out, const struct cell *c)
    __attribute__((warn_unused_result));

/* After ended: the extras image that sandbox-init made, as it came, the
 * caller's from now on; or -1. */
int cell_extras(struct cell *c, uint64_t *len);

/* It would not die within its time: its slot is not to be given away. */
bool cell_lost(const struct cell *c);
/* Nothing is left: no process, no group. */
bool cell_closed(const struct cell *c);
/* Forget it, closed or not. NULL is fine. */
void cell_free(struct cell *c);

#endif
