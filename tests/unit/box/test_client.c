/* The client against a boxer that says what each test wants, truth or not. */
#include "box/client.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"

#define W(text) ((char[]){ text })
/* Longer than any bound here. */
#define WAIT_MS 60000

static char source[] = "print(1)";
static char input[] = "input";
static struct conf_runtime python = { .name = W("python3"),
	.entry = W("main.py") };

/* One answer of the false boxer: len bytes; 0: close the job's socket. */
struct line {
	size_t len;
	union {
		struct wire_simple simple;
		struct wire_refused refused;
		struct wire_chunk chunk;
		struct wire_result result;
	} m;
};

struct play {
	int common; /* the boxer's side */
	struct client *c;
	pthread_t thread;
	struct line lines[8];
	size_t n_lines;
	bool read_job; /* wait for WIRE_JOB after the first line */
	/* what it saw */
	struct wire_reserve ask;
	struct wire_job job;
	char image[256];
	/* what it hands over with its last line */
	int extras;
	bool closed; /* the gate closed the job's socket */
};

static void
say(struct play *p, const void *m, size_t len)
{
	struct line *l = &p->lines[p->n_lines++];

	l->len = len;
	memcpy(&l->m, m, len);
}

static void
say_simple(struct play *p, enum wire_type type)
{
	struct wire_simple m = { .type = type };

	say(p, &m, sizeof(m));
}

static void
say_refused(struct play *p, uint32_t status, const char *text)
{
	struct wire_refused m = { .type = WIRE_REFUSED, .status = status };

	memset(m.text, 'x', sizeof(m.text));
	memcpy(m.text, text, strlen(text) + 1);
	say(p, &m, sizeof(m));
}

static void
say_chunk(struct play *p, uint32_t stream, uint32_t len, const char *data)
{
	struct wire_chunk m = {
		.type = WIRE_CHUNK, .stream = stream, .len = len
	};

	memcpy(m.data, data, strlen(data));
	say(p, &m, offsetof(struct wire_chunk, data) + strlen(data));
}

static void
say_result(
    struct play *p, uint32_t status, int exit_code, int sig, const char *text)
{
	struct wire_result m = { .type = WIRE_RESULT,
		.status = status,
		.exit_code = exit_code,
		.signal = sig,
		.duration_us = 1234 };

	memcpy(m.text, text, strlen(text));
	say(p, &m, sizeof(m));
}

static void *
boxer(void *arg)
{
	struct play *p = arg;
	int job = -1, image = -1;
	char byte;
	size_t len;

	if (io_recv_msg(p->common, &p->ask, sizeof(p->ask), &len, &job, 0) !=
	    ST_OK)
		return NULL;
	for (size_t i = 0; i < p->n_lines; i++) {
		if (p->lines[i].len == 0)
			break;
		if (io_send_msg(job, &p->lines[i].m, p->lines[i].len,
			i + 1 == p->n_lines ? p->extras : -1, 0) != ST_OK)
			break;
		if (i == 0 && p->read_job &&
		    io_recv_msg(job, &p->job, sizeof(p->job), &len, &image,
			0) == ST_OK) {
			ssize_t n =
			    pread(image, p->image, sizeof(p->image) - 1, 0);

			p->image[n < 0 ? 0 : n] = '\0';
			close(image);
		}
	}
	if (p->n_lines == 0 || p->lines[p->n_lines - 1].len != 0)
		p->closed =
		    io_recv_msg(job, &byte, 1, &len, NULL, 0) == ST_CLOSED;
	close(job);
	return NULL;
}

static void
open_play(struct play *p)
{
	int pair[2];

	memset(p, 0, sizeof(*p));
	p->read_job = true;
	p->extras = -1;
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	p->common = pair[1];
	assert_int_equal(client_open(&p->c, pair[0]), ST_OK);
}

static void
start(struct play *p)
{
	assert_int_equal(pthread_create(&p->thread, NULL, boxer, p), 0);
}

static void
finish(struct play *p)
{
	assert_int_equal(pthread_join(p->thread, NULL), 0);
	close(p->common);
	client_close(p->c);
}

static struct job
make_job(void)
{
	struct job j = { .runtime = &python,
		.entry = "main.py",
		.source = source,
		.source_len = 8,
		.stdin_data = input,
		.stdin_len = 5,
		.limits = { 1000, 1 << 26, 10, 1 << 20 } };

	return j;
}

struct heard {
	int started;
	char out[32];
	char err[32];
	int extras;
	char image[32];
};

static void
on_start(void *ctx)
{
	((struct heard *)ctx)->started++;
}

