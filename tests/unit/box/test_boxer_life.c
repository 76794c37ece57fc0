/* The boxer's own life: slots, queue, drain, death; see boxer_fixture.h. */
#include <stdatomic.h>

#include "boxer_fixture.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "box/job.h"

static void
start(struct server *s)
{
	memset(s, 0, sizeof(*s));
	s->conf = settings;
	server_start(s);
}

/* A run in a thread of its own. */
struct behind {
	pthread_t thread;
	struct server *s;
	const char *source;
	struct limits limits;
	struct outcome o;
};

static void *
run_behind(void *arg)
{
	struct behind *b = arg;

	run_source(&b->o, b->s, "bash", b->source, &b->limits);
	return NULL;
}

static void
start_behind(
    struct behind *b, struct server *s, const char *source, uint64_t timeout_ms)
{
	b->s = s;
	b->source = source;
	b->limits = usual;
	b->limits.timeout_ms = timeout_ms;
	assert_int_equal(pthread_create(&b->thread, NULL, run_behind, b), 0);
}

static void
join_behind(struct behind *b)
{
	assert_int_equal(pthread_join(b->thread, NULL), 0);
}

/* Wait until so much of its output has come. */
static void
await_heard(struct behind *b, size_t len)
{
	for (int i = 0; i < 3000; i++) {
		if (__atomic_load_n(&b->o.heard, __ATOMIC_SEQ_CST) >= len)
			return;
		usleep(10000);
	}
	fail_msg("%zu bytes never came", len);
}

/* Ask until n runs are running. */
static struct wire_state
await_running(struct server *s, unsigned n)
{
	struct wire_state ws;

	for (int i = 0; i < 500; i++) {
		assert_int_equal(client_state(s->client, &ws), ST_OK);
		if (ws.running == n)
			return ws;
		usleep(10000);
	}
	fail_msg("%u running, not %u", ws.running, n);
	return ws;
}

/* ---- slots ---- */

static enum status
reserve(struct client_slot **slot, struct server *s, const struct limits *l,
    uint64_t wait_ms)
{
	struct job j = make_job(s, "bash", "exit 0");
	struct fault f;
	enum status st;

	if (l != NULL)
		j.limits = *l;
	st = client_reserve(slot, s->client, &j, wait_ms, &f);
	free(j.source);
	return st;
}

static void
slots_are_counted(void **state)
{
	struct client_slot *a, *b, *c;
	struct wire_state ws;
	struct server s;
	int64_t before;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.max_runs = 2;
	server_start(&s);
	/* A free slot is had without any wait. */
	assert_int_equal(reserve(&a, &s, NULL, 0), ST_OK);
	assert_int_equal(reserve(&b, &s, NULL, 0), ST_OK);
	assert_int_equal(reserve(&c, &s, NULL, 0), ST_SERVICE_BUSY);
	before = io_now_ms();
	assert_int_equal(reserve(&c, &s, NULL, 200), ST_SERVICE_BUSY);
	assert_null(c);
	assert_true(
	    io_now_ms() - before >= 200 && io_now_ms() - before < 10000);
	assert_int_equal(client_state(s.client, &ws), ST_OK);
	assert_int_equal(ws.slots, 2);
	assert_int_equal(ws.queue, 0);
	assert_int_equal(ws.running, 0);
	assert_int_equal(ws.quarantined, 0);
	assert_int_equal(ws.n_pools, 4);
	assert_string_equal(ws.pools[1].runtime, "node");
	/* What is given back is free again. */
	client_release(a);
	assert_int_equal(reserve(&c, &s, NULL, 5000), ST_OK);
	client_release(b);
	client_release(c);
	await_quiet(&s);
	server_stop(&s);
}

static void
memory_is_counted(void **state)
{
	struct limits big = usual, small = usual;
	struct client_slot *a, *b, *c;
	struct server s;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.memory_bytes = 700 * MIB;
	server_start(&s);
	big.memory_bytes = 512 * MIB;  /* with the constant: 592 MiB */
	small.memory_bytes = 64 * MIB; /* 144 MiB */
	assert_int_equal(reserve(&a, &s, &big, 100), ST_OK);
	assert_int_equal(reserve(&b, &s, &small, 100), ST_SERVICE_BUSY);
	client_release(a);
	assert_int_equal(reserve(&a, &s, &small, 5000), ST_OK);
	assert_int_equal(reserve(&b, &s, &small, 100), ST_OK);
	assert_int_equal(reserve(&c, &s, &big, 100), ST_SERVICE_BUSY);
	client_release(a);
	client_release(b);
	/* More than there ever is: told at once. */
	big.memory_bytes = 700 * MIB;
	assert_int_equal(reserve(&a, &s, &big, 60000), ST_SANDBOX_UNAVAILABLE);
	server_stop(&s);
}

