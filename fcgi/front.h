/* The daemon's listening sockets. */
#ifndef FRONT_H
#define FRONT_H

#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"

struct front {
	int unix_fd;
	int tcp_fd; /* -1: none asked for */
	char *path; /* of the unix socket, to be unlinked; owned */
	dev_t dev;  /* and which file that is */
	ino_t ino;
};

/* Listen where c says, the unix socket for root and group gid only. A socket
 * that nobody listens on any more is replaced; one that is alive is not. ST_OK;
 * ST_CONFLICT (alive, or no socket) or ST_IO with f, *out then holds nothing.
 * Sockets are close-on-exec. */
enum status front_open(struct front *out, const struct conf *c, gid_t gid,
    struct fault *f) __attribute__((warn_unused_result));

/* Stop listening (so far as no other process does), and unlink the path if it
 * is still ours. May be called twice. */
void front_close(struct front *s);

#endif
