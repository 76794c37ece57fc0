#include "box/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/cgroup_file.h"
#include "box/place.h"

/* Most processes that are killed in one pass; more than a run may have. */
#define KILL_AT_ONCE 128
/* How long what is left of an earlier life may take to die, and how often it is
 * looked at all the same where this process itself was held up meanwhile. */
#define CLEAR_MS 2000
#define CLEAR_LOOKS 100

/*
 * A group is one folder in v2 and one in each hierarchy in v1. Its folders
 * are held open: the names inside are then looked up without walking the path
 * again, and the child that enters needs nothing but write(2).
 */
struct cgroup {
	enum cgroup_kind kind;
	size_t n;
	char path[PLACE_ROLES][PLACE_PATH];
	int dir[PLACE_ROLES];
	int procs[PLACE_ROLES];
	size_t of[PLACE_ROLES]; /* role to index; n: this host has none */
};

enum cgroup_kind
cgroup_detect(void)
{
	struct place p;

	if (place_find(&p, CGROUP_V2, "x") == ST_OK &&
	    place_offers(&p, "memory") && place_offers(&p, "pids"))
		return CGROUP_V2;
	if (place_find(&p, CGROUP_V1, "x") == ST_OK)
		return CGROUP_V1;
	return CGROUP_NONE;
}

/* ---- killing ---- */

/* Pids of a cgroup.procs, at most cap. */
static size_t
list_pids(pid_t *out, size_t cap, int dir)
{
	char text[8192], *p = text, *end;
	size_t n = 0;
	long pid;

	cgroup_file_read(text, sizeof(text), dir, "cgroup.procs");
	while (n < cap) {
		pid = strtol(p, &end, 10);
		if (end == p)
			break;
		if (pid > 0)
			out[n++] = (pid_t)pid;
		p = end;
	}
	return n;
}

/*
 * v1 has no kill of a group. A number that was read may have died and been
 * given to a stranger, so hold each process first and signal only those that
 * a second look still finds inside.
 */
static void
kill_listed(int dir)
{
	pid_t first[KILL_AT_ONCE], second[KILL_AT_ONCE];
	int held[KILL_AT_ONCE];
	size_t n, m;

	n = list_pids(first, KILL_AT_ONCE, dir);
	for (size_t i = 0; i < n; i++)
		held[i] = (int)syscall(SYS_pidfd_open, first[i], 0);
	m = list_pids(second, KILL_AT_ONCE, dir);
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; held[i] >= 0 && j < m; j++) {
			if (first[i] != second[j])
				continue;
			(void)syscall(
			    SYS_pidfd_send_signal, held[i], SIGKILL, NULL, 0);
			break;
		}
		if (held[i] >= 0)
			close(held[i]);
	}
}

static void
kill_dir(enum cgroup_kind kind, int dir)
{
	if (kind != CGROUP_V2 || !cgroup_file_write(dir, "cgroup.kill", "1"))
		kill_listed(dir);
}

/* ---- the instance's folder ---- */

/* Kill and remove one group of the folder; false while it will not go. */
static bool
clear_one(enum cgroup_kind kind, int parent, const char *name)
{
	OWN_FD int dir =
	    openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct timespec nap = { .tv_nsec = 2000000 };
	int64_t deadline = io_now_ms() + CLEAR_MS;
	int looks = 0;

	if (dir < 0)
		return errno == ENOENT;
	do {
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT)
			return true;
		kill_dir(kind, dir);
		(void)nanosleep(&nap, NULL);
	} while (++looks < CLEAR_LOOKS || io_now_ms() < deadline);
	log_warn("cgroup %s: tasks in it do not die", name);
	return false;
}

/* Remove the groups of runs in an instance's folder; with all also the leaf
 * that the service itself lives in. */
