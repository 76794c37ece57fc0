/*
 * Memory, process and CPU limits of a run's whole tree by cgroup v2 or v1.
 * super (root) prepares a delegated folder; the boxer makes one group in it
 * per sandbox. The only user of the cgroup file systems.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

enum cgroup_kind {
	CGROUP_NONE,
	CGROUP_V1,
	CGROUP_V2
};

/* What this host offers: v2 when memory and pids can be enabled there, else v1
 * when memory and pids hierarchies are mounted, else none. */
enum cgroup_kind cgroup_detect(void);

/* As root: make (or clear what an earlier life left in) the folders of
 * instance name, owned by uid:gid, controllers enabled. ST_OK, or ST_IO with
 * the reason in f. */
enum status cgroup_prepare(enum cgroup_kind kind, const char *name, uid_t uid,
    gid_t gid, struct fault *f) __attribute__((warn_unused_result));
/* As root: kill what is left inside and remove the folders. */
void cgroup_remove(enum cgroup_kind kind, const char *name);

/* As root: the same for each instance whose name is stem and the number of a
 * process that is no more. */
void cgroup_sweep_dead(enum cgroup_kind kind, const char *stem);

/* As the run user: kill and remove the groups that an earlier boxer left in
 * the instance (fault 23). */
void cgroup_sweep(enum cgroup_kind kind, const char *name);

/* Most bytes that wait in a run's TCP and UDP sockets where they are not part
 * of its memory, which is in v1. With much less TCP stalls. */
#define CGROUP_SOCKET_BYTES (16ull << 20)

struct cgroup; /* one run's group */

/* As the run user: make group `id` of instance name. */
enum status cgroup_open(struct cgroup **out, enum cgroup_kind kind,
    const char *name, unsigned id) __attribute__((warn_unused_result));

/* In a child between fork and exec (async-signal-safe): move myself in. 0 or
 * -1 with errno. */
int cgroup_enter(const struct cgroup *g);

/* Set the limits; may be done with tasks inside. */
enum status cgroup_limit(struct cgroup *g, uint64_t memory_bytes,
    unsigned tasks) __attribute__((warn_unused_result));

/* Its share of the CPU where others want it too, in percent (1 to 100) of what
 * a run has at first. Good to have, no limit: where it cannot be set it is not.
 */
void cgroup_weigh(const struct cgroup *g, unsigned percent);

struct cgroup_use {
	uint64_t memory_peak;  /* bytes, everything charged */
	uint64_t memory_anon;  /* bytes now, other than files and kernel */
	uint64_t memory_shmem; /* bytes now: tmpfs, memfd, shared mappings */
	uint64_t memory_files; /* bytes now: pages of files, shmem among them */
	uint64_t memory_kernel; /* bytes now: what the kernel keeps for it */
	uint64_t cpu_us;
	uint64_t oom_kills;
	uint64_t wall_hits;	/* v2: times that its own limit was to kill */
	uint64_t tasks_refused; /* forks refused by the task limit */
};
/* What costs little of it and outlives the processes: peak, CPU, kills. The
 * rest is left alone. */
void cgroup_counters(const struct cgroup *g, struct cgroup_use *out);
/* Of that only what the folder of its memory tells, which is dir. */
void cgroup_memory(struct cgroup_use *out, enum cgroup_kind kind, int dir);
/* Of that only the CPU time. */
uint64_t cgroup_cpu_us(const struct cgroup *g);
/* ST_OK or ST_IO (file vanished). Fields the kernel lacks are 0. */
enum status cgroup_use(const struct cgroup *g, struct cgroup_use *out)
    __attribute__((warn_unused_result));

/* The processes inside, at most cap. */
size_t cgroup_pids(const struct cgroup *g, pid_t *out, size_t cap);

/* Kill every process inside (v2: cgroup.kill; v1: by its task list). */
void cgroup_kill(const struct cgroup *g);

/* Remove it; false while tasks are left (try again later). NULL is fine. */
bool cgroup_close(struct cgroup *g);

#endif
