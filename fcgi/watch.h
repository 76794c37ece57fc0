/* The supervisor's loop: the gate and the boxer started, started again when
 * they end, and drained. */
#ifndef WATCH_H
#define WATCH_H

#include <sys/types.h>

#include "base/status.h"
#include "box/cgroup.h"
#include "front.h"
#include "renew.h"

/* All borrowed. Descriptors are >= 64 (io_move_high()) and close-on-exec. */
struct watch_with {
	struct renew *settings;
	struct front *front; /* closed as soon as a drain begins */
	enum cgroup_kind kind;
	uid_t gate_uid;
	gid_t gate_gid;
	uid_t boxer_uid;
	gid_t boxer_gid;
	int exe;     /* this program */
	int init;    /* sandbox-init */
	int life;    /* read end of the pipe that ends with this process */
	int signals; /* signalfd of TERM, INT, HUP and CHLD, non-blocking */
	char *const *gate_environment; /* all that they get */
	char *const *boxer_environment;
};

/* Serve until SIGTERM or SIGINT have been seen and both children are gone. At
 * SIGHUP the settings are read again: if they are sound, the children finish
 * what they have and are started anew with them, while requests wait.
 * Says "tollbox ready" when the gate accepts. ST_OK, or ST_IO when a child
 * ended before that. */
enum status watch_run(const struct watch_with *with)
    __attribute__((warn_unused_result));

#endif
