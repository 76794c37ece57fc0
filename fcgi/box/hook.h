/*
 * A runtime's start-up hook: what the interpreter runs, and waits in, before
 * it opens the entry file (sandbox-scripts/init_warm.c). Private to box.
 */
#ifndef HOOK_H
#define HOOK_H

#include <stddef.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/wire.h"

struct hook {
	const struct conf_runtime *runtime;
	struct buf text;
};

/* Take the hook of runtime, which must have one and outlive it. ST_OK, and
 * hook_free(); ST_FORMAT, ST_NOMEM. */
enum status hook_open(struct hook *out, const struct conf_runtime *runtime)
    __attribute__((warn_unused_result));
void hook_free(struct hook *h); /* a zeroed struct is fine */

/* The order for sandbox-init to start the interpreter up to its gate. */
void hook_order(
    struct wire_init_warm *out, const struct hook *h, const char *entry);

/* In a child inside the sandbox's mounts: lay the hook over every file that
 * hook_at matches, what stands there first. scratch is the path of a file that
 * may be made and is gone afterwards. Allocates nothing. 0 or errno. */
int hook_lay(const struct hook *h, const char *scratch);
/* Uncover them again, likewise. 0 or errno. */
int hook_lift(const struct hook *h);

#endif
