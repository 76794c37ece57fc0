#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static size_t
open_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static bool
is_cloexec(int fd)
{
	return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static void
pair(int fds[2])
{
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
}

static void
clock_goes_forward(void **state)
{
	int64_t a = io_now_us(), b;

	(void)state;
	usleep(3000);
	b = io_now_us();
	assert_in_range(b - a, 3000, 5000000);
	assert_in_range(io_now_ms() - b / 1000, 0, 5000);
}

/* ---- whole reads and writes ---- */

struct reader {
	int fd;
	size_t got;
	bool right;
};

static void *
slow_reader(void *arg)
{
	struct reader *r = arg;
	uint8_t chunk[1000];
	ssize_t n;

	r->right = true;
	for (;;) {
		n = read(r->fd, chunk, sizeof(chunk));
		if (n <= 0)
			return NULL;
		for (ssize_t i = 0; i < n; i++, r->got++)
			r->right &= chunk[i] == (uint8_t)(r->got % 251);
	}
}

static void
write_all_is_whole(void **state)
{
	const size_t len = 1 << 20;
	uint8_t *data = malloc(len);
	pthread_t thread;

	(void)state;
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)(i % 251);
	for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
		struct reader r = { 0 };
		int fds[2];

		assert_int_equal(pipe(fds), 0);
		r.fd = fds[0];
		if (nonblocking)
			assert_int_equal(io_nonblock(fds[1]), ST_OK);
		pthread_create(&thread, NULL, slow_reader, &r);
		assert_int_equal(io_write_all(fds[1], data, len), ST_OK);
		close(fds[1]);
		pthread_join(thread, NULL);
		close(fds[0]);
		assert_int_equal(r.got, len);
		assert_true(r.right);
	}
	free(data);
}

static void
write_to_nobody_is_closed(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(io_write_all(fds[1], "x", 1), ST_CLOSED);
	assert_int_equal(io_write_all(fds[1], "", 0), ST_OK);
	close(fds[1]);
	assert_int_equal(io_write_all(-1, "x", 1), ST_IO);
	assert_int_equal(io_write_all(STDIN_FILENO, NULL, 0), ST_OK);
}

static char path[] = "/tmp/test_io_XXXXXX";

static void
file_of(const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, data, len), ST_OK);
	close(fd);
}

static void
read_path_has_a_maximum(void **state)
{
	char *text = NULL, *big;
	size_t len = 99, fds = open_fds();

	(void)state;
	file_of("a\0b", 3);
	assert_int_equal(io_read_path(path, 3, &text, &len), ST_OK);
	assert_int_equal(len, 3);
	assert_memory_equal(text, "a\0b", 4);
	free(text);
	assert_int_equal(io_read_path(path, 3, &text, NULL), ST_OK);
	free(text);
	assert_int_equal(io_read_path(path, 2, &text, &len), ST_TOO_BIG);
	assert_null(text);
	file_of("", 0);
	assert_int_equal(io_read_path(path, 0, &text, &len), ST_OK);
	assert_int_equal(len, 0);
	assert_string_equal(text, "");
	free(text);
	big = calloc(1, 100001);
	memset(big, 'q', 100000);
	file_of(big, 100000);
	assert_int_equal(io_read_path(path, 100000, &text, &len), ST_OK);
	assert_int_equal(len, 100000);
	assert_string_equal(text, big);
	free(text);
	assert_int_equal(io_read_path(path, 99999, &text, &len), ST_TOO_BIG);
	free(big);
	assert_int_equal(open_fds(), fds);
}

static void
read_failures_are_told_apart(void **state)
{
	char *text = path;
	int fds[2];

	(void)state;
	unlink(path);
	assert_int_equal(io_read_path(path, 9, &text, NULL), ST_NOT_FOUND);
	assert_null(text);
	text = path;
	assert_int_equal(io_read_path("/", 9, &text, NULL), ST_IO);
	assert_null(text);
	assert_int_equal(io_read_file(-1, 9, &text, NULL), ST_IO);
	/* A pipe that brings its content in parts. */
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "ab", 2), 2);
	close(fds[1]);
	assert_int_equal(io_read_file(fds[0], 9, &text, NULL), ST_OK);
	assert_string_equal(text, "ab");
	free(text);
	close(fds[0]);
}

/* ---- messages ---- */

