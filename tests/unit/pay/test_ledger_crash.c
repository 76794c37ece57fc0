/*
 * A process that works on the ledger with several threads is killed at random
 * moments, over and over on the same store; or its disk loses the power, and
 * the next goes on with what is left (power_vfs.h). It tells each step over a
 * pipe once the ledger has said that it is durable. After each death the store
 * is opened again: whatever was told must be there, as recovery leaves it, and
 * nothing else may be there but the one step that was under way.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"
#include "power_vfs.h"

#define ROUNDS 80
#define POWER_ROUNDS 90
#define THREADS 3
#define SEED 0x7011b0c5u
#define KILL_US 60000 /* at most this long after the fork, or first step */
#define DIGEST                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- what a payment goes through ---- */

enum op {
	END,
	CLAIM,
	RELEASE,
	SETTLING,
	SETTLED,
	UNKNOWN,
	FAILED,
	RUNNING,
	OWED,
	DONE,
	GIVEN_UP
};

#define STEPS 12

static const enum op lives[][STEPS] = {
	{ CLAIM, SETTLING, SETTLED, RUNNING, DONE },
	{ CLAIM, RELEASE },
	{ CLAIM, SETTLING, FAILED, SETTLING, SETTLED, RUNNING, OWED, RUNNING,
	    DONE },
	{ CLAIM, SETTLING, UNKNOWN, SETTLED, RUNNING, OWED, RUNNING, OWED,
	    RUNNING, OWED, GIVEN_UP },
	{ CLAIM, SETTLING, UNKNOWN, SETTLING, FAILED },
};
#define LIVES (sizeof(lives) / sizeof(lives[0]))

/* A payment's fate as the test works it out by itself. */
struct model {
	int state; /* 0: no row */
	int starts;
	bool answered;
};

static void
model_step(struct model *m, enum op op)
{
	static const int to[] = { [CLAIM] = LEDGER_CLAIMED,
		[RELEASE] = 0,
		[SETTLING] = LEDGER_SETTLING,
		[SETTLED] = LEDGER_SETTLED,
		[UNKNOWN] = LEDGER_UNKNOWN,
		[FAILED] = LEDGER_FAILED,
		[RUNNING] = LEDGER_RUNNING,
		[OWED] = LEDGER_SETTLED,
		[DONE] = LEDGER_DONE,
		[GIVEN_UP] = LEDGER_SETTLED };

	m->state = to[op];
	m->starts += op == RUNNING;
	m->answered = op == DONE || op == GIVEN_UP;
}

/* After the first n steps of a life, and the recovery. */
static struct model
model_after(const enum op *life, int n)
{
	struct model m = { 0 };
	int i;

	for (i = 0; i < n && life[i] != END; i++)
		model_step(&m, life[i]);
	if (m.state == LEDGER_CLAIMED)
		m.state = 0;
	if (m.state == LEDGER_SETTLING)
		m.state = LEDGER_UNKNOWN;
	if (m.state == LEDGER_RUNNING)
		m.state = LEDGER_SETTLED;
	return m;
}

/* Each payment has a key and an identifier of its own, of no other round. */
static void
key_of(uint8_t out[LEDGER_KEY_BYTES], const char *id)
{
	memset(out, 0, LEDGER_KEY_BYTES);
	memcpy(out, id, strlen(id));
}

static size_t
body_len(int n)
{
	return (size_t)n * 7919u % 60000u;
}

static void
fill_body(char *body, size_t len, int n)
{
	size_t i;

	for (i = 0; i < len; i++)
		body[i] = (char)(((size_t)n + i) * 40503u >> 5);
}

/* ---- the process that dies ---- */

struct told {
	int thread;
	int number; /* of the payment in its thread */
	int step;   /* index of the step that is durable */
};

struct work {
	struct ledger *l;
	int round, thread, pipe;
};

static enum status
apply(struct ledger *l, enum op op, const char *id, int number)
{
	uint8_t key[LEDGER_KEY_BYTES];
	struct ledger_claim c = { .identity = id,
		.site = "s",
		.route = "/execute",
		.request_digest = DIGEST,
		.payer = "p",
		.network = "n",
		.asset = "a",
		.pay_to = "t",
		.amount = "1",
		.facilitator = "f",
		.settle_body = id,
		.settle_body_len = strlen(id),
		.identifier = id,
		.key = key,
		.version = 2 };
	OWN_FREE char *body = NULL;
	size_t len = body_len(number);

	key_of(key, id);
	switch (op) {
	case CLAIM:
		return ledger_claim(l, &c);
	case RELEASE:
		return ledger_release(l, id);
	case SETTLING:
		return ledger_settling(l, id);
	case SETTLED:
		return ledger_settled(l, id, id);
	case UNKNOWN:
		return ledger_unknown(l, id, "?");
	case FAILED:
		return ledger_failed(l, id, "no");
	case RUNNING:
		return ledger_running(l, id);
	case OWED:
		return ledger_owed(l, id);
	case DONE:
		body = malloc(len + 1);
		if (body == NULL)
			return ST_NOMEM;
		fill_body(body, len, number);
		return ledger_done(l, id, 200, "H: v\n", body, len);
	case GIVEN_UP:
		body = malloc(len + 1);
		if (body == NULL)
			return ST_NOMEM;
		fill_body(body, len, number);
		return ledger_given_up(l, id, 200, "H: v\n", body, len);
	case END:
		break;
	}
	return ST_BUG;
}

