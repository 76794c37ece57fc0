/*
 * What is measured: the hello world of one runtime, started in four ways, in
 * turn: bare, in a plain bubblewrap, and by a real boxer as the gate would ask
 * it, without and with a pool of warm sandboxes. A run counts only if it said
 * hello and nothing else; one that did not ends the bench. One rig at a time.
 */
#ifndef RIG_H
#define RIG_H

#include <stddef.h>

#include "base/limits.h"

enum rig_way {
	RIG_BARE,
	RIG_BWRAP,
	RIG_COLD,
	RIG_WARM,
	RIG_WAYS
};

struct rig;

struct rig_time {
	double us;	   /* from submit to exit, all output read */
	double start_us;   /* of it, as the boxer tells: sandbox start-up */
	double program_us; /* from the program's release to its end */
};

const char *rig_way_name(enum rig_way way);
/* Name of the i-th hello world; NULL: there are no more. */
const char *rig_name(size_t i);

/* Start a boxer in which only this one has a pool, and tell how it limits
 * memory. */
struct rig *rig_open(const char *name);
void rig_close(struct rig *r);

/* Wait until nothing is on its way: as many sandboxes wait as are wanted, none
 * starts, none is being taken down. Outside of every clock. */
void rig_calm(const struct rig *r);

/* Wait until one is warm and none starts, whatever else runs. Outside of every
 * clock. */
void rig_warm(const struct rig *r);

/* One hello. Thread-safe. */
void rig_hello(struct rig_time *out, const struct rig *r, enum rig_way way);

/* CPU seconds that all ways have used since it was opened (account_s()). */
double rig_cpu_s(const struct rig *r);

/* Run any program, cold, in the same boxer: its verdict's code, "completed" for
 * none. It may end as it likes. Thread-safe. */
const char *rig_other(const struct rig *r, const char *runtime,
    const char *source, const struct limits *limits);

#endif