static void
nobody_gets_past_the_first(void **state)
{
	struct limits small = usual;
	struct client_slot *a, *b;
	struct behind big = { .source = "exit 0", .limits = usual };
	struct wire_state ws = { 0 };
	struct server s;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.memory_bytes = 700 * MIB;
	server_start(&s);
	small.memory_bytes = 64 * MIB;
	assert_int_equal(reserve(&a, &s, &small, 100), ST_OK);
	big.s = &s;
	big.limits.memory_bytes = 512 * MIB;
	assert_int_equal(
	    pthread_create(&big.thread, NULL, run_behind, &big), 0);
	for (int i = 0; i < 500 && ws.queue < 1; i++) {
		usleep(10000);
		assert_int_equal(client_state(s.client, &ws), ST_OK);
	}
	/* There would be room for this one, but not its turn. */
	assert_int_equal(reserve(&b, &s, &small, 100), ST_SERVICE_BUSY);
	client_release(a);
	join_behind(&big);
	check_end(&big.o, ST_OK, 0, 0);
	outcome_free(&big.o);
	server_stop(&s);
}

/* One who waits for a slot, and gives it back at once. */
struct guest {
	pthread_t thread;
	struct server *s;
	struct limits limits;
	bool stranger;
	int turn; /* when he had it */
};

static _Atomic int turns;

static void *
wait_for_slot(void *arg)
{
	struct guest *g = arg;
	struct job j = make_job(g->s, "bash", "exit 0");
	struct client_slot *slot = NULL;
	struct fault f;

	j.limits = g->limits;
	j.stranger = g->stranger;
	if (client_reserve(&slot, g->s->client, &j, 60000, &f) == ST_OK)
		g->turn = atomic_fetch_add(&turns, 1) + 1;
	client_release(slot);
	free(j.source);
	return NULL;
}

/* Let them come in this order. */
static void
line_up(struct guest *g, size_t n, struct server *s)
{
	struct wire_state ws = { 0 };

	atomic_store(&turns, 0);
	for (size_t i = 0; i < n; i++) {
		g[i].s = s;
		assert_int_equal(
		    pthread_create(&g[i].thread, NULL, wait_for_slot, &g[i]),
		    0);
		for (int k = 0; k < 500 && ws.queue < i + 1; k++) {
			usleep(10000);
			assert_int_equal(client_state(s->client, &ws), ST_OK);
		}
		assert_int_equal(ws.queue, i + 1);
	}
}

static void
strangers_take_turns(void **state)
{
	struct guest g[5] = { { .stranger = true }, { .stranger = true },
		{ .stranger = true }, { .stranger = false },
		{ .stranger = false } };
	struct client_slot *a;
	struct server s;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.max_runs = 1;
	server_start(&s);
	for (size_t i = 0; i < 5; i++)
		g[i].limits = usual;
	assert_int_equal(reserve(&a, &s, NULL, 100), ST_OK);
	line_up(g, 5, &s);
	client_release(a);
	for (size_t i = 0; i < 5; i++)
		pthread_join(g[i].thread, NULL);
	/* The last slot was no stranger's. */
	assert_int_equal(g[0].turn, 1);
	assert_int_equal(g[3].turn, 2);
	assert_int_equal(g[1].turn, 3);
	assert_int_equal(g[4].turn, 4);
	assert_int_equal(g[2].turn, 5);
	server_stop(&s);
}

/* A stranger's run that is too large for now holds up strangers alone. */
static void
strangers_hold_nobody_up(void **state)
{
	struct guest g[2] = { { .stranger = true }, { .stranger = true } };
	struct limits small = usual;
	struct client_slot *a, *b;
	struct server s;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.memory_bytes = 700 * MIB;
	server_start(&s);
	small.memory_bytes = 64 * MIB;
	g[0].limits = usual;
	g[0].limits.memory_bytes = 512 * MIB;
	g[1].limits = small;
	assert_int_equal(reserve(&a, &s, &small, 100), ST_OK);
	line_up(g, 2, &s);
	assert_int_equal(reserve(&b, &s, &small, 5000), ST_OK);
	assert_int_equal(atomic_load(&turns), 0);
	client_release(a);
	client_release(b);
	for (size_t i = 0; i < 2; i++)
		pthread_join(g[i].thread, NULL);
	assert_int_equal(atomic_load(&turns), 2);
	server_stop(&s);
}