static bool
clear_folder(enum cgroup_kind kind, const char *path, bool all)
{
	DIR *d = opendir(path);
	struct dirent *e;
	bool clean = true;

	if (d == NULL)
		return errno == ENOENT;
	for (e = readdir(d); e != NULL; e = readdir(d)) {
		if (strncmp(e->d_name, PLACE_RUN, strlen(PLACE_RUN)) == 0)
			clean = clear_one(kind, dirfd(d), e->d_name) && clean;
		else if (all && strcmp(e->d_name, PLACE_MAIN) == 0)
			(void)unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
	return clean;
}

void
cgroup_sweep(enum cgroup_kind kind, const char *name)
{
	struct place p;

	if (kind == CGROUP_NONE || place_find(&p, kind, name) != ST_OK)
		return;
	for (size_t i = 0; i < p.n; i++)
		(void)clear_folder(kind, p.dir[i], false);
}

enum status
cgroup_prepare(enum cgroup_kind kind, const char *name, uid_t uid, gid_t gid,
    struct fault *f)
{
	enum status st = ST_BUG;
	struct place p;

	if (kind == CGROUP_NONE)
		return ST_OK;
	st = place_find(&p, kind, name);
	if (st != ST_OK)
		return fault_set(f, ST_IO,
		    "cgroup: no usable hierarchy (memory, pids and cpuacct)");
	for (size_t i = 0; i < p.n; i++) {
		if (!clear_folder(kind, p.dir[i], false))
			return fault_set(f, ST_IO,
			    "%s: processes of an earlier life do not die",
			    p.dir[i]);
		if (mkdir(p.dir[i], 0755) < 0 && errno != EEXIST)
			return fault_set(f, ST_IO, "mkdir %s: %s", p.dir[i],
			    strerror(errno));
	}
	return place_delegate(&p, uid, gid, f);
}

void
cgroup_remove(enum cgroup_kind kind, const char *name)
{
	struct place p;

	if (kind == CGROUP_NONE || place_find(&p, kind, name) != ST_OK)
		return;
	place_leave(&p);
	for (size_t i = 0; i < p.n; i++) {
		(void)clear_folder(kind, p.dir[i], true);
		if (rmdir(p.dir[i]) < 0 && errno != ENOENT)
			log_warn("rmdir %s: %s", p.dir[i], strerror(errno));
	}
}

/* Is it stem and the number of a process that is no more? */
static bool
is_dead(const char *entry, const char *stem)
{
	size_t len = strlen(stem);
	char *end;
	long pid;

	if (strncmp(entry, stem, len) != 0)
		return false;
	pid = strtol(entry + len, &end, 10);
	return pid > 0 && pid <= INT_MAX && *end == '\0' &&
	       kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

void
cgroup_sweep_dead(enum cgroup_kind kind, const char *stem)
{
	struct dirent *e;
	struct place p;
	DIR *d;

	if (kind == CGROUP_NONE || place_find(&p, kind, stem) != ST_OK)
		return;
	for (size_t i = 0; i < p.n; i++) {
		*strrchr(p.dir[i], '/') = '\0';
		d = opendir(p.dir[i]);
		if (d == NULL)
			continue;
		for (e = readdir(d); e != NULL; e = readdir(d)) {
			if (is_dead(e->d_name, stem))
				cgroup_remove(kind, e->d_name);
		}
		closedir(d);
	}
}

/* ---- one run's group ---- */

/* Looked up once: the mounts of a host do not change under its services, and
 * the table of them is long. */
static enum status
find_once(const struct place **out, enum cgroup_kind kind, const char *name)
{
	static char known_name[PLACE_PATH];
	static struct place known;
	enum status st = ST_OK;

	if (known.kind != kind || strcmp(known_name, name) != 0) {
		st = place_find(&known, kind, name);
		if (st == ST_OK)
			(void)snprintf(
			    known_name, sizeof(known_name), "%s", name);
		else
			known.kind = CGROUP_NONE;
	}
	*out = &known;
	return st;
}

/* Make the i-th folder of g and open what is needed of it. */
static enum status
make_dir(struct cgroup *g, size_t i)
{
	const char *path = g->path[i];

	if (mkdir(path, 0755) < 0) {
		if (errno == EEXIST)
			return ST_CONFLICT;
		log_err("mkdir %s: %s", path, strerror(errno));
		return ST_IO;
	}
	g->dir[i] = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->dir[i] >= 0)
		g->procs[i] =
		    openat(g->dir[i], "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (g->procs[i] < 0) {
		log_err("open %s: %s", path, strerror(errno));
		return ST_IO;
	}
	return ST_OK;
}

/* Before any socket is made: only later ones are counted. Kernels that cannot
 * are told of at the start (place_delegate()). */
static void
bound_sockets(const struct cgroup *g)
{
	if (g->kind == CGROUP_V1)
		(void)cgroup_file_put(g->dir[g->of[PLACE_MEMORY]],
		    PLACE_SOCKETS, CGROUP_SOCKET_BYTES);
}

enum status
cgroup_open(
    struct cgroup **out, enum cgroup_kind kind, const char *name, unsigned id)
{
	enum status st = ST_BUG;
	struct cgroup *g;
	const struct place *p;
	int len;

	*out = NULL;
	st = find_once(&p, kind, name);
	if (st != ST_OK)
		return st;
	g = calloc(1, sizeof(*g));
	if (g == NULL)
		return ST_NOMEM;
	g->kind = kind;
	memcpy(g->of, p->of, sizeof(g->of));
	for (size_t i = 0; i < PLACE_ROLES; i++)
		g->dir[i] = g->procs[i] = -1;
	for (size_t i = 0; i < p->n; i++) {
		len = snprintf(g->path[i], sizeof(g->path[i]), "%s/%s%u",
		    p->dir[i], PLACE_RUN, id);
		st = len > 0 && (size_t)len < sizeof(g->path[i]) ? ST_OK
								 : ST_TOO_BIG;
		if (st == ST_OK)
			st = make_dir(g, i);
		/* A folder that was there already is somebody else's. */
		g->n = st == ST_CONFLICT ? i : i + 1;
		if (st != ST_OK) {
			(void)cgroup_close(g);
			return st;
		}
	}
	bound_sockets(g);
	*out = g;
	return ST_OK;
}

int
cgroup_enter(const struct cgroup *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (write(g->procs[i], "0", 1) != 1)
			return -1;
	}
	return 0;
}

