/* The second half of a paid run: from settled to an answer that is kept. */
#ifndef PERFORM_H
#define PERFORM_H

#include "base/status.h"
#include "web/run_state.h"

/* SETTLED -> RUNNING -> DONE: start the job in r's slot, build the answer and
 * keep it. amount (atomic units) is what was charged. ST_OK: r->a is the
 * answer, durable. Else r->f; the run is then owed (or, after the last start,
 * its failure is the answer that was kept). */
enum status perform(struct run *r, const char *amount)
    __attribute__((warn_unused_result));

/* The largest answer that a run within these limits can have, in bytes. */
uint64_t perform_answer_bytes(const struct limits *l);

#endif