static void
the_queue_is_bounded(void **state)
{
	struct behind waiting[68] = { 0 };
	struct client_slot *a, *b;
	struct wire_state ws = { 0 };
	struct server s;
	int64_t before;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.max_runs = 1;
	server_start(&s);
	assert_int_equal(reserve(&a, &s, NULL, 100), ST_OK);
	/* It holds 4 x 1 + 64. */
	for (int i = 0; i < 68; i++)
		start_behind(&waiting[i], &s, "exit 0", 60000);
	for (int i = 0; i < 500 && ws.queue < 68; i++) {
		usleep(10000);
		assert_int_equal(client_state(s.client, &ws), ST_OK);
	}
	assert_int_equal(ws.queue, 68);
	before = io_now_ms();
	assert_int_equal(reserve(&b, &s, NULL, 60000), ST_SERVICE_BUSY);
	assert_true(io_now_ms() - before < 10000);
	client_release(a);
	for (int i = 0; i < 68; i++) {
		join_behind(&waiting[i]);
		check_end(&waiting[i].o, ST_OK, 0, 0);
		outcome_free(&waiting[i].o);
	}
	server_stop(&s);
}

static void
one_slow_many_fast(void **state)
{
	struct behind slow = { 0 };
	struct outcome o = { 0 };
	struct server s;

	(void)state;
	start(&s);
	start_behind(&slow, &s, "sleep 2; echo slow", 60000);
	for (int i = 0; i < 30; i++) {
		run_source(&o, &s, "bash", "exit 7", NULL);
		check_end(&o, ST_EXECUTION_RUNTIME_ERROR, 7, 0);
	}
	join_behind(&slow);
	check_end(&slow.o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&slow.o.out), "slow\n");
	outcome_free(&slow.o);
	outcome_free(&o);
	server_stop(&s);
}

/* ---- leaks ---- */

static void
nothing_is_left(void **state)
{
	static const char *const sources[] = { "exit 0", "sleep 300 & exit 0",
		"kill -9 $$", "yes", "exec 1>&- 2>&-; exit 3" };
	struct limits l = usual;
	struct outcome o = { 0 };
	struct server s;
	size_t fds;

	(void)state;
	start(&s);
	l.output_bytes = 2000;
	run_source(&o, &s, "bash", "exit 0", &l);
	await_quiet(&s);
	fds = fds_of(s.pid);
	for (int i = 0; i < 200; i++) {
		run_source(&o, &s, "bash", sources[i % 5], &l);
		assert_int_equal(o.st, ST_OK);
		if (i % 5 == 3)
			check_end(
			    &o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
	}
	await_quiet(&s);
	assert_int_equal(fds_of(s.pid), fds);
	outcome_free(&o);
	server_stop(&s);
}

static void
given_up_at_every_moment(void **state)
{
	struct job j;
	struct client_slot *slot;
	struct server s;
	struct fault f;
	size_t fds;

	(void)state;
	start(&s);
	j = make_job(&s, "python3", "pass\n");
	assert_int_equal(reserve(&slot, &s, NULL, 1000), ST_OK);
	client_release(slot);
	await_quiet(&s);
	fds = fds_of(s.pid);
	for (unsigned i = 0; i < 40; i++) {
		assert_int_equal(
		    client_reserve(&slot, s.client, &j, 10000, &f), ST_OK);
		usleep(i * 1000);
		client_release(slot);
	}
	await_quiet(&s);
	assert_int_equal(fds_of(s.pid), fds);
	free(j.source);
	server_stop(&s);
}

/* ---- a sandbox that will not die ---- */

#define FREEZERS "/sys/fs/cgroup/freezer"

static char freezer[64];

static void
write_text(const char *name, const char *text)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", freezer, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Put all of the run's processes but the monitor into the freezer. */
static void
freeze(const struct server *s)
{
	char path[PLACE_PATH + 64], line[32];
	struct place p;
	FILE *f = NULL;

	assert_int_equal(place_find(&p, s->kind, s->name), ST_OK);
	for (int id = 0; id < 10 && f == NULL; id++) {
		(void)snprintf(path, sizeof(path), "%s/%s%d/cgroup.procs",
		    p.dir[p.of[PLACE_PIDS]], PLACE_RUN, id);
		f = fopen(path, "r");
	}
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (!is_monitor(line))
			write_text("cgroup.procs", line);
	}
	fclose(f);
	write_text("freezer.state", "FROZEN");
}

