#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* All a request may hold, and room for the records' heads. */
#define IMAGE_BYTES (LIMITS_BODY + (8u << 20))

#define NEEDED_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

/* A peer that is gone is noticed where we read. */
void
init_control_tell(const void *message, size_t len)
{
	ssize_t n;

	do {
		n = send(INIT_CONTROL, message, len, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
}

void
init_control_tell_simple(enum wire_type type)
{
	struct wire_simple m = { .type = type };

	init_control_tell(&m, sizeof(m));
}

void
init_control_tell_failed(const struct init_trouble *t)
{
	struct wire_init_failed m = { .type = WIRE_INIT_FAILED,
		.error = t->error,
		.disk_full = t->error == ENOSPC || t->error == EDQUOT };

	(void)snprintf(m.step, sizeof(m.step), "%s", t->step);
	init_control_tell(&m, sizeof(m));
}

void
init_control_hand(const void *message, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	/* sendmsg only reads what iov_base points to. */
	const union {
		const void *in;
		void *out;
	} base = { .in = message };
	struct iovec iov = { .iov_base = base.out, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	do {
		n = sendmsg(INIT_CONTROL, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
}

/* The descriptor that came with msg, or -1. */
static int
descriptor_of(struct msghdr *msg)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (head != NULL && head->cmsg_level == SOL_SOCKET &&
	    head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

bool
init_control_receive(union init_order *m, int *fd, struct init_trouble *t)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = m, .iov_len = sizeof(*m) };
	/* What CMSG_SPACE() adds would hold a second descriptor. */
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_LEN(sizeof(*fd)) };
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(INIT_CONTROL, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n >= 0)
		*fd = descriptor_of(&msg);
	if (n <= 0)
		return init_trouble(
		    t, "control socket", n < 0 ? errno : ECONNRESET);
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return init_trouble(t, "message", EBADMSG);
	if (n == (ssize_t)sizeof(m->job) && m->type == WIRE_INIT_JOB &&
	    *fd >= 0)
		return true;
	if (n == (ssize_t)sizeof(m->warm) && m->type == WIRE_INIT_WARM &&
	    *fd < 0)
		return true;
	return init_trouble(t, "message", EBADMSG);
}

/* It must not be able to change any more. */
bool
init_control_map(
    struct init_image *out, int fd, uint64_t len, struct init_trouble *t)
{
	struct stat s;
	void *at;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & NEEDED_SEALS) != NEEDED_SEALS)
		return init_trouble(t, "job seals", EPERM);
	if (fstat(fd, &s) < 0 || s.st_size < 0 || (uint64_t)s.st_size != len ||
	    len == 0 || len > IMAGE_BYTES)
		return init_trouble(t, "job length", EMSGSIZE);
	at = mmap(NULL, (size_t)len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return init_trouble(t, "job image", errno);
	out->at = at;
	out->len = (size_t)len;
	close(fd);
	return true;
}
