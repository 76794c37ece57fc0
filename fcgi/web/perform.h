/* The second half of a paid run: from settled to an answer that is kept. */
#ifndef PERFORM_H
#define PERFORM_H

#include "base/status.h"
#include "web/run_state.h"

/* SETTLED -> RUNNING -> DONE: start the job in r's slot, tell its output live
 * if the caller wants that, build the answer and keep it. amount (atomic units)
 * is what was charged. ST_OK: r->a is the answer, durable. Else r->f; the run
 * is then owed (or, after the last start, its failure is the answer that was
 * kept). */
enum status perform(struct run *r, const char *amount)
    __attribute__((warn_unused_result));

struct ledger_row;

/* The answer that was kept (row is DONE and has it) again into r->a, and the
 * beginning of it as a stream if that is what the caller wants. */
void perform_replay(struct run *r, const struct ledger_row *row);

/* Where the answer has begun as a stream: its end, by what became of the run.
 * Waits for the reader; nothing that others wait for should be held. */
void perform_tell(struct run *r, enum status st);

/* The largest answer that this job can have, in bytes. */
uint64_t perform_answer_bytes(const struct job *j);

#endif
