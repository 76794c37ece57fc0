/*
 * The writable tree of a sandbox: one tmpfs for /box, /tmp and /dev/shm
 * together, so that workDirBytes and the number of inodes (which bubblewrap
 * cannot set) bound their sum, and the run's memory limit is exactly memory +
 * work + a constant.
 *
 * It is mounted from outside: whoever's uid made a user namespace has every
 * capability in it, so a forked child enters the mount namespace of the
 * sandbox, mounts and is gone. No code of a caller's runs in there yet, and
 * bubblewrap's own walls stay as they are. On the way it bounds what the
 * sandbox can take of the host's inotify.
 */
#ifndef WORK_H
#define WORK_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct hook;

/* Mount the tree into the sandbox whose PID 1 is init (host pid), after its
 * WIRE_INIT_READY and before the job. pidfd is of the same process and tells
 * that the number was not used again. Forks and waits (under 1 ms; never more
 * than 2 s). ST_OK; ST_CLOSED: the sandbox is gone; ST_IO: refused, errno
 * logged. */
enum status work_mount(pid_t init, int pidfd, uint64_t work_bytes)
    __attribute__((warn_unused_result));

/* For a warm start: the same, and lay the hook where the interpreter finds it
 * (hook.h). */
enum status work_mount_hook(pid_t init, int pidfd, uint64_t work_bytes,
    const struct hook *hook) __attribute__((warn_unused_result));
/* Before the job comes: take the hook away again. */
enum status work_lift_hook(pid_t init, int pidfd, const struct hook *hook)
    __attribute__((warn_unused_result));
/* Make the tree, which is there already, larger or smaller. */
enum status work_resize(pid_t init, int pidfd, uint64_t work_bytes)
    __attribute__((warn_unused_result));

#endif
