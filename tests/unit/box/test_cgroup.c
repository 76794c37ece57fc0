/* The real file systems of this host: runs as root. */
#include "box/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "box/place.h"

#define MIB (1ull << 20)

static enum cgroup_kind kind;
static char name[32];

static int
setup(void **state)
{
	struct fault f = { 0 };

	(void)state;
	if (getuid() != 0) {
		print_error("must run as root\n");
		return -1;
	}
	kind = cgroup_detect();
	(void)snprintf(name, sizeof(name), "t-cgroup-%d", (int)getpid());
	if (kind == CGROUP_NONE ||
	    cgroup_prepare(kind, name, 0, 0, &f) != ST_OK) {
		print_error("no cgroups: %s\n", f.message);
		return -1;
	}
	return 0;
}

static int
teardown(void **state)
{
	struct place p;

	(void)state;
	cgroup_remove(kind, name);
	if (place_find(&p, kind, name) != ST_OK)
		return -1;
	for (size_t i = 0; i < p.n; i++) {
		if (access(p.dir[i], F_OK) == 0) {
			print_error("%s is left\n", p.dir[i]);
			return -1;
		}
	}
	return 0;
}

/* Start a child in the group that does fn(arg) and exits with its result. */
static pid_t
start_in(const struct cgroup *g, int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (cgroup_enter(g) < 0)
			_exit(99);
		_exit(fn(arg));
	}
	return pid;
}

static int
status_of(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* rmdir may find a task for a moment after it was reaped. */
static void
close_soon(struct cgroup *g)
{
	for (int i = 0; i < 200; i++) {
		if (cgroup_close(g))
			return;
		usleep(5000);
	}
	fail_msg("the group does not go");
}

static char *touched;

static int
touch(void *arg)
{
	size_t len = *(size_t *)arg;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 98;
	memset(p, 1, len);
	touched = p;
	return 0;
}

static int
touch_shared_and_wait(void *arg)
{
	size_t len = *(size_t *)arg;
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 98;
	memset(p, 1, len);
	pause();
	return 0;
}

static int
touch_and_wait(void *arg)
{
	int rc = touch(arg);

	if (rc != 0)
		return rc;
	pause();
	return 0;
}

static int
burn(void *arg)
{
	volatile unsigned n = 0;

	(void)arg;
	while (clock() < CLOCKS_PER_SEC / 5)
		n++;
	return 0;
}

static int
fork_many(void *arg)
{
	int made = 0;

	(void)arg;
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pause();
			_exit(0);
		}
		if (pid > 0)
			made++;
	}
	return made;
}

static void
within_the_limit(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;
	size_t len = 20 * MIB;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 1), ST_OK);
	assert_int_equal(cgroup_limit(g, 64 * MIB, 10), ST_OK);
	assert_int_equal(status_of(start_in(g, touch, &len)), 0);
	assert_int_equal(cgroup_use(g, &u), ST_OK);
	assert_true(u.memory_peak >= len && u.memory_peak < 40 * MIB);
	assert_true(u.oom_kills == 0);
	assert_true(u.tasks_refused == 0);
	assert_true(u.cpu_us > 0);
	close_soon(g);
}

static void
over_the_limit(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;
	size_t len = 100 * MIB;
	int status;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 2), ST_OK);
	assert_int_equal(cgroup_limit(g, 32 * MIB, 10), ST_OK);
	status = status_of(start_in(g, touch, &len));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(cgroup_use(g, &u), ST_OK);
	assert_true(u.oom_kills == 1);
	assert_true(u.memory_peak > 24 * MIB && u.memory_peak <= 32 * MIB);
	close_soon(g);
}

static void
limits_move_both_ways(void **state)
{
	struct cgroup *g;
	size_t len = 50 * MIB;
	int status;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 3), ST_OK);
	assert_int_equal(cgroup_limit(g, 512 * MIB, 10), ST_OK);
	assert_int_equal(cgroup_limit(g, 32 * MIB, 10), ST_OK);
	status = status_of(start_in(g, touch, &len));
	assert_true(WIFSIGNALED(status));
	assert_int_equal(cgroup_limit(g, 128 * MIB, 10), ST_OK);
	assert_int_equal(status_of(start_in(g, touch, &len)), 0);
	close_soon(g);
}