static void
a_sandbox_that_will_not_die(void **state)
{
	struct behind a = { 0 };
	struct client_slot *slot;
	struct wire_state ws;
	struct outcome o = { 0 };
	struct server s;

	(void)state;
	/* Only v1's freezer holds a process that was killed. */
	if (access(FREEZERS "/cgroup.procs", F_OK) < 0)
		skip();
	(void)snprintf(
	    freezer, sizeof(freezer), FREEZERS "/t-boxer-%d", (int)getpid());
	assert_int_equal(mkdir(freezer, 0755), 0);
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.max_runs = 1;
	server_start(&s);
	start_behind(&a, &s, "echo before; sleep 60", 5000);
	await_heard(&a, strlen("before\n"));
	freeze(&s);
	/* The answer comes all the same, and says what is true. */
	join_behind(&a);
	check_end(&a.o, ST_SANDBOX_TIMEOUT, -1, 0);
	assert_string_equal(buf_cstr(&a.o.out), "before\n");
	assert_true(a.o.ms < 5000 + 250 + 2000 + 10000);
	/* Its slot is not given to anybody. */
	assert_int_equal(client_state(s.client, &ws), ST_OK);
	assert_int_equal(ws.quarantined, 1);
	assert_int_equal(ws.running, 0);
	assert_int_equal(reserve(&slot, &s, NULL, 200), ST_SERVICE_BUSY);
	write_text("freezer.state", "THAWED");
	await_quiet(&s);
	assert_int_equal(client_state(s.client, &ws), ST_OK);
	assert_int_equal(ws.quarantined, 0);
	run_source(&o, &s, "bash", "exit 0", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_int_equal(rmdir(freezer), 0);
	outcome_free(&a.o);
	outcome_free(&o);
	server_stop(&s);
}

/* ---- a sandbox that does not come up ---- */

static void
bubblewrap_fails(void **state)
{
	static const char *const paths[] = { "/usr/bin/no-such-bwrap",
		"/bin/false", "/etc/passwd" };
	struct outcome o = { 0 };
	char path[64];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct server s = { .conf = settings };

		(void)snprintf(path, sizeof(path), "%s", paths[i]);
		s.conf.bwrap = path;
		server_start(&s);
		for (int round = 0; round < 3; round++) {
			run_source(&o, &s, "bash", "exit 0", NULL);
			assert_int_equal(o.st, ST_SANDBOX_SETUP_FAILED);
			assert_false(o.started);
			/* It is not waited for as one that hangs. */
			assert_true(o.ms < 8000);
		}
		await_quiet(&s);
		server_stop(&s);
	}
	outcome_free(&o);
}

static void
bubblewrap_hangs(void **state)
{
	static const char text[] = "#!/bin/sh\nsleep 300 & sleep 300\n";
	struct outcome o = { 0 };
	struct server s = { .conf = settings };
	char path[] = "/tmp/test_boxer.XXXXXX";
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	s.conf.bwrap = path;
	server_start(&s);
	run_source(&o, &s, "bash", "exit 0", NULL);
	assert_int_equal(o.st, ST_SANDBOX_SETUP_FAILED);
	assert_false(o.started);
	assert_true(o.ms > 9000 && o.ms < 30000);
	/* The child that the monitor left behind is gone as well. */
	await_quiet(&s);
	server_stop(&s);
	unlink(path);
	outcome_free(&o);
}

/* ---- hostile or broken gate ---- */

/* A reservation by hand: our end of the run's socket. */
static int
reserve_raw(struct server *s, const struct wire_reserve *ask)
{
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(
	    io_send_msg(s->raw, ask, sizeof(*ask), pair[1], 0), ST_OK);
	close(pair[1]);
	return pair[0];
}

