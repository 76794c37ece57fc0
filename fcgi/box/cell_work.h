/* A cell's inside: shared by cell*.c only. */
#ifndef CELL_WORK_H
#define CELL_WORK_H

#include "box/cell.h"
#include "box/tally.h"

#define CELL_METER_MS 25 /* the rhythm of the meter */
#define CELL_ASK_MS 250	 /* for the report, and then for PID 1's exit */

/* Shares of the CPU where there is not enough for all, in percent: of a run; of
 * one that has used much already, so that a short one beside it stays short; of
 * a sandbox that starts ahead of any job. */
#define CELL_WEIGHT 100
#define CELL_WEIGHT_LONG 25
#define CELL_WEIGHT_AHEAD 10

enum cell_state {
	CELL_BOOTING, /* until sandbox-init says READY */
	CELL_WARMING, /* until the interpreter waits at its gate */
	CELL_READY,   /* waits for a job */
	CELL_LOADING, /* writes the job's files */
	CELL_RUNNING,
	CELL_ENDING, /* was asked to end, or has reported: PID 1 shall go */
	CELL_DYING,  /* was killed */
	CELL_GONE    /* all processes gone, or given up on (lost) */
};

struct cell {
	struct loop *loop;
	struct hull hull;
	struct cell_hooks hooks;
	const char *entry;
	const struct hook *hook; /* of a warm start; NULL: a cold one */
	enum cell_state state;
	enum status failed;
	bool lost; /* it does not go within DIE_MS */
	bool lost_told;
	bool told;		   /* the owner, that it ended */
	bool looked;		   /* whether it is alone */
	bool is_long;		   /* weighs less since */
	struct loop_watch control; /* to sandbox-init */
	struct loop_watch init;	   /* pidfd of PID 1; -1: not held */
	struct loop_timer wait;	   /* longest stay in this state */
	struct loop_timer meter;
	struct loop_timer sweep; /* of what is left to remove */
	int64_t sweep_ms;
	int64_t asked_us; /* since when it is wanted for a job */
	struct tally tally;
	uint32_t flags; /* of the job */
	int extras;	/* -1: none, or taken */
	uint64_t extras_len;
};

/* Once, in ms from now. */
void cell_set_timer(struct cell *c, struct loop_timer *t, int64_t ms);
/* The sandbox failed, or (ST_SANDBOX_INVALID_REQUEST) was asked for what it
 * cannot hold. */
void cell_fail(struct cell *c, enum status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Give PID 1 a moment to go by itself. */
void cell_expect_end(struct cell *c);
/* After the report: the owner hears it once nothing of the program runs. */
void cell_tell_if_alone(struct cell *c);

/* cell_hear.c: the control socket has something to say; ctx is the cell. */
void cell_hear(void *ctx, uint32_t events);

#endif