/* Wait until what the group holds has reached len. */
static void
await_memory(struct cgroup *g, struct cgroup_use *u, size_t len)
{
	for (int i = 0; i < 500; i++) {
		assert_int_equal(cgroup_use(g, u), ST_OK);
		if (u->memory_anon + u->memory_shmem >= len)
			return;
		usleep(10000);
	}
	fail_msg("never came to %zu bytes", len);
}

static void
memory_now(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;
	size_t len = 40 * MIB;
	pid_t pid;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 4), ST_OK);
	assert_int_equal(cgroup_limit(g, 128 * MIB, 10), ST_OK);
	pid = start_in(g, touch_and_wait, &len);
	await_memory(g, &u, len - MIB);
	assert_true(
	    u.memory_anon >= len - MIB && u.memory_anon < len + 4 * MIB);
	assert_true(u.memory_shmem < 2 * MIB);
	assert_true(u.memory_files < 2 * MIB);
	assert_true(u.memory_kernel > 0 && u.memory_kernel < 2 * MIB);
	cgroup_kill(g);
	assert_int_equal(status_of(pid), SIGKILL);

	pid = start_in(g, touch_shared_and_wait, &len);
	await_memory(g, &u, len - MIB);
	assert_true(u.memory_shmem >= len - MIB);
	assert_true(u.memory_anon < 4 * MIB);
	assert_true(u.memory_files >= u.memory_shmem);
	cgroup_kill(g);
	assert_int_equal(status_of(pid), SIGKILL);
	close_soon(g);
}

static int
touch_and_give_back(void *arg)
{
	while (touch(arg) == 0 && munmap(touched, *(size_t *)arg) == 0)
		continue;
	return 97;
}

/* Memory that is given back is neither files' nor the kernel's on its way. */
static void
memory_that_goes(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;
	size_t len = 100 * MIB;
	uint64_t most = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 6), ST_OK);
	assert_int_equal(cgroup_limit(g, 128 * MIB, 10), ST_OK);
	pid = start_in(g, touch_and_give_back, &len);
	await_memory(g, &u, len / 2);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(cgroup_use(g, &u), ST_OK);
		if (u.memory_anon > most)
			most = u.memory_anon;
		assert_true(u.memory_files + u.memory_kernel < 4 * MIB);
	}
	assert_true(most > len / 2);
	cgroup_kill(g);
	assert_int_equal(status_of(pid), SIGKILL);
	close_soon(g);
}

static void
cpu_time(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 5), ST_OK);
	assert_int_equal(status_of(start_in(g, burn, NULL)), 0);
	assert_int_equal(cgroup_use(g, &u), ST_OK);
	assert_true(u.cpu_us >= 190000 && u.cpu_us < 400000);
	close_soon(g);
}

static void
tasks_are_limited_and_killed(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;
	int status, pidfd;
	struct pollfd p = { .events = POLLIN };
	pid_t pid;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 6), ST_OK);
	assert_int_equal(cgroup_limit(g, 64 * MIB, 5), ST_OK);
	status = status_of(start_in(g, fork_many, NULL));
	assert_int_equal(WEXITSTATUS(status), 4);
	assert_int_equal(cgroup_use(g, &u), ST_OK);
	/* The counter tells that it happened; how often, kernels differ. */
	assert_true(u.tasks_refused > 0);
	/* Its orphans live on, so the group cannot go. */
	assert_false(cgroup_close(g));
	cgroup_kill(g);
	close_soon(g);

	/* A stranger outside lives. */
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p.fd = pidfd;
	assert_int_equal(cgroup_open(&g, kind, name, 7), ST_OK);
	cgroup_kill(g);
	assert_int_equal(poll(&p, 1, 50), 0);
	kill(pid, SIGKILL);
	status_of(pid);
	close(pidfd);
	close_soon(g);
}

/* Datagrams to itself that nobody reads, as many as sockets take; exit with the
 * MiB that were there in the end. */
static int
fill_sockets(void *arg)
{
	static char data[60000];
	static int fd[300];
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	size_t got = 0, n = sizeof(fd) / sizeof(fd[0]);
	socklen_t len = sizeof(to);

	(void)arg;
	for (size_t i = 0; i < n; i++) {
		to.sin_port = 0;
		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (fd[i] < 0 ||
		    bind(fd[i], (struct sockaddr *)&to, sizeof(to)) < 0 ||
		    getsockname(fd[i], (struct sockaddr *)&to, &len) < 0)
			return 98;
		for (int k = 0; k < 3; k++)
			(void)sendto(fd[i], data, sizeof(data), 0,
			    (struct sockaddr *)&to, sizeof(to));
	}
	for (size_t i = 0; i < n; i++) {
		while (recv(fd[i], data, sizeof(data), MSG_DONTWAIT) > 0)
			got += sizeof(data);
	}
	return (int)(got / MIB);
}

