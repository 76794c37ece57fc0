/*
 * A real boxer in a child process of the tests, as the run user, with real
 * sandboxes; the test plays gate. Needs root, to become that user and to make
 * the cgroups.
 */
#ifndef BOXER_FIXTURE_H
#define BOXER_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "box/boxer.h"
#include "box/cgroup.h"
#include "box/client.h"
#include "box/place.h"

#define RUN_USER "tollbox-run"
#define MIB (1ull << 20)
#define WORD(text) ((char[]){ text })

static char *python_command[] = { WORD("/usr/bin/python3"), WORD("{entry}"),
	NULL };
static char *python_binds[] = { WORD("/etc/python3*"), NULL };
static char *node_command[] = { WORD("/usr/bin/node"), WORD("{entry}"), NULL };
static char *bash_command[] = { WORD("/bin/bash"), WORD("{entry}"), NULL };
static char *missing_command[] = { WORD("/usr/bin/no-such-thing"), NULL };

static struct conf settings __attribute__((unused)) = {
	.bwrap = WORD("/usr/bin/bwrap"),
	.memory_limit = WORD("auto"),
	.cores = 1,
	.max_runs = 8,
	.memory_bytes = 4096 * MIB,
	.runtimes = { { .name = WORD("python3"),
			  .entry = WORD("main.py"),
			  .command = python_command,
			  .binds = python_binds },
	    { .name = WORD("node"),
		.entry = WORD("main.js"),
		.command = node_command },
	    { .name = WORD("bash"),
		.entry = WORD("main.sh"),
		.command = bash_command },
	    { .name = WORD("missing"),
		.entry = WORD("main.x"),
		.command = missing_command } },
	.n_runtimes = 4,
};

static const struct limits usual = { .timeout_ms = 10000,
	.memory_bytes = 256 * MIB,
	.output_bytes = MIB,
	.work_bytes = 64 * MIB };

struct server {
	struct conf conf;
	enum cgroup_kind kind;
	char name[32];
	pid_t pid;
	int life; /* our end: closing it is the death of super */
	struct client *client;
	int raw; /* the gate's end once more, for messages of one's own */
};

static inline int
open_init_binary(void)
{
	char self[PATH_MAX], path[PATH_MAX + 32];
	const char *other = getenv("TOLLBOX_TEST_INIT");
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (other != NULL)
		return open(other, O_RDONLY | O_CLOEXEC);
	if (n <= 0)
		return -1;
	self[n] = '\0';
	/* BUILD/tests/unit/box/test_x */
	for (int i = 0; i < 4; i++)
		*strrchr(self, '/') = '\0';
	(void)snprintf(path, sizeof(path), "%s/sandbox-init", self);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static inline void
become_run_user(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0 || setuid(0) == 0)
		_exit(120);
}

static inline void
make_run_user(void)
{
	pid_t pid;

	if (getpwnam(RUN_USER) != NULL)
		return;
	pid = fork();
	if (pid == 0) {
		execl("/usr/sbin/useradd", "useradd", "--system",
		    "--no-create-home", RUN_USER, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

/* The child: as super would start it. */
static inline void __attribute__((noreturn)) boxer_child(
    const struct server *s, const struct boxer_fds *fds, uid_t uid, gid_t gid)
{
	enum status st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	become_run_user(uid, gid);
	prctl(PR_SET_DUMPABLE, 1); /* what the exec after it does for super */
	log_open("boxer", LOG_LEVEL_WARN);
	st =
	    boxer_serve(&s->conf, fds, s->kind == CGROUP_NONE ? NULL : s->name);
	/* Not _exit(): a sanitizer looks for leaks at the exit. */
	exit(st == ST_OK ? 0 : 1);
}

/* Start a boxer; settings in s->conf (a copy of settings, as a rule). */
static inline void
server_start(struct server *s)
{
	const struct passwd *pw;
	struct boxer_fds fds;
	struct fault f = { 0 };
	int gate[2], life[2];

	if (getuid() != 0)
		fail_msg("must run as root");
	make_run_user();
	pw = getpwnam(RUN_USER);
	assert_non_null(pw);
	s->kind = strcmp(s->conf.memory_limit, "meter") == 0 ? CGROUP_NONE
							     : cgroup_detect();
	(void)snprintf(s->name, sizeof(s->name), "t-boxer-%d", (int)getpid());
	s->conf.name = s->name;
	if (cgroup_prepare(s->kind, s->name, pw->pw_uid, pw->pw_gid, &f) !=
	    ST_OK)
		fail_msg("%s", f.message);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate), 0);
	assert_int_equal(pipe2(life, O_CLOEXEC), 0);
	fds.gate = gate[1];
	fds.life = life[0];
	fds.init_binary = open_init_binary();
	assert_true(fds.init_binary >= 0);
	(void)fflush(NULL);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		close(gate[0]);
		close(life[1]);
		boxer_child(s, &fds, pw->pw_uid, pw->pw_gid);
	}
	close(gate[1]);
	close(life[0]);
	close(fds.init_binary);
	s->life = life[1];
	s->raw = dup(gate[0]);
	assert_int_equal(client_open(&s->client, gate[0]), ST_OK);
}