static void
on_chunk(void *ctx, int stream, const uint8_t *data, size_t len)
{
	struct heard *h = ctx;
	char *to = stream == 1 ? h->out : h->err;

	assert_true(strlen(to) + len < sizeof(h->out));
	memcpy(to + strlen(to), data, len);
}

static void
on_extras(void *ctx, const uint8_t *image, size_t len)
{
	struct heard *h = ctx;

	assert_true(len < sizeof(h->image));
	memcpy(h->image, image, len);
	h->extras++;
}

static enum status
run_job(struct play *p, const struct job *job, struct heard *h,
    struct wire_result *r, struct fault *f)
{
	struct job j = *job;
	struct client_slot *s;
	enum status st;

	memset(h, 0, sizeof(*h));
	memset(f, 0, sizeof(*f));
	start(p);
	st = client_reserve(&s, p->c, &j, WAIT_MS, f);
	if (st == ST_OK) {
		client_extras(s, on_extras);
		st = client_run(s, &j, on_start, on_chunk, h, r, f);
	} else {
		assert_null(s);
	}
	finish(p);
	return st;
}

/* Reserve and run against the lines of p. */
static enum status
run(struct play *p, struct heard *h, struct wire_result *r, struct fault *f)
{
	struct job j = make_job();

	return run_job(p, &j, h, r, f);
}

static void
a_good_run(void **state)
{
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	open_play(&p);
	say_simple(&p, WIRE_RESERVED);
	say_simple(&p, WIRE_STARTED);
	say_chunk(&p, 1, 3, "abc");
	say_chunk(&p, 2, 2, "EE");
	say_chunk(&p, 1, 5, "defgh");
	say_result(&p, ST_OK, 0, 0, "");
	assert_int_equal(run(&p, &h, &r, &f), ST_OK);
	assert_int_equal(h.started, 1);
	assert_string_equal(h.out, "abcdefgh");
	assert_string_equal(h.err, "EE");
	assert_true(r.duration_us == 1234);
	assert_true(p.closed);
	/* what the boxer got */
	assert_string_equal(p.ask.runtime, "python3");
	assert_string_equal(p.ask.entry, "main.py");
	assert_int_equal(p.ask.wait_ms, WAIT_MS);
	assert_int_equal(p.ask.plain, 1);
	assert_true(p.ask.limits.memory_bytes == 1 << 26);
	assert_int_equal(p.job.stdin_len, 5);
	assert_memory_equal(p.image + p.job.stdin_at, "input", 5);
	assert_true(p.job.image_len == p.job.stdin_at + 5);
}

static void
refusals(void **state)
{
	/* before the job, then after it */
	static const struct {
		uint32_t said;
		enum status before;
		enum status after;
	} rows[] = {
		{ ST_SERVICE_BUSY, ST_SERVICE_BUSY, ST_SERVICE_BUSY },
		{ ST_SANDBOX_UNAVAILABLE, ST_SANDBOX_UNAVAILABLE,
		    ST_SANDBOX_UNAVAILABLE },
		{ ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_UNAVAILABLE,
		    ST_SANDBOX_SETUP_FAILED },
		{ ST_SANDBOX_INVALID_REQUEST, ST_SANDBOX_UNAVAILABLE,
		    ST_SANDBOX_INVALID_REQUEST },
		/* never the boxer's to say */
		{ ST_OK, ST_SANDBOX_UNAVAILABLE, ST_SANDBOX_SETUP_FAILED },
		{ ST_PAYMENT_REQUIRED, ST_SANDBOX_UNAVAILABLE,
		    ST_SANDBOX_SETUP_FAILED },
		{ 0xffffffff, ST_SANDBOX_UNAVAILABLE, ST_SANDBOX_SETUP_FAILED },
	};
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_play(&p);
		p.read_job = false;
		say_refused(&p, rows[i].said, "why not");
		assert_int_equal(run(&p, &h, &r, &f), rows[i].before);
		assert_int_equal(f.st, rows[i].before);
		assert_string_equal(f.message, "why not");

		open_play(&p);
		say_simple(&p, WIRE_RESERVED);
		say_refused(&p, rows[i].said, "why not");
		assert_int_equal(run(&p, &h, &r, &f), rows[i].after);
		assert_int_equal(f.st, rows[i].after);
		assert_int_equal(h.started, 0);
	}
}

static void
failure_after_the_start(void **state)
{
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	open_play(&p);
	say_simple(&p, WIRE_RESERVED);
	say_simple(&p, WIRE_STARTED);
	say_refused(&p, ST_SANDBOX_SETUP_FAILED, "lost");
	assert_int_equal(run(&p, &h, &r, &f), ST_SANDBOX_SETUP_FAILED);
	assert_int_equal(h.started, 1);
}

