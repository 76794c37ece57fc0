/*
 * Sandboxes started ahead, each with its interpreter waiting at its gate for a
 * job (cell.h). One shelf for each runtime and entry file. Taken, they are
 * somebody else's; none comes back once a job was in it. Private to box.
 *
 * A shelf keeps one sandbox, more while jobs come faster than they are
 * replaced, at most as many as its runtime's `pool`, all of them within
 * pool_bytes. At most as many start at a time as the host has cores, and they
 * make way for what runs.
 */
#ifndef POOL_H
#define POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"
#include "box/cell.h"

struct pool;

/* loop and host outlive it. ST_OK; ST_NOMEM; ST_FORMAT (a hook that is none,
 * logged). */
enum status pool_open(struct pool **out, struct loop *l, struct hull_host *host)
    __attribute__((warn_unused_result));
/* Forget all, closed or not. NULL is fine. */
void pool_close(struct pool *p);

/* Descriptors that the pools of c need at most. */
uint64_t pool_fds(const struct conf *c);

/* A sandbox that waits for a job or will soon (cell_waits()); with its pipes
 * the caller's, who calls cell_hand_over() next. NULL: there is none. */
struct cell *pool_take(struct pool *p, int pipes[3],
    const struct conf_runtime *runtime, const char *entry);
/* Back on the shelf: c waits and no job was loaded. True: c and pipes are
 * taken. */
bool pool_put(struct pool *p, struct cell *c, const int pipes[3],
    const struct conf_runtime *runtime, const char *entry);

/* Free what died and start what is missing. Only between two turns of the
 * loop; call it after each. */
void pool_tend(struct pool *p);

/* From now on none is started; all there are die. */
void pool_stop(struct pool *p);
/* After that: nothing is left, but for what will not die. */
bool pool_gone(const struct pool *p);

/* The boxer has reaped pid. True if it was one of the pool's. */
bool pool_reaped(struct pool *p, pid_t pid);

/* The hook that its sandboxes start with; lent; NULL: there is none. */
const struct hook *pool_hook(
    struct pool *p, const struct conf_runtime *runtime, const char *entry);

struct pool_count {
	uint32_t warm;
	uint32_t starting;
	uint32_t lost; /* will not die */
};
/* Of one runtime, or (NULL) of all. */
struct pool_count pool_count(
    const struct pool *p, const struct conf_runtime *runtime);

#endif