/* The exit code of the boxer, -1 if a signal ended it. */
static inline int
server_wait(struct server *s)
{
	int status;

	for (int i = 0; i < 1000; i++) {
		if (waitpid(s->pid, &status, WNOHANG) == s->pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		usleep(10000);
	}
	kill(s->pid, SIGKILL);
	fail_msg("the boxer does not end");
	return -1;
}

static inline void
server_clear(struct server *s)
{
	client_close(s->client);
	close(s->raw);
	if (s->life >= 0)
		close(s->life);
	cgroup_remove(s->kind, s->name);
}

/* SIGTERM, an orderly end, nothing left. */
static inline void
server_stop(struct server *s)
{
	assert_true(s->pid > 0);
	kill(s->pid, SIGTERM);
	assert_int_equal(server_wait(s), 0);
	server_clear(s);
}

/* ---- what is left of sandboxes ---- */

/* Groups of runs in the instance's first folder. */
static inline size_t
groups_left(const struct server *s)
{
	struct place p;
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	if (s->kind == CGROUP_NONE)
		return 0;
	assert_int_equal(place_find(&p, s->kind, s->name), ST_OK);
	for (size_t i = 0; i < p.n; i++) {
		d = opendir(p.dir[i]);
		assert_non_null(d);
		for (e = readdir(d); e != NULL; e = readdir(d))
			n += strncmp(e->d_name, PLACE_RUN, 4) == 0;
		closedir(d);
	}
	return n;
}

/* Is this one that runs nothing of the caller's: bubblewrap's monitor or PID 1,
 * which may go a moment after the answer, or a process past its last
 * instruction (PF_EXITING, field 9 of its stat)? */
static inline bool
is_monitor(const char *pid)
{
	char path[64], text[1024] = "", *p;
	FILE *f;

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/stat", (int)strtol(pid, NULL, 10));
	f = fopen(path, "r");
	if (f == NULL)
		return true;
	(void)!fgets(text, sizeof(text), f);
	fclose(f);
	if (strstr(text, "(bwrap)") != NULL ||
	    strstr(text, "(sandbox-init)") != NULL)
		return true;
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 9; field++) {
		p = strchr(p, ' ');
		if (p != NULL)
			p++;
	}
	return p == NULL || (strtoul(p, NULL, 10) & 4) != 0;
}

static inline size_t
programs_in(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = 0;
	char line[64];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n += !is_monitor(line);
	if (f != NULL)
		fclose(f);
	return n;
}

/* Processes in all groups of runs, without the monitors. */
static inline size_t
programs_left(const struct server *s)
{
	char path[PLACE_PATH + 300];
	struct place p;
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	assert_int_equal(place_find(&p, s->kind, s->name), ST_OK);
	d = opendir(p.dir[p.of[PLACE_PIDS]]);
	assert_non_null(d);
	for (e = readdir(d); e != NULL; e = readdir(d)) {
		if (strncmp(e->d_name, PLACE_RUN, 4) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/cgroup.procs",
		    p.dir[p.of[PLACE_PIDS]], e->d_name);
		n += programs_in(path);
	}
	closedir(d);
	return n;
}

