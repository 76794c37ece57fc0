/*
 * One at a time for each payment and each Idempotency-Key: twins of a running
 * request wait here without holding a run slot, then look into the ledger again
 * (api.md section 10). Who takes both takes the key first, one of each at most:
 * so nobody waits in a circle.
 */
#ifndef FLIGHT_H
#define FLIGHT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A twin waits as long as the longest run it may be waiting for. */
#define FLIGHT_TWIN_WAIT_MS 600000u

struct flight;

/* At most max_waiting threads wait at once, over all keys, and for one of them
 * at most its even share of these, with one key to come: half, if it is the
 * only one. And at most max_held bytes of large bodies wait with them. */
enum status flight_open(struct flight **out, size_t max_waiting,
    uint64_t max_held) __attribute__((warn_unused_result));
void flight_close(struct flight *f);

/* Become the one who works on key, waiting for whoever does now; held: bytes of
 * the budget of bodies that the caller keeps meanwhile. ST_OK: call
 * flight_leave(). ST_SERVICE_BUSY: too many wait already, or with too much, or
 * wait_ms is over. ST_NOMEM. */
enum status flight_enter(struct flight *f, const char *key, uint64_t wait_ms,
    uint64_t held) __attribute__((warn_unused_result));
void flight_leave(struct flight *f, const char *key);

#endif