/* The type of the next message, 0 for the end. */
static uint32_t
next_type(int sock)
{
	union {
		uint32_t type;
		char bytes[sizeof(struct wire_chunk)];
	} *m = malloc(sizeof(*m));
	uint32_t type;
	size_t len;

	assert_non_null(m);
	assert_int_equal(io_wait(sock, POLLIN, io_now_ms() + 15000), ST_OK);
	if (io_recv_msg(sock, m, sizeof(*m), &len, NULL, 0) != ST_OK)
		m->type = 0;
	type = m->type;
	free(m);
	return type;
}

static const struct wire_reserve good_ask = { .type = WIRE_RESERVE,
	.wait_ms = 1000,
	.limits = { 10000, 64 * MIB, MIB, MIB },
	.runtime = "bash",
	.entry = "main.sh" };

static void
bad_reservations(void **state)
{
	struct wire_reserve bad;
	struct wire_simple odd = { .type = WIRE_RESERVED };
	struct outcome o = { 0 };
	struct server s;
	int sock;

	(void)state;
	start(&s);
	for (int i = 0; i < 8; i++) {
		bad = good_ask;
		if (i == 0)
			memset(bad.runtime, 'x', sizeof(bad.runtime));
		if (i == 1)
			memset(bad.entry, 'x', sizeof(bad.entry));
		if (i == 2)
			memcpy(bad.runtime, "perl", 5);
		if (i == 3)
			memcpy(bad.entry, "../x", 5);
		if (i == 4)
			bad.limits.timeout_ms = 0;
		if (i == 5)
			bad.limits.memory_bytes = UINT64_MAX;
		if (i == 6)
			bad.limits.work_bytes = UINT64_MAX - 5;
		if (i == 7)
			bad.limits.output_bytes = UINT64_MAX;
		sock = reserve_raw(&s, &bad);
		assert_int_equal(next_type(sock), 0);
		close(sock);
	}
	/* No socket; a stranger's message; a cut one. */
	assert_int_equal(
	    io_send_msg(s.raw, &good_ask, sizeof(good_ask), -1, 0), ST_OK);
	assert_int_equal(io_send_msg(s.raw, &odd, sizeof(odd), -1, 0), ST_OK);
	assert_int_equal(
	    io_send_msg(s.raw, &good_ask, sizeof(good_ask) - 1, 0, 0), ST_OK);
	assert_int_equal(io_send_msg(s.raw, "x", 1, -1, 0), ST_OK);
	run_source(&o, &s, "bash", "exit 0", NULL);
	check_end(&o, ST_OK, 0, 0);
	outcome_free(&o);
	server_stop(&s);
}

