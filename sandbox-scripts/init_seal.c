/*
 * How this works. A filter on PID 1 itself, from its first instruction on, for
 * whoever takes it over: PID 1 gets at all that is in the sandbox, and the
 * program's own filter (fcgi/box/filter.c) does not bind it. The program
 * inherits this one.
 *
 * A socket with SO_LINGER set makes whoever closes it last wait, for as long as
 * it says. Sent in a message, that is somebody outside: the kernel thread that
 * closes descriptors for all of the host, where the message lies in a cycle of
 * sockets, or the boxer. Nothing inside is worth lingering for, so the call
 * seems to work, and does nothing.
 *
 * A filter of a socket takes of what the host has for all compiled filters
 * (net.core.bpf_jit_limit).
 */
#include "init.h"

#include <endian.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#define FOREIGN 0x80000000u
#else
#define ARCH AUDIT_ARCH_X86_64
#define FOREIGN 0x40000000u /* x32's numbers, under the same name */
#endif

#if __BYTE_ORDER == __LITTLE_ENDIAN
#define LOW 0
#else
#define LOW 4
#endif

#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (what))
#define ARG(n) (offsetof(struct seccomp_data, args[n]) + LOW)
#define ANSWER(what) BPF_STMT(BPF_RET | BPF_K, (what))
/* Answer at once if what was loaded is this. */
#define IF(value, answer)                                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1), ANSWER(answer)
#define UNLESS(value, answer)                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 1, 0), ANSWER(answer)

#define KILL SECCOMP_RET_KILL_PROCESS
#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

bool
init_seal(struct init_trouble *t)
{
	/* The kernel takes these arguments as 32 bits. */
	static struct sock_filter rule[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		UNLESS(ARCH, KILL),
		LOAD(offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN, 0, 1),
		ANSWER(KILL),
		/* It would set the options past this. */
		IF(SYS_io_uring_setup, REFUSE(ENOSYS)),
		UNLESS(SYS_setsockopt, ALLOW),
		LOAD(ARG(1)),
		UNLESS(SOL_SOCKET, ALLOW),
		LOAD(ARG(2)),
		IF(SO_LINGER, REFUSE(0)),
		IF(SO_ATTACH_FILTER, REFUSE(EPERM)),
		IF(SO_ATTACH_BPF, REFUSE(EPERM)),
		IF(SO_ATTACH_REUSEPORT_CBPF, REFUSE(EPERM)),
		IF(SO_ATTACH_REUSEPORT_EBPF, REFUSE(EPERM)),
		ANSWER(ALLOW),
	};
	const struct sock_fprog filter = { sizeof(rule) / sizeof(rule[0]),
		rule };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 ||
	       init_trouble(t, "seccomp of PID 1", errno);
}