/* Memory and swap together; the order in which v1 takes the two depends on
 * whether the limit rises or falls. */
static bool
limit_v1(int dir, uint64_t bytes)
{
	bool both = faccessat(dir, "memory.memsw.limit_in_bytes", W_OK, 0) == 0;

	if (!cgroup_file_put(dir, "memory.limit_in_bytes", bytes)) {
		if (!both || errno != EINVAL ||
		    !cgroup_file_put(
			dir, "memory.memsw.limit_in_bytes", bytes) ||
		    !cgroup_file_put(dir, "memory.limit_in_bytes", bytes))
			return false;
	}
	return !both ||
	       cgroup_file_put(dir, "memory.memsw.limit_in_bytes", bytes);
}

static bool
limit_v2(int dir, uint64_t bytes)
{
	if (!cgroup_file_put(dir, "memory.max", bytes))
		return false;
	return faccessat(dir, "memory.swap.max", F_OK, 0) < 0 ||
	       cgroup_file_write(dir, "memory.swap.max", "0");
}

enum status
cgroup_limit(struct cgroup *g, uint64_t memory_bytes, unsigned tasks)
{
	int memory = g->dir[g->of[PLACE_MEMORY]];
	bool ok;

	ok = g->kind == CGROUP_V2 ? limit_v2(memory, memory_bytes)
				  : limit_v1(memory, memory_bytes);
	if (ok)
		ok = cgroup_file_put(
		    g->dir[g->of[PLACE_PIDS]], "pids.max", tasks);
	if (!ok)
		log_err("limits of %s: %s", g->path[0], strerror(errno));
	return ok ? ST_OK : ST_IO;
}

