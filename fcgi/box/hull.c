#include "box/hull.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/meter.h"
#include "box/process.h"
#include "box/spawn.h"
#include "box/work.h"

/* Stale groups that are stepped over before it is an error. */
#define ID_TRIES 64
/* bubblewrap's monitor and PID 1 beside what the user namespace counts. */
#define EXTRA_TASKS 4
/* PF_EXITING of linux/sched.h, in every kernel there is. */
#define EXITING 0x4ul
/* How long a killed process takes to notice, if it gets a processor. */
#define SOON_US 200
/* bubblewrap, PID 1, and the main process. */
#define ALONE_MOST 3

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- the start ---- */

/* The sandbox's side of what connects it. */
struct ends {
	int control;
	int in;
	int out;
	int err;
	int status;
};

static void
close_ends(struct ends *e)
{
	close_fd(&e->control);
	close_fd(&e->in);
	close_fd(&e->out);
	close_fd(&e->err);
	close_fd(&e->status);
}

/* A pipe whose end in the sandbox has a high number; ours does not block. */
static bool
make_pipe(int *ours, int *theirs, bool we_write)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0) {
		log_err("pipe2: %s", strerror(errno));
		return false;
	}
	*ours = p[we_write ? 1 : 0];
	*theirs = io_move_high(p[we_write ? 0 : 1]);
	return *theirs >= 0 && io_nonblock(*ours) == ST_OK;
}

static bool
make_control(int *ours, int *theirs)
{
	int s[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) < 0) {
		log_err("socketpair: %s", strerror(errno));
		return false;
	}
	*ours = s[0];
	*theirs = io_move_high(s[1]);
	return *theirs >= 0;
}

static enum status
set_limits(struct hull *h)
{
	h->memory_wall =
	    h->limits.memory_bytes + h->limits.work_bytes + HULL_EXTRA_BYTES;
	return cgroup_limit(
	    h->group, h->memory_wall, LIMITS_TASKS + EXTRA_TASKS);
}

static bool
make_group(struct hull *h, struct hull_host *host)
{
	enum status st = ST_CONFLICT;

	if (host->kind == CGROUP_NONE)
		return true;
	/* Numbers of groups that would not go are stepped over. */
	for (int i = 0; i < ID_TRIES && st == ST_CONFLICT; i++)
		st = cgroup_open(
		    &h->group, host->kind, host->group, host->next_id++);
	if (st != ST_OK) {
		log_err("no cgroup for a run: %s", status_name(st));
		return false;
	}
	return set_limits(h) == ST_OK;
}

static bool
make_connections(struct hull *h, struct ends *e, int *control, int pipes[3])
{
	h->log = io_move_high(memfd_create("sandbox-log", MFD_CLOEXEC));
	return h->log >= 0 && make_control(control, &e->control) &&
	       make_pipe(&pipes[0], &e->in, true) &&
	       make_pipe(&pipes[1], &e->out, false) &&
	       make_pipe(&pipes[2], &e->err, false) &&
	       spawn_status_pipe(&h->status, &e->status);
}

static enum status
launch(struct hull *h, const struct hull_host *host,
    const struct conf_runtime *runtime, const char *entry, const struct ends *e)
{
	struct bwrap_policy p = { .bwrap = host->conf->bwrap,
		.runtime = runtime,
		.entry = entry,
		.init = host->init_fd,
		.control = e->control,
		.in = e->in,
		.out = e->out,
		.err = e->err,
		.status = e->status };
	struct spawn_child child;
	enum status st = ST_BUG;

	st = stage_dress(&p, host->stage);
	if (st != ST_OK)
		return st;
	st = spawn_bwrap(&child, &p, h->group, host->null_fd, h->log);
	stage_undress(&p);
	if (st != ST_OK)
		return st;
	h->monitor_pid = child.pid;
	h->monitor = child.pidfd;
	return ST_OK;
}

