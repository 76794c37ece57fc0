/* A run's pipes in the hands of a thread: what it moves, and what it keeps
 * away from the loop. The test plays program and loop. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "box/ferry.h"

#define MIB (1u << 20)
/* Far more than anything here takes; what hangs shall not hang for ever. */
#define LONG_MS 20000

static size_t own; /* threads before any ferry's */

/* The program's ends, and the ferry. */
struct rig {
	int in;
	int out;
	int err;
	int theirs[3]; /* the other ends */
	int news;
	struct ferry *f;
};

static void
rig_pipes(struct rig *r)
{
	int in[2], out[2], err[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	assert_int_equal(io_nonblock(in[1]), ST_OK);
	assert_int_equal(io_nonblock(out[0]), ST_OK);
	assert_int_equal(io_nonblock(err[0]), ST_OK);
	r->in = in[0];
	r->out = out[1];
	r->err = err[1];
	r->theirs[0] = in[1];
	r->theirs[1] = out[0];
	r->theirs[2] = err[0];
}

static void
rig_start(struct rig *r, int image, uint64_t at, uint64_t len)
{
	assert_int_equal(ferry_open(&r->f, r->theirs, image, at, len), ST_OK);
	assert_int_equal(ferry_start(r->f, &r->news), ST_OK);
}

static void
rig_open(struct rig *r, int image, uint64_t at, uint64_t len)
{
	rig_pipes(r);
	rig_start(r, image, at, len);
}

static void
rig_close(struct rig *r)
{
	ferry_leave(r->f);
	close(r->news);
	close(r->in);
	close(r->out);
	close(r->err);
}

static size_t
threads(void)
{
	char text[4096] = "", *at;
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	at = strstr(text, "\nThreads:");
	assert_non_null(at);
	return strtoul(at + 9, NULL, 10);
}

static void
await_threads(size_t n)
{
	int64_t until = io_now_ms() + LONG_MS;

	while (threads() != n && io_now_ms() < until)
		usleep(1000);
	assert_int_equal(threads(), n);
}

static void
await_news(const struct rig *r)
{
	eventfd_t unused;

	assert_int_equal(
	    io_wait(r->news, POLLIN, io_now_ms() + LONG_MS), ST_OK);
	assert_int_equal(eventfd_read(r->news, &unused), 0);
}

static struct wire_chunk *
await_chunk(const struct rig *r)
{
	while (ferry_front(r->f) == NULL)
		await_news(r);
	return ferry_front(r->f);
}

static void
recall(const struct rig *r)
{
	while (!ferry_recall(r->f))
		await_news(r);
}

/* The rest, as it comes; how much. */
static size_t
drain(const struct rig *r, uint8_t *to, size_t room)
{
	const struct wire_chunk *c;
	size_t n = 0;

	do {
		while ((c = ferry_front(r->f)) != NULL) {
			assert_true(c->len > 0 && c->len <= room - n);
			memcpy(to + n, c->data, c->len);
			n += c->len;
			ferry_pop(r->f);
		}
	} while (ferry_fill(r->f));
	return n;
}

/* ---- output ---- */

static void
both_streams(void **state)
{
	const struct wire_chunk *c;
	struct rig r;

	(void)state;
	rig_open(&r, -1, 0, 0);
	assert_null(ferry_front(r.f));
	assert_int_equal(write(r.out, "one", 3), 3);
	c = await_chunk(&r);
	assert_int_equal(c->type, WIRE_CHUNK);
	assert_int_equal(c->stream, 1);
	assert_int_equal(c->len, 3);
	assert_memory_equal(c->data, "one", 3);
	ferry_pop(r.f);
	assert_int_equal(write(r.err, "two", 3), 3);
	c = await_chunk(&r);
	assert_int_equal(c->stream, 2);
	assert_memory_equal(c->data, "two", 3);
	ferry_pop(r.f);
	recall(&r);
	assert_false(ferry_fill(r.f));
	rig_close(&r);
	await_threads(own);
}

/* Nobody takes it, so the program is made to wait. */
static void
no_further_than_this(void **state)
{
	static uint8_t data[65536], got[MIB];
	size_t written = 0, size;
	struct rig r;
	ssize_t n;

	(void)state;
	rig_open(&r, -1, 0, 0);
	size = (size_t)fcntl(r.out, F_GETPIPE_SZ);
	assert_int_equal(io_nonblock(r.out), ST_OK);
	for (int still = 0; still < 100; still++) {
		n = write(r.out, data, sizeof(data));
		if (n > 0) {
			written += (size_t)n;
			still = 0;
		}
		usleep(1000);
	}
	assert_true(written >= size);
	assert_true(
	    written <=
	    size + FERRY_PIECES * sizeof(((struct wire_chunk *)0)->data));
	/* It goes on as soon as there is room. */
	(void)await_chunk(&r);
	ferry_pop(r.f);
	await_news(&r);
	recall(&r);
	n = (ssize_t)drain(&r, got, sizeof(got));
	assert_true(n > 0 && (size_t)n < written);
	rig_close(&r);
	await_threads(own);
}

/* In packet mode a read gives one write, and a long pipe holds many. */
static void
many_packets(void **state)
{
	static char expected[65536], got[65536];
	size_t len = 0, slots;
	struct rig r;

	(void)state;
	rig_open(&r, -1, 0, 0);
	assert_int_equal(fcntl(r.out, F_SETPIPE_SZ, MIB), MIB);
	assert_int_equal(fcntl(r.out, F_SETFL, O_WRONLY | O_DIRECT), 0);
	slots = MIB / (size_t)sysconf(_SC_PAGESIZE);
	for (size_t i = 0; i < slots; i++) {
		int n = snprintf(
		    expected + len, sizeof(expected) - len, "%zu\n", i);

		assert_int_equal(write(r.out, expected + len, (size_t)n), n);
		len += (size_t)n;
	}
	recall(&r);
	assert_int_equal(drain(&r, (uint8_t *)got, sizeof(got)), len);
	assert_memory_equal(got, expected, len);
	rig_close(&r);
	await_threads(own);
}

/* What is written while the pipes change hands comes once, and whole. */
static void
at_any_moment(void **state)
{
	static uint8_t got[65536];
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		size_t n = 1 + i % 40;

		rig_open(&r, -1, 0, 0);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(
			    write(r.out, &(uint8_t){ (uint8_t)k }, 1), 1);
		if (i % 3 == 0) {
			close(r.out);
			r.out = dup(r.err);
		}
		if (i % 7 != 0) {
			recall(&r);
			assert_int_equal(drain(&r, got, sizeof(got)), n);
			for (size_t k = 0; k < n; k++)
				assert_int_equal(got[k], k);
		}
		rig_close(&r);
	}
	await_threads(own);
}

