#include "box/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "base/wire.h"
#include "box/meter.h"
#include "box/spawn.h"
#include "box/work.h"

/* Longest stay in a state, and the rhythm of the meter. */
#define BOOT_MS 10000
#define LOAD_MS 20000
#define ASK_MS 250  /* for sandbox-init's report, and then for its exit */
#define DIE_MS 2000 /* from SIGKILL until it counts as lost */
#define METER_MS 25
#define SWEEP_FIRST_MS 1
#define SWEEP_MOST_MS 500

/* Stale groups that are stepped over before it is an error. */
#define ID_TRIES 64
/* bubblewrap's monitor and PID 1 beside what the user namespace counts. */
#define EXTRA_TASKS 4

enum cell_state {
	CELL_BOOTING, /* until sandbox-init says READY */
	CELL_READY,   /* waits for a job */
	CELL_LOADING, /* writes the job's files */
	CELL_RUNNING,
	CELL_ENDING, /* was asked to end, or has reported: PID 1 shall go */
	CELL_DYING,  /* was killed */
	CELL_GONE    /* all processes gone, or given up on (lost) */
};

struct cell {
	struct cell_host *host;
	struct cell_hooks hooks;
	struct limits limits;
	enum cell_state state;
	struct loop_timer wait; /* longest stay in this state */
	struct loop_timer meter;
	struct loop_timer sweep; /* what is left to remove */
	int64_t sweep_ms;

	struct cgroup *group;
	struct loop_watch control; /* to sandbox-init */
	struct loop_watch init;	   /* pidfd of PID 1; -1: not known yet */
	pid_t init_pid;
	pid_t monitor_pid; /* bubblewrap; 0: reaped */
	int monitor;	   /* its pidfd */
	int status;	   /* bubblewrap tells PID 1's number here */
	int log;	   /* memfd, its stderr */
	int files;	   /* the tmpfs of /box, /tmp and /dev/shm */
	bool lost;

	int64_t opened_us;
	int64_t released_us;
	uint64_t first_cpu_us; /* used before the release */
	uint64_t first_memory;
	enum status failed;
	struct verdict_evidence ev;
};

static void kill_all(struct cell *c);
static void on_control(void *ctx, uint32_t events);

static void
set_wait(struct cell *c, int64_t ms)
{
	loop_timer_set(c->host->loop, &c->wait, io_now_us() + ms * 1000);
}

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- measuring ---- */

/* Bytes in the files of the run: part of its shared memory that is not held
 * against it. */
static uint64_t
file_bytes(const struct cell *c)
{
	struct statfs s;

	if (c->files < 0 || fstatfs(c->files, &s) < 0 || s.f_bsize <= 0 ||
	    s.f_blocks < s.f_bfree)
		return 0;
	return (s.f_blocks - s.f_bfree) * (uint64_t)s.f_bsize;
}

/* What the run uses other than files, and its CPU time. */
static enum status
use_now(const struct cell *c, uint64_t *memory, uint64_t *cpu_us)
{
	struct cgroup_use u;
	struct meter_use m;
	enum status st = ST_BUG;
	uint64_t before, after;

	if (c->group == NULL) {
		st = meter_use(&m, c->init_pid, c->limits.memory_bytes);
		*memory = m.memory;
		*cpu_us = m.cpu_us;
		return st;
	}
	/* Files that come or go between two looks must not count as memory of
	 * the program, so look before and after. */
	before = file_bytes(c);
	st = cgroup_use(c->group, &u);
	after = file_bytes(c);
	if (after < before)
		after = before;
	*memory = u.memory_anon;
	if (u.memory_shmem > after)
		*memory += u.memory_shmem - after;
	*cpu_us = u.cpu_us;
	return st;
}

/* Take a look; stops the run where it is over a limit. */
static void
measure(struct cell *c)
{
	uint64_t memory, cpu_us;

	if (use_now(c, &memory, &cpu_us) != ST_OK)
		return;
	memory -= memory < c->first_memory ? memory : c->first_memory;
	cpu_us -= cpu_us < c->first_cpu_us ? cpu_us : c->first_cpu_us;
	if (memory > c->ev.memory_used)
		c->ev.memory_used = memory;
	if (cpu_us > c->ev.cpu_us)
		c->ev.cpu_us = cpu_us;
	if (memory > c->limits.memory_bytes)
		cell_stop(c, VERDICT_STOP_MEMORY);
	else if (cpu_us > c->limits.timeout_ms * 1000 * c->ev.cores)
		cell_stop(c, VERDICT_STOP_CPU);
}

