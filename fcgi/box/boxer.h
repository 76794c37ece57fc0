/* The boxer process: holds the sandboxes, enforces limits, pumps output. */
#ifndef BOXER_H
#define BOXER_H

#include "base/conf.h"
#include "base/status.h"

/* Descriptors that super hands over. All taken. */
struct boxer_fds {
	int gate;	 /* SEQPACKET pair to the gate */
	int life;	 /* read end: EOF means super is gone, so stop */
	int init_binary; /* O_RDONLY descriptor of the static sandbox-init */
};

/* Serve until SIGTERM or SIGINT (no new reservation, running ones end) or
 * until gate or life ends (all are killed), then return ST_OK; else ST_REFUSED,
 * ST_IO, ST_NOMEM and it did not start. Runs as the run user, already without
 * privileges, on the process's first thread. cgroup_root is the delegated
 * folder super made (cgroup_prepare() with c->name), NULL for none. */
enum status boxer_serve(const struct conf *c, const struct boxer_fds *fds,
    const char *cgroup_root) __attribute__((warn_unused_result));

#endif