void
cgroup_weigh(const struct cgroup *g, unsigned percent)
{
	size_t i = g->of[PLACE_CPU];
	bool v2 = g->kind == CGROUP_V2;

	if (i >= g->n)
		return;
	(void)cgroup_file_put(g->dir[i], v2 ? "cpu.weight" : "cpu.shares",
	    v2 ? percent : percent * 1024 / 100);
}

uint64_t
cgroup_cpu_us(const struct cgroup *g)
{
	int acct = g->dir[g->of[PLACE_CPUACCT]];
	char text[1024];

	if (g->kind != CGROUP_V2)
		return cgroup_file_number(acct, "cpuacct.usage") / 1000;
	cgroup_file_read(text, sizeof(text), acct, "cpu.stat");
	return cgroup_file_value(text, "usage_usec");
}

/* memory.peak came with Linux 5.19. Before that only "oom" tells whose kills
 * they were: the host's own shortage, or that of a group above, does not raise
 * it. */
void
cgroup_memory(struct cgroup_use *out, enum cgroup_kind kind, int dir)
{
	bool v2 = kind == CGROUP_V2;
	char text[1024];

	out->memory_peak = cgroup_file_number(
	    dir, v2 ? "memory.peak" : "memory.max_usage_in_bytes");
	cgroup_file_read(text, sizeof(text), dir,
	    v2 ? "memory.events" : "memory.oom_control");
	out->oom_kills = cgroup_file_value(text, "oom_kill");
	out->wall_hits = v2 ? cgroup_file_value(text, "oom") : 0;
}

void
cgroup_counters(const struct cgroup *g, struct cgroup_use *out)
{
	cgroup_memory(out, g->kind, g->dir[g->of[PLACE_MEMORY]]);
	out->cpu_us = cgroup_cpu_us(g);
}

/* Of memory.stat; the sum is there since Linux 5.18. */
static uint64_t
kernel_v2(const char *text)
{
	uint64_t sum = cgroup_file_value(text, "kernel");

	if (sum > 0)
		return sum;
	return cgroup_file_value(text, "kernel_stack") +
	       cgroup_file_value(text, "pagetables") +
	       cgroup_file_value(text, "slab");
}

enum status
cgroup_use(const struct cgroup *g, struct cgroup_use *out)
{
	bool v2 = g->kind == CGROUP_V2;
	int memory = g->dir[g->of[PLACE_MEMORY]];
	char text[8192];

	memset(out, 0, sizeof(*out));
	cgroup_file_read(text, sizeof(text), memory, "memory.stat");
	if (text[0] == '\0')
		return ST_IO;
	out->memory_anon = cgroup_file_value(text, v2 ? "anon" : "total_rss");
	out->memory_shmem =
	    cgroup_file_value(text, v2 ? "shmem" : "total_shmem");
	out->memory_files =
	    cgroup_file_value(text, v2 ? "file" : "total_cache");
	out->memory_kernel =
	    v2 ? kernel_v2(text)
	       : cgroup_file_number(memory, "memory.kmem.usage_in_bytes");
	cgroup_file_read(
	    text, sizeof(text), g->dir[g->of[PLACE_PIDS]], "pids.events");
	out->tasks_refused = cgroup_file_value(text, "max");
	cgroup_counters(g, out);
	return ST_OK;
}

size_t
cgroup_pids(const struct cgroup *g, pid_t *out, size_t cap)
{
	return list_pids(out, cap, g->dir[g->of[PLACE_PIDS]]);
}

void
cgroup_kill(const struct cgroup *g)
{
	kill_dir(g->kind, g->dir[g->of[PLACE_PIDS]]);
}

bool
cgroup_close(struct cgroup *g)
{
	bool gone = true;

	if (g == NULL)
		return true;
	for (size_t i = 0; i < g->n; i++) {
		if (rmdir(g->path[i]) < 0 && errno != ENOENT)
			gone = false;
	}
	if (!gone)
		return false;
	for (size_t i = 0; i < g->n; i++) {
		if (g->dir[i] >= 0)
			close(g->dir[i]);
		if (g->procs[i] >= 0)
			close(g->procs[i]);
	}
	free(g);
	return true;
}
