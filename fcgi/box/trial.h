/*
 * A sandbox tried for real: a program of ours run under the whole policy, by
 * the user that runs are for. What the host lacks shows here and nowhere else
 * so surely. Private to box.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"
#include "box/cgroup.h"

#define TRIAL_OUTPUT 4096

/* All borrowed. */
struct trial_ask {
	const struct conf *conf;
	const struct conf_runtime *runtime;
	const char *source; /* written to the entry file */
	uid_t uid;	    /* who runs it, and whom we become if we are root */
	gid_t gid;
	/* Run it in a group of this instance, which is prepared; NULL: in
	 * none. */
	const char *group;
	enum cgroup_kind kind;
	uint64_t memory_bytes; /* the group's limit */
};

struct trial_told {
	uint64_t ms;
	int wait_status; /* raw */
	uint64_t oom_kills;
	char output[TRIAL_OUTPUT]; /* on stdout and stderr, as a string */
};

/* In a forked child that gives up being root, within 10 s. ST_OK if the
 * program ran, however it ended; ST_REFUSED, the step that failed and what it
 * said in f. */
enum status trial_run(struct trial_told *out, const struct trial_ask *ask,
    struct fault *f) __attribute__((warn_unused_result));

/* Can uid and gid, with no other groups, open path (a folder: look into it)?
 * 0 or errno. */
int trial_reach(const char *path, uid_t uid, gid_t gid);

#endif