/* A memfd of these bytes. */
static int
image_of(const char *bytes, size_t len, int seals)
{
	int fd = memfd_create("job", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void
bad_jobs(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	static const char rubbish[64] = "this is no image";
	struct wire_job m;
	struct outcome o = { 0 };
	struct server s;
	int sock, image;

	(void)state;
	start(&s);
	for (int i = 0; i < 8; i++) {
		sock = reserve_raw(&s, &good_ask);
		assert_int_equal(next_type(sock), WIRE_RESERVED);
		image = image_of(rubbish, 64, i == 0 ? F_SEAL_GROW : seals);
		m = (struct wire_job){ .type = WIRE_JOB, .image_len = 64 };
		if (i == 1)
			m.image_len = 65;
		if (i == 2)
			m.stdin_at = 65;
		if (i == 3)
			m.stdin_len = UINT64_MAX;
		if (i == 4)
			m.type = WIRE_INIT_JOB;
		if (i == 5)
			m.image_len = 0;
		assert_int_equal(
		    io_send_msg(sock, &m, i == 6 ? sizeof(m) - 8 : sizeof(m),
			i == 7 ? -1 : image, 0),
		    ST_OK);
		assert_int_equal(next_type(sock), 0);
		close(image);
		close(sock);
	}
	/* Sound to the boxer, but init cannot read it: ours to answer for. */
	sock = reserve_raw(&s, &good_ask);
	assert_int_equal(next_type(sock), WIRE_RESERVED);
	image = image_of(rubbish, 64, seals);
	m = (struct wire_job){ .type = WIRE_JOB, .image_len = 64 };
	assert_int_equal(io_send_msg(sock, &m, sizeof(m), image, 0), ST_OK);
	assert_int_equal(next_type(sock), WIRE_REFUSED);
	close(sock);
	close(image);
	run_source(&o, &s, "bash", "exit 0", NULL);
	check_end(&o, ST_OK, 0, 0);
	outcome_free(&o);
	await_quiet(&s);
	server_stop(&s);
}

static void
a_second_job(void **state)
{
	struct job j;
	struct wire_job m = { .type = WIRE_JOB };
	struct server s;
	uint32_t type;
	int sock, image;

	(void)state;
	start(&s);
	j = make_job(&s, "bash", "sleep 300");
	assert_int_equal(
	    job_image(&image, &m.image_len, &m.stdin_at, &j), ST_OK);
	sock = reserve_raw(&s, &good_ask);
	assert_int_equal(next_type(sock), WIRE_RESERVED);
	assert_int_equal(io_send_msg(sock, &m, sizeof(m), image, 0), ST_OK);
	assert_int_equal(next_type(sock), WIRE_STARTED);
	assert_int_equal(io_send_msg(sock, &m, sizeof(m), image, 0), ST_OK);
	type = next_type(sock);
	assert_int_equal(type, 0);
	await_quiet(&s);
	close(sock);
	close(image);
	free(j.source);
	server_stop(&s);
}

/* ---- ends of the boxer ---- */

static void
drain(void **state)
{
	struct behind a = { 0 }, b = { 0 };
	struct client_slot *slot, *later;
	struct outcome o = { 0 };
	struct server s;
	struct fault f;
	struct job j;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.max_runs = 2;
	server_start(&s);
	j = make_job(&s, "bash", "echo late");
	start_behind(&a, &s, "sleep 1; echo done", 60000);
	await_running(&s, 1);
	/* This one has paid, maybe, and not brought its job yet. */
	assert_int_equal(client_reserve(&slot, s.client, &j, 1000, &f), ST_OK);
	start_behind(&b, &s, "echo never", 60000);
	usleep(200000);
	kill(s.pid, SIGTERM);
	join_behind(&b);
	assert_int_equal(b.o.st, ST_SANDBOX_UNAVAILABLE);
	assert_int_equal(
	    reserve(&later, &s, NULL, 1000), ST_SANDBOX_UNAVAILABLE);
	buf_init(&o.out, MIB);
	buf_init(&o.err, MIB);
	o.st = client_run(slot, &j, on_start, on_chunk, &o, &o.r, &o.f);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "late\n");
	join_behind(&a);
	check_end(&a.o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&a.o.out), "done\n");
	assert_int_equal(server_wait(&s), 0);
	assert_int_equal(groups_left(&s), 0);
	free(j.source);
	outcome_free(&a.o);
	outcome_free(&b.o);
	outcome_free(&o);
	server_clear(&s);
}

static void
super_dies(void **state)
{
	struct behind a = { 0 };
	struct server s;
	int64_t before;

	(void)state;
	start(&s);
	start_behind(&a, &s, "sleep 300", 60000);
	await_running(&s, 1);
	before = io_now_ms();
	close(s.life);
	s.life = -1;
	join_behind(&a);
	assert_int_equal(a.o.st, ST_SANDBOX_UNAVAILABLE);
	assert_int_equal(server_wait(&s), 0);
	assert_true(io_now_ms() - before < 20000);
	assert_int_equal(groups_left(&s), 0);
	outcome_free(&a.o);
	server_clear(&s);
}

static void
gate_dies(void **state)
{
	struct wire_job m = { .type = WIRE_JOB };
	struct server s;
	struct job j;
	int sock, image;

	(void)state;
	start(&s);
	j = make_job(&s, "bash", "sleep 300");
	assert_int_equal(
	    job_image(&image, &m.image_len, &m.stdin_at, &j), ST_OK);
	sock = reserve_raw(&s, &good_ask);
	assert_int_equal(next_type(sock), WIRE_RESERVED);
	assert_int_equal(io_send_msg(sock, &m, sizeof(m), image, 0), ST_OK);
	assert_int_equal(next_type(sock), WIRE_STARTED);
	close(sock);
	close(image);
	free(j.source);
	client_close(s.client);
	close(s.raw);
	assert_int_equal(server_wait(&s), 0);
	assert_int_equal(groups_left(&s), 0);
	close(s.life);
	cgroup_remove(s.kind, s.name);
}