/* ---- stdin ---- */

static int
image_of(size_t len)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	uint8_t block[4096];

	for (size_t at = 0; at < len; at += sizeof(block)) {
		memset(block, (int)(at / sizeof(block) % 251), sizeof(block));
		assert_int_equal(
		    write(fd, block, sizeof(block)), sizeof(block));
	}
	return fd;
}

static void
input(void **state)
{
	static uint8_t data[4096];
	int image = image_of(MIB);
	size_t got = 0;
	struct rig r;
	ssize_t n;

	(void)state;
	/* None, and little: there before anybody has waited. */
	rig_open(&r, image, 0, 0);
	assert_int_equal(read(r.in, data, sizeof(data)), 0);
	rig_close(&r);
	rig_open(&r, image, 4096, 3);
	assert_int_equal(read(r.in, data, sizeof(data)), 3);
	assert_int_equal(data[0], 1);
	assert_int_equal(read(r.in, data, sizeof(data)), 0);
	rig_close(&r);
	/* Much. */
	rig_open(&r, image, 0, MIB);
	while ((n = read(r.in, data, sizeof(data) - got % sizeof(data))) > 0) {
		assert_int_equal(data[0], got / sizeof(data) % 251);
		got += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(got, MIB);
	rig_close(&r);
	/* More than is read. */
	rig_open(&r, image, 0, MIB);
	assert_int_equal(read(r.in, data, 10), 10);
	close(r.in);
	assert_int_equal(write(r.out, "x", 1), 1);
	assert_int_equal(await_chunk(&r)->len, 1);
	r.in = dup(r.out);
	rig_close(&r);
	close(image);
	await_threads(own);
}

/* ---- a lock that is held ---- */

/* Memory whose pages come only when the test gives them. */
struct slow {
	int fd;
	uint8_t *at;
	int pipe;
	pid_t writer;
};

static bool
slow_open(struct slow *s, int fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	s->pipe = fd;
	s->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		return false;
	s->at = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(s->at, MAP_FAILED);
	reg.range.start = (uintptr_t)s->at;
	reg.range.len = 4096;
	assert_int_equal(ioctl(s->fd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(s->fd, UFFDIO_REGISTER, &reg), 0);
	return true;
}

static void *
slow_write(void *arg)
{
	struct slow *s = arg;

	s->writer = gettid();
	/* The kernel takes the pipe's lock, and then waits for the page. */
	(void)!write(s->pipe, s->at, 4096);
	return NULL;
}

static void
slow_end(struct slow *s)
{
	struct uffdio_zeropage z = { .range = { .start = (uintptr_t)s->at,
					 .len = 4096 } };

	assert_int_equal(ioctl(s->fd, UFFDIO_ZEROPAGE, &z), 0);
	close(s->fd);
}

/* Does a thread of this process, neither the first nor this one, wait where no
 * signal reaches it? */
static bool
another_waits(pid_t but)
{
	char path[300], text[512] = "", *p;
	DIR *d = opendir("/proc/self/task");
	bool found = false;
	struct dirent *e;
	int fd;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		(void)snprintf(
		    path, sizeof(path), "/proc/self/task/%s/stat", e->d_name);
		if (tid == 0 || tid == but || tid == getpid())
			continue;
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
		    (p = strrchr(text, ')')) != NULL)
			found = found || p[2] == 'D';
		close(fd);
	}
	closedir(d);
	return found;
}

