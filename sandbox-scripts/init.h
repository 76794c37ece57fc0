/*
 * sandbox-init: PID 1 of one sandbox and one job. Static, links only libc and
 * base/wire.c. It runs none of the caller's code itself, but the program has
 * its uid; what that cannot do to it stands in init.c.
 */
#ifndef INIT_H
#define INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "base/wire.h"

/* The descriptors that it was given, in the order of the arguments. */
enum {
	INIT_CONTROL = 3,
	INIT_IN,
	INIT_OUT,
	INIT_ERR,
	INIT_FILTER,
	INIT_FD_END
};

/* What went wrong and in which step (a literal of ours). */
struct init_trouble {
	int error; /* errno */
	const char *step;
};

/* Record errno's value and the step; gives false. */
bool init_trouble(struct init_trouble *t, const char *step, int error);

/* Monotonic, as io_now_us() of the boxer reads it. */
uint64_t init_now_us(void);

/* The job image; len 0: none. */
struct init_image {
	const uint8_t *at;
	size_t len;
};

/* ---- init_seal.c: what PID 1 itself may not do ---- */

/* Before anything else. The program inherits it. */
bool init_seal(struct init_trouble *t);

/* ---- init_control.c: the socket to the boxer ---- */

union init_order {
	uint32_t type; /* WIRE_INIT_WARM or WIRE_INIT_JOB */
	struct wire_init_warm warm;
	struct wire_init_job job;
};

void init_control_tell(const void *message, size_t len);
void init_control_tell_simple(enum wire_type type);
void init_control_tell_failed(const struct init_trouble *t);

/* Receive one order, *fd being what came with it or -1, also where it is
 * refused. False with t: ECONNRESET if the boxer let go, EBADMSG for what is no
 * order, or has more than one descriptor. */
bool init_control_receive(union init_order *m, int *fd, struct init_trouble *t);

/* Send a message with a descriptor, which stays the caller's. */
void init_control_hand(const void *message, size_t len, int fd);

/* Map the job image; fd is closed if that could be done. */
bool init_control_map(
    struct init_image *out, int fd, uint64_t len, struct init_trouble *t);

/* ---- init_files.c ---- */

/* Write every file of the image below /box, which must be the working
 * directory, with its folders. made: a file that is there already, empty, and
 * stays the same inode; or NULL. False with t: ENOSPC or EDQUOT if they do not
 * fit. */
bool init_files_write(
    const struct init_image *image, const char *made, struct init_trouble *t);

/* Has /box, or /tmp, which is of the same file system, no room left for a byte
 * or a file? */
bool init_files_full(void);

/* ---- init_start.c ---- */

struct init_program {
	char *const *command; /* what image's arguments are appended to */
	const char *extra;    /* one more NAME=value, or NULL */
	/* Its ends of the gate, put at WIRE_GATE_GO and WIRE_GATE_READY; -1:
	 * none. */
	int go;
	int ready;
	int value; /* put at WIRE_GATE_VALUE; -1: none */
	/* The job's; NULL before there is one: then init_start_limit() follows
	 * later. */
	const struct wire_init_job *job;
};

/* Read the seccomp filter, before any code of the caller's runs. */
bool init_start_filter(int fd, struct init_trouble *t);

/* Start the program with the arguments and variables of the image, INIT_IN,
 * _OUT and _ERR as its 0, 1 and 2, which are closed here. Gives its pid once
 * it is executing, *started_us being when it was released; or -1 with t, and
 * nothing runs. */
pid_t init_start(const struct init_program *p, const struct init_image *image,
    uint64_t *started_us, struct init_trouble *t);

/* Put the job's own limits on what was started before it; it has used cpu_us
 * of time so far. */
bool init_start_limit(pid_t pid, const struct wire_init_job *job,
    uint64_t cpu_us, struct init_trouble *t);

/* ---- init_warm.c: the interpreter at its gate ---- */

struct init_warm {
	pid_t pid;	 /* of the interpreter; 0: a cold start */
	int ready;	 /* readable when it waits */
	int go;		 /* a byte written lets it go */
	int value;	 /* memfd that a helper writes to; -1: none */
	uint64_t cpu_us; /* what it has used up to there */
	struct wire_init_warm order;
};

/* Start it as ordered. False with t, and nothing runs. */
bool init_warm_start(struct init_warm *w, const struct wire_init_warm *order,
    char *const *command, struct init_trouble *t);

/* Once w->ready is readable: take note of where it stands, and take away what
 * it needed to get there. */
bool init_warm_arrived(struct init_warm *w, struct init_trouble *t);

/* Let it go; gives the time of it. A job with a helper has that run first. */
uint64_t init_warm_release(struct init_warm *w, const struct init_image *image,
    const struct wire_init_job *job);

/* ---- init_collect.c: what the job asked for beside its output ---- */

/* Before the program starts. */
bool init_collect_prepare(uint32_t flags, struct init_trouble *t);

/* Once no process is left: gather it and send it. Bounded in time, whatever
 * lies in the work folder. */
void init_collect(
    const struct wire_init_job *asked, const struct init_image *job, int value);

/* ---- init_watch.c: what the program tries ---- */

struct sock_fprog;

/* Before the program's start. */
bool init_watch_prepare(struct init_trouble *t);

/* In the child: install the filter, after which this process is asked about
 * some calls. */
bool init_watch_enter(const struct sock_fprog *filter, struct init_trouble *t);

/* In PID 1, once the child executes: take over what it is asked by. */
void init_watch_take(void);

/* To be polled for input; -1: nobody will ask (any more). */
int init_watch_fd(void);

/* poll() saw these events: answer one of those who wait. Only one, so that a
 * flood of questions hides nothing else that is polled. */
void init_watch_serve(short events);

/* Whatever was seen so far was not the job's doing. */
void init_watch_forget(void);
void init_watch_seen(struct wire_seen *out);

/* ---- init_end.c: the main process's last call ---- */

struct init_end {
	bool noted;
	int wait_status; /* as wait(2) will give it */
	uint64_t at_us;
	uint64_t cpu_us;	/* of the main process alone */
	uint64_t max_rss_bytes; /* likewise, if it is wanted */
};

/* From now on this is the main process. */
void init_end_watch(pid_t pid, bool peak);
/* The thread tid calls exit_group(code). */
void init_end_note(pid_t tid, uint64_t code);
/* The main process is past its last instruction; NULL: not noted. */
const struct init_end *init_end(void);

/* CPU time that a process has used so far. */
uint64_t init_end_cpu_us(pid_t pid);

#endif
