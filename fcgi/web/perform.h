/* The second half of a paid run: from settled to an answer that is kept. */
#ifndef PERFORM_H
#define PERFORM_H

#include "base/status.h"
#include "web/run_state.h"

/* SETTLED -> RUNNING -> DONE: start the job in r's slot, tell its output live
 * if the caller wants that, build the answer and keep it. ST_OK: r->a is the
 * answer, durable. Else r->f; the run is then owed, or, after the last start,
 * given up: r->a is the answer that is kept. */
enum status perform(struct run *r) __attribute__((warn_unused_result));

/* The answer that was kept (r->row says there is one) again into r->a, and the
 * beginning of it as a stream if that is what the caller wants. Read only now,
 * since it may be large. ST_OK; ST_PAYMENT_REPLAYED: it has expired; or the
 * ledger's trouble; with r->f. */
enum status perform_replay(struct run *r) __attribute__((warn_unused_result));

/* Where the answer has begun as a stream: its end, by what became of the run.
 * Waits for the reader; nothing that others wait for should be held. */
void perform_tell(struct run *r, enum status st);

/* The largest answer that this job can have, in bytes. */
uint64_t perform_answer_bytes(const struct job *j);

/* Set that room aside until run_state_free(), before settling: an answer that
 * was paid for must find its place (api.md section 10). ST_OK;
 * ST_SERVICE_BUSY: it is not there; or the ledger's trouble; with r->f. */
enum status perform_hold(struct run *r) __attribute__((warn_unused_result));

#endif
