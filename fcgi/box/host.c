#include "box/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "box/filter.h"
#include "box/host_attacks.h"
#include "box/host_runtime.h"
#include "box/host_shared.h"
#include "box/stray.h"
#include "box/trial.h"

/* --disable-userns and --size came with it. */
#define BWRAP_MAJOR 0
#define BWRAP_MINOR 8

/* Since then the number of processes is counted per user namespace: before,
 * one run's processes would count against another's. */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 14

#define TRIAL_GROUP "check-" /* and our process number */
#define VERSION_MS 5000

/* Room for a small program and no more. */
#define WALL_BYTES (48u << 20)

/* A check of the host on its way. */
struct check {
	const struct conf *conf;
	void (*fn)(void *ctx, const struct host_line *line);
	void *ctx;
	bool all;
	uid_t uid; /* of runs */
	gid_t gid;
};

static void __attribute__((format(printf, 4, 5)))
say(struct check *k, const char *what, bool ok, const char *fmt, ...)
{
	struct host_line line = { .what = what, .ok = ok };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line.text, sizeof(line.text), fmt, ap);
	va_end(ap);
	k->all = k->all && ok;
	k->fn(k->ctx, &line);
}

/* A line of one of the parts. */
static void
pass_on(void *ctx, const struct host_line *line)
{
	struct check *k = ctx;

	k->all = k->all && line->ok;
	k->fn(k->ctx, line);
}

/* "5.14.0-x" to its first two numbers. */
static bool
two_numbers(const char *text, long *major, long *minor)
{
	char *end;

	*major = strtol(text, &end, 10);
	if (end == text || *end != '.')
		return false;
	text = end + 1;
	*minor = strtol(text, &end, 10);
	return end != text;
}

static bool
at_least(const char *text, long major, long minor)
{
	long a, b;

	return two_numbers(text, &a, &b) &&
	       (a > major || (a == major && b >= minor));
}

static void
check_kernel(struct check *k)
{
	struct utsname u;
	bool ok =
	    uname(&u) == 0 && at_least(u.release, KERNEL_MAJOR, KERNEL_MINOR);

	if (ok)
		say(k, "kernel", true, "Linux %s", u.release);
	else
		say(k, "kernel", false,
		    "Linux %s; %d.%d is needed to count a run's processes "
		    "apart: use a newer kernel",
		    u.release, KERNEL_MAJOR, KERNEL_MINOR);
}

/* The user that runs belong to. False: there is none, and no use in going
 * on. */
static bool
check_user(struct check *k)
{
	const char *name = k->conf->run_user;
	const struct passwd *pw;

	k->uid = geteuid();
	k->gid = getegid();
	if (k->uid != 0) {
		say(k, "run user", true, "uid %u, who asks", (unsigned)k->uid);
		return true;
	}
	pw = getpwnam(name);
	if (pw == NULL) {
		say(k, "run user", false,
		    "no user %s: useradd --system --no-create-home "
		    "--shell /usr/sbin/nologin %s",
		    name, name);
		return false;
	}
	k->uid = pw->pw_uid;
	k->gid = pw->pw_gid;
	if (k->uid == 0 || k->gid == 0) {
		say(k, "run user", false,
		    "%s is root, whom no process limit binds: set run_user in "
		    "[service] to a user of its own",
		    name);
		return false;
	}
	say(k, "run user", true, "%s, uid %u", name, (unsigned)k->uid);
	return true;
}

