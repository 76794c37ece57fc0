#include "box/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/wire.h"
#include "box/filter_work.h"

/* Of a pipe as the kernel makes it. */
#define PIPE_PAGES 16

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Calls that libseccomp 2.5 has no name for; the number is the same on every
 * architecture. */
#define NR_OPEN_TREE_ATTR 467

/* What older or newer headers than these lack. */
#define IOCTL_ADD_DLCI 0x8980
#define IOCTL_DEL_DLCI 0x8981
#define OPTION_SCHED_CORE 62 /* PR_SCHED_CORE */

/* Refused with EPERM whatever the arguments, and counted as tried. */
static const int refused[] = {
	/* Mounts and roots. */
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	NR_OPEN_TREE_ATTR,
	SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(mount_setattr),
	/* Namespaces. */
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	/* Other processes. */
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(kcmp),
	SCMP_SYS(pidfd_getfd),
	/* Keyrings belong to the uid of the host, not to a namespace. */
	SCMP_SYS(keyctl),
	SCMP_SYS(add_key),
	SCMP_SYS(request_key),
	/* Wide kernel surface that no program here needs. */
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(name_to_handle_at),
	SCMP_SYS(open_by_handle_at),
	SCMP_SYS(fanotify_init),
	/* System V objects: memory that outlives a process. */
	SCMP_SYS(shmget),
	SCMP_SYS(msgget),
	SCMP_SYS(semget),
	/* The machine. */
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(reboot),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(acct),
	SCMP_SYS(quotactl),
	SCMP_SYS(quotactl_fd),
	SCMP_SYS(syslog),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(modify_ldt),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(vhangup),
};

/* Refused as well, but libraries try them as a matter of course and do
 * without: they tell nothing of why a program fails. */
static const int refused_unseen[] = {
	SCMP_SYS(process_madvise),
	SCMP_SYS(mbind),
	SCMP_SYS(set_mempolicy),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(move_pages),
	SCMP_SYS(personality),
};

/* Answered ENOSYS, so that who asks falls back: clone3 has its flags in
 * memory where no filter looks, and libc then uses clone. */
static const int absent[] = {
	SCMP_SYS(clone3),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(memfd_secret),
	/* Takes of fs.aio-max-nr, which is the whole host's. */
	SCMP_SYS(io_setup),
};

/* Does nothing and seems to work. All that can be written inside is in memory;
 * what these reach beside is the host's disk, through its files and for all. */
static const int idle[] = {
	SCMP_SYS(sync),
	SCMP_SYS(syncfs),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(sync_file_range),
};

/* PID 1 has the program's uid: what acts on it by number is refused. Threads
 * of the program name each other by number too (pthread_setaffinity_np), so
 * only the number 1 is. */
#define INIT_PID 1

enum test {
	HAS_BIT, /* the bit v is set */
	IS_LOW,	 /* its low 32 bits are v */
	IS_NOT,	 /* all 64 bits are not v: rubbish above is refused as well */
	IS_ABOVE /* all 64 bits are more than v */
};

struct by_arg {
	int nr;
	int error;
	unsigned arg;
	enum test test;
	uint64_t v;
};

/* Refused, and counted, if one argument holds what it must not. */
static const struct by_arg refused_by_arg[] = {
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWNS },
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWCGROUP },
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWUTS },
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWIPC },
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWUSER },
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWPID },
	{ SCMP_SYS(clone), EPERM, 0, HAS_BIT, CLONE_NEWNET },
	/* Typing into a terminal. */
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, TIOCSTI },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, TIOCLINUX },
	/* Whoever asks makes the kernel run modprobe, as the host's root and
	 * outside of every limit, and the module stays: a terminal's line
	 * discipline, bridges, VLANs, frame relay. */
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, TIOCSETD },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, SIOCGIFBR },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, SIOCSIFBR },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, SIOCBRADDBR },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, SIOCBRDELBR },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, SIOCGIFVLAN },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, SIOCSIFVLAN },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, IOCTL_ADD_DLCI },
	{ SCMP_SYS(ioctl), EPERM, 1, IS_LOW, IOCTL_DEL_DLCI },
	/* PID 1. By group or by user a call would reach it unnamed. */
	{ SCMP_SYS(prlimit64), EPERM, 0, IS_NOT, 0 },
	{ SCMP_SYS(sched_setaffinity), EPERM, 0, IS_LOW, INIT_PID },
	{ SCMP_SYS(sched_setscheduler), EPERM, 0, IS_LOW, INIT_PID },
	{ SCMP_SYS(sched_setparam), EPERM, 0, IS_LOW, INIT_PID },
	{ SCMP_SYS(sched_setattr), EPERM, 0, IS_LOW, INIT_PID },
	{ SCMP_SYS(setpriority), EPERM, 0, IS_NOT, PRIO_PROCESS },
	{ SCMP_SYS(setpriority), EPERM, 1, IS_LOW, INIT_PID },
	{ SCMP_SYS(ioprio_set), EPERM, 0, IS_NOT, IOPRIO_WHO_PROCESS },
	{ SCMP_SYS(ioprio_set), EPERM, 1, IS_LOW, INIT_PID },
	/* Only AF_UNIX (1), AF_INET (2) and AF_INET6 (10) stay. One argument
	 * can be compared only once a rule, so the others go one by one. */
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_AX25 },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_IPX },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_APPLETALK },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_NETROM },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_BRIDGE },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_ATMPVC },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_X25 },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_ROSE },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_DECnet },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_NETBEUI },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_SECURITY },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_KEY },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_ABOVE, AF_NETLINK },
	/* The kernel makes pairs of few families, but looks for any. */
	{ SCMP_SYS(socketpair), EAFNOSUPPORT, 0, IS_NOT, AF_UNIX },
};