static void
messages_keep_their_borders(void **state)
{
	char got[10];
	size_t len;
	int s[2], fd = 5;

	(void)state;
	pair(s);
	assert_int_equal(io_send_msg(s[0], "abc", 3, -1, 0), ST_OK);
	assert_int_equal(io_send_msg(s[0], "0123456789", 10, -1, 0), ST_OK);
	assert_int_equal(io_recv_msg(s[1], got, 10, &len, &fd, 0), ST_OK);
	assert_int_equal(len, 3);
	assert_memory_equal(got, "abc", 3);
	assert_int_equal(fd, -1);
	assert_int_equal(io_recv_msg(s[1], got, 10, &len, NULL, 0), ST_OK);
	assert_int_equal(len, 10);
	/* One byte too long for the reader. */
	assert_int_equal(io_send_msg(s[0], "0123456789", 10, -1, 0), ST_OK);
	assert_int_equal(io_recv_msg(s[1], got, 9, &len, &fd, 0), ST_FORMAT);
	assert_int_equal(len, 0);
	/* Nothing there. */
	assert_int_equal(
	    io_recv_msg(s[1], got, 10, &len, &fd, MSG_DONTWAIT), ST_TIMEOUT);
	/* An empty message would read as the end. */
	assert_int_equal(io_send_msg(s[0], "", 0, -1, 0), ST_BUG);
	close(s[0]);
	assert_int_equal(io_recv_msg(s[1], got, 10, &len, &fd, 0), ST_CLOSED);
	assert_int_equal(io_send_msg(s[1], "x", 1, -1, 0), ST_CLOSED);
	close(s[1]);
	assert_int_equal(io_recv_msg(s[1], got, 10, &len, &fd, 0), ST_IO);
	assert_int_equal(io_send_msg(s[1], "x", 1, -1, 0), ST_IO);
}

static void
a_full_socket_times_out(void **state)
{
	char data[4096] = { 0 };
	enum status st = ST_OK;
	int s[2], sent = 0;

	(void)state;
	pair(s);
	while (st == ST_OK && sent++ < 100000)
		st = io_send_msg(s[0], data, sizeof(data), -1, MSG_DONTWAIT);
	assert_int_equal(st, ST_TIMEOUT);
	close(s[0]);
	close(s[1]);
}

static void
a_descriptor_travels(void **state)
{
	struct stat ours, theirs;
	char got[4];
	size_t len, fds = open_fds();
	int s[2], p[2], fd = -1;

	(void)state;
	pair(s);
	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_send_msg(s[0], "fd", 2, p[0], 0), ST_OK);
	assert_true(fcntl(p[0], F_GETFD) >= 0); /* stays ours */
	assert_int_equal(io_recv_msg(s[1], got, 4, &len, &fd, 0), ST_OK);
	assert_int_equal(len, 2);
	assert_true(fd >= 0 && fd != p[0]);
	assert_true(is_cloexec(fd));
	assert_int_equal(fstat(p[0], &ours), 0);
	assert_int_equal(fstat(fd, &theirs), 0);
	assert_int_equal(ours.st_ino, theirs.st_ino);
	close(fd);
	close(p[0]);
	close(p[1]);
	close(s[0]);
	close(s[1]);
	assert_int_equal(open_fds(), fds);
}

/* Send a message with many descriptors, as an attacker might. */
static void
send_many(int sock, size_t n, const char *data, size_t len)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(253 * sizeof(int))];
	} control = { 0 };
	char copy[16];
	struct iovec iov = { .iov_base = copy, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);

	memcpy(copy, data, len);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(n * sizeof(int));
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(head) + i * sizeof(int), &sock, sizeof(sock));
	assert_int_equal(sendmsg(sock, &msg, 0), len);
}

static void
descriptors_nobody_wants_are_closed(void **state)
{
	char got[4];
	size_t len, fds;
	int s[2], fd;

	(void)state;
	pair(s);
	fds = open_fds();
	/* More than one. */
	for (size_t n = 2; n <= 253; n += 251) {
		send_many(s[0], n, "x", 1);
		fd = 7;
		assert_int_equal(
		    io_recv_msg(s[1], got, 4, &len, &fd, 0), ST_FORMAT);
		assert_int_equal(fd, -1);
		assert_int_equal(len, 0);
		assert_int_equal(open_fds(), fds);
	}
	/* One where none is expected. */
	send_many(s[0], 1, "x", 1);
	assert_int_equal(io_recv_msg(s[1], got, 4, &len, NULL, 0), ST_FORMAT);
	assert_int_equal(open_fds(), fds);
	/* One with a message that is too long. */
	send_many(s[0], 1, "01234", 5);
	assert_int_equal(io_recv_msg(s[1], got, 4, &len, &fd, 0), ST_FORMAT);
	assert_int_equal(open_fds(), fds);
	/* One with an empty message. */
	send_many(s[0], 1, "", 0);
	assert_int_equal(io_recv_msg(s[1], got, 4, &len, &fd, 0), ST_CLOSED);
	assert_int_equal(open_fds(), fds);
	close(s[0]);
	close(s[1]);
}