static void
on_meter(void *ctx)
{
	struct cell *c = ctx;

	if (c->state != CELL_RUNNING)
		return;
	measure(c);
	loop_timer_set(c->host->loop, &c->meter, io_now_us() + METER_MS * 1000);
}

/* The counters that stay when the processes are gone. */
static void
measure_last(struct cell *c)
{
	struct cgroup_use u;

	if (c->group == NULL || cgroup_use(c->group, &u) != ST_OK)
		return;
	c->ev.memory_peak = u.memory_peak;
	c->ev.oom_kills = u.oom_kills;
	if (c->released_us > 0 && !c->ev.reported && u.cpu_us > c->first_cpu_us)
		c->ev.cpu_us = u.cpu_us - c->first_cpu_us;
}

/* ---- the end ---- */

/* What bubblewrap or sandbox-init said on stderr, for the log. */
static void
log_stderr(const struct cell *c)
{
	char text[512];
	ssize_t n = pread(c->log, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return;
	if (text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	log_warn("sandbox said: %s", text);
}

/* Remove what is left, or try again a little later. */
static void
on_sweep(void *ctx)
{
	struct cell *c = ctx;
	bool gone = c->init.fd < 0 && c->monitor_pid == 0;

	if (gone && cgroup_close(c->group)) {
		c->group = NULL;
		if (c->lost)
			log_info("a lost sandbox is gone at last");
		c->lost = false;
		loop_timer_clear(&c->wait);
		loop_timer_clear(&c->sweep);
		return;
	}
	if (c->lost)
		kill_all(c);
	loop_timer_set(
	    c->host->loop, &c->sweep, io_now_us() + c->sweep_ms * 1000);
	if (c->sweep_ms < SWEEP_MOST_MS)
		c->sweep_ms *= 2;
}

/* All processes are gone, or the cell is lost. */
static void
gone(struct cell *c)
{
	/* The report may be waiting behind the news of the exit. */
	on_control(c, 0);
	if (c->state == CELL_GONE)
		return;
	c->state = CELL_GONE;
	measure_last(c);
	if (c->released_us > 0 && !c->ev.reported)
		c->ev.duration_us = (uint64_t)(io_now_us() - c->released_us);
	if (c->failed != ST_OK)
		log_stderr(c);
	loop_watch_close(c->host->loop, &c->control);
	loop_timer_clear(&c->meter);
	close_fd(&c->files);
	/* What is left now is the monitor and the group. */
	if (!c->lost)
		set_wait(c, DIE_MS);
	c->hooks.ended(c->hooks.ctx);
	on_sweep(c);
}

static void
send_kill(int pidfd)
{
	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* All three, since each may fail where another does not. */
static void
kill_all(struct cell *c)
{
	send_kill(c->init.fd);
	send_kill(c->monitor);
	if (c->group != NULL)
		cgroup_kill(c->group);
}

static void
die(struct cell *c)
{
	if (c->state >= CELL_DYING)
		return;
	c->state = CELL_DYING;
	set_wait(c, DIE_MS);
	kill_all(c);
}

static void __attribute__((format(printf, 3, 4)))
fail(struct cell *c, enum status st, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	if (c->failed != ST_OK || c->state == CELL_GONE)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	c->failed = st;
	log_warn("sandbox failed: %s", why);
	die(c);
}

/* Wait no longer than ASK_MS for PID 1 to go by itself. */
static void
expect_end(struct cell *c)
{
	if (c->state >= CELL_ENDING)
		return;
	c->state = CELL_ENDING;
	set_wait(c, ASK_MS);
}

void
cell_stop(struct cell *c, enum verdict_stop why)
{
	if (c->state != CELL_RUNNING || c->ev.stop != VERDICT_STOP_NONE)
		return;
	c->ev.stop = why;
	/* The end of the socket tells sandbox-init to end the program. */
	(void)shutdown(c->control.fd, SHUT_WR);
	expect_end(c);
}

void
cell_kill(struct cell *c)
{
	die(c);
}

static void
on_wait(void *ctx)
{
	struct cell *c = ctx;

	switch (c->state) {
	case CELL_BOOTING:
		fail(c, ST_SANDBOX_SETUP_FAILED, "not ready after %d ms",
		    BOOT_MS);
		break;
	case CELL_LOADING:
		fail(c, ST_SANDBOX_SETUP_FAILED, "not started after %d ms",
		    LOAD_MS);
		break;
	case CELL_RUNNING:
		measure(c);
		cell_stop(c, VERDICT_STOP_TIME);
		break;
	case CELL_ENDING:
		die(c);
		break;
	case CELL_DYING:
	case CELL_GONE:
		log_err("a sandbox does not die: its slot is set aside");
		c->lost = true;
		if (c->state == CELL_DYING)
			gone(c);
		break;
	case CELL_READY:
		break;
	}
}

/* PID 1 has ended, and with it every process of its namespace. */
static void
on_init(void *ctx, uint32_t events)
{
	struct cell *c = ctx;

	(void)events;
	loop_watch_close(c->host->loop, &c->init);
	if (c->state == CELL_GONE)
		on_sweep(c);
	else
		gone(c);
}

bool
cell_reaped(struct cell *c, pid_t pid)
{
	if (c->monitor_pid != pid)
		return false;
	c->monitor_pid = 0;
	close_fd(&c->monitor);
	if (c->state == CELL_GONE) {
		on_sweep(c);
		return true;
	}
	/* With PID 1 known, that one's end is waited for. */
	if (c->init.fd >= 0)
		return true;
	fail(
	    c, ST_SANDBOX_SETUP_FAILED, "bubblewrap ended before it was ready");
	gone(c);
	return true;
}

/* ---- what sandbox-init says ---- */

/* PID 1's number as bubblewrap tells it; 0: nothing fit. */
static pid_t
told_pid(const struct cell *c)
{
	static const char key[] = "\"child-pid\":";
	char text[512], *at;
	ssize_t n = read(c->status, text, sizeof(text) - 1);
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
	char path[64], text[512], *at;
	OWN_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strstr(text, "\nPPid:");
	return at != NULL && strtol(at + 6, NULL, 10) == parent;
}

/* Get hold of PID 1. */
static bool
hold_init(struct cell *c)
{
	pid_t pid = told_pid(c);
	int fd;

	if (pid == 0)
		return false;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 || !is_child(pid, c->monitor_pid)) {
		close_fd(&fd);
		return false;
	}
	c->init_pid = pid;
	c->init.fd = fd;
	return loop_watch(c->host->loop, &c->init, EPOLLIN) == ST_OK;
}

static void
on_ready(struct cell *c)
{
	char path[64];

	if (!hold_init(c)) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "PID 1 cannot be found");
		return;
	}
	close_fd(&c->status);
	if (work_mount(c->init_pid, c->init.fd, c->limits.work_bytes) !=
	    ST_OK) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "no work folders");
		return;
	}
	(void)snprintf(
	    path, sizeof(path), "/proc/%d/root/box", (int)c->init_pid);
	c->files = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->files < 0 ||
	    use_now(c, &c->first_memory, &c->first_cpu_us) != ST_OK) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "cannot be measured");
		return;
	}
	c->ev.start_us = (uint64_t)(io_now_us() - c->opened_us);
	c->state = CELL_READY;
	loop_timer_clear(&c->wait);
	c->hooks.ready(c->hooks.ctx);
}

