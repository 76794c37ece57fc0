/*
 * How a run ended, judged from what was measured and done, never guessed from
 * an exit code (sandbox-faults.md). Pure.
 */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "base/wire.h"

/* Why the boxer ended a run. The first reason stays. */
enum verdict_stop {
	VERDICT_STOP_NONE, /* the program ended by itself */
	VERDICT_STOP_TIME,
	VERDICT_STOP_CPU,
	VERDICT_STOP_MEMORY, /* the meter saw more than the limit */
	VERDICT_STOP_OUTPUT,
	VERDICT_STOP_MAX
};

struct verdict_evidence {
	struct limits limits;
	uint64_t cores;
	enum verdict_stop stop;
	bool reported;	      /* sandbox-init told how it ended: */
	int wait_status;      /* raw */
	bool box_full;	      /* no room left for files */
	uint64_t duration_us; /* release to end of the main process */
	uint64_t start_us;
	uint64_t cpu_us;      /* of the whole tree */
	uint64_t memory_used; /* most that the meter saw, files left out */
	uint64_t memory_peak; /* most that the kernel charged, files included */
	uint64_t memory_wall; /* the kernel's limit on that; 0: none in force */
	uint64_t oom_kills;
	uint64_t wall_hits; /* that it was to kill by that limit; 0: unknown */
	uint64_t lost[2];   /* bytes of stdout, stderr over the limit */
	struct wire_seen seen; /* what PID 1 was asked about */
};

/* ST_OK: *out is the answer. ST_SANDBOX_SETUP_FAILED: not the program's doing,
 * nothing may be charged; out->text says why. All of *out is set. */
enum status verdict_judge(struct wire_result *out,
    const struct verdict_evidence *ev) __attribute__((warn_unused_result));

#endif
