/*
 * The policy of a sandbox as bubblewrap's arguments (sandbox-facts.md 5).
 * Pure: looks at nothing of the host, opens nothing.
 *
 * How one sandbox is started, by whoever plays boxer:
 *  1. stage_dress() fills in what all sandboxes share (stage.h).
 *  2. fork; in the child: /dev/null as 0, 1, 2 (or an own log as 2),
 *     FD_CLOEXEC off for every number of bwrap_fds() and on for all others,
 *     execve(policy.bwrap, bwrap_argv(), an EMPTY environment).
 *  3. sandbox-init says WIRE_INIT_READY.
 *  4. work_mount() gives the sandbox its writable folders (work.h). Without
 *     them /box is read-only and the job fails, so it cannot be forgotten.
 *  5. WIRE_INIT_JOB.
 */
#ifndef BWRAP_H
#define BWRAP_H

#include <stddef.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/status.h"

/* Files of /etc that are made of nothing of the host's. */
enum bwrap_etc {
	BWRAP_ETC_PASSWD,
	BWRAP_ETC_GROUP,
	BWRAP_ETC_HOSTS,
	BWRAP_ETC_NSSWITCH,
	BWRAP_ETC_MAX
};

/* Layers that the escape tests take away one at a time, to see that the next
 * one holds. Nothing else sets them. */
enum bwrap_layer {
	BWRAP_LAYER_FILTER = 1,	 /* the program runs without seccomp filter */
	BWRAP_LAYER_USERNS = 2,	 /* no --disable-userns */
	BWRAP_LAYER_REMOUNT = 4, /* no --remount-ro */
};

/* All borrowed. Descriptors are BWRAP_FD_MIN or above (io_move_high()), so
 * that none can collide with a number that a child is given. */
#define BWRAP_FD_MIN 64
struct root;

struct bwrap_policy {
	const char *bwrap; /* path of bubblewrap, argv[0] */
	const struct conf_runtime *runtime;
	const char *entry;  /* runtime->entry or entry_module */
	unsigned leave_out; /* of enum bwrap_layer; 0 but in escape tests */

	int init;    /* O_RDONLY descriptor of the static sandbox-init */
	int control; /* the sandbox's end of the SEQPACKET control socket */
	int in;	     /* the program's ends of its three pipes */
	int out;
	int err;
	int status; /* --json-status-fd, -1: none */

	/* Filled in by stage_dress(). */
	char *const *binds;	/* further read-only paths, or NULL */
	int filter;		/* the BPF program */
	int etc[BWRAP_ETC_MAX]; /* texts of bwrap_etc_text(), at offset 0 */
	int args;		/* what bwrap_args() makes, at offset 0 */
	/* Of the runtime's rootfs, with which binds begin then; or NULL. */
	const struct root *root;
};

/* Append the options, each with its NUL, as `--args FD` reads them. ST_OK;
 * ST_FORMAT for a bind that is no plain absolute path or a descriptor below
 * BWRAP_FD_MIN; or the status of out. */
enum status bwrap_args(struct buf *out, const struct bwrap_policy *p)
    __attribute__((warn_unused_result));

/* The whole argv: bwrap --args FD -- /proc/self/fd/INIT CONTROL IN OUT ERR
 * FILTER COMMAND... (FILTER is "-" without the layer). NULL-terminated, one
 * block for free(3). ST_OK, ST_FORMAT (as above), ST_NOMEM. */
enum status bwrap_argv(char ***out, const struct bwrap_policy *p)
    __attribute__((warn_unused_result));

/* The descriptors that bwrap must inherit. Gives their number. */
#define BWRAP_FDS (8 + BWRAP_ETC_MAX)
size_t bwrap_fds(int out[BWRAP_FDS], const struct bwrap_policy *p);

/* "/etc/passwd", and what stands in it. Literals. */
const char *bwrap_etc_path(enum bwrap_etc e);
const char *bwrap_etc_text(enum bwrap_etc e);

#endif
