#include "box/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"

/* The kernel takes these arguments as 32 bits and ignores what is above
 * (sandbox-faults.md 49). */
#define LOW32 0xffffffffu

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Calls that libseccomp 2.5 has no name for; the number is the same on every
 * architecture. */
#define NR_OPEN_TREE_ATTR 467

/* Refused with EPERM whatever the arguments. */
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
	SCMP_SYS(process_madvise),
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
	SCMP_SYS(mbind),
	SCMP_SYS(set_mempolicy),
	SCMP_SYS(migrate_pages),
	SCMP_SYS(move_pages),
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

/* Refused if one argument holds what it must not. */
static const struct by_arg {
	int nr;
	int error;
	unsigned arg;
	enum test test;
	uint64_t v;
} by_arg[] = {
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
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_UNSPEC },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_AX25 },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_IPX },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_APPLETALK },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_NETROM },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_BRIDGE },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_ATMPVC },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_LOW, AF_X25 },
	{ SCMP_SYS(socket), EAFNOSUPPORT, 0, IS_ABOVE, AF_INET6 },
	/* The kernel makes pairs of few families; TIPC is one. */
	{ SCMP_SYS(socketpair), EAFNOSUPPORT, 0, IS_ABOVE, AF_INET6 },
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

/* 0 or libseccomp's negative errno. */
static int
add(scmp_filter_ctx ctx, int nr, int error, unsigned n,
    const struct scmp_arg_cmp *cmp)
{
	int rc = seccomp_rule_add_array(
	    ctx, SCMP_ACT_ERRNO((uint32_t)error), nr, n, cmp);

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
	const struct scmp_arg_cmp set =
	    SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)RLIMIT_CORE);
	const struct scmp_arg_cmp set64[] = {
		SCMP_A1(
		    SCMP_CMP_MASKED_EQ, UINT32_MAX, (scmp_datum_t)RLIMIT_CORE),
		SCMP_A2(SCMP_CMP_NE, 0, 0),
	};
	int rc = add(ctx, SCMP_SYS(setrlimit), EPERM, 1, &set);

	return rc < 0 ? rc : add(ctx, SCMP_SYS(prlimit64), EPERM, 2, set64);
}

static int
build(scmp_filter_ctx ctx)
{
	struct scmp_arg_cmp cmp;
	int rc;

	/* Only the native architecture is in ctx. A call by another one (x32,
	 * int 0x80) ends the process, not just a thread of it. */
	rc = seccomp_attr_set(
	    ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc < 0)
		log_err("seccomp_attr_set: %s", strerror(-rc));
	for (size_t i = 0; rc == 0 && i < LEN(refused); i++)
		rc = add(ctx, refused[i], EPERM, 0, NULL);
	for (size_t i = 0; rc == 0 && i < LEN(absent); i++)
		rc = add(ctx, absent[i], ENOSYS, 0, NULL);
	for (size_t i = 0; rc == 0 && i < LEN(by_arg); i++) {
		cmp = compare(&by_arg[i]);
		rc = add(ctx, by_arg[i].nr, by_arg[i].error, 1, &cmp);
	}
	return rc < 0 ? rc : add_core(ctx);
}

enum status
filter_make(int *fd)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	OWN_FD int mem = -1;
	enum status st = ST_BUG;
	int rc;

	*fd = -1;
	if (ctx == NULL)
		return ST_NOMEM;
	rc = build(ctx);
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
