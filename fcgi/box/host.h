/* What this host must offer for the sandbox: asked by super before it starts
 * and by `tollbox check`. */
#ifndef HOST_H
#define HOST_H

#include <stdbool.h>

#include "base/conf.h"
#include "box/cgroup.h"

struct host_line {
	const char *what; /* literal: "user namespaces" */
	bool ok;
	char text[256]; /* what was found, and the mend if it is not ok */
};

/* Judge one thing after the other, calling fn for each. True if all hold. Runs
 * as root or as the run user; makes nothing that stays. */
bool host_check(const struct conf *c,
    void (*fn)(void *ctx, const struct host_line *line), void *ctx);

/* Only whether each runtime of c runs, for settings that replace others. As
 * above. */
bool host_try_runtimes(const struct conf *c,
    void (*fn)(void *ctx, const struct host_line *line), void *ctx);

/* A word for it, and what it means for the operator. */
const char *host_mechanism_text(enum cgroup_kind kind);

/* The mechanism in force for c->memory_limit. ST_OK, or ST_REFUSED with f when
 * what is asked for is not here ("meter" must be asked for by name). */
enum status host_mechanism(enum cgroup_kind *out, const struct conf *c,
    struct fault *f) __attribute__((warn_unused_result));

#endif
