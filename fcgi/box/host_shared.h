/* What the kernel counts for each user of the host, and so for all runs
 * together. Private to box. */
#ifndef HOST_SHARED_H
#define HOST_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "box/cgroup.h"
#include "box/host.h"

/* The number in a file of /proc/sys, or other if there is none. */
long host_shared_number(const char *path, long other);

/* Can one program use up what the others need? Only advice, so never a failure:
 * what to set, where the memory that it takes is each run's own (kind is not
 * CGROUP_NONE). All of *line is set. */
void host_shared_tell(struct host_line *line, enum cgroup_kind kind);

/* Likewise what waits in their TCP and UDP sockets, where all runs together
 * have memory_bytes. False, and *line is not set: in v1 each has a bound of its
 * own, and without a group it would be of no use. */
bool host_shared_sockets(
    struct host_line *line, enum cgroup_kind kind, uint64_t memory_bytes);

#endif