static void
on_started(struct cell *c)
{
	uint64_t unused;

	c->released_us = io_now_us();
	/* Writing the files is not the program's time. */
	(void)use_now(c, &unused, &c->first_cpu_us);
	c->state = CELL_RUNNING;
	set_wait(c, (int64_t)c->limits.timeout_ms);
	loop_timer_set(
	    c->host->loop, &c->meter, c->released_us + METER_MS * 1000);
	c->hooks.started(c->hooks.ctx);
}

/* The report is a claim: its times must lie where they can lie. */
static void
on_report(struct cell *c, const struct wire_init_report *m)
{
	uint64_t now = (uint64_t)io_now_us();

	if (!WIFEXITED(m->wait_status) && !WIFSIGNALED(m->wait_status)) {
		fail(c, ST_SANDBOX_SETUP_FAILED, "report of no end");
		return;
	}
	if (c->group != NULL)
		measure(c);
	else if (m->cpu_us > c->ev.cpu_us)
		c->ev.cpu_us = m->cpu_us;
	if (c->group == NULL && m->max_rss_bytes > c->ev.memory_used)
		c->ev.memory_used = m->max_rss_bytes;
	c->ev.reported = true;
	c->ev.wait_status = m->wait_status;
	c->ev.box_full = m->box_full != 0;
	c->ev.duration_us = now - (uint64_t)c->released_us;
	if (m->started_us <= m->ended_us && m->ended_us <= now &&
	    m->started_us > (uint64_t)c->opened_us)
		c->ev.duration_us = m->ended_us - m->started_us;
	expect_end(c);
}

