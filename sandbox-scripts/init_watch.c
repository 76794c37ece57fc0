/*
 * How this works. For calls that tell something about why a program may fail,
 * its filter (fcgi/box/filter.c) answers SECCOMP_RET_USER_NOTIF: the caller
 * sleeps until PID 1 has looked. Two kinds of call come here. Those that may
 * reach the network or write a file go on, whatever was seen; the program may
 * change what they point to meanwhile, which does not matter, since this only
 * counts. All others are ones that the filter refuses, and are answered so.
 *
 * If nobody looks any more, the kernel refuses them all.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

#define PATH_BYTES 512
#define PAGE_BYTES 4096u
#define DNS_PORT 53
#define TYPE_BITS 0xf /* of a socket; what is above are flags */
#define PROTOCOL_MPTCP 262

/* The kernel writes as much as its own version of the structure holds. */
union request {
	struct seccomp_notif notif;
	char room[256];
};

union answer {
	struct seccomp_notif_resp resp;
	char room[128];
};

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* One sandbox, one program. */
static int listener = -1;
static int ends[2] = { -1, -1 }; /* what the listener comes through */
static struct wire_seen seen;

/* ---- set-up ---- */

bool
init_watch_prepare(struct init_trouble *t)
{
	struct seccomp_notif_sizes size;

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &size) < 0)
		return init_trouble(t, "seccomp sizes", errno);
	if (size.seccomp_notif > sizeof(union request) ||
	    size.seccomp_notif_resp > sizeof(union answer))
		return init_trouble(t, "seccomp sizes", E2BIG);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
	    dup3(ends[1], WIRE_WATCH_FD, O_CLOEXEC) < 0)
		return init_trouble(t, "seccomp socket", errno);
	close(ends[1]);
	return true;
}

/* Install it; gives the listener, or -1. */
static int
install(const struct sock_fprog *filter)
{
	const unsigned long flag[] = {
		/* A signal does not wake who waits for us: no call is seen
		 * twice. Linux 5.19. */
		SECCOMP_FILTER_FLAG_NEW_LISTENER |
		    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		SECCOMP_FILTER_FLAG_NEW_LISTENER,
	};
	long fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(flag) / sizeof(flag[0]); i++)
		fd = syscall(
		    SYS_seccomp, SECCOMP_SET_MODE_FILTER, flag[i], filter);
	return (int)fd;
}

static bool
send_listener(int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (char[]){ 0 }, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	return sendmsg(WIRE_WATCH_FD, &msg, MSG_NOSIGNAL) == 1;
}

bool
init_watch_enter(const struct sock_fprog *filter, struct init_trouble *t)
{
	int fd;

	fd = install(filter);
	if (fd >= 0)
		return send_listener(fd) ||
		       init_trouble(t, "seccomp listener", errno);
	/* A listener from outside of the sandbox is there: the boxer knows,
	 * and the filter asks nobody. */
	if (errno == EBUSY &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter) == 0)
		return true;
	return init_trouble(t, "seccomp", errno);
}

void
init_watch_take(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head;

	close(WIRE_WATCH_FD);
	if (recvmsg(ends[0], &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1) {
		head = CMSG_FIRSTHDR(&msg);
		if (head != NULL && head->cmsg_type == SCM_RIGHTS)
			memcpy(&listener, CMSG_DATA(head), sizeof(listener));
	}
	close(ends[0]);
}

/* ---- looking at a call ---- */

static void *
pointer(uint64_t address)
{
	void *p;

	memcpy(&p, &address, sizeof(p));
	return p;
}

/* Up to len bytes at address of the caller; how many there were. Page by page,
 * since what is not mapped ends it. */
static size_t
peek(uint32_t pid, uint64_t address, void *out, size_t len)
{
	size_t first = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
	struct iovec here = { .iov_base = out, .iov_len = len };
	struct iovec there[2] = { { .iov_base = pointer(address),
				      .iov_len = len < first ? len : first },
		{ .iov_base = pointer(address + first),
		    .iov_len = len < first ? 0 : len - first } };
	ssize_t n = process_vm_readv((pid_t)pid, &here, 1, there, 2, 0);

	return n < 0 ? 0 : (size_t)n;
}

static void
count(uint32_t *n)
{
	if (*n < UINT32_MAX)
		(*n)++;
}

/* Would this leave the sandbox, if there were a way? A look-up of a name goes
 * to a name server on this host, where none is. */
static bool
leads_out(const union address *a, size_t len)
{
	const struct in6_addr *to6 = &a->in6.sin6_addr;
	uint32_t to;

	if (len >= sizeof(a->in) && a->any.sa_family == AF_INET) {
		to = ntohl(a->in.sin_addr.s_addr);
		return (to != INADDR_ANY && to >> 24 != IN_LOOPBACKNET) ||
		       ntohs(a->in.sin_port) == DNS_PORT;
	}
	if (len >= sizeof(a->in6) && a->any.sa_family == AF_INET6) {
		if (IN6_IS_ADDR_V4MAPPED(to6))
			return to6->s6_addr[12] != IN_LOOPBACKNET;
		return (!IN6_IS_ADDR_LOOPBACK(to6) &&
			   !IN6_IS_ADDR_UNSPECIFIED(to6)) ||
		       ntohs(a->in6.sin6_port) == DNS_PORT;
	}
	return false;
}

static void
see_address(uint32_t pid, uint64_t at, uint64_t len)
{
	union address a = { 0 };

	if (leads_out(&a, peek(pid, at, &a, len < sizeof(a) ? len : sizeof(a))))
		count(&seen.network);
}

/* The address stands in the (first) message. */
static void
see_message(uint32_t pid, uint64_t at)
{
	struct msghdr m = { 0 };

	if (peek(pid, at, &m, sizeof(m)) == sizeof(m) && m.msg_name != NULL)
		see_address(
		    pid, (uint64_t)(uintptr_t)m.msg_name, m.msg_namelen);
}

/* Only absolute paths: the program starts inside. What python keeps of its own
 * modules is nobody's wish. */
static void
see_path(uint32_t pid, uint64_t at)
{
	static const char *const inside[] = { "/box/", "/tmp/", "/dev/" };
	char path[PATH_BYTES + 1];

	path[peek(pid, at, path, PATH_BYTES)] = '\0';
	if (path[0] != '/' || strstr(path, "/__pycache__/") != NULL)
		return;
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		if (strncmp(path, inside[i], strlen(inside[i])) == 0)
			return;
	}
	count(&seen.writes);
}