/* Refused, not counted: looking up a name asks it for the interfaces. */
static const struct by_arg refused_by_arg_unseen[] = {
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_UNSPEC },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_NETLINK },
	/* Filters take of what the host has for all compiled ones
	 * (net.core.bpf_jit_limit), and no limit of a run counts it. As from a
	 * kernel that has none: libraries go without. The one that this is
	 * comes before it binds. */
	{ SCMP_SYS(seccomp), EINVAL, 0, IS_LOW, SECCOMP_SET_MODE_FILTER },
	{ SCMP_SYS(prctl), EINVAL, 0, IS_LOW, PR_SET_SECCOMP },
	/* A core that others may not share is idle beside the program. */
	{ SCMP_SYS(prctl), EINVAL, 0, IS_LOW, OPTION_SCHED_CORE },
	/* Huge pages that the host set aside, which the memory's limit does
	 * not count. As where there are none. */
	{ SCMP_SYS(mmap), ENOMEM, 3, HAS_BIT, MAP_HUGETLB },
	{ SCMP_SYS(memfd_create), EINVAL, 1, HAS_BIT, MFD_HUGETLB },
	/* Forgets pages of the host's files that others read. */
	{ SCMP_SYS(fadvise64), 0, 3, IS_LOW, POSIX_FADV_DONTNEED },
};

/* Go on, but PID 1 looks where they lead, which costs the caller some 20 us
 * each. What is frequent is not asked about: sends on a connection, files
 * opened for reading or removed. */
static const int shown[] = {
	SCMP_SYS(connect), SCMP_SYS(sendmmsg), SCMP_SYS(creat), SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(exit_group), /* sandbox-scripts/init_end.c */
};
static const struct by_arg shown_by_arg[] = {
	{ SCMP_SYS(sendto), 0, 4, IS_NOT, 0 },
	{ SCMP_SYS(sendmsg), 0, 0, IS_NOT, WIRE_WATCH_FD },
	{ SCMP_SYS(open), 0, 1, HAS_BIT, O_WRONLY },
	{ SCMP_SYS(open), 0, 1, HAS_BIT, O_RDWR },
	{ SCMP_SYS(open), 0, 1, HAS_BIT, O_CREAT },
	{ SCMP_SYS(openat), 0, 2, HAS_BIT, O_WRONLY },
	{ SCMP_SYS(openat), 0, 2, HAS_BIT, O_RDWR },
	{ SCMP_SYS(openat), 0, 2, HAS_BIT, O_CREAT },
};

static struct scmp_arg_cmp
compare(const struct by_arg *r)
{
	struct scmp_arg_cmp c = { .arg = r->arg, .datum_a = r->v };

	switch (r->test) {
	case HAS_BIT:
		c.op = SCMP_CMP_MASKED_EQ;
		c.datum_b = r->v;
		break;
	case IS_LOW:
		c.op = SCMP_CMP_MASKED_EQ;
		c.datum_a = LOW32;
		c.datum_b = r->v;
		break;
	case IS_NOT:
		c.op = SCMP_CMP_NE;
		break;
	case IS_ABOVE:
		c.op = SCMP_CMP_GT;
		break;
	}
	return c;
}

int
filter_add(scmp_filter_ctx ctx, uint32_t action, int nr, unsigned n,
    const struct scmp_arg_cmp *cmp)
{
	int rc = seccomp_rule_add_array(ctx, action, nr, n, cmp);

	if (rc < 0)
		log_err("seccomp rule for call %d: %s", nr, strerror(-rc));
	return rc;
}

/* The core limit of 1 is what keeps the host's core handler from being started
 * for a program that crashes (core(5): 0 does not, where core_pattern is a
 * pipe); the program must not lower it. Asking for it stays. */
static int
add_core(scmp_filter_ctx ctx)
{
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);
	const struct scmp_arg_cmp set =
	    SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)RLIMIT_CORE);
	const struct scmp_arg_cmp set64[] = {
		SCMP_A1(
		    SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)RLIMIT_CORE),
		SCMP_A2(SCMP_CMP_NE, 0, 0),
	};
	int rc = filter_add(ctx, eperm, SCMP_SYS(setrlimit), 1, &set);

	return rc < 0 ? rc
		      : filter_add(ctx, eperm, SCMP_SYS(prlimit64), 2, set64);
}