/* Whatever the loop asks is answered at once; the thread alone waits, and goes
 * when it can, though nobody waits for it any more. */
static void
a_held_lock(void **state)
{
	int64_t until = io_now_ms() + LONG_MS;
	struct pollfd p = { .events = POLLIN };
	pthread_t writer;
	struct slow s;
	struct rig r;

	(void)state;
	rig_pipes(&r);
	if (!slow_open(&s, r.out))
		skip();
	(void)alarm(2 * LONG_MS / 1000);
	assert_int_equal(write(r.out, "x", 1), 1);
	assert_int_equal(pthread_create(&writer, NULL, slow_write, &s), 0);
	p.fd = s.fd;
	assert_int_equal(poll(&p, 1, LONG_MS), 1);
	assert_int_equal(p.revents, POLLIN);
	rig_start(&r, -1, 0, 0);
	/* Not for a moment only. */
	for (int seen = 0; seen < 50; seen++) {
		assert_true(io_now_ms() < until);
		if (!another_waits(s.writer))
			seen = 0;
		usleep(1000);
	}
	assert_null(ferry_front(r.f));
	assert_false(ferry_recall(r.f));
	ferry_leave(r.f);
	close(r.news);
	assert_int_equal(threads(), own + 2);
	slow_end(&s);
	assert_int_equal(pthread_join(writer, NULL), 0);
	await_threads(own);
	/* It has closed them. */
	assert_int_equal(write(r.err, "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(r.in);
	close(r.out);
	close(r.err);
	(void)alarm(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_streams),
		cmocka_unit_test(no_further_than_this),
		cmocka_unit_test(many_packets),
		cmocka_unit_test(at_any_moment),
		cmocka_unit_test(input),
		cmocka_unit_test(a_held_lock),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	own = threads();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
