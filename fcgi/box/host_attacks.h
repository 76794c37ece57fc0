/*
 * The quick attack suite: a program that tries, from inside a sandbox of the
 * real policy, what must not succeed there. The full one is tests/escape.
 * Private to box.
 */
#ifndef HOST_ATTACKS_H
#define HOST_ATTACKS_H

#include <sys/types.h>

#include "base/conf.h"
#include "box/host.h"

/* Try all as uid and gid; fn is called for each with what came of it. */
void host_attacks_try(const struct conf *c, uid_t uid, gid_t gid,
    void (*fn)(void *ctx, const struct host_line *line), void *ctx);

#endif
