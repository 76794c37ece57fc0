/*
 * What one sandbox is made of: the group, bubblewrap's monitor, PID 1, the
 * descriptors between it and us; made, looked at, killed and removed here. In
 * which order and when is cell.c's. Private to box.
 */
#ifndef HULL_H
#define HULL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/limits.h"
#include "base/status.h"
#include "box/cgroup.h"
#include "box/stage.h"

struct hook;

#define HULL_EXTRA_BYTES LIMITS_EXTRA_BYTES

/* What all sandboxes of a boxer share; outlives them. */
struct hull_host {
	const struct conf *conf;
	const struct stage *stage;
	enum cgroup_kind kind;
	const char *group; /* instance name of the cgroups, unless none */
	unsigned next_id;  /* of the next group */
	int null_fd;	   /* /dev/null, 64 or above */
	int init_fd;	   /* sandbox-init, 64 or above */
};

struct hull {
	struct limits limits;
	struct cgroup *group; /* NULL: none, or removed */
	uint64_t memory_wall; /* the kernel's limit; 0: none */
	uint64_t work_bytes;  /* room in its folders; 0: none yet */
	pid_t monitor_pid;    /* bubblewrap; 0: reaped */
	int monitor;	      /* its pidfd */
	pid_t init_pid;	      /* PID 1 as this host numbers it */
	int status;	      /* bubblewrap tells that number here */
	int log;	      /* memfd, bubblewrap's stderr */
};

/* Start bubblewrap. *control is our end of the control socket; pipes[0] the
 * write end of the program's stdin, [1] and [2] the read ends of its stdout
 * and stderr; all the caller's, the pipes non-blocking. ST_OK; else logged and
 * nothing is left: ST_IO, ST_NOMEM, ST_FORMAT. */
enum status hull_start(struct hull *h, int *control, int pipes[3],
    struct hull_host *host, const struct conf_runtime *runtime,
    const char *entry, const struct limits *limits)
    __attribute__((warn_unused_result));

/* After WIRE_INIT_READY: find PID 1. Its pidfd (the caller's), or -1. */
int hull_hold_init(struct hull *h);
/* Then give it the writable folders, and for a warm start the hook (NULL: for
 * a cold one). ST_OK, ST_CLOSED, ST_IO. */
enum status hull_furnish(struct hull *h, int init, const struct hook *hook)
    __attribute__((warn_unused_result));
/* Take the hook away again. */
enum status hull_lift(const struct hull *h, int init, const struct hook *hook)
    __attribute__((warn_unused_result));

/* Other limits from now on, before the job's program runs. */
enum status hull_limit(struct hull *h, int init, const struct limits *limits)
    __attribute__((warn_unused_result));
/* As cgroup_weigh(); without a cgroup nothing. */
void hull_weigh(const struct hull *h, unsigned percent);

struct hull_use {
	uint64_t memory; /* bytes now, other than files; 0: cannot be told */
	uint64_t others; /* bytes charged now beside memory: files, what the
			  * kernel keeps of the host's files and for itself; 0
			  * likewise, or by the meter */
	uint64_t cpu_us;
	/* Of the cgroup, which stay when the processes are gone; 0: none. */
	uint64_t memory_peak;
	uint64_t oom_kills;
	uint64_t wall_hits;
};
/* init is PID 1's pidfd; memory can be told only while it lives. ST_OK; or the
 * meter's or cgroup's failure. */
enum status hull_use(struct hull_use *out, const struct hull *h, int init)
    __attribute__((warn_unused_result));

/* Only the CPU time. False: it cannot be told so cheaply. */
bool hull_cpu_us(uint64_t *out, const struct hull *h);
/* Only the counters, which outlive the processes; memory stays 0. False: there
 * are none. */
bool hull_counters(struct hull_use *out, const struct hull *h);

/* Does nothing of the program's run any more, that is, is there nothing but
 * bubblewrap, PID 1 and at most one process that is past its last instruction?
 * False where that cannot be told. The first time it waits a moment for the
 * latter. */
bool hull_alone(const struct hull *h, bool first);

/* SIGKILL all there is; init is PID 1's pidfd or -1. */
void hull_kill(const struct hull *h, int init);
/* The boxer has reaped pid: is it this one's monitor? */
bool hull_reaped(struct hull *h, pid_t pid);
/* Write what bubblewrap and sandbox-init said on stderr to the log. */
void hull_tell(const struct hull *h);
/* Remove the group; false while it has tasks. */
bool hull_remove(struct hull *h);
/* Close the descriptors. */
void hull_close(struct hull *h);

#endif
