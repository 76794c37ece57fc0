/*
 * The gate's way to the boxer: reserve a sandbox, run a job in it, or let it
 * go. Thread-safe. What the boxer says is checked for length, type and range;
 * when the boxer is gone every call ends with ST_SANDBOX_UNAVAILABLE at once,
 * and calls after super has started a new one work again (client_attach()).
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/wire.h"
#include "box/job.h"

struct client;
struct client_slot;

/* sock: this side of the SOCK_SEQPACKET pair to the boxer; taken over. */
enum status client_open(struct client **out, int sock)
    __attribute__((warn_unused_result));
void client_close(struct client *c);

/* Use another socket from now on (the boxer was restarted); the old one is
 * closed, slots held on it have failed already by themselves. */
void client_attach(struct client *c, int sock);

/* Reserve a run slot and start a sandbox for j's runtime, entry and limits;
 * waits at most wait_ms in the boxer's queue. The sandbox boots while the
 * caller goes on. ST_OK and *out; ST_SERVICE_BUSY or ST_SANDBOX_UNAVAILABLE
 * with f. */
enum status client_reserve(struct client_slot **out, struct client *c,
    const struct job *j, uint64_t wait_ms, struct fault *f)
    __attribute__((warn_unused_result));

/* Give a slot back without a run. NULL is fine. */
void client_release(struct client_slot *s);

/* Where output goes, in order of arrival; stream 1 or 2. Called on the
 * calling thread. Must not block for long. */
typedef void (*client_chunk_fn)(
    void *ctx, int stream, const uint8_t *data, size_t len);
/* Called once when the program was released (may be NULL). */
typedef void (*client_started_fn)(void *ctx);

/* What to be woken up for besides the boxer: a descriptor (-1: none) and a time
 * (io_now_ms(); -1: none). */
struct client_wake {
	int fd;
	short events;
	int64_t at_ms;
};
/* Called on the calling thread each time nothing more is there to be heard. */
typedef void (*client_idle_fn)(void *ctx, struct client_wake *next);

/* Have fn called, with client_run()'s ctx, while the job in s runs. */
void client_idle(struct client_slot *s, client_idle_fn fn);

/* Called on the calling thread, right before client_run() returns ST_OK, with
 * the extras image of a job that asked for extras, where there is one: as long
 * as it may be, and nobody can change it; but what is in it is unchecked
 * (extras_read()). Dead after the call. */
typedef void (*client_extras_fn)(void *ctx, const uint8_t *image, size_t len);

/* Have fn called, with client_run()'s ctx, for the job in s. */
void client_extras(struct client_slot *s, client_extras_fn fn);

/* Run j in the slot to its end and give the slot up. ST_OK: *out holds how the
 * program ended, whatever that was, and no process of it is left. Else nothing
 * may be charged for it: ST_SANDBOX_SETUP_FAILED (the sandbox could not be
 * set up; *started tells if the program was released), ST_SANDBOX_UNAVAILABLE
 * (the boxer is gone), ST_SANDBOX_INVALID_REQUEST (files do not fit the work
 * dir), with f. */
enum status client_run(struct client_slot *s, const struct job *j,
    client_started_fn on_start, client_chunk_fn on_chunk, void *ctx,
    struct wire_result *out, struct fault *f)
    __attribute__((warn_unused_result));

/* Queue and pool figures for /health. ST_OK or ST_SANDBOX_UNAVAILABLE. */
enum status client_state(struct client *c, struct wire_state *out)
    __attribute__((warn_unused_result));

#endif
