/*
 * What the gate has done, counted since it started: for GET /metrics. The
 * process's own, like its log: one table, its counters atomic. Every label is a
 * word of ours or of the settings: what a client sends can make no new line.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

struct conf;

/* Parts of a request's time. The first ones are run_state.h's, in its order. */
enum metrics_stage {
	METRICS_READ,
	METRICS_PARSE,
	METRICS_CHECK,
	METRICS_CLAIM,
	METRICS_RESERVE,
	METRICS_SETTLE,
	METRICS_RUN,
	METRICS_ANSWER,
	METRICS_KEEP,
	METRICS_FACILITATOR, /* of settle: the call alone */
	METRICS_START,	     /* of run: until the program's first instruction */
	METRICS_PROGRAM,     /* of run: the program */
	METRICS_WHOLE,	     /* a new run, from the request to its answer */
	METRICS_STAGE_MAX
};

/* "read", as the log calls it too. */
const char *metrics_stage_name(enum metrics_stage s);

/* Names of runtimes are c's, which must outlive all else, those of tiers too,
 * or a dialect's with a flat price; the dialects' routes are labels. Before
 * threads. Without it all counts go to the label "other". */
void metrics_open(const struct conf *c);
/* Before threads too: path, a literal, is a label from now on. */
void metrics_route(const char *path);
/* That literal for a path like it; NULL: there is none. */
const char *metrics_route_of(const char *path);

/* One request is answered: where, with which HTTP status, and what it was told
 * (ST_OK: no refusal). */
void metrics_request(const char *path, int http, enum status told);

/* One started run has ended: how its program did (ST_OK and from
 * ST_SANDBOX_TIMEOUT on), or else why it is owed. runtime and tier are names of
 * the settings. */
void metrics_run(const char *runtime, const char *tier, enum status end);

void metrics_stage(enum metrics_stage s, int64_t us);

/* How many requests were told so since the start. */
uint64_t metrics_refused(enum status told);

/* Append all of it in Prometheus' text format 0.0.4. */
void metrics_put(struct buf *out);

#endif
