/* One of super's two children: how it is started, and how long to wait before
 * it is started again. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"

struct child {
	const char *role; /* of role.h */
	enum conf_role knows;
	uid_t uid; /* whom it becomes */
	gid_t gid;
	pid_t pid; /* 0: does not run */
	int64_t started_ms;
	int64_t delay_ms; /* before the start after the next end */
	int64_t start_ms; /* not before this time */
};

/* Descriptor `from` is number `to` in the child; from >= 64, to <= 9, in
 * rising order without a gap from ROLE_FD_LIFE on. */
struct child_fd {
	int from;
	int to;
};

/* Start it: fork, then execute the program exe (a descriptor) anew as root
 * with the settings it may know, the n descriptors and the environment, and
 * nothing else. ST_OK, ST_IO (logged), ST_NOMEM. */
enum status child_start(struct child *ch, int exe, const struct conf *c,
    const struct child_fd *fds, size_t n, char *const *environment)
    __attribute__((warn_unused_result));

/* It ended on its own: log how, and set start_ms: at once the first time, then
 * after 100 ms, doubling up to 5 s, until it has lived for a minute. */
void child_ended(struct child *ch, int wait_status);

/* It was ended on purpose. */
void child_stopped(struct child *ch);

/* Send a signal if it runs. */
void child_signal(const struct child *ch, int sig);

#endif