enum status
hull_start(struct hull *h, int *control, int pipes[3], struct hull_host *host,
    const struct conf_runtime *runtime, const char *entry,
    const struct limits *limits)
{
	struct ends e = { -1, -1, -1, -1, -1 };
	enum status st = ST_IO;

	memset(h, 0, sizeof(*h));
	h->limits = *limits;
	h->monitor = h->status = h->log = -1;
	*control = pipes[0] = pipes[1] = pipes[2] = -1;
	if (make_group(h, host) && make_connections(h, &e, control, pipes))
		st = launch(h, host, runtime, entry, &e);
	close_ends(&e);
	if (st == ST_OK)
		return ST_OK;
	close_fd(control);
	for (int i = 0; i < 3; i++)
		close_fd(&pipes[i]);
	(void)hull_remove(h);
	hull_close(h);
	return st;
}

/* ---- PID 1 ---- */

/* PID 1's number as bubblewrap tells it; 0: nothing fit. */
static pid_t
told_pid(const struct hull *h)
{
	static const char key[] = "\"child-pid\":";
	char text[512], *at;
	ssize_t n = read(h->status, text, sizeof(text) - 1);
	long pid;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, key);
	if (at == NULL)
		return 0;
	pid = strtol(at + sizeof(key) - 1, NULL, 10);
	return pid > 1 && pid <= INT32_MAX ? (pid_t)pid : 0;
}

/* Is pid a child of parent? A number may have been used again; a child of a
 * parent that was not reaped yet is no stranger. */
static bool
is_child(pid_t pid, pid_t parent)
{
	struct process p;

	return process_look(&p, pid) == ST_OK && p.parent == parent;
}

int
hull_hold_init(struct hull *h)
{
	OWN_FD int fd = -1;

	h->init_pid = told_pid(h);
	if (h->init_pid == 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, h->init_pid, 0);
	if (fd < 0 || !is_child(h->init_pid, h->monitor_pid))
		return -1;
	close_fd(&h->status);
	return own_steal_fd(&fd);
}

enum status
hull_furnish(struct hull *h, int init, const struct hook *hook)
{
	h->work_bytes = h->limits.work_bytes;
	return work_mount_hook(h->init_pid, init, h->work_bytes, hook);
}

enum status
hull_lift(const struct hull *h, int init, const struct hook *hook)
{
	return work_lift_hook(h->init_pid, init, hook);
}

enum status
hull_limit(struct hull *h, int init, const struct limits *limits)
{
	bool same = h->limits.memory_bytes == limits->memory_bytes &&
		    h->limits.work_bytes == limits->work_bytes;
	enum status st = ST_OK;

	h->limits = *limits;
	if (same)
		return ST_OK;
	if (h->group != NULL)
		st = set_limits(h);
	if (st == ST_OK && h->work_bytes != 0 &&
	    h->work_bytes != limits->work_bytes) {
		h->work_bytes = limits->work_bytes;
		st = work_resize(h->init_pid, init, h->work_bytes);
	}
	return st;
}

void
hull_weigh(const struct hull *h, unsigned percent)
{
	if (h->group != NULL)
		cgroup_weigh(h->group, percent);
}

/* ---- what it uses ---- */

/* Bytes in the files of the run, which are not held against it. Asked by path:
 * a descriptor held open would make freeing a gigabyte of files the boxer's
 * work when the sandbox goes first. */
static bool
file_bytes(uint64_t *out, const struct hull *h)
{
	char path[64];
	struct statfs s;

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/root/box", (int)h->init_pid);
	if (statfs(path, &s) < 0 || s.f_bsize <= 0 || s.f_blocks < s.f_bfree)
		return false;
	*out = (s.f_blocks - s.f_bfree) * (uint64_t)s.f_bsize;
	return true;
}

static enum status
use_by_meter(struct hull_use *out, const struct hull *h)
{
	struct meter_use m;
	enum status st = ST_BUG;

	st = meter_use(&m, h->init_pid, h->limits.memory_bytes);
	out->memory = m.memory;
	out->cpu_us = m.cpu_us;
	return st;
}

static enum status
use_by_group(struct hull_use *out, const struct hull *h)
{
	struct cgroup_use u;
	enum status st = ST_BUG;
	uint64_t before, after;
	bool known;

	/* Files that come or go between two looks must not count as memory of
	 * the program, so look before and after. */
	known = file_bytes(&before, h);
	st = cgroup_use(h->group, &u);
	if (st != ST_OK)
		return st;
	out->cpu_us = u.cpu_us;
	out->memory_peak = u.memory_peak;
	out->oom_kills = u.oom_kills;
	out->wall_hits = u.wall_hits;
	if (!known || !file_bytes(&after, h))
		return ST_OK;
	if (after < before)
		after = before;
	/* Not all that is charged less the program's: what it has just given
	 * back is no longer in the figures, but charged for a while yet (tens
	 * of MiB seen). */
	out->memory = u.memory_anon;
	out->others = u.memory_files + u.memory_kernel;
	if (u.memory_shmem > after) {
		out->memory += u.memory_shmem - after;
		out->others -= out->others < u.memory_shmem - after
				   ? out->others
				   : u.memory_shmem - after;
	}
	return ST_OK;
}