static void
refused_before_the_job_was_sent(void **state)
{
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	open_play(&p);
	p.read_job = false;
	say_simple(&p, WIRE_RESERVED);
	say_refused(&p, ST_SANDBOX_SETUP_FAILED, "no boot");
	assert_int_equal(run(&p, &h, &r, &f), ST_SANDBOX_SETUP_FAILED);
	assert_string_equal(f.message, "no boot");
}

/* What becomes of an image that claims to be said bytes long; it is len long,
 * and sealed like this. */
static void
hand_over(
    struct heard *h, const struct job *j, uint64_t said, off_t len, int seals)
{
	struct wire_result end = { .type = WIRE_RESULT, .extras_len = said };
	struct play p;
	struct wire_result r;
	struct fault f;

	open_play(&p);
	p.extras = memfd_create("extras", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(p.extras >= 0);
	assert_int_equal(ftruncate(p.extras, len), 0);
	assert_int_equal(pwrite(p.extras, "0123456789", 10, 0), 10);
	assert_int_equal(ftruncate(p.extras, len), 0);
	assert_int_equal(fcntl(p.extras, F_ADD_SEALS, seals), 0);
	say_simple(&p, WIRE_RESERVED);
	say_simple(&p, WIRE_STARTED);
	say(&p, &end, sizeof(end));
	/* The run itself is sound, whatever came with it. */
	assert_int_equal(run_job(&p, j, h, &r, &f), ST_OK);
	assert_int_equal(p.job.flags, job_flags(j));
	close(p.extras);
}

static void
extras(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	struct job j = make_job();
	struct heard h;

	(void)state;
	j.wants_outputs = true;
	hand_over(&h, &j, 10, 10, seals);
	assert_int_equal(h.extras, 1);
	assert_string_equal(h.image, "0123456789");
	hand_over(&h, &j, 0, 10, seals);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, 9, 10, seals);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, 11, 10, seals);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, UINT64_MAX, 10, seals);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, 1 << 20, 1 << 20, seals);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, 10, 10, seals & ~F_SEAL_WRITE);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, 10, 10, seals & ~F_SEAL_SHRINK);
	assert_int_equal(h.extras, 0);
	hand_over(&h, &j, 10, 10, seals & ~F_SEAL_GROW);
	assert_int_equal(h.extras, 0);
	j.wants_outputs = false;
	hand_over(&h, &j, 10, 10, seals);
	assert_int_equal(h.extras, 0);
}

/* Which jobs may run in what was started before them. */
static void
what_is_plain(void **state)
{
	char *cold[] = { W(".Rprofile"), NULL }, *words[] = { W("x=y"), NULL };
	char *does[] = { W("evaluate"), NULL };
	struct conf_runtime runtime = python;
	struct job_file file = { .path = W(".Rprofile"), .data = W("") };
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	runtime.cold_files = cold;
	runtime.helper_does = does;
	runtime.helper_text = W("aGkK");
	for (int i = 0; i < 10; i++) {
		struct job j = make_job();
		struct play p;

		j.runtime = &runtime;
		j.evaluate = i >= 5;
		j.args = j.env = words;
		j.files = &file;
		j.n_args = i % 5 == 1;
		j.n_env = i % 5 == 2;
		j.n_files = i % 5 >= 3;
		file.path[0] = i % 5 == 3 ? '.' : '_';
		open_play(&p);
		say_simple(&p, WIRE_RESERVED);
		say_simple(&p, WIRE_STARTED);
		say_result(&p, ST_OK, 0, 0, "");
		assert_int_equal(run_job(&p, &j, &h, &r, &f), ST_OK);
		assert_int_equal(
		    p.ask.plain, i >= 5 || i == 0 || i == 4 ? 1 : 0);
		assert_int_equal(p.ask.hooked, i >= 5);
	}
}

static void
boxer_goes(void **state)
{
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;
	struct line end = { 0 };
	int64_t before;

	(void)state;
	for (int lines = 0; lines < 4; lines++) {
		open_play(&p);
		if (lines > 0)
			say_simple(&p, WIRE_RESERVED);
		if (lines > 1)
			say_simple(&p, WIRE_STARTED);
		if (lines > 2)
			say_chunk(&p, 1, 3, "abc");
		p.lines[p.n_lines++] = end;
		before = io_now_ms();
		assert_int_equal(run(&p, &h, &r, &f), ST_SANDBOX_UNAVAILABLE);
		assert_int_equal(f.st, ST_SANDBOX_UNAVAILABLE);
		assert_true(io_now_ms() - before < 10000);
	}
}

