/*
 * What a run uses, held against its limits, and what is known of its end: the
 * evidence that the verdict is made of. Private to box.
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"
#include "base/wire.h"
#include "box/hull.h"
#include "box/verdict.h"

struct tally {
	struct hull_use first; /* before the program's time */
	int64_t since_us;      /* nothing of the run can be older */
	int64_t released_us;   /* 0: not yet */
	uint64_t others_most;  /* bytes charged for what is not the program's
				* memory, in any look */
	struct verdict_evidence ev;
};

void tally_init(struct tally *t, const struct limits *limits, uint64_t cores);

/* Before the interpreter is started: what the sandbox itself takes. ST_OK, or
 * it cannot be told. */
enum status tally_first(struct tally *t, const struct hull *h, int init)
    __attribute__((warn_unused_result));
/* The program was released just now. */
void tally_release(struct tally *t, const struct hull *h, int init);

/* Take a look. The limit that it is over, or VERDICT_STOP_NONE. */
enum verdict_stop tally_look(struct tally *t, const struct hull *h, int init);

/* sandbox-init's report, which is a claim: ST_FORMAT if it tells of no end. */
enum status tally_report(struct tally *t, const struct hull *h, int init,
    const struct wire_init_report *m) __attribute__((warn_unused_result));

/* When nothing of the program runs any more. */
void tally_last(struct tally *t, const struct hull *h);

#endif