/* ---- waiting ---- */

static void
interrupt(int sig)
{
	(void)sig;
}

static void *
interrupter(void *arg)
{
	for (int i = 0; i < 5; i++) {
		usleep(10000);
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
	}
	return NULL;
}

static void
wait_obeys_the_deadline(void **state)
{
	struct sigaction sa = { .sa_handler = interrupt };
	pthread_t self = pthread_self(), thread;
	int64_t start;
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_wait(p[0], POLLIN, 0), ST_TIMEOUT);
	start = io_now_ms();
	assert_int_equal(io_wait(p[0], POLLIN, start + 30), ST_TIMEOUT);
	assert_in_range(io_now_ms() - start, 30, 5000);
	/* Signals neither end the wait nor make it longer. */
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&thread, NULL, interrupter, &self);
	start = io_now_ms();
	assert_int_equal(io_wait(p[0], POLLIN, start + 80), ST_TIMEOUT);
	assert_in_range(io_now_ms() - start, 80, 5000);
	pthread_join(thread, NULL);
	/* What is ready is ready, however late it is. */
	assert_int_equal(write(p[1], "x", 1), 1);
	assert_int_equal(io_wait(p[0], POLLIN, 0), ST_OK);
	assert_int_equal(io_wait(p[0], POLLIN, -1), ST_OK);
	assert_int_equal(io_wait(p[0], POLLIN, INT64_MAX), ST_OK);
	assert_int_equal(io_wait(p[1], POLLOUT, 0), ST_OK);
	close(p[1]);
	assert_int_equal(io_wait(p[0], POLLIN, -1), ST_OK);
	close(p[0]);
	assert_int_equal(io_wait(p[0], POLLIN, -1), ST_IO);
}

/* ---- descriptors ---- */

static void
nonblock_is_set(void **state)
{
	int p[2];
	char c;

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(io_nonblock(p[0]), ST_OK);
	assert_int_equal(read(p[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	close(p[0]);
	close(p[1]);
	assert_int_equal(io_nonblock(p[0]), ST_IO);
}

static void
alive_until_it_ends(void **state)
{
	int go[2], pidfd;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(go[1]);
		_exit((int)read(go[0], go, 1));
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_true(pidfd >= 0);
	assert_true(io_alive(pidfd));
	close(go[1]);
	assert_int_equal(io_wait(pidfd, POLLIN, io_now_ms() + 5000), ST_OK);
	assert_false(io_alive(pidfd));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Its number may be another's now. */
	assert_false(io_alive(pidfd));
	close(pidfd);
	close(go[0]);
	assert_false(io_alive(-1));
}

static void
high_descriptors(void **state)
{
	size_t fds;
	int p[2], high;

	(void)state;
	assert_int_equal(pipe(p), 0);
	fds = open_fds();
	high = io_move_high(p[0]);
	assert_true(high >= 64);
	assert_true(is_cloexec(high));
	assert_int_equal(fcntl(p[0], F_GETFD), -1);
	assert_int_equal(open_fds(), fds);
	close(p[1]);
	assert_int_equal(read(high, &fds, 1), 0);
	close(high);
	assert_int_equal(io_move_high(-1), -1);
	assert_int_equal(io_move_high(p[1]), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_goes_forward),
		cmocka_unit_test(write_all_is_whole),
		cmocka_unit_test(write_to_nobody_is_closed),
		cmocka_unit_test(read_path_has_a_maximum),
		cmocka_unit_test(read_failures_are_told_apart),
		cmocka_unit_test(messages_keep_their_borders),
		cmocka_unit_test(a_full_socket_times_out),
		cmocka_unit_test(a_descriptor_travels),
		cmocka_unit_test(descriptors_nobody_wants_are_closed),
		cmocka_unit_test(wait_obeys_the_deadline),
		cmocka_unit_test(nonblock_is_set),
		cmocka_unit_test(alive_until_it_ends),
		cmocka_unit_test(high_descriptors),
	};
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int fd = mkstemp(path), failed;

	/* As the daemon does. */
	sigaction(SIGPIPE, &ignore, NULL);
	close(fd);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	return failed;
}