static void
boxer_is_gone_already(void **state)
{
	struct play p;
	struct job j = make_job();
	struct client_slot *s;
	struct wire_state ws;
	struct fault f;
	int pair[2];

	(void)state;
	open_play(&p);
	close(p.common);
	assert_int_equal(
	    client_reserve(&s, p.c, &j, 60000, &f), ST_SANDBOX_UNAVAILABLE);
	assert_null(s);
	assert_int_equal(client_state(p.c, &ws), ST_SANDBOX_UNAVAILABLE);
	/* A new boxer, and all is well. */
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	client_attach(p.c, pair[0]);
	p.common = pair[1];
	p.read_job = false;
	say_simple(&p, WIRE_RESERVED);
	start(&p);
	assert_int_equal(client_reserve(&s, p.c, &j, 100, &f), ST_OK);
	client_release(s);
	finish(&p);
	assert_true(p.closed);
	client_release(NULL);
}

static void
nonsense_for_a_reservation(void **state)
{
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	for (uint32_t type = 0; type <= WIRE_TYPE_MAX; type++) {
		if (type == WIRE_RESERVED)
			continue;
		open_play(&p);
		p.read_job = false;
		say_simple(&p, (enum wire_type)type);
		assert_int_equal(run(&p, &h, &r, &f), ST_SANDBOX_UNAVAILABLE);
	}
	open_play(&p);
	p.read_job = false;
	say(&p, "abc", 3);
	assert_int_equal(run(&p, &h, &r, &f), ST_SANDBOX_UNAVAILABLE);
}

/* After STARTED the boxer says one thing more: it must not pass. */
static void
must_not_pass(struct play *p)
{
	struct heard h;
	struct wire_result r;
	struct fault f;

	assert_int_equal(run(p, &h, &r, &f), ST_SANDBOX_SETUP_FAILED);
	assert_int_equal(f.st, ST_SANDBOX_SETUP_FAILED);
	assert_int_equal(r.type, 0);
}

static void
open_started(struct play *p)
{
	open_play(p);
	say_simple(p, WIRE_RESERVED);
	say_simple(p, WIRE_STARTED);
}

static void
bad_chunks(void **state)
{
	struct play p;

	(void)state;
	open_started(&p);
	say_chunk(&p, 0, 3, "abc");
	must_not_pass(&p);
	open_started(&p);
	say_chunk(&p, 3, 3, "abc");
	must_not_pass(&p);
	open_started(&p);
	say_chunk(&p, 1, 4, "abc"); /* tells of more than it brings */
	must_not_pass(&p);
	open_started(&p);
	say_chunk(&p, 1, 0xffffffff, "abc");
	must_not_pass(&p);
	open_started(&p);
	say_chunk(&p, 1, 0, "");
	must_not_pass(&p);
	open_started(&p);
	say_chunk(&p, 1, 6, "abcdef"); /* 12 of 10 bytes */
	say_chunk(&p, 2, 6, "abcdef");
	must_not_pass(&p);
	open_play(&p); /* before the start */
	say_simple(&p, WIRE_RESERVED);
	say_chunk(&p, 1, 3, "abc");
	must_not_pass(&p);
}

static void
bad_results(void **state)
{
	static const struct {
		uint32_t status;
		int exit_code;
		int sig;
		const char *text;
	} rows[] = {
		{ ST_OK, 1, 0, "" },
		{ ST_OK, -1, 9, "" },
		{ ST_OK, -1, 0, "" },
		{ ST_OK, 0, 0, "text" },
		{ ST_SANDBOX_TIMEOUT, 0, 0, "" },
		{ ST_SANDBOX_TIMEOUT, -1, 9, "" },
		{ ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, 3, 0, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, 0, 0, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, -1, 0, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, 1, 9, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, 256, 0, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, -2, 0, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, -1, 65, "" },
		{ ST_EXECUTION_RUNTIME_ERROR, -1, -9, "" },
		{ ST_PAYMENT_REQUIRED, 0, 0, "" },
		{ ST_SANDBOX_SETUP_FAILED, -1, 0, "" },
		{ ST_MAX, 0, 0, "" },
		{ 0xffffffff, 0, 0, "" },
	};
	struct play p;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_started(&p);
		say_result(&p, rows[i].status, rows[i].exit_code, rows[i].sig,
		    rows[i].text);
		must_not_pass(&p);
	}
	/* a text without end */
	open_started(&p);
	say_result(&p, ST_EXECUTION_RUNTIME_ERROR, 1, 0, "");
	memset(p.lines[p.n_lines - 1].m.result.text, 'x', WIRE_TEXT);
	must_not_pass(&p);
	/* too short */
	open_started(&p);
	say_result(&p, ST_OK, 0, 0, "");
	p.lines[p.n_lines - 1].len--;
	must_not_pass(&p);
	/* before the start */
	open_play(&p);
	say_simple(&p, WIRE_RESERVED);
	say_result(&p, ST_OK, 0, 0, "");
	must_not_pass(&p);
	/* started twice */
	open_started(&p);
	say_simple(&p, WIRE_STARTED);
	must_not_pass(&p);
}