/* v1 counts them apart; in v2 they are memory. */
static void
what_waits_in_sockets(void **state)
{
	struct cgroup *g;
	int status;

	(void)state;
	if (kind != CGROUP_V1)
		skip();
	assert_int_equal(cgroup_open(&g, kind, name, 10), ST_OK);
	assert_int_equal(cgroup_limit(g, 128 * MIB, 5), ST_OK);
	status = status_of(start_in(g, fill_sockets, NULL));
	assert_true(WIFEXITED(status));
	assert_in_range(WEXITSTATUS(status), 8, CGROUP_SOCKET_BYTES / MIB);
	close_soon(g);
}

static void
number_taken(void **state)
{
	struct cgroup *a, *b;

	(void)state;
	assert_int_equal(cgroup_open(&a, kind, name, 8), ST_OK);
	assert_int_equal(cgroup_open(&b, kind, name, 8), ST_CONFLICT);
	assert_null(b);
	/* The loser has removed nothing of the first one's. */
	assert_int_equal(cgroup_limit(a, 64 * MIB, 5), ST_OK);
	close_soon(a);
}

/* What a child says through a pipe once it is in its group: before that, a
 * sweep does not find it. */
struct word {
	int fd[2];
};

static void
word_open(struct word *w)
{
	assert_int_equal(pipe(w->fd), 0);
}

static int
word_give_and_wait(void *arg)
{
	const struct word *w = arg;

	if (write(w->fd[1], "x", 1) != 1)
		return 97;
	pause();
	return 98;
}

static void
word_await(struct word *w)
{
	char c;

	close(w->fd[1]);
	assert_int_equal(read(w->fd[0], &c, 1), 1);
	close(w->fd[0]);
}

static void
what_an_earlier_life_left(void **state)
{
	struct cgroup *g, *again;
	struct word in;
	pid_t pid;

	(void)state;
	assert_int_equal(cgroup_open(&g, kind, name, 9), ST_OK);
	word_open(&in);
	pid = start_in(g, word_give_and_wait, &in);
	word_await(&in);
	cgroup_sweep(kind, name);
	assert_int_equal(status_of(pid), SIGKILL);
	assert_int_equal(cgroup_open(&again, kind, name, 9), ST_OK);
	close_soon(again);
	assert_true(cgroup_close(g));
}

/* The folders of an instance and of one run in it, as they would be left: made
 * by hand, since in v2 only who is alone in its cgroup can prepare one. */
static void
make_left(const char *instance)
{
	char run[PLACE_PATH * 2];
	struct place p;

	assert_int_equal(place_find(&p, kind, instance), ST_OK);
	for (size_t i = 0; i < p.n; i++) {
		(void)snprintf(run, sizeof(run), "%s/run-0", p.dir[i]);
		assert_int_equal(mkdir(p.dir[i], 0755), 0);
		assert_int_equal(mkdir(run, 0755), 0);
	}
}

