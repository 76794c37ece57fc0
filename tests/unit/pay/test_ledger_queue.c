#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "pay/ledger_db.h"
#include "pay/ledger_queue.h"

#define DIGEST                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fixture {
	char dir[64];
	char path[96];
	struct ledger_db *db;
	struct ledger_db *reader;
	struct ledger_queue *q;
};

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	snprintf(x->dir, sizeof(x->dir), "/tmp/test_queue.XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	snprintf(x->path, sizeof(x->path), "%s/l.db", x->dir);
	assert_int_equal(
	    ledger_db_open(&x->db, x->path, LEDGER_DB_WRITE), ST_OK);
	assert_int_equal(
	    ledger_db_open(&x->reader, x->path, LEDGER_DB_READ), ST_OK);
	assert_int_equal(ledger_queue_open(&x->q, x->db), ST_OK);
	*state = x;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *x = *state;

	ledger_queue_close(x->q);
	ledger_db_close(x->reader);
	ledger_db_close(x->db);
	(void)unlink(x->path);
	(void)rmdir(x->dir);
	free(x);
	return 0;
}

/* ---- changes that behave as told ---- */

struct act {
	struct ledger_queue *q;
	const char *identity;
	enum status ends; /* what the change returns after its write */
	bool breaks;	  /* it makes the transaction vanish, as SQLite does
			   * when a disk is full */
	bool waits;	  /* it holds the leader until released */
	size_t place;	  /* of its thread in callers */
	int calls;
	enum status st; /* what the caller got */
};

static int released, waiting, entered;
static pid_t callers[8]; /* the threads that entered, but for the leader */

/* Until *what is that much; false after 20 seconds. */
static bool
await(const int *what, int wanted)
{
	for (int i = 0; i < 20000; i++) {
		if (__atomic_load_n(what, __ATOMIC_SEQ_CST) == wanted)
			return true;
		usleep(1000);
	}
	return false;
}

static enum status
insert(struct ledger_db *db, const char *identity)
{
	int i;

	ledger_db_start(db, LEDGER_SQL_CLAIM);
	ledger_db_text(db, identity);
	ledger_db_number(db, 1);
	ledger_db_text(db, "site");
	ledger_db_text(db, "route");
	ledger_db_text(db, DIGEST);
	for (i = 0; i < 6; i++)
		ledger_db_text(db, "x");
	ledger_db_bytes(db, NULL, 0);
	ledger_db_number(db, 0);
	ledger_db_number(db, 2);
	ledger_db_text(db, NULL);
	ledger_db_text(db, NULL);
	return ledger_db_run(db, NULL);
}

static enum status
perform(struct ledger_db *db, const void *arg)
{
	/* The test's own, so it may be counted in. */
	struct act *a = *(struct act *const *)arg;
	enum status st = insert(db, a->identity);

	a->calls++;
	if (st != ST_OK)
		return st;
	if (a->waits) {
		__atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
		if (!await(&released, 1))
			return ST_TIMEOUT;
	}
	if (a->breaks) {
		ledger_db_start(db, LEDGER_SQL_ROLLBACK);
		assert_int_equal(ledger_db_run(db, NULL), ST_OK);
	}
	return a->ends;
}

static void *
act_thread(void *arg)
{
	struct act *a = arg;

	if (!a->waits)
		callers[a->place] = (pid_t)syscall(SYS_gettid);
	__atomic_add_fetch(&entered, 1, __ATOMIC_SEQ_CST);
	a->st = ledger_queue_run(a->q, perform, &a);
	return NULL;
}

static int
rows(struct ledger_db *reader, const char *identity)
{
	enum status st;

	ledger_db_start(reader, LEDGER_SQL_FIND);
	ledger_db_text(reader, identity);
	st = ledger_db_row(reader);
	ledger_db_end(reader);
	return st == ST_OK ? 1 : 0;
}

/* How often the thread went to sleep until now, -1 if it does not sleep. */
static long
sleeps(pid_t tid)
{
	static const char key[] = "voluntary_ctxt_switches:";
	char path[64], line[256];
	bool asleep = false;
	long n = -1;
	FILE *f;

	(void)snprintf(
	    path, sizeof(path), "/proc/self/task/%d/status", (int)tid);
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "State:\tS", 8) == 0)
			asleep = true;
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			n = strtol(line + sizeof(key) - 1, NULL, 10);
	}
	(void)fclose(f);
	return asleep ? n : -1;
}

/* Until all n callers sleep at once: nobody holds the queue's lock then, so
 * they are in its list. None has slept anew between two looks. */
static bool
await_list(size_t n)
{
	long before[8], now;
	bool same;

	for (size_t k = 0; k < 8; k++)
		before[k] = -1;
	for (int i = 0; i < 20000; i++) {
		same = true;
		for (size_t k = 0; k < n; k++) {
			now = sleeps(callers[k]);
			same = same && now >= 0 && now == before[k];
			before[k] = now;
		}
		if (same)
			return true;
		usleep(1000);
	}
	return false;
}