static void *
work_thread(void *arg)
{
	struct work *w = arg;
	struct told told = { .thread = w->thread };
	char id[64];

	for (;; told.number++) {
		const enum op *life = lives[(size_t)told.number % LIVES];

		snprintf(id, sizeof(id), "%d/%d/%d", w->round, w->thread,
		    told.number);
		for (told.step = 0; life[told.step] != END; told.step++) {
			if (apply(w->l, life[told.step], id, told.number) !=
			    ST_OK)
				_exit(3);
			/* A record is far below PIPE_BUF: whole or not. */
			if (write(w->pipe, &told, sizeof(told)) != sizeof(told))
				_exit(4);
		}
	}
	return NULL;
}

static void
work_till_killed(const char *url, int round, int pipe_fd)
{
	struct work work[THREADS];
	struct ledger *l = NULL;
	pthread_t t;
	int i;

	if (ledger_open(&l, url) != ST_OK)
		_exit(2);
	for (i = 0; i < THREADS; i++) {
		work[i] = (struct work){ l, round, i, pipe_fd };
		if (pthread_create(&t, NULL, work_thread, &work[i]) != 0)
			_exit(5);
	}
	for (;;)
		pause();
}

/* ---- the one that looks ---- */

struct last {
	int number; /* -1: nothing told */
	int step;
};

struct check {
	struct ledger *l;
	int round;
	const struct last *last; /* of each thread, this round */
	int rows;
};

/* Key and identifier lead to the payment as long as it is there; the key of a
 * refused one is free. */
static bool
finds_key(struct ledger *l, const char *id, const struct model *want)
{
	uint8_t key[LEDGER_KEY_BYTES];
	OWN_FREE char *by_key = NULL, *by_name = NULL;
	enum status st, named;

	key_of(key, id);
	st = ledger_find_key(l, key, "p", DIGEST, &by_key);
	named = ledger_find_identifier(l, "p", id, &by_name);
	if ((want->state == 0) != (named == ST_NOT_FOUND) ||
	    (want->state == 0 || want->state == LEDGER_FAILED) !=
		(st == ST_NOT_FOUND))
		return false;
	return (by_key == NULL || strcmp(by_key, id) == 0) &&
	       (by_name == NULL || strcmp(by_name, id) == 0);
}

/* Is what the store holds what n steps leave? */
static bool
matches(
    struct ledger *l, const char *id, const enum op *life, int n, int number)
{
	struct model want = model_after(life, n);
	struct ledger_row r;
	enum status st = ledger_find(l, id, &r);
	OWN_FREE char *body = malloc(body_len(number) + 1);
	bool ok = true;

	assert_non_null(body);
	if (want.state == 0)
		ok = st == ST_NOT_FOUND;
	else if (st != ST_OK || (int)r.state != want.state ||
		 r.starts != want.starts)
		ok = false;
	if (ok && want.state >= LEDGER_SETTLED)
		ok = r.transaction != NULL && strcmp(r.transaction, id) == 0;
	if (ok)
		ok = finds_key(l, id, &want);
	if (ok && st == ST_OK && !want.answered)
		ok = r.answer_http == 0;
	if (ok && want.answered) {
		fill_body(body, body_len(number), number);
		ok = r.answer_http == 200 &&
		     r.answer_body_len == body_len(number) &&
		     memcmp(r.answer_body, body, body_len(number)) == 0;
	}
	if (st == ST_OK)
		ledger_row_free(&r);
	return ok;
}

/* The payment was told to have done steps 0..told, the next may have been
 * under way. told -1: not even the first. */
static void
check_payment(const struct check *c, int thread, int number, int told)
{
	const enum op *life = lives[(size_t)number % LIVES];
	char id[64];

	snprintf(id, sizeof(id), "%d/%d/%d", c->round, thread, number);
	if (!matches(c->l, id, life, told + 1, number) &&
	    !matches(c->l, id, life, told + 2, number))
		fail_msg("%s: not as after step %d or the next", id, told);
}

static bool
check_row(void *ctx, const char *identity, const struct ledger_row *row)
{
	struct check *c = ctx;
	int round = -1, thread = -1, number = -1;
	char *end = NULL;

	round = (int)strtol(identity, &end, 10);
	thread = (int)strtol(end + 1, &end, 10);
	number = (int)strtol(end + 1, &end, 10);
	assert_in_range(thread, 0, THREADS - 1);
	assert_in_range(row->state, LEDGER_UNKNOWN, LEDGER_DONE);
	assert_int_not_equal(row->state, LEDGER_RUNNING);
	/* Nothing of which nobody ever spoke. */
	if (round == c->round && number > c->last[thread].number + 1)
		fail_msg("%s: beyond what was told", identity);
	assert_in_range(round, 0, c->round);
	c->rows++;
	return true;
}

