#include "box/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "base/wire.h"
#include "box/job.h"
#include "box/spawn.h"
#include "box/stage.h"
#include "box/work.h"

#define TRIAL_MS 10000
#define WORK_BYTES (16u << 20)
/* As for a run (hull.c). */
#define TASKS (LIMITS_TASKS + 4)

/* What the child tells at its end. */
struct said {
	enum status st;
	char text[200];
	int wait_status;
	uint64_t oom_kills;
};

/* The trial as the child has it. Descriptors end with the child. */
struct trial {
	struct conf conf; /* one runtime: the one to try */
	struct bwrap_policy policy;
	struct cgroup *group; /* NULL: none */
	int control;
	int status;
	int log;    /* what bubblewrap says */
	int output; /* what the program says; ours too, and so closed there */
	int64_t deadline_ms;
	struct said said;
};

static bool
failed(struct trial *t, const char *step, const char *what)
{
	t->said.st = ST_REFUSED;
	snprintf(t->said.text, sizeof(t->said.text), "%s: %s", step, what);
	return false;
}

/* ---- in the child ---- */

/* 0 or errno. */
static int
become_user(uid_t uid, gid_t gid)
{
	/* Nothing of this outlives who asked. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return errno;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

static int
high(int fd)
{
	return fd < 0 ? -1 : io_move_high(fd);
}

static bool
open_ends(struct trial *t, const char *init)
{
	struct bwrap_policy *p = &t->policy;
	int pair[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 ||
	    !spawn_status_pipe(&t->status, &p->status))
		return failed(t, "descriptors", strerror(errno));
	t->control = pair[0];
	t->log = high(memfd_create("log", MFD_CLOEXEC));
	p->control = high(pair[1]);
	p->in = high(open("/dev/null", O_RDWR | O_CLOEXEC));
	p->out = high(fcntl(t->output, F_DUPFD_CLOEXEC, 0));
	p->err = high(fcntl(t->output, F_DUPFD_CLOEXEC, 0));
	p->init = high(open(init, O_RDONLY | O_CLOEXEC));
	if (p->init < 0)
		return failed(t, init, strerror(errno));
	if (t->log < 0 || p->control < 0 || p->in < 0 || p->out < 0 ||
	    p->err < 0)
		return failed(t, "descriptors", strerror(errno));
	return true;
}

static void
close_inner(struct bwrap_policy *p)
{
	close(p->control);
	close(p->status);
	close(p->in);
	close(p->out);
	close(p->err);
	close(p->init);
}

/* bubblewrap's own words, if it said any, tell more than our step does. */
static bool
failed_inside(struct trial *t, const char *step)
{
	char text[160] = "";
	ssize_t n = pread(t->log, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return failed(t, step, "no answer");
	text[strcspn(text, "\n")] = '\0';
	return failed(t, step, text);
}

static bool
open_group(struct trial *t, const struct trial_ask *ask)
{
	if (ask->group == NULL)
		return true;
	if (cgroup_open(&t->group, ask->kind, ask->group, 0) != ST_OK ||
	    cgroup_limit(t->group, ask->memory_bytes, TASKS) != ST_OK)
		return failed(t, "cgroup", "its limits cannot be set");
	return true;
}

static bool
start(struct trial *t, struct spawn_child *child)
{
	struct stage *stage = NULL;
	enum status st = stage_open(&stage, &t->conf);

	if (st == ST_OK)
		st = stage_dress(&t->policy, stage);
	if (st == ST_OK) {
		st = spawn_bwrap(
		    child, &t->policy, t->group, t->policy.in, t->log);
		stage_undress(&t->policy);
	}
	stage_close(stage);
	close_inner(&t->policy);
	if (st != ST_OK)
		return failed(t, "start bubblewrap", status_name(st));
	return true;
}

/* PID 1's number on the host; -1 if bubblewrap gave up before. */
static pid_t
learn_init(struct trial *t)
{
	static const char mark[] = "\"child-pid\": ";
	char text[512] = "", *at;
	ssize_t n = -1;

	if (io_wait(t->status, POLLIN, t->deadline_ms) == ST_OK)
		n = read(t->status, text, sizeof(text) - 1);
	at = n > 0 ? strstr(text, mark) : NULL;
	return at == NULL ? -1 : (pid_t)strtol(at + sizeof(mark) - 1, NULL, 10);
}

union message {
	uint32_t type;
	struct wire_simple simple;
	struct wire_init_report report;
	struct wire_init_failed failed;
};

/* The next message; type 0 if there is none. */
static union message
hear(struct trial *t)
{
	union message m = { 0 };
	size_t len;

	if (io_wait(t->control, POLLIN, t->deadline_ms) != ST_OK ||
	    io_recv_msg(t->control, &m, sizeof(m), &len, NULL, 0) != ST_OK)
		return (union message){ 0 };
	return m;
}

static bool
prepare(struct trial *t)
{
	OWN_FD int pidfd = -1;
	pid_t init = learn_init(t);

	if (init <= 0 || hear(t).type != WIRE_INIT_READY)
		return failed_inside(t, "start the sandbox");
	pidfd = (int)syscall(SYS_pidfd_open, init, 0);
	if (pidfd < 0)
		return failed(t, "pidfd_open", strerror(errno));
	if (work_mount(init, pidfd, t->conf.tiers[0].limits.work_bytes) !=
	    ST_OK)
		return failed(t, "work folders", "refused, see the log");
	return true;
}

static bool
run(struct trial *t, char *source)
{
	struct job j = { .entry = t->policy.entry,
		.source = source,
		.source_len = strlen(source),
		.limits = t->conf.tiers[0].limits };
	struct wire_init_job m = {
		.type = WIRE_INIT_JOB, .cores = 1, .limits = j.limits
	};
	struct cgroup_use use;
	OWN_FD int image = -1;
	uint64_t stdin_at;
	union message got;

	if (job_image(&image, &m.image_len, &stdin_at, &j) != ST_OK ||
	    io_send_msg(t->control, &m, sizeof(m), image, 0) != ST_OK)
		return failed(t, "give a job", "see the log");
	got = hear(t);
	if (got.type == WIRE_INIT_STARTED)
		got = hear(t);
	if (got.type == WIRE_INIT_FAILED) {
		got.failed.step[sizeof(got.failed.step) - 1] = '\0';
		return failed(t, got.failed.step, strerror(got.failed.error));
	}
	if (got.type != WIRE_INIT_REPORT)
		return failed(t, "run a program", "no report");
	t->said.wait_status = got.report.wait_status;
	if (t->group != NULL && cgroup_use(t->group, &use) == ST_OK)
		t->said.oom_kills = use.oom_kills;
	return true;
}

/* The child. */
static void
try_it(struct trial *t, const struct trial_ask *ask)
{
	struct spawn_child child = { -1, -1 };
	OWN_FREE char *source = strdup(ask->source);
	int error = become_user(ask->uid, ask->gid);

	if (error != 0)
		failed(t, "change user", strerror(error));
	if (error != 0 || source == NULL || !open_ends(t, ask->conf->init) ||
	    !open_group(t, ask) || !start(t, &child))
		return;
	if (prepare(t) && run(t, source))
		t->said.st = ST_OK;
	/* Let go, all of it ends by itself; bubblewrap last, which reaps PID
	 * 1. What does not is killed. */
	close(t->control);
	if (t->said.st != ST_OK ||
	    io_wait(child.pidfd, POLLIN, t->deadline_ms) != ST_OK)
		kill(child.pid, SIGKILL);
	while (waitpid(child.pid, NULL, 0) < 0 && errno == EINTR)
		continue;
}

/* ---- outside ---- */

static void
set_up(struct trial *t, const struct trial_ask *ask)
{
	t->conf.runtimes[0] = *ask->runtime;
	t->conf.n_runtimes = 1;
	t->conf.tiers[0].limits =
	    (struct limits){ .timeout_ms = TRIAL_MS, .work_bytes = WORK_BYTES };
	t->policy.bwrap = ask->conf->bwrap;
	t->policy.runtime = &t->conf.runtimes[0];
	t->policy.entry = ask->runtime->entry;
	t->deadline_ms = io_now_ms() + TRIAL_MS;
	/* Should the child die without a word. */
	failed(t, "sandbox trial", "took too long or was killed");
}

/* Wait for a child until deadline_ms at most; its raw wait status. */
static int
finish(pid_t pid, int64_t deadline_ms)
{
	OWN_FD int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int status = 0;

	if (pidfd < 0 || io_wait(pidfd, POLLIN, deadline_ms) != ST_OK)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static void
tell(struct trial_told *out, const struct trial *t, int64_t begin)
{
	ssize_t n = pread(t->output, out->output, TRIAL_OUTPUT - 1, 0);

	out->output[n > 0 ? n : 0] = '\0';
	out->ms = (uint64_t)(io_now_ms() - begin);
	out->wait_status = t->said.wait_status;
	out->oom_kills = t->said.oom_kills;
}

enum status
trial_run(struct trial_told *out, const struct trial_ask *ask, struct fault *f)
{
	int64_t begin = io_now_ms();
	struct trial *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum status st = ST_BUG;
	pid_t pid;

	if (t == MAP_FAILED)
		return fault_set(f, ST_REFUSED, "mmap: %s", strerror(errno));
	set_up(t, ask);
	t->output = memfd_create("output", MFD_CLOEXEC);
	pid = t->output < 0 ? -1 : fork();
	if (pid == 0) {
		try_it(t, ask);
		_exit(0);
	}
	if (pid < 0) {
		st = fault_set(f, ST_REFUSED, "fork: %s", strerror(errno));
		goto out;
	}
	(void)finish(pid, t->deadline_ms + TRIAL_MS / 5);
	tell(out, t, begin);
	st = t->said.st;
	if (st != ST_OK)
		fault_set(f, ST_REFUSED, "%s", t->said.text);
out:
	if (t->output >= 0)
		close(t->output);
	munmap(t, sizeof(*t));
	return st;
}

int
trial_reach(const char *path, uid_t uid, gid_t gid)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int error = become_user(uid, gid);

		if (error == 0 && open(path, O_RDONLY | O_CLOEXEC) < 0)
			error = errno;
		_exit(error);
	}
	if (pid < 0)
		return errno;
	status = finish(pid, io_now_ms() + TRIAL_MS);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}
