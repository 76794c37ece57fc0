/*
 * One run as the gate sees it: from WIRE_RESERVE to WIRE_RESULT on a socket of
 * its own. Joins the gate's socket, a cell and a pump. Private to box.
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"
#include "base/wire.h"
#include "box/hull.h"
#include "box/loop.h"

struct pool;
struct run;

/* Take in a reservation, which is checked, and sock, taken also on failure.
 * The run waits to be admitted. ST_OK; ST_FORMAT, ST_NOMEM, ST_IO. */
enum status run_open(struct run **out, struct loop *l, struct hull_host *host,
    struct pool *pool, int sock, const struct wire_reserve *ask)
    __attribute__((warn_unused_result));

/* Memory of the host that it may take. */
uint64_t run_bytes(const struct run *r);

/* Give it a slot: tells the gate, and takes a sandbox that waits ready or
 * starts one. */
void run_admit(struct run *r);
/* Send it away (only while it waits). */
void run_refuse(struct run *r, enum status st, const char *text);
/* End it now and tell nobody. */
void run_abort(struct run *r);
/* The boxer has reaped pid: is it of this run? */
bool run_reaped(struct run *r, pid_t pid);

struct run_view {
	bool waits;    /* for admission */
	bool stranger; /* others take turns with such */
	bool holds;    /* a slot: it has a sandbox */
	bool busy;     /* the gate expects more of it */
	bool booting;  /* its sandbox starts */
	bool running;  /* its program runs */
	bool lost;     /* its sandbox would not die */
	const struct conf_runtime *runtime;
};
struct run_view run_look(const struct run *r);

/* Lets go of what it needs no more. True if nothing is left to do: then the
 * run may be freed. */
bool run_over(struct run *r);
void run_free(struct run *r); /* NULL is fine */

#endif