static int
all_steps(int number)
{
	const enum op *life = lives[(size_t)number % LIVES];
	int n = 0;

	while (life[n] != END)
		n++;
	return n;
}

static void
check_round(struct check *c)
{
	int t, n;

	for (t = 0; t < THREADS; t++) {
		const struct last *last = &c->last[t];

		for (n = 0; n < last->number; n++)
			check_payment(c, t, n, all_steps(n) - 1);
		if (last->number >= 0)
			check_payment(c, t, last->number, last->step);
		check_payment(c, t, last->number + 1, -1);
	}
	assert_int_equal(ledger_list(c->l, 0, check_row, c), ST_OK);
}

static uint32_t
next_random(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

/* What the disk still has takes the place of what the process saw. */
static void
take_left(const char *dir, const char *left)
{
	static const char *const files[] = { "l.db", "l.db-wal",
		"l.db-journal" };
	char from[96], to[96];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(from, sizeof(from), "%s/%s", left, files[i]);
		snprintf(to, sizeof(to), "%s/%s", dir, files[i]);
		if (rename(from, to) != 0)
			(void)unlink(to);
	}
	snprintf(to, sizeof(to), "%s/l.db-shm", dir);
	(void)unlink(to);
}

static void
await_power_loss(pid_t pid, const char *dir, const char *left)
{
	int ws = 0;

	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_true(WIFEXITED(ws));
	assert_int_equal(WEXITSTATUS(ws), POWER_EXIT);
	take_left(dir, left);
}

static void
await_kill(pid_t pid, int first_step, int round, uint32_t *random)
{
	int ws = 0;

	/* Each fourth dies anywhere, opening the store included; the others
	 * at work, however slow this machine is today. */
	if (round % 4 != 0)
		assert_int_equal(
		    io_wait(first_step, POLLIN, io_now_ms() + 60000), ST_OK);
	usleep(next_random(random) % KILL_US);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	/* It must not have ended by itself: then a change was refused. */
	assert_true(WIFSIGNALED(ws) && WTERMSIG(ws) == SIGKILL);
}

/* Operations until the power goes: while the store is opened, at work, or
 * around a checkpoint. */
static long
power_operations(int round, uint32_t *random)
{
	static const uint32_t most[] = { 40, 600, 6000 };

	return 1 + (long)(next_random(random) % most[round % 3]);
}

/* left: folder for what a disk has after the power was lost, NULL: killed. */
static int
one_round(const char *dir, const char *left, int round, uint32_t *random)
{
	char url[96];
	long operations = power_operations(round, random);
	uint32_t seed = next_random(random);
	struct last last[THREADS];
	struct told told;
	struct check c = { .round = round, .last = last };
	int fds[2], steps = 0, i;
	pid_t pid;

	snprintf(url, sizeof(url), "sqlite:%s/l.db", dir);
	for (i = 0; i < THREADS; i++)
		last[i] = (struct last){ -1, -1 };
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		if (left != NULL)
			power_lose(left, operations, seed);
		work_till_killed(url, round, fds[1]);
	}
	close(fds[1]);
	if (left != NULL)
		await_power_loss(pid, dir, left);
	else
		await_kill(pid, fds[0], round, random);
	while (read(fds[0], &told, sizeof(told)) == sizeof(told)) {
		assert_in_range(told.thread, 0, THREADS - 1);
		last[told.thread] = (struct last){ told.number, told.step };
		steps++;
	}
	close(fds[0]);
	assert_int_equal(ledger_open(&c.l, url), ST_OK);
	check_round(&c);
	ledger_close(c.l);
	return steps;
}

static void
many_rounds(const char *what, int rounds, const char *left)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
	char dir[] = "/tmp/test_crash.XXXXXX", name[64];
	uint32_t random = SEED;
	int round, steps = 0, silent = 0;
	size_t i;

	printf("seed 0x%x\n", SEED);
	assert_non_null(mkdtemp(dir));
	for (round = 0; round < rounds; round++) {
		int n = one_round(dir, left, round, &random);

		steps += n;
		silent += n == 0;
	}
	printf("%d %s (%d before the first step), %d steps told\n", rounds,
	    what, silent, steps);
	/* Or the test would have tested nothing. */
	assert_true(steps > rounds * 5);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(name, sizeof(name), "%s/l.db%s", dir, ends[i]);
		(void)unlink(name);
	}
	assert_int_equal(rmdir(dir), 0);
}

static void
nothing_told_is_lost_by_kills(void **state)
{
	(void)state;
	many_rounds("deaths", ROUNDS, NULL);
}

static void
nothing_told_is_lost_with_the_power(void **state)
{
	char left[] = "/tmp/test_power.XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(left));
	many_rounds("losses of power", POWER_ROUNDS, left);
	assert_int_equal(rmdir(left), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_told_is_lost_by_kills),
		cmocka_unit_test(nothing_told_is_lost_with_the_power),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