/* What `bwrap --version` writes, within VERSION_MS. */
static bool
ask_version(const char *bwrap, char *text, size_t cap)
{
	int ends[2];
	ssize_t n = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], 1);
		execl(bwrap, bwrap, "--version", (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (pid > 0 &&
	    io_wait(ends[0], POLLIN, io_now_ms() + VERSION_MS) == ST_OK)
		n = read(ends[0], text, cap - 1);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	if (n <= 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static bool
check_bwrap(struct check *k)
{
	static const char head[] = "bubblewrap ";
	const char *path = k->conf->bwrap;
	char text[64];
	struct stat s;

	if (stat(path, &s) < 0 || access(path, X_OK) < 0) {
		say(k, "bubblewrap", false,
		    "%s: %s; install the package bubblewrap, or set bwrap in "
		    "[sandbox]",
		    path, strerror(errno));
		return false;
	}
	if ((s.st_mode & S_ISUID) != 0) {
		say(k, "bubblewrap", false,
		    "%s is setuid, and then cannot forbid user namespaces "
		    "inside: chmod u-s %s",
		    path, path);
		return false;
	}
	if (!ask_version(path, text, sizeof(text)) ||
	    strncmp(text, head, sizeof(head) - 1) != 0 ||
	    !at_least(text + sizeof(head) - 1, BWRAP_MAJOR, BWRAP_MINOR)) {
		say(k, "bubblewrap", false,
		    "%s is not bubblewrap %d.%d or newer", path, BWRAP_MAJOR,
		    BWRAP_MINOR);
		return false;
	}
	say(k, "bubblewrap", true, "%s, %s", path, text);
	return true;
}

static bool
action_there(uint32_t action)
{
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static bool
check_seccomp(struct check *k)
{
	OWN_FD int fd = -1;

	if (!action_there(SECCOMP_RET_ERRNO) ||
	    !action_there(SECCOMP_RET_KILL_PROCESS)) {
		say(k, "seccomp", false,
		    "the kernel has no seccomp filters: it needs "
		    "CONFIG_SECCOMP_FILTER");
		return false;
	}
	if (filter_make(&fd) != ST_OK) {
		say(k, "seccomp", false,
		    "the filter cannot be made; is libseccomp older than "
		    "2.5.4?");
		return false;
	}
	say(k, "seccomp", true, "filters, and the program's can be made");
	return true;
}

static bool
check_init(struct check *k)
{
	const char *path = k->conf->init;

	if (access(path, R_OK | X_OK) < 0) {
		say(k, "sandbox-init", false,
		    "%s: %s; install it, or set init in [sandbox]", path,
		    strerror(errno));
		return false;
	}
	say(k, "sandbox-init", true, "%s", path);
	return true;
}

/* Why user namespaces may be closed here, and how to open them. */
static const char *
mend(void)
{
	if (host_shared_number("/proc/sys/user/max_user_namespaces", 1) == 0)
		return "; allow them: sysctl user.max_user_namespaces=10000";
	if (host_shared_number(
		"/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		return "; allow them: sysctl "
		       "kernel.unprivileged_userns_clone=1";
	if (host_shared_number(
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) !=
	    0)
		return "; AppArmor restricts them: apparmor_parser -r "
		       "/usr/share/tollbox/apparmor/tollbox";
	return "";
}

/* Run a command that needs no runtime; in a group of this instance unless that
 * is NULL. */
static bool
try_command(struct check *k, struct trial_told *told, char **command,
    const char *group, struct fault *f)
{
	static char name[] = "trial", entry[] = "main";
	const struct conf_runtime r = {
		.name = name, .entry = entry, .command = command
	};
	struct trial_ask ask = { .conf = k->conf,
		.runtime = &r,
		.source = "",
		.uid = k->uid,
		.gid = k->gid,
		.group = group,
		.memory_bytes = WALL_BYTES };

	return (group == NULL ||
		   host_mechanism(&ask.kind, k->conf, f) == ST_OK) &&
	       trial_run(told, &ask, f) == ST_OK;
}

static bool
check_sandbox(struct check *k)
{
	static char path[] = "/usr/bin/true";
	static char *command[] = { path, NULL };
	struct trial_told told;
	struct fault f = { 0 };

	if (!try_command(k, &told, command, NULL, &f)) {
		say(k, "user namespaces", false, "%s%s", f.message, mend());
		return false;
	}
	say(k, "user namespaces", true,
	    "a sandbox ran /usr/bin/true in %llu ms",
	    (unsigned long long)told.ms);
	return true;
}

/* What a check that was killed left behind. */
static void
sweep_trials(const struct check *k)
{
	(void)stray_sweep(k->conf->bwrap, k->uid);
	if (geteuid() == 0)
		cgroup_sweep_dead(cgroup_detect(), TRIAL_GROUP);
}

/* Is a program that takes more memory than its group may have ended by the
 * kernel (sandbox-faults.md 22)? Only root can make the group. */
static void
check_wall(struct check *k)
{
	static char path[] = "/usr/bin/tail", endless[] = "/dev/zero";
	/* It looks for the end of a line and keeps what it has read. */
	static char *command[] = { path, endless, NULL };
	enum cgroup_kind kind = CGROUP_NONE;
	struct trial_told told;
	struct fault f = { 0 };
	char name[32];

	if (geteuid() != 0 || host_mechanism(&kind, k->conf, &f) != ST_OK ||
	    kind == CGROUP_NONE)
		return;
	snprintf(name, sizeof(name), TRIAL_GROUP "%d", (int)getpid());
	if (cgroup_prepare(kind, name, k->uid, k->gid, &f) != ST_OK) {
		/* In v2 that depends on where one asks from: serve finds out
		 * for itself. */
		say(k, "memory wall", true, "not tried from here: %s",
		    f.message);
	} else if (!try_command(k, &told, command, name, &f)) {
		say(k, "memory wall", false, "%s", f.message);
	} else if (told.oom_kills == 0) {
		say(k, "memory wall", false,
		    "a program over its limit was not ended: use a kernel "
		    "whose memory controller works");
	} else {
		say(k, "memory wall", true,
		    "a program over its limit was ended by the kernel");
	}
	cgroup_remove(kind, name);
}

static void
check_mechanism(struct check *k)
{
	enum cgroup_kind kind = CGROUP_NONE;
	struct host_line line;
	struct fault f = { 0 };

	if (host_mechanism(&kind, k->conf, &f) != ST_OK) {
		say(k, "memory limit", false, "%s", f.message);
		return;
	}
	say(k, "memory limit", true, "%s", host_mechanism_text(kind));
	host_shared_tell(&line, kind);
	pass_on(k, &line);
	if (host_shared_sockets(&line, kind, k->conf->memory_bytes))
		pass_on(k, &line);
}

static void
check_runtimes(struct check *k)
{
	const struct conf *c = k->conf;

	if (c->n_runtimes == 0)
		say(k, "runtime", false,
		    "there is none: set runtimes_dir in [sandbox], or add a "
		    "[runtime:NAME]");
	for (size_t i = 0; i < c->n_runtimes; i++) {
		struct host_line line = { 0 };

		host_runtime_check(&line, c, &c->runtimes[i], k->uid, k->gid);
		pass_on(k, &line);
	}
}

bool
host_check(const struct conf *c,
    void (*fn)(void *ctx, const struct host_line *line), void *ctx)
{
	struct check k = { .conf = c, .fn = fn, .ctx = ctx, .all = true };
	bool sandbox;

	check_kernel(&k);
	check_mechanism(&k);
	sandbox = check_user(&k);
	sandbox = check_bwrap(&k) && sandbox;
	sandbox = check_seccomp(&k) && sandbox;
	sandbox = check_init(&k) && sandbox;
	/* Each of these would only fail for the same reason again. */
	if (!sandbox)
		return false;
	sweep_trials(&k);
	if (!check_sandbox(&k))
		return false;
	check_wall(&k);
	check_runtimes(&k);
	host_attacks_try(c, k.uid, k.gid, pass_on, &k);
	return k.all;
}

bool
host_try_runtimes(const struct conf *c,
    void (*fn)(void *ctx, const struct host_line *line), void *ctx)
{
	struct check k = { .conf = c, .fn = fn, .ctx = ctx, .all = true };

	if (!check_user(&k) || !check_bwrap(&k))
		return false;
	check_runtimes(&k);
	return k.all;
}

const char *
host_mechanism_text(enum cgroup_kind kind)
{
	switch (kind) {
	case CGROUP_NONE:
		return "meter: sampled, and passed by what is fast";
	case CGROUP_V1:
		return "cgroup1";
	case CGROUP_V2:
		return "cgroup2";
	}
	return "";
}

enum status
host_mechanism(enum cgroup_kind *out, const struct conf *c, struct fault *f)
{
	const char *asked = c->memory_limit;
	enum cgroup_kind found;

	*out = CGROUP_NONE;
	if (strcmp(asked, "meter") == 0)
		return ST_OK;
	found = cgroup_detect();
	if (strcmp(asked, "cgroup2") == 0 && found != CGROUP_V2)
		return fault_set(f, ST_REFUSED,
		    "cgroup2 is asked for, but memory and pids cannot be "
		    "enabled there: mount cgroup2 with these controllers, or "
		    "set memory_limit in [sandbox] to auto");
	if (strcmp(asked, "cgroup1") == 0 && found != CGROUP_V1)
		return fault_set(f, ST_REFUSED,
		    "cgroup1 is asked for, but memory and pids are not mounted "
		    "there: set memory_limit in [sandbox] to auto");
	if (found == CGROUP_NONE)
		return fault_set(f, ST_REFUSED,
		    "no cgroup can limit memory here: mount cgroup2 with the "
		    "memory and pids controllers, or accept sampling by "
		    "setting memory_limit in [sandbox] to meter");
	*out = found;
	return ST_OK;
}