static bool
enter_left(const char *instance)
{
	char procs[PLACE_PATH * 2];
	struct place p;
	int fd;

	if (place_find(&p, kind, instance) != ST_OK)
		return false;
	for (size_t i = 0; i < p.n; i++) {
		(void)snprintf(
		    procs, sizeof(procs), "%s/run-0/cgroup.procs", p.dir[i]);
		fd = open(procs, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			return false;
		close(fd);
	}
	return true;
}

/* An instance of this name with a sleeper in a group of its own. */
static pid_t
sleeper_of(const char *instance)
{
	struct word in;
	pid_t pid;

	make_left(instance);
	word_open(&in);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(enter_left(instance) ? word_give_and_wait(&in) : 99);
	word_await(&in);
	return pid;
}

static bool
is_there(const char *instance, const char *file)
{
	char path[PLACE_PATH * 2];
	struct place p;

	assert_int_equal(place_find(&p, kind, instance), ST_OK);
	(void)snprintf(path, sizeof(path), "%s/%s", p.dir[0], file);
	return access(path, F_OK) == 0;
}

/* Those named after a process that is no more go, with all inside. */
static void
instances_of_the_dead(void **state)
{
	char stem[32], dead[64], alive[64], other[64];
	pid_t gone = fork(), in_dead, in_alive;

	(void)state;
	if (gone == 0)
		_exit(0);
	assert_int_equal(status_of(gone), 0);
	/* Ours alone: this test may run twice at the same time. */
	(void)snprintf(stem, sizeof(stem), "t-dead-%d-", (int)getpid());
	(void)snprintf(dead, sizeof(dead), "%s%d", stem, (int)gone);
	(void)snprintf(alive, sizeof(alive), "%s%d", stem, (int)getpid());
	(void)snprintf(other, sizeof(other), "%s%dx", stem, (int)gone);
	in_dead = sleeper_of(dead);
	in_alive = sleeper_of(alive);
	make_left(other);
	cgroup_sweep_dead(kind, stem);
	assert_true(WIFSIGNALED(status_of(in_dead)));
	assert_false(is_there(dead, "."));
	assert_true(is_there(alive, "run-0"));
	assert_true(is_there(other, "."));
	assert_int_equal(kill(in_alive, SIGKILL), 0);
	(void)status_of(in_alive);
	cgroup_remove(kind, alive);
	cgroup_remove(kind, other);
}

static void
put_file(int dir, const char *file, const char *text)
{
	int fd = openat(dir, file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* As Linux 5.14 to 5.18 have it: there is no memory.peak. */
static void
v2_without_a_peak(void **state)
{
	char path[] = "/tmp/t-cgroup-XXXXXX";
	struct cgroup_use u = { .memory_peak = 1 };
	int dir;

	(void)state;
	assert_non_null(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	put_file(dir, "memory.events",
	    "low 0\nhigh 0\nmax 214\noom 3\noom_kill 2\n");
	cgroup_memory(&u, CGROUP_V2, dir);
	assert_true(u.memory_peak == 0);
	assert_true(u.oom_kills == 2 && u.wall_hits == 3);
	/* The limit was only felt, by what could be given back, and the kill
	 * was the host's. */
	put_file(dir, "memory.events",
	    "low 0\nhigh 0\nmax 214\noom 0\noom_kill 1\n");
	put_file(dir, "memory.peak", "4096\n");
	cgroup_memory(&u, CGROUP_V2, dir);
	assert_true(u.memory_peak == 4096);
	assert_true(u.oom_kills == 1 && u.wall_hits == 0);
	(void)unlinkat(dir, "memory.events", 0);
	(void)unlinkat(dir, "memory.peak", 0);
	close(dir);
	assert_int_equal(rmdir(path), 0);
}

static void
hostile_names(void **state)
{
	static const char *const bad[] = { "", "..", "a/b", "A", "x_y", "a.b",
		"../memory", " " };
	struct fault f;
	struct cgroup *g;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(cgroup_prepare(kind, bad[i], 0, 0, &f), ST_IO);
		assert_int_not_equal(cgroup_open(&g, kind, bad[i], 1), ST_OK);
		assert_null(g);
	}
	assert_int_not_equal(cgroup_open(&g, kind, "t-not-prepared", 1), ST_OK);
	assert_int_equal(cgroup_prepare(CGROUP_NONE, name, 0, 0, &f), ST_OK);
}

static void
no_descriptor_leaks(void **state)
{
	struct cgroup *g;
	struct cgroup_use u;
	int before = dup(0), after;

	(void)state;
	close(before);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(cgroup_open(&g, kind, name, 100 + i), ST_OK);
		assert_int_equal(cgroup_limit(g, 64 * MIB, 5), ST_OK);
		assert_int_equal(cgroup_use(g, &u), ST_OK);
		cgroup_kill(g);
		close_soon(g);
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_the_limit),
		cmocka_unit_test(over_the_limit),
		cmocka_unit_test(limits_move_both_ways),
		cmocka_unit_test(memory_now),
		cmocka_unit_test(memory_that_goes),
		cmocka_unit_test(cpu_time),
		cmocka_unit_test(tasks_are_limited_and_killed),
		cmocka_unit_test(what_waits_in_sockets),
		cmocka_unit_test(number_taken),
		cmocka_unit_test(what_an_earlier_life_left),
		cmocka_unit_test(instances_of_the_dead),
		cmocka_unit_test(v2_without_a_peak),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(no_descriptor_leaks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
