#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/own.h"

#define HIGH_FD 64

/* The most descriptors that Linux lets one message carry (SCM_MAX_FD). With
 * room for all of them none can be cut off unseen. */
#define MESSAGE_FDS 253

int64_t
io_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t
io_now_ms(void)
{
	return io_now_us() / 1000;
}

/* What errno of a failed call on a descriptor means; logs what is our own
 * trouble. */
static enum status
failed(const char *what)
{
	switch (errno) {
	case EPIPE:
	case ECONNRESET:
	case ECONNREFUSED:
	case ENOTCONN:
		return ST_CLOSED;
	case EAGAIN:
		return ST_TIMEOUT;
	default:
		log_err("%s: %s", what, strerror(errno));
		return ST_IO;
	}
}

enum status
io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	enum status st = ST_BUG;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n >= 0) {
			p += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		st = failed("write");
		if (st == ST_TIMEOUT)
			st = io_wait(fd, POLLOUT, -1);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

/* io_read_file with a name for the log. */
static enum status
read_whole(int fd, const char *name, size_t max, char **out, size_t *len)
{
	enum status st = ST_BUG;
	struct buf content;
	char chunk[16384];
	ssize_t n;

	*out = NULL;
	buf_init(&content, max);
	for (;;) {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		buf_add(&content, chunk, (size_t)n);
		if (buf_status(&content) != ST_OK)
			break;
	}
	st = buf_status(&content);
	if (n < 0) {
		log_err("read %s: %s", name, strerror(errno));
		st = ST_IO;
	}
	if (st == ST_OK) {
		*out = buf_take(&content, len);
		if (*out == NULL)
			st = ST_NOMEM;
	}
	buf_free(&content);
	return st;
}

enum status
io_read_file(int fd, size_t max, char **out, size_t *len)
{
	return read_whole(fd, "file", max, out, len);
}

enum status
io_read_path(const char *path, size_t max, char **out, size_t *len)
{
	OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	*out = NULL;
	if (fd < 0 && errno == ENOENT)
		return ST_NOT_FOUND;
	if (fd < 0) {
		log_err("open %s: %s", path, strerror(errno));
		return ST_IO;
	}
	return read_whole(fd, path, max, out, len);
}

enum status
io_send_msg(int sock, const void *data, size_t len, int fd, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	/* sendmsg only reads what iov_base points to. */
	union {
		const void *in;
		void *out;
	} base = { .in = data };
	struct iovec iov = { .iov_base = base.out, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *head;
	ssize_t n;

	/* An empty message cannot be told from the end of the stream. */
	if (len == 0)
		return ST_BUG;
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return failed("sendmsg");
	return (size_t)n == len ? ST_OK : ST_IO;
}

/* Take the descriptors out of a received message: the first one into *first
 * (-1: none), all others closed. Gives their number. */
static size_t
take_fds(int *first, struct msghdr *msg)
{
	struct cmsghdr *head;
	size_t count = 0, here;
	int fd;

	*first = -1;
	for (head = CMSG_FIRSTHDR(msg); head != NULL;
	     head = CMSG_NXTHDR(msg, head)) {
		if (head->cmsg_level != SOL_SOCKET ||
		    head->cmsg_type != SCM_RIGHTS)
			continue;
		here = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here; i++) {
			memcpy(
			    &fd, CMSG_DATA(head) + i * sizeof(int), sizeof(fd));
			if (count++ == 0)
				*first = fd;
			else
				close(fd);
		}
	}
	return count;
}

enum status
io_recv_msg(int sock, void *data, size_t cap, size_t *len, int *fd, int flags)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS)];
	} control;
	struct iovec iov = { .iov_base = data, .iov_len = cap };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	OWN_FD int first = -1;
	size_t count;
	ssize_t n;

	*len = 0;
	if (fd != NULL)
		*fd = -1;
	do {
		n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return failed("recvmsg");
	count = take_fds(&first, &msg);
	if (n == 0)
		return ST_CLOSED;
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
	    count > (fd == NULL ? 0 : 1))
		return ST_FORMAT;
	*len = (size_t)n;
	if (fd != NULL)
		*fd = own_steal_fd(&first);
	return ST_OK;
}

enum status
io_wait(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left = -1;
	int n;

	for (;;) {
		if (deadline_ms >= 0) {
			left = deadline_ms - io_now_ms();
			if (left < 0)
				left = 0;
			if (left > INT_MAX)
				left = INT_MAX;
		}
		n = poll(&p, 1, (int)left);
		if (n > 0 && (p.revents & POLLNVAL) != 0) {
			log_err("poll: bad descriptor");
			return ST_IO;
		}
		if (n > 0)
			return ST_OK;
		if (n == 0 && left < INT_MAX)
			return ST_TIMEOUT;
		if (n < 0 && errno != EINTR) {
			log_err("poll: %s", strerror(errno));
			return ST_IO;
		}
	}
}

bool
io_alive(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) == 0;
}

enum status
io_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		log_err("fcntl: %s", strerror(errno));
		return ST_IO;
	}
	return ST_OK;
}

int
io_move_high(int fd)
{
	int high;

	if (fd < 0)
		return -1;
	high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (high < 0)
		log_err("fcntl: %s", strerror(errno));
	close(fd);
	return high;
}
