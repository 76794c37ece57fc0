/* A pipe of one run may keep nobody else waiting, whoever holds its lock: real
 * sandboxes, see boxer_fixture.h. */
#include "boxer_fixture.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096
#define PIPE_BYTES (1 << 20)
/* More than the sockets on the way hold. */
#define SAID_BYTES 700000
#define LONG_MS 20000

static struct server server;

static int
setup(void **state)
{
	(void)state;
	server.conf = settings;
	server_start(&server);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	server_stop(&server);
	return 0;
}

/* ---- a run whose output nobody takes until it may be ---- */

struct beside {
	struct outcome o;
	const char *source;
	struct limits limits;
	pthread_t thread;
	int taken; /* a pipe: from its first byte on output is taken */
	bool ended;
};

static void
take_when_told(void *ctx, int stream, const uint8_t *data, size_t len)
{
	struct beside *b = ctx;

	assert_int_equal(
	    io_wait(b->taken, POLLIN, io_now_ms() + LONG_MS), ST_OK);
	on_chunk(&b->o, stream, data, len);
}

static void
started(void *ctx)
{
	on_start(&((struct beside *)ctx)->o);
}

static void *
run_beside(void *arg)
{
	struct beside *b = arg;
	struct job j = make_job(&server, "python3", b->source);
	struct client_slot *slot;

	j.limits = b->limits;
	b->o.st = client_reserve(&slot, server.client, &j, 30000, &b->o.f);
	if (b->o.st == ST_OK)
		b->o.st = client_run(
		    slot, &j, started, take_when_told, b, &b->o.r, &b->o.f);
	free(j.source);
	__atomic_store_n(&b->ended, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void
beside_start(struct beside *b)
{
	buf_init(&b->o.out, 64 * MIB);
	buf_init(&b->o.err, 64 * MIB);
	assert_int_equal(pthread_create(&b->thread, NULL, run_beside, b), 0);
}

static bool
has_ended(struct beside *b)
{
	return __atomic_load_n(&b->ended, __ATOMIC_SEQ_CST);
}

static void
hello_is_right(void)
{
	struct outcome o = { 0 };

	run_source(&o, &server, "bash", "echo hello", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "hello\n");
	outcome_free(&o);
}

/* ---- the lock, held for as long as the test likes ---- */

/* Not yet the program: what becomes it has the test's name until then. */
static bool
is_python(const char *pid)
{
	char path[64], text[64] = "";
	FILE *f;

	(void)snprintf(
	    path, sizeof(path), "/proc/%d/comm", (int)strtol(pid, NULL, 10));
	f = fopen(path, "r");
	if (f == NULL)
		return false;
	(void)!fgets(text, sizeof(text), f);
	fclose(f);
	return strncmp(text, "python", 6) == 0;
}

/* The stdout of the one program that runs, or -1. */
static int
stdout_of_program(void)
{
	char path[PLACE_PATH + 300], line[64];
	struct place p;
	struct dirent *e;
	FILE *f;
	int fd = -1;
	DIR *d;

	assert_int_equal(place_find(&p, server.kind, server.name), ST_OK);
	d = opendir(p.dir[p.of[PLACE_PIDS]]);
	assert_non_null(d);
	while (fd < 0 && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, PLACE_RUN, 4) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/cgroup.procs",
		    p.dir[p.of[PLACE_PIDS]], e->d_name);
		f = fopen(path, "r");
		while (f != NULL && fd < 0 &&
		       fgets(line, sizeof(line), f) != NULL) {
			if (!is_python(line))
				continue;
			(void)snprintf(path, sizeof(path), "/proc/%d/fd/1",
			    (int)strtol(line, NULL, 10));
			fd = open(path, O_WRONLY | O_CLOEXEC);
		}
		if (f != NULL)
			fclose(f);
	}
	closedir(d);
	return fd;
}

/* Memory whose page comes only when the test gives it: who writes from it to a
 * pipe holds the pipe's lock until then. */
struct hold {
	int uffd;
	uint8_t *at;
	int pipe;
	pthread_t thread;
};

static void *
write_slowly(void *arg)
{
	const struct hold *h = arg;

	(void)!write(h->pipe, h->at, PAGE);
	return NULL;
}

static bool
can_hold(struct hold *h)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	h->uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (h->uffd < 0)
		return false;
	h->at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(h->at, MAP_FAILED);
	reg.range.start = (uintptr_t)h->at;
	reg.range.len = PAGE;
	assert_int_equal(ioctl(h->uffd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(h->uffd, UFFDIO_REGISTER, &reg), 0);
	return true;
}

static void
hold(struct hold *h, int fd)
{
	struct pollfd p = { .fd = h->uffd, .events = POLLIN };

	h->pipe = fd;
	assert_int_equal(pthread_create(&h->thread, NULL, write_slowly, h), 0);
	assert_int_equal(poll(&p, 1, LONG_MS), 1);
	assert_int_equal(p.revents, POLLIN);
}

static void
let_go(struct hold *h)
{
	struct uffdio_zeropage z = { .range = { .start = (uintptr_t)h->at,
					 .len = PAGE } };

	assert_int_equal(ioctl(h->uffd, UFFDIO_ZEROPAGE, &z), 0);
	assert_int_equal(pthread_join(h->thread, NULL), 0);
	close(h->uffd);
	close(h->pipe);
}

/* There is output to be read, the gate takes it, and the lock is held: all
 * others get their answers, and the run's own is whole when it is let go. */
static void
a_held_pipe(void **state)
{
	struct beside b = { .limits = usual };
	struct hold h;
	char source[200];
	int go[2], fd = -1;

	(void)state;
	if (!can_hold(&h))
		skip();
	(void)snprintf(source, sizeof(source),
	    "import os\nn = %d\n"
	    "while n > 0: n -= os.write(1, b'x' * n)\n"
	    "import time; time.sleep(60)\n",
	    SAID_BYTES);
	b.source = source;
	b.limits.timeout_ms = LONG_MS;
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	b.taken = go[0];
	(void)alarm(3 * LONG_MS / 1000);
	beside_start(&b);
	for (int i = 0; i < LONG_MS && fd < 0; i++) {
		usleep(1000);
		fd = stdout_of_program();
	}
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES), PIPE_BYTES);
	/* Until all that can go on has. */
	usleep(500000);
	hold(&h, fd);
	assert_int_equal(write(go[1], "x", 1), 1);
	usleep(100000);
	for (int i = 0; i < 5; i++)
		hello_is_right();
	assert_false(has_ended(&b));
	let_go(&h);
	assert_int_equal(pthread_join(b.thread, NULL), 0);
	check_end(&b.o, ST_SANDBOX_TIMEOUT, -1, 0);
	assert_int_equal(b.o.out.len, SAID_BYTES + PAGE);
	(void)alarm(0);
	close(go[0]);
	close(go[1]);
	outcome_free(&b.o);
	await_quiet(&server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_held_pipe),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