bool
hull_cpu_us(uint64_t *out, const struct hull *h)
{
	if (h->group == NULL)
		return false;
	*out = cgroup_cpu_us(h->group);
	return true;
}

bool
hull_counters(struct hull_use *out, const struct hull *h)
{
	struct cgroup_use u = { 0 };

	memset(out, 0, sizeof(*out));
	if (h->group == NULL)
		return false;
	cgroup_counters(h->group, &u);
	out->cpu_us = u.cpu_us;
	out->memory_peak = u.memory_peak;
	out->oom_kills = u.oom_kills;
	out->wall_hits = u.wall_hits;
	return true;
}

/* Is its only thread on its way out for good? Field 9 of its stat are flags,
 * field 20 is the number of threads. SIGKILL that waits for it is not enough:
 * it may be in the middle of a system call, which it finishes. */
static bool
exiting(pid_t pid)
{
	char path[64], text[1024], *p;
	unsigned long value[21] = { 0 };
	OWN_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return true; /* it went while we looked */
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int i = 3; p != NULL && i <= 20; i++) {
		p = strchr(p, ' ');
		value[i] = p == NULL ? 0 : strtoul(++p, NULL, 10);
	}
	return p != NULL && value[20] <= 1 && (value[9] & EXITING) != 0;
}

/* The same, and if it is not, in a moment? It has been killed just now, and a
 * timer of the loop's would take far longer. */
static bool
exiting_by(pid_t pid, int64_t until_us)
{
	bool yes = exiting(pid);

	while (!yes && io_now_us() < until_us) {
		(void)sched_yield();
		yes = exiting(pid);
	}
	return yes;
}

bool
hull_alone(const struct hull *h, bool first)
{
	pid_t pids[ALONE_MOST + 1];
	int64_t until_us;
	size_t n;

	/* Without the monitor PID 1 may be going too, and who is who? */
	if (h->group == NULL || h->monitor_pid == 0)
		return false;
	n = cgroup_pids(h->group, pids, ALONE_MOST + 1);
	if (n == 0 || n > ALONE_MOST)
		return false;
	until_us = first ? io_now_us() + SOON_US : 0;
	for (size_t i = 0; i < n; i++) {
		if (pids[i] != h->monitor_pid && pids[i] != h->init_pid &&
		    !exiting_by(pids[i], until_us))
			return false;
	}
	return true;
}

enum status
hull_use(struct hull_use *out, const struct hull *h, int init)
{
	enum status st = ST_BUG;

	memset(out, 0, sizeof(*out));
	st = h->group == NULL ? use_by_meter(out, h) : use_by_group(out, h);
	/* PID 1's number may be another's. */
	if (!io_alive(init))
		out->memory = out->others = 0;
	return st;
}

/* ---- the end ---- */

static void
send_kill(int pidfd)
{
	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

void
hull_kill(const struct hull *h, int init)
{
	/* All three, since each may fail where another does not. */
	send_kill(init);
	send_kill(h->monitor);
	if (h->group != NULL)
		cgroup_kill(h->group);
}

bool
hull_reaped(struct hull *h, pid_t pid)
{
	if (h->monitor_pid != pid)
		return false;
	h->monitor_pid = 0;
	close_fd(&h->monitor);
	return true;
}

void
hull_tell(const struct hull *h)
{
	char text[512];
	ssize_t n = pread(h->log, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return;
	if (text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	log_warn("sandbox said: %s", text);
}

bool
hull_remove(struct hull *h)
{
	if (!cgroup_close(h->group))
		return false;
	h->group = NULL;
	return true;
}

void
hull_close(struct hull *h)
{
	close_fd(&h->monitor);
	close_fd(&h->status);
	close_fd(&h->log);
}
