/* A run's inside: shared by run.c and run_tell.c only. */
#ifndef RUN_WORK_H
#define RUN_WORK_H

#include "box/cell.h"
#include "box/pump.h"
#include "box/run.h"

/* A gate that holds a slot and never comes back with a job, or never reads
 * its result, is stuck; settling takes a minute or two. */
#define RUN_IDLE_MS 600000

enum run_state {
	RUN_WAITING,  /* to be admitted */
	RUN_RESERVED, /* has a slot, no job yet */
	RUN_LOADED,   /* has its job, which has not started */
	RUN_STARTED,
	RUN_ENDED,   /* output and result are still to be delivered */
	RUN_REFUSED, /* the gate shall read why and close */
	RUN_DONE
};

struct run {
	struct loop *loop;
	struct hull_host *host;
	enum run_state state;
	struct loop_watch sock; /* the gate's */
	struct loop_timer wait; /* longest stay in this state */
	struct wire_reserve ask;
	const struct conf_runtime *runtime;
	const char *entry;
	struct pool *pool;
	struct cell *cell;
	struct cell *spent; /* a warm one that failed before its job */
	bool warm;	    /* cell comes from the pool */
	int pipes[3];	    /* the cell's, until there is a pump */
	struct pump *pump;
	int image;
	struct wire_job job;
	struct verdict_evidence ev; /* once the sandbox is gone */
	int extras;		    /* image, or -1; likewise */
	uint64_t extras_len;
};

void run_set_wait(struct run *r, int64_t ms);
/* They are somebody else's now. */
void run_forget_pipes(struct run *r);

/* ---- run_tell.c: to the gate ---- */

/* The gate is gone or has got all; what the sandbox still does is in vain. One
 * that never saw a job is as good as before. */
void run_tell_done(struct run *r);
void run_tell_watch(struct run *r, uint32_t events);
/* Send a message; false if the gate cannot take it now (or at all: then the run
 * is done). */
bool run_tell(struct run *r, const void *m, size_t len);
void run_tell_simple(struct run *r, enum wire_type type);
void run_tell_refusal(struct run *r, enum status st, const char *text);
/* Nothing of the run lives any more: hand over what is left in the pipes, then
 * the verdict, which what is found there can still change. Called again when
 * the gate was slow to take it. */
void run_tell_result(struct run *r);

#endif