static void
on_failed(struct cell *c, const struct wire_init_failed *m)
{
	char step[sizeof(m->step)];

	memcpy(step, m->step, sizeof(step));
	step[sizeof(step) - 1] = '\0';
	if (m->disk_full == 1)
		fail(c, ST_SANDBOX_INVALID_REQUEST, "its files do not fit");
	else
		fail(c, ST_SANDBOX_SETUP_FAILED, "%s: %s", step,
		    strerror(m->error));
}

union from_init {
	uint32_t type;
	struct wire_simple simple;
	struct wire_init_report report;
	struct wire_init_failed failed;
};

/* One message. What does not fit the state or its length is the work of
 * somebody else than sandbox-init, so the sandbox ends. */
static void
on_message(struct cell *c, const union from_init *m, size_t len)
{
	bool simple = len == sizeof(m->simple);

	if (len >= sizeof(m->type) && m->type == WIRE_INIT_READY && simple &&
	    c->state == CELL_BOOTING)
		on_ready(c);
	else if (len >= sizeof(m->type) && m->type == WIRE_INIT_STARTED &&
		 simple && c->state == CELL_LOADING)
		on_started(c);
	else if (len == sizeof(m->report) && m->type == WIRE_INIT_REPORT &&
		 c->released_us > 0 && !c->ev.reported)
		on_report(c, &m->report);
	else if (len == sizeof(m->failed) && m->type == WIRE_INIT_FAILED &&
		 c->released_us == 0)
		on_failed(c, &m->failed);
	else
		fail(c, ST_SANDBOX_SETUP_FAILED, "message out of place");
}

/* The socket's end: PID 1 is going. */
static void
on_hangup(struct cell *c)
{
	loop_watch_close(c->host->loop, &c->control);
	if (c->released_us > 0) {
		expect_end(c);
		return;
	}
	fail(c, ST_SANDBOX_SETUP_FAILED, "sandbox-init ended before the start");
}

static void
on_control(void *ctx, uint32_t events)
{
	struct cell *c = ctx;
	union from_init m;
	enum status st = ST_BUG;
	size_t len;

	(void)events;
	while (c->control.fd >= 0 && c->state != CELL_GONE) {
		st = io_recv_msg(
		    c->control.fd, &m, sizeof(m), &len, NULL, MSG_DONTWAIT);
		if (st == ST_TIMEOUT)
			return;
		if (st == ST_OK) {
			on_message(c, &m, len);
			continue;
		}
		if (st == ST_CLOSED) {
			on_hangup(c);
			return;
		}
		fail(c, ST_SANDBOX_SETUP_FAILED, "bad message");
		loop_watch_close(c->host->loop, &c->control);
	}
}

void
cell_load(struct cell *c, int image, uint64_t image_len)
{
	struct wire_init_job m = { .type = WIRE_INIT_JOB,
		.image_len = image_len,
		.limits = c->limits };

	if (c->state != CELL_READY)
		return;
	c->state = CELL_LOADING;
	set_wait(c, LOAD_MS);
	/* An end is noticed where we read. */
	if (io_send_msg(c->control.fd, &m, sizeof(m), image, MSG_DONTWAIT) ==
	    ST_IO)
		fail(c, ST_SANDBOX_SETUP_FAILED, "cannot hand over the job");
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
make_control(struct cell *c, struct ends *e)
{
	int s[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) < 0) {
		log_err("socketpair: %s", strerror(errno));
		return false;
	}
	c->control.fd = s[0];
	e->control = io_move_high(s[1]);
	return e->control >= 0 &&
	       loop_watch(c->host->loop, &c->control, EPOLLIN) == ST_OK;
}

static bool
make_group(struct cell *c)
{
	struct cell_host *h = c->host;
	enum status st = ST_CONFLICT;

	if (h->kind == CGROUP_NONE)
		return true;
	/* Numbers of groups that would not go are stepped over. */
	for (int i = 0; i < ID_TRIES && st == ST_CONFLICT; i++)
		st = cgroup_open(&c->group, h->kind, h->group, h->next_id++);
	if (st != ST_OK) {
		log_err("no cgroup for a run: %s", status_name(st));
		return false;
	}
	c->ev.memory_wall =
	    c->limits.memory_bytes + c->limits.work_bytes + CELL_EXTRA_BYTES;
	return cgroup_limit(c->group, c->ev.memory_wall,
		   LIMITS_TASKS + EXTRA_TASKS) == ST_OK;
}