static void
good_results(void **state)
{
	static const struct {
		uint32_t status;
		int exit_code;
		int sig;
	} rows[] = {
		{ ST_OK, 0, 0 },
		{ ST_SANDBOX_TIMEOUT, -1, 0 },
		{ ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0 },
		{ ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, 0, 0 },
		{ ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0 },
		{ ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 11 },
		{ ST_EXECUTION_RUNTIME_ERROR, 255, 0 },
		{ ST_EXECUTION_RUNTIME_ERROR, -1, 64 },
		{ ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL, -1, 31 },
		{ ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED, 1, 0 },
	};
	struct play p;
	struct heard h;
	struct wire_result r;
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_started(&p);
		say_result(
		    &p, rows[i].status, rows[i].exit_code, rows[i].sig, "");
		assert_int_equal(run(&p, &h, &r, &f), ST_OK);
		assert_int_equal(r.status, rows[i].status);
		assert_int_equal(r.exit_code, rows[i].exit_code);
		assert_int_equal(r.signal, rows[i].sig);
	}
}

/* ---- state ---- */

struct state_play {
	int common;
	size_t len; /* 0: no answer */
	struct wire_state answer;
};

static void *
state_boxer(void *arg)
{
	struct state_play *p = arg;
	struct wire_simple ask;
	size_t len;

	assert_int_equal(
	    io_recv_msg(p->common, &ask, sizeof(ask), &len, NULL, 0), ST_OK);
	assert_int_equal(ask.type, WIRE_STATE_ASK);
	if (p->len > 0)
		assert_int_equal(
		    io_send_msg(p->common, &p->answer, p->len, -1, 0), ST_OK);
	return NULL;
}

static void
state_is_checked(void **state)
{
	struct state_play p = { .len = sizeof(p.answer),
		.answer = { .type = WIRE_STATE,
		    .queue = 3,
		    .slots = 4,
		    .mechanism = 1,
		    .n_pools = 2,
		    .pools = { { "python3", 0, 1 }, { "node", 0, 0 } } } };
	const struct wire_state good = p.answer;
	struct wire_state got;
	struct client *c;
	pthread_t t;
	int64_t before;
	int pair[2];

	(void)state;
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(client_open(&c, pair[0]), ST_OK);
	p.common = pair[1];
	for (int i = 0; i < 7; i++) {
		p.answer = good;
		p.len = sizeof(p.answer);
		if (i == 1)
			p.answer.type = WIRE_STATE_ASK;
		if (i == 2)
			p.answer.n_pools = 33;
		if (i == 3)
			p.answer.mechanism = 3;
		if (i == 4)
			memset(p.answer.pools[1].runtime, 'x', WIRE_NAME);
		if (i == 5)
			p.len--;
		if (i == 6)
			p.len = 0;
		/* An answer to nobody must not be taken for this one's. */
		assert_int_equal(
		    io_send_msg(pair[1], &good, sizeof(good), -1, 0), ST_OK);
		assert_int_equal(pthread_create(&t, NULL, state_boxer, &p), 0);
		before = io_now_ms();
		assert_int_equal(client_state(c, &got),
		    i == 0 ? ST_OK : ST_SANDBOX_UNAVAILABLE);
		assert_true(io_now_ms() - before < 10000);
		assert_int_equal(got.queue, i == 0 ? 3 : 0);
		assert_int_equal(pthread_join(t, NULL), 0);
	}
	close(pair[1]);
	client_close(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_run),
		cmocka_unit_test(refusals),
		cmocka_unit_test(failure_after_the_start),
		cmocka_unit_test(refused_before_the_job_was_sent),
		cmocka_unit_test(extras),
		cmocka_unit_test(what_is_plain),
		cmocka_unit_test(boxer_goes),
		cmocka_unit_test(boxer_is_gone_already),
		cmocka_unit_test(nonsense_for_a_reservation),
		cmocka_unit_test(bad_chunks),
		cmocka_unit_test(bad_results),
		cmocka_unit_test(good_results),
		cmocka_unit_test(state_is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
