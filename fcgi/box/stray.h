/*
 * bubblewrap's child waits for its monitor to let it go on. Where the monitor
 * dies just before that, because its own parent was killed, the child waits
 * for ever and nobody's death ends it (spawn.h has the other half). It has run
 * nothing yet, and need not be in a cgroup. Private to box.
 */
#ifndef STRAY_H
#define STRAY_H

#include <stddef.h>
#include <sys/types.h>

/* Kill those of user uid, whoever started them; how many there were. Those
 * whose monitor lives are left alone. bwrap is the path that it is started by.
 * Runs as root or as uid. */
size_t stray_sweep(const char *bwrap, uid_t uid);

#endif
