/*
 * One JSON-RPC 2.0 call to a chain's node, over pay/fetch. Read-only methods
 * alone are called, so each may go out again. Answers are hostile: capped,
 * strictly parsed, and their id must be the one that was asked with.
 * Thread-safe.
 */
#ifndef CHAIN_RPC_H
#define CHAIN_RPC_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define CHAIN_RPC_ANSWER_BYTES (2u << 20) /* a batch's receipt is long */

struct cJSON;
struct chain_rpc;

/* who is for the log; url may hold a key and is never shown. All are copied. */
enum status chain_rpc_open(struct chain_rpc **out, const char *who,
    const char *url, const char *ca_file) __attribute__((warn_unused_result));
void chain_rpc_close(struct chain_rpc *c); /* NULL is fine */

/* Call method with params (a JSON array as text). ST_OK: *tree for json_free()
 * with *result in it, which may be JSON's null. ST_REFUSED: the node gave an
 * error that is about this call. ST_SERVICE_BUSY: it takes no more calls for
 * now. ST_TIMEOUT: deadline_ms (io_now_ms()) is over. ST_IO: no whole answer.
 * ST_FORMAT: it is no answer to this call. ST_NOMEM. What is not ST_OK was
 * logged, but for ST_REFUSED, which can be what was expected. */
enum status chain_rpc_call(struct chain_rpc *c, const char *method,
    const char *params, int64_t deadline_ms, struct cJSON **tree,
    const struct cJSON **result) __attribute__((warn_unused_result));

#endif