static inline size_t
children_of(pid_t pid)
{
	char path[64], text[4096];
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)pid, (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fscanf(f, "%4095s", text) == 1)
		n++;
	fclose(f);
	return n;
}

static inline size_t
fds_of(pid_t pid)
{
	char path[64];
	size_t n = 0;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Wait until nothing is left of any run. No program of the tests ends in that
 * time by itself. */
static inline void
await_quiet(const struct server *s)
{
	struct wire_state ws;
	bool quiet = false;

	for (int i = 0; i < 3000 && !quiet; i++) {
		usleep(10000);
		quiet = groups_left(s) == 0 && children_of(s->pid) == 0;
	}
	/* Asked twice, it has turned once and freed what was over. */
	if (quiet && client_state(s->client, &ws) == ST_OK &&
	    client_state(s->client, &ws) == ST_OK)
		return;
	fail_msg("%zu groups and %zu children are left", groups_left(s),
	    children_of(s->pid));
}

/* ---- a run ---- */

struct outcome {
	enum status st;
	struct fault f;
	struct wire_result r;
	bool started;
	struct buf out;
	struct buf err;
	size_t heard; /* bytes of both, for other threads to ask */
	int64_t ms;   /* from the job to the result */
	int slow_ms;  /* what this reader takes for a chunk */
};

static inline void
on_start(void *ctx)
{
	((struct outcome *)ctx)->started = true;
}

static inline void
on_chunk(void *ctx, int stream, const uint8_t *data, size_t len)
{
	struct outcome *o = ctx;

	if (o->slow_ms > 0)
		usleep((useconds_t)o->slow_ms * 1000);
	buf_add(stream == 1 ? &o->out : &o->err, data, len);
	__atomic_add_fetch(&o->heard, len, __ATOMIC_SEQ_CST);
}

static inline struct job
make_job(const struct server *s, const char *runtime, const char *source)
{
	struct job j = { .limits = usual };

	for (size_t i = 0; i < s->conf.n_runtimes; i++) {
		if (strcmp(s->conf.runtimes[i].name, runtime) == 0)
			j.runtime = &s->conf.runtimes[i];
	}
	assert_non_null(j.runtime);
	j.entry = j.runtime->entry;
	j.source = strdup(source);
	j.source_len = strlen(source);
	return j;
}

/* Run j to its end; frees what is in o from before. */
static inline void
run_job(struct outcome *o, const struct server *s, const struct job *j)
{
	struct client_slot *slot;
	int64_t before;

	buf_free(&o->out);
	buf_free(&o->err);
	buf_init(&o->out, 64 * MIB);
	buf_init(&o->err, 64 * MIB);
	o->started = false;
	__atomic_store_n(&o->heard, 0, __ATOMIC_SEQ_CST);
	memset(&o->f, 0, sizeof(o->f));
	memset(&o->r, 0, sizeof(o->r));
	o->st = client_reserve(&slot, s->client, j, 30000, &o->f);
	before = io_now_ms();
	if (o->st == ST_OK)
		o->st =
		    client_run(slot, j, on_start, on_chunk, o, &o->r, &o->f);
	o->ms = io_now_ms() - before;
}

static inline void
run_source(struct outcome *o, const struct server *s, const char *runtime,
    const char *source, const struct limits *l)
{
	struct job j = make_job(s, runtime, source);

	if (l != NULL)
		j.limits = *l;
	run_job(o, s, &j);
	free(j.source);
}

static inline void
outcome_free(struct outcome *o)
{
	buf_free(&o->out);
	buf_free(&o->err);
}

/* The run was made and ended like this. */
static inline void
check_end(const struct outcome *o, enum status status, int exit_code, int sig)
{
	if (o->st == ST_OK && o->started && o->r.status == (uint32_t)status &&
	    o->r.exit_code == exit_code && o->r.signal == sig)
		return;
	fail_msg("%s %s; status %u instead of %u, exit %d, signal %d, '%s'; "
		 "stderr: %.300s",
	    status_name(o->st), o->f.message, o->r.status, (unsigned)status,
	    o->r.exit_code, o->r.signal, o->r.text, buf_cstr(&o->err));
}

#endif