/* The pages of pipes are counted for each user of the host, which all sandboxes
 * are one of, and who is over gets pipes of 8 KiB. So no pipe may be made
 * larger than it comes: the kernel's own answer to who is over. */
static int
add_pipes(scmp_filter_ctx ctx)
{
	const scmp_datum_t most = PIPE_PAGES * (scmp_datum_t)getpagesize();
	const struct scmp_arg_cmp larger[] = {
		SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, F_SETPIPE_SZ),
		SCMP_A2(SCMP_CMP_GT, most, 0),
	};

	return filter_add(
	    ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 2, larger);
}

static int
add_all(scmp_filter_ctx ctx, uint32_t action, const int *nr, size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = filter_add(ctx, action, nr[i], 0, NULL);
	return rc;
}

static int
add_by_arg(scmp_filter_ctx ctx, bool asked, const struct by_arg *r, size_t n)
{
	struct scmp_arg_cmp cmp;
	uint32_t action;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		cmp = compare(&r[i]);
		action = asked ? SCMP_ACT_NOTIFY
			       : SCMP_ACT_ERRNO((uint32_t)r[i].error);
		rc = filter_add(ctx, action, r[i].nr, 1, &cmp);
	}
	return rc;
}

static int
build(scmp_filter_ctx ctx, bool watched)
{
	const uint32_t eperm = SCMP_ACT_ERRNO(EPERM);
	const uint32_t enosys = SCMP_ACT_ERRNO(ENOSYS);
	int rc;

	/* Only the native architecture is in ctx. A call by another one (x32,
	 * int 0x80) ends the process, not just a thread of it. */
	rc = seccomp_attr_set(
	    ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc < 0)
		log_err("seccomp_attr_set: %s", strerror(-rc));
	if (rc == 0)
		rc = add_all(ctx, watched ? SCMP_ACT_NOTIFY : eperm, refused,
		    LEN(refused));
	if (rc == 0)
		rc = add_all(ctx, eperm, refused_unseen, LEN(refused_unseen));
	if (rc == 0)
		rc = add_all(ctx, enosys, absent, LEN(absent));
	if (rc == 0)
		rc = add_all(ctx, SCMP_ACT_ERRNO(0), idle, LEN(idle));
	if (rc == 0)
		rc = add_by_arg(
		    ctx, watched, refused_by_arg, LEN(refused_by_arg));
	if (rc == 0)
		rc = add_by_arg(ctx, false, refused_by_arg_unseen,
		    LEN(refused_by_arg_unseen));
	if (rc == 0)
		rc = filter_net_add(ctx, watched);
	if (rc == 0 && watched)
		rc = add_all(ctx, SCMP_ACT_NOTIFY, shown, LEN(shown));
	if (rc == 0 && watched)
		rc = add_by_arg(ctx, true, shown_by_arg, LEN(shown_by_arg));
	if (rc == 0)
		rc = add_core(ctx);
	return rc < 0 ? rc : add_pipes(ctx);
}

/* Can a sandbox have a listener of its own? Only one is allowed from a process
 * up to the host's first; a container may have one around us. */
static bool
watchable(void)
{
	struct sock_filter allow = { .code = BPF_RET | BPF_K,
		.k = SECCOMP_RET_ALLOW };
	const struct sock_fprog program = { 1, &allow };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0)
			_exit(1);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

enum status
filter_make(int *fd)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	OWN_FD int mem = -1;
	enum status st = ST_BUG;
	bool watched;
	int rc;

	*fd = -1;
	if (ctx == NULL)
		return ST_NOMEM;
	watched = watchable();
	if (!watched)
		log_warn("seccomp: somebody listens already; what a program "
			 "was refused will not be told");
	rc = build(ctx, watched);
	if (rc < 0) {
		st = ST_IO;
		goto out;
	}
	mem = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (mem < 0) {
		log_err("memfd_create: %s", strerror(errno));
		st = ST_IO;
		goto out;
	}
	rc = seccomp_export_bpf(ctx, mem);
	if (rc < 0 || lseek(mem, 0, SEEK_SET) != 0 ||
	    fcntl(mem, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		log_err("seccomp filter: %s", strerror(rc < 0 ? -rc : errno));
		st = ST_IO;
		goto out;
	}
	*fd = own_steal_fd(&mem);
	st = ST_OK;
out:
	seccomp_release(ctx);
	return st;
}

int
filter_reopen(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

const char *
filter_call(int nr)
{
	static char name[32];
	char *found = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);

	if (found == NULL)
		return "?";
	(void)snprintf(name, sizeof(name), "%s", found);
	free(found);
	return name;
}