/* Run the acts as one group: the first leads and waits, the others queue up
 * behind it meanwhile. */
static void
run_group(struct fixture *x, struct act *acts, size_t n)
{
	struct act first = { .q = x->q, .identity = "first", .waits = true };
	pthread_t leader, threads[8];
	bool all;
	size_t i;

	released = 0;
	waiting = 0;
	entered = 0;
	assert_int_equal(pthread_create(&leader, NULL, act_thread, &first), 0);
	assert_true(await(&waiting, 1));
	for (i = 0; i < n; i++) {
		acts[i].q = x->q;
		acts[i].place = i;
		assert_int_equal(
		    pthread_create(&threads[i], NULL, act_thread, &acts[i]), 0);
	}
	all = await(&entered, (int)n + 1) && await_list(n);
	__atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(pthread_join(leader, NULL), 0);
	for (i = 0; i < n; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(all);
	assert_int_equal(first.st, ST_OK);
	assert_int_equal(first.calls, 1);
	assert_int_equal(rows(x->reader, "first"), 1);
}

static void
a_failure_takes_its_own_writes_only(void **state)
{
	struct fixture *x = *state;
	struct act acts[] = {
		{ .identity = "a", .ends = ST_OK },
		{ .identity = "b", .ends = ST_IO },
		{ .identity = "c", .ends = ST_OK },
		{ .identity = "d", .ends = ST_BUG },
		{ .identity = "e", .ends = ST_CONFLICT },
		{ .identity = "f", .ends = ST_TOO_BIG },
		{ .identity = "g", .ends = ST_NOMEM },
	};
	/* A verdict keeps its writes, a failure does not. */
	static const int kept[] = { 1, 0, 1, 0, 1, 1, 0 };
	size_t i;

	run_group(x, acts, 7);
	for (i = 0; i < 7; i++) {
		assert_int_equal(acts[i].st, acts[i].ends);
		assert_int_equal(acts[i].calls, 1);
		assert_int_equal(rows(x->reader, acts[i].identity), kept[i]);
	}
}

static void
a_lost_transaction_is_made_again_one_by_one(void **state)
{
	struct fixture *x = *state;
	struct act acts[] = {
		{ .identity = "a", .ends = ST_OK },
		{ .identity = "b", .ends = ST_IO, .breaks = true },
		{ .identity = "c", .ends = ST_OK },
	};

	run_group(x, acts, 3);
	assert_int_equal(acts[0].st, ST_OK);
	assert_int_equal(acts[1].st, ST_IO);
	assert_int_equal(acts[2].st, ST_OK);
	assert_int_equal(rows(x->reader, "a"), 1);
	assert_int_equal(rows(x->reader, "b"), 0);
	assert_int_equal(rows(x->reader, "c"), 1);
	/* b was tried with the others and by itself. */
	assert_int_equal(acts[1].calls, 2);
}

/* Even one that says all is well. */
static void
a_lost_transaction_is_never_ok(void **state)
{
	struct fixture *x = *state;
	struct act *a = &(struct act){
		.q = x->q, .identity = "a", .ends = ST_OK, .breaks = true
	};

	assert_int_equal(ledger_queue_run(x->q, perform, &a), ST_IO);
	assert_int_equal(rows(x->reader, "a"), 0);
	a->breaks = false;
	assert_int_equal(ledger_queue_run(x->q, perform, &a), ST_OK);
	assert_int_equal(rows(x->reader, "a"), 1);
}

/* ---- statements used wrongly ---- */

static void
half_bound_statements_do_not_run(void **state)
{
	struct fixture *x = *state;

	ledger_db_start(x->db, LEDGER_SQL_RELEASE);
	assert_int_equal(ledger_db_run(x->db, NULL), ST_BUG);
	ledger_db_start(x->db, LEDGER_SQL_RELEASE);
	ledger_db_text(x->db, "a");
	ledger_db_text(x->db, "one too many");
	assert_int_equal(ledger_db_run(x->db, NULL), ST_BUG);
	/* One begun within another. */
	ledger_db_start(x->reader, LEDGER_SQL_BYTES);
	ledger_db_start(x->reader, LEDGER_SQL_BYTES);
	assert_int_equal(ledger_db_row(x->reader), ST_BUG);
	ledger_db_end(x->reader);
	ledger_db_start(x->reader, LEDGER_SQL_BYTES);
	assert_int_equal(ledger_db_row(x->reader), ST_OK);
	ledger_db_end(x->reader);
}

static void
readers_cannot_change(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(insert(x->reader, "a"), ST_IO);
	assert_int_equal(rows(x->reader, "a"), 0);
}

#define WITH_QUEUE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_QUEUE(a_failure_takes_its_own_writes_only),
		WITH_QUEUE(a_lost_transaction_is_made_again_one_by_one),
		WITH_QUEUE(a_lost_transaction_is_never_ok),
		WITH_QUEUE(half_bound_statements_do_not_run),
		WITH_QUEUE(readers_cannot_change),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