static bool
make_connections(struct cell *c, struct ends *e, int pipes[3])
{
	c->log = memfd_create("sandbox-log", MFD_CLOEXEC);
	if (c->log >= 0)
		c->log = io_move_high(c->log);
	return c->log >= 0 && make_control(c, e) &&
	       make_pipe(&pipes[0], &e->in, true) &&
	       make_pipe(&pipes[1], &e->out, false) &&
	       make_pipe(&pipes[2], &e->err, false) &&
	       make_pipe(&c->status, &e->status, false);
}

static enum status
launch(struct cell *c, const struct conf_runtime *runtime, const char *entry,
    const struct ends *e)
{
	struct bwrap_policy p = { .bwrap = c->host->conf->bwrap,
		.runtime = runtime,
		.entry = entry,
		.init = c->host->init_fd,
		.control = e->control,
		.in = e->in,
		.out = e->out,
		.err = e->err,
		.status = e->status };
	struct spawn_child child;
	enum status st = ST_BUG;

	st = stage_dress(&p, c->host->stage);
	if (st != ST_OK)
		return st;
	st = spawn_bwrap(&child, &p, c->group, c->host->null_fd, c->log);
	stage_undress(&p);
	if (st != ST_OK)
		return st;
	c->monitor_pid = child.pid;
	c->monitor = child.pidfd;
	return ST_OK;
}

static struct cell *
new_cell(struct cell_host *h, const struct limits *limits,
    const struct cell_hooks *hooks)
{
	struct cell *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->host = h;
	c->hooks = *hooks;
	c->limits = *limits;
	c->ev.limits = *limits;
	c->ev.cores = h->conf->cores > 0 ? h->conf->cores : 1;
	c->failed = ST_OK;
	c->opened_us = io_now_us();
	c->sweep_ms = SWEEP_FIRST_MS;
	c->monitor = c->status = c->log = c->files = -1;
	loop_watch_init(&c->control, -1, on_control, c);
	loop_watch_init(&c->init, -1, on_init, c);
	loop_timer_init(&c->wait, on_wait, c);
	loop_timer_init(&c->meter, on_meter, c);
	loop_timer_init(&c->sweep, on_sweep, c);
	return c;
}

enum status
cell_open(struct cell **out, int pipes[3], struct cell_host *h,
    const struct conf_runtime *runtime, const char *entry,
    const struct limits *limits, const struct cell_hooks *hooks)
{
	struct ends e = { -1, -1, -1, -1, -1 };
	struct cell *c = new_cell(h, limits, hooks);
	enum status st = ST_IO;

	*out = NULL;
	pipes[0] = pipes[1] = pipes[2] = -1;
	if (c == NULL)
		return ST_NOMEM;
	if (make_group(c) && make_connections(c, &e, pipes))
		st = launch(c, runtime, entry, &e);
	close_ends(&e);
	if (st != ST_OK) {
		for (int i = 0; i < 3; i++)
			close_fd(&pipes[i]);
		(void)cgroup_close(c->group);
		c->group = NULL;
		cell_free(c);
		return st;
	}
	set_wait(c, BOOT_MS);
	*out = c;
	return ST_OK;
}

/* ---- questions ---- */

const struct verdict_evidence *
cell_evidence(const struct cell *c)
{
	return &c->ev;
}

enum status
cell_failed(const struct cell *c)
{
	return c->failed;
}

bool
cell_booting(const struct cell *c)
{
	return c->state == CELL_BOOTING;
}

bool
cell_lost(const struct cell *c)
{
	return c->lost;
}

bool
cell_closed(const struct cell *c)
{
	return c->state == CELL_GONE && c->group == NULL && c->init.fd < 0 &&
	       c->monitor_pid == 0;
}

void
cell_free(struct cell *c)
{
	if (c == NULL)
		return;
	loop_watch_close(c->host->loop, &c->control);
	loop_watch_close(c->host->loop, &c->init);
	loop_timer_clear(&c->wait);
	loop_timer_clear(&c->meter);
	loop_timer_clear(&c->sweep);
	close_fd(&c->monitor);
	close_fd(&c->status);
	close_fd(&c->log);
	close_fd(&c->files);
	free(c);
}
