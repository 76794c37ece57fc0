/*
 * Where the groups of an instance live. v1: a folder NAME at the top of each
 * hierarchy that is needed. v2: NAME below the cgroup that the service was
 * started in (the unit's own, with Delegate=yes), and the service itself in
 * NAME/main, because in v2 only who sits inside the delegated tree may move a
 * process into a group of it (sandbox-facts.md 6). Private to cgroup.c.
 */
#ifndef PLACE_H
#define PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"
#include "box/cgroup.h"

#define PLACE_PATH 512
#define PLACE_RUN "run-" /* name of a run's group, before its number */
#define PLACE_MAIN "main"
/* v1, in the memory folder: the limit of what waits in TCP and UDP sockets. */
#define PLACE_SOCKETS "memory.kmem.tcp.limit_in_bytes"

enum place_role {
	PLACE_MEMORY,
	PLACE_PIDS,
	PLACE_CPUACCT,
	PLACE_CPU, /* weights of the runs; may be missing */
	PLACE_ROLES
};

struct place {
	enum cgroup_kind kind;
	size_t n; /* different folders */
	char dir[PLACE_ROLES][PLACE_PATH];
	size_t of[PLACE_ROLES]; /* role to index in dir; n: none */
};

/* Look up the folders of the instance (they need not be there). ST_OK;
 * ST_NOT_FOUND: this host has no such hierarchies; ST_FORMAT: no fit name;
 * ST_TOO_BIG, ST_IO. */
enum status place_find(struct place *out, enum cgroup_kind kind,
    const char *name) __attribute__((warn_unused_result));

/* v2: can this controller be switched on below the service's own cgroup? */
bool place_offers(const struct place *p, const char *controller);

/* As root: give the folders, which are there, to the run user. v2: also move
 * this process into NAME/main and switch the controllers on. v1: if sockets
 * cannot be limited, the log says so. */
enum status place_delegate(const struct place *p, uid_t uid, gid_t gid,
    struct fault *f) __attribute__((warn_unused_result));

/* v2, as root: move this process back out, so that the tree can go. */
void place_leave(const struct place *p);

#endif