static void
boxer_is_killed(void **state)
{
	struct behind a[4] = { 0 };
	struct server s, again;
	struct outcome o = { 0 };
	int64_t before;

	(void)state;
	start(&s);
	for (int i = 0; i < 4; i++)
		start_behind(&a[i], &s,
		    "trap '' TERM; (while :; do sleep 1; done) & sleep 60",
		    60000);
	await_running(&s, 4);
	/* Released is not yet at its second command. */
	before = io_now_ms();
	while (programs_left(&s) < 8 && io_now_ms() - before < 10000)
		usleep(5000);
	assert_true(programs_left(&s) >= 8);
	before = io_now_ms();
	kill(s.pid, SIGKILL);
	for (int i = 0; i < 4; i++) {
		join_behind(&a[i]);
		assert_int_equal(a[i].o.st, ST_SANDBOX_UNAVAILABLE);
		assert_true(a[i].o.started);
		outcome_free(&a[i].o);
	}
	assert_true(io_now_ms() - before < 10000);
	before = io_now_ms();
	while (programs_left(&s) > 0 && io_now_ms() - before < 10000)
		usleep(5000);
	assert_int_equal(programs_left(&s), 0);
	assert_int_equal(server_wait(&s), -1);
	/* The groups stay until the next boxer sweeps them. */
	assert_true(groups_left(&s) > 0);
	start(&again);
	run_source(&o, &again, "bash", "exit 0", NULL);
	check_end(&o, ST_OK, 0, 0);
	await_quiet(&again);
	outcome_free(&o);
	server_stop(&again);
	close(s.life);
	close(s.raw);
	client_close(s.client);
}

static void
not_as_root(void **state)
{
	struct boxer_fds fds = { .gate = open("/dev/null", O_RDWR),
		.life = open("/dev/null", O_RDWR),
		.init_binary = open("/dev/null", O_RDWR) };

	(void)state;
	assert_int_equal(boxer_serve(&settings, &fds, NULL), ST_REFUSED);
}

/* ---- without cgroups, where that is asked for ---- */

static void
by_meter(void **state)
{
	struct limits l = usual;
	struct outcome o = { 0 };
	struct server s;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.conf = settings;
	s.conf.memory_limit = WORD("meter");
	server_start(&s);
	run_source(&o, &s, "bash", "echo hi", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_true(o.r.max_memory_bytes > MIB);
	l.memory_bytes = 64 * MIB;
	run_source(&o, &s, "python3",
	    "l = []\nwhile True: l.append(bytearray(1 << 20))\n", &l);
	check_end(&o, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0);
	/* The sum over children; what they share counts once. */
	run_source(&o, &s, "python3",
	    "import os, time\n"
	    "for i in range(6):\n"
	    "    if os.fork() == 0:\n"
	    "        b = bytearray(20 << 20)\n"
	    "        for i in range(0, len(b), 4096): b[i] = 1\n"
	    "        time.sleep(5)\n"
	    "        os._exit(0)\n"
	    "time.sleep(5)\n",
	    &l);
	check_end(&o, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0);
	run_source(&o, &s, "python3",
	    "import os, time\n"
	    "b = bytearray(b'x') * (30 << 20)\n"
	    "for i in range(4):\n"
	    "    if os.fork() == 0:\n"
	    "        time.sleep(0.4)\n"
	    "        os._exit(0)\n"
	    "time.sleep(0.2)\n",
	    &l);
	check_end(&o, ST_OK, 0, 0);
	l.timeout_ms = 300;
	run_source(&o, &s, "python3", "while True: pass\n", &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	outcome_free(&o);
	server_stop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_counted),
		cmocka_unit_test(memory_is_counted),
		cmocka_unit_test(nobody_gets_past_the_first),
		cmocka_unit_test(strangers_take_turns),
		cmocka_unit_test(strangers_hold_nobody_up),
		cmocka_unit_test(the_queue_is_bounded),
		cmocka_unit_test(one_slow_many_fast),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(given_up_at_every_moment),
		cmocka_unit_test(a_sandbox_that_will_not_die),
		cmocka_unit_test(bubblewrap_fails),
		cmocka_unit_test(bubblewrap_hangs),
		cmocka_unit_test(bad_reservations),
		cmocka_unit_test(bad_jobs),
		cmocka_unit_test(a_second_job),
		cmocka_unit_test(drain),
		cmocka_unit_test(super_dies),
		cmocka_unit_test(gate_dies),
		cmocka_unit_test(boxer_is_killed),
		cmocka_unit_test(not_as_root),
		cmocka_unit_test(by_meter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
