#include "box/work.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/own.h"
#include "box/hook.h"

#define WAIT_S 2
#define STACK_BYTES (256u << 10)

/* The tree's own folders, beside what a run may make. */
#define OWN_INODES 4

/* Of inotify for each sandbox. */
#define INSTANCES "16"
#define WATCHES "1024"
/* And of pseudoterminals. */
#define TERMINALS "64"

#define FLAGS (MS_NOSUID | MS_NODEV)

/* The namespaces to enter: the mounts of the sandbox, and the user namespace
 * that they belong to. That is the outer one of bubblewrap's two; PID 1 itself
 * is in the inner one, which has no say over the mounts. */
struct door {
	int mounts;
	int user;
};

/* What the child does inside. */
struct task {
	bool mount;
	bool lift;
	const struct hook *hook;
	char options[96]; /* of the tree; "": leave it alone */
};

/* Of the pseudoterminals that all users of the host share. bubblewrap's own
 * options once more, since a remount forgets those that it does not name. */
static int
bound_terminals(void)
{
	if (mount(NULL, "/dev/pts", NULL, MS_REMOUNT | MS_NOSUID | MS_NOEXEC,
		"ptmxmode=0666,mode=620,max=" TERMINALS) < 0)
		return errno;
	return 0;
}

/* 0 or errno. */
static int
mount_all(const struct task *t)
{
	int error = 0;

	umask(0);
	/* /tmp is where the whole is set up; its own part then covers it. */
	if (mount("tmpfs", "/tmp", "tmpfs", FLAGS, t->options) < 0 ||
	    mkdir("/tmp/box", 0755) < 0 || mkdir("/tmp/tmp", 01777) < 0 ||
	    mkdir("/tmp/shm", 01777) < 0)
		return errno;
	if (t->hook != NULL)
		error = hook_lay(t->hook, "/tmp/hook");
	if (error != 0)
		return error;
	if (mount("/tmp/box", "/box", NULL, MS_BIND, NULL) < 0 ||
	    mount("/tmp/shm", "/dev/shm", NULL, MS_BIND, NULL) < 0 ||
	    mount("/tmp/tmp", "/tmp", NULL, MS_BIND, NULL) < 0)
		return errno;
	return bound_terminals();
}

/* Bound what the sandbox takes of those things that the kernel counts for the
 * user of all sandboxes: below this user namespace are all that it has. By the
 * host's /proc, whose files here are those of the namespace. Where the host
 * does not let anybody write there (a container), only its own bound is left,
 * which is no reason to run nothing. */
static void
bound_watches(void)
{
	static const struct {
		const char *path;
		const char *most;
	} all[] = {
		{ "/proc/sys/user/max_inotify_instances", INSTANCES },
		{ "/proc/sys/user/max_inotify_watches", WATCHES },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		OWN_FD int fd = open(all[i].path, O_WRONLY | O_CLOEXEC);

		if (fd >= 0)
			(void)!write(fd, all[i].most, strlen(all[i].most));
	}
}

/* What the child gets, in the boxer's own memory. */
struct errand {
	const struct door *door;
	const struct task *task;
};

/* The child. Its exit status is 0 or errno. It may be killed, so it must take
 * no lock of the boxer's memory, which other threads use meanwhile: it neither
 * allocates nor logs. */
static int
enter_and_do(void *ctx)
{
	const struct errand *e = ctx;
	const struct door *door = e->door;
	const struct task *t = e->task;

	/* Nothing in there can block, but no wait is without an end. */
	alarm(WAIT_S);
	if (setns(door->user, CLONE_NEWUSER) < 0)
		return errno;
	if (t->mount)
		bound_watches();
	if (setns(door->mounts, CLONE_NEWNS) < 0)
		return errno;
	if (t->mount)
		return mount_all(t);
	if (t->lift)
		return hook_lift(t->hook);
	if (mount(NULL, "/tmp", NULL, MS_REMOUNT | FLAGS, t->options) < 0)
		return errno;
	return 0;
}

static enum status
open_door(struct door *door, pid_t init)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)init);
	door->mounts = open(path, O_RDONLY | O_CLOEXEC);
	if (door->mounts < 0) {
		log_err("open the sandbox's mounts: %s", strerror(errno));
		return errno == ENOENT ? ST_CLOSED : ST_IO;
	}
	door->user = ioctl(door->mounts, NS_GET_USERNS);
	if (door->user < 0) {
		log_err("NS_GET_USERNS: %s", strerror(errno));
		return ST_IO;
	}
	return ST_OK;
}

/* Wait for the child; what it said. */
static enum status
finish(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			log_err("waitpid: %s", strerror(errno));
			return ST_IO;
		}
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return ST_OK;
	log_err("work folders: %s",
	    WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "killed");
	return ST_IO;
}

/* A child that uses this process's memory while this one stands still: a copy
 * of it would take longer than all that the child does. It is a process of its
 * own all the same, as entering a user namespace demands. */
static pid_t
run_errand(struct errand *e)
{
	static _Alignas(16) char stack[STACK_BYTES];

	return clone(enter_and_do, stack + sizeof(stack),
	    CLONE_VM | CLONE_VFORK | SIGCHLD, e);
}

static enum status
inside(pid_t init, int pidfd, const struct task *t)
{
	struct door door = { -1, -1 };
	struct errand e = { .door = &door, .task = t };
	enum status st = ST_BUG;
	pid_t child;

	st = open_door(&door, init);
	/* Asked after the door was opened: alive now, so it was that
	 * process's door. */
	if (st == ST_OK && !io_alive(pidfd))
		st = ST_CLOSED;
	if (st != ST_OK)
		goto out;
	child = run_errand(&e);
	if (child < 0) {
		log_err("clone: %s", strerror(errno));
		st = ST_IO;
		goto out;
	}
	st = finish(child);
out:
	if (door.user >= 0)
		close(door.user);
	if (door.mounts >= 0)
		close(door.mounts);
	return st;
}

static void
set_options(struct task *t, uint64_t work_bytes)
{
	(void)snprintf(t->options, sizeof(t->options),
	    "size=%llu,nr_inodes=%d,mode=0755", (unsigned long long)work_bytes,
	    LIMITS_INODES + OWN_INODES);
}

enum status
work_mount(pid_t init, int pidfd, uint64_t work_bytes)
{
	return work_mount_hook(init, pidfd, work_bytes, NULL);
}

enum status
work_mount_hook(
    pid_t init, int pidfd, uint64_t work_bytes, const struct hook *hook)
{
	struct task t = { .mount = true, .hook = hook };

	set_options(&t, work_bytes);
	return inside(init, pidfd, &t);
}

enum status
work_lift_hook(pid_t init, int pidfd, const struct hook *hook)
{
	const struct task t = { .lift = true, .hook = hook };

	return inside(init, pidfd, &t);
}

enum status
work_resize(pid_t init, int pidfd, uint64_t work_bytes)
{
	struct task t = { .mount = false };

	(void)snprintf(t.options, sizeof(t.options), "size=%llu",
	    (unsigned long long)work_bytes);
	return inside(init, pidfd, &t);
}
