/* What the service keeps on disk, and who may use it: the state folder and the
 * locks that let one instance run only once. */
#ifndef KEEP_H
#define KEEP_H

#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"

/* Lock the instance's name on this host (its cgroups would be taken away from
 * it by a second one). *fd keeps it, close-on-exec. ST_OK; ST_CONFLICT (it
 * runs) or ST_IO with f. */
enum status keep_name(int *fd, const char *name, struct fault *f)
    __attribute__((warn_unused_result));

/* Make the state folder for the user alone (0700) if it is not there, or take
 * over an empty one of root's, and lock it. A folder that is someone else's or
 * holds things of root's is not touched. *fd keeps the lock. ST_OK;
 * ST_CONFLICT (locked, or not fit) or ST_IO with f. */
enum status keep_state(int *fd, const char *dir, uid_t uid, gid_t gid,
    struct fault *f) __attribute__((warn_unused_result));

#endif