/* The error that the filter gives where nobody is asked. */
static int
refusal(const struct seccomp_data *d)
{
	if (d->nr == SYS_socketpair)
		return -EAFNOSUPPORT;
	if (d->nr != SYS_socket)
		return -EPERM;
	if (d->args[0] != AF_INET && d->args[0] != AF_INET6)
		return -EAFNOSUPPORT;
	switch (d->args[1] & TYPE_BITS) {
	case SOCK_STREAM:
	case SOCK_DGRAM:
		return -EPROTONOSUPPORT;
	case SOCK_RAW:
		return -EPERM;
	default:
		return -ESOCKTNOSUPPORT;
	}
}

/* Go asks for MPTCP as a matter of course and does without. */
static bool
tells_nothing(const struct seccomp_data *d)
{
	return d->nr == SYS_socket && d->args[2] == PROTOCOL_MPTCP &&
	       refusal(d) == -EPROTONOSUPPORT;
}

static int
refuse(const struct seccomp_data *d)
{
	if (!tells_nothing(d)) {
		if (seen.denied == 0)
			seen.first_denied = d->nr;
		count(&seen.denied);
	}
	return refusal(d);
}

/* What it is answered; 0: it goes on. */
static int
look(uint32_t pid, const struct seccomp_data *d)
{
	switch (d->nr) {
	case SYS_connect:
		see_address(pid, d->args[1], d->args[2]);
		return 0;
	case SYS_sendto:
		see_address(pid, d->args[4], d->args[5]);
		return 0;
	case SYS_sendmsg:
	case SYS_sendmmsg:
		see_message(pid, d->args[1]);
		return 0;
#ifdef SYS_open
	case SYS_open:
	case SYS_creat:
	case SYS_mkdir:
		see_path(pid, d->args[0]);
		return 0;
#endif
	case SYS_openat:
	case SYS_mkdirat:
		see_path(pid, d->args[1]);
		return 0;
	case SYS_exit_group:
		init_end_note((pid_t)pid, d->args[0]);
		return 0;
	default:
		return refuse(d);
	}
}

/* ---- service ---- */

/* By the bare call, since not every libc takes these numbers. */
static bool
do_ioctl(unsigned long what, void *with)
{
	return syscall(SYS_ioctl, listener, what, with) >= 0;
}

int
init_watch_fd(void)
{
	return listener;
}

void
init_watch_serve(short events)
{
	union request q = { 0 };
	union answer a = { 0 };

	if ((events & POLLIN) == 0) {
		/* All that had the filter are gone. */
		close(listener);
		listener = -1;
		return;
	}
	/* Fails where the caller was killed meanwhile, as the answer does. */
	if (!do_ioctl(SECCOMP_IOCTL_NOTIF_RECV, &q))
		return;
	a.resp.id = q.notif.id;
	a.resp.error = look(q.notif.pid, &q.notif.data);
	/* The main process would take the CPU for its end while there is
	 * something to tell. SIGKILL will wake it. */
	if (init_end() != NULL)
		return;
	if (a.resp.error == 0)
		a.resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (!do_ioctl(SECCOMP_IOCTL_NOTIF_SEND, &a))
		return;
}

void
init_watch_forget(void)
{
	memset(&seen, 0, sizeof(seen));
}

void
init_watch_seen(struct wire_seen *out)
{
	*out = seen;
}
