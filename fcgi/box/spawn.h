/*
 * Start bubblewrap with nothing but what it was given: an explicit list of
 * descriptors, an empty environment, default signals, the run's cgroup. Must
 * be called on the thread that lives as long as the process does, because
 * --die-with-parent is tied to it (sandbox-facts.md 4). Private to box.
 */
#ifndef SPAWN_H
#define SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"
#include "box/bwrap.h"

struct cgroup;

struct spawn_child {
	pid_t pid;
	int pidfd;
};

/* Start bwrap by policy p, which is dressed, in group (NULL: none). null_fd
 * becomes its 0 and 1, log_fd its 2; both are 64 or above. ST_OK and *out,
 * pidfd the caller's, who also reaps; else ST_NOMEM, ST_IO, ST_FORMAT and
 * nothing runs. A child that cannot exec ends with status 127 and says why on
 * log_fd. */
enum status spawn_bwrap(struct spawn_child *out, const struct bwrap_policy *p,
    const struct cgroup *group, int null_fd, int log_fd)
    __attribute__((warn_unused_result));

/* The pipe for what bubblewrap tells (bwrap_policy.status): ours to read from,
 * non-blocking, and theirs, 64 or above. theirs can be read from as well, so
 * that bubblewrap whose starter is gone meets no broken pipe: it would end and
 * leave its child waiting for ever (stray.h). False, logged, with both -1 or
 * closable. */
bool spawn_status_pipe(int *ours, int *theirs)
    __attribute__((warn_unused_result));

#endif
