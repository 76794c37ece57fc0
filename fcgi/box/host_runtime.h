/* A runtime as host_check() judges it. Private to box. */
#ifndef HOST_RUNTIME_H
#define HOST_RUNTIME_H

#include <sys/types.h>

#include "base/conf.h"
#include "box/host.h"

/* Is r there, and does its hello run as uid and gid? All of *line is set. */
void host_runtime_check(struct host_line *line, const struct conf *c,
    const struct conf_runtime *r, uid_t uid, gid_t gid);

#endif
