#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"

#include "../../vectors/ledger_v1.h"
#include "ledger_fixture.h"

#define NOBODY 65534

/* ---- the disk under SQLite, counted, slowed and broken at will ---- */

static int syncs;	/* since the test set it to 0 */
static int sync_ms;	/* each takes this long */
static int sync_breaks; /* fail with EIO */

static int
count_sync(int fd)
{
	__atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&sync_breaks, __ATOMIC_SEQ_CST) != 0) {
		errno = EIO;
		return -1;
	}
	if (sync_ms > 0)
		usleep((useconds_t)sync_ms * 1000);
	return (int)syscall(SYS_fdatasync, fd);
}

int
fdatasync(int fd)
{
	return count_sync(fd);
}

int
fsync(int fd)
{
	return count_sync(fd);
}

/* ---- helpers ---- */

static int
setup(void **state)
{
	struct store *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	sqlite_make(s);
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct store *s = *state;

	ledger_close(s->l);
	sqlite_remove(s);
	free(s);
	return 0;
}

static void
reopen(struct store *s)
{
	ledger_close(s->l);
	s->l = NULL;
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
}

/* ---- opening ---- */

static mode_t
mode_of(const struct store *s, const char *end)
{
	char name[128];
	struct stat sb;

	snprintf(name, sizeof(name), "%s%s", s->path, end);
	assert_int_equal(stat(name, &sb), 0);
	return sb.st_mode & 07777;
}

static void
files_are_private(void **state)
{
	struct store *s = *state;
	mode_t was = umask(0);

	assert_int_equal(claim(s->l, "id"), ST_OK);
	assert_int_equal(mode_of(s, ""), 0600);
	assert_int_equal(mode_of(s, "-wal"), 0600);
	assert_int_equal(mode_of(s, "-shm"), 0600);
	assert_int_equal(mode_of(s, ".lock"), 0600);
	ledger_close(s->l);
	s->l = NULL;
	assert_int_equal(chmod(s->path, 0644), 0);
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
	assert_int_equal(mode_of(s, ""), 0600);
	umask(was);
}

static void
write_file(const char *path, const void *data, size_t len, off_t at)
{
	OWN_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, data, len, at), (ssize_t)len);
}

/* Big-endian words of the SQLite file header. */
#define AT_USER_VERSION 60
#define AT_APPLICATION 68

static void
what_is_not_ours_is_refused(void **state)
{
	static const char *const urls[] = { "", "sqlite",
		"sqlite:", "/tmp/x.db", "postgresql://h/d", "SQLITE:/tmp/x",
		"sqlite:/nonexistent/folder/l.db" };
	static const uint8_t version[4] = { 0, 0, 0, 99 };
	static const uint8_t other[4] = { 1, 2, 3, 4 };
	static const char rubbish[] = "this is no database, this is a text "
				      "that is long enough to be looked at";
	struct store s;
	struct ledger *l = NULL;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		if (ledger_open(&l, urls[i]) != ST_IO)
			fail_msg("opened %s", urls[i]);
		assert_null(l);
	}
	sqlite_make(&s);
	/* A reader makes nothing. */
	assert_int_equal(ledger_open_reader(&l, s.url), ST_IO);
	assert_int_equal(access(s.path, F_OK), -1);
	/* A folder, and a pipe, which must not block the start. */
	assert_int_equal(mkdir(s.path, 0700), 0);
	assert_int_equal(ledger_open(&l, s.url), ST_IO);
	assert_int_equal(rmdir(s.path), 0);
	assert_int_equal(mkfifo(s.path, 0600), 0);
	assert_int_equal(ledger_open(&l, s.url), ST_IO);
	assert_int_equal(unlink(s.path), 0);
	/* No database at all. */
	write_file(s.path, rubbish, sizeof(rubbish), 0);
	assert_int_equal(ledger_open(&l, s.url), ST_IO);
	assert_int_equal(unlink(s.path), 0);
	/* A newer program's. */
	assert_int_equal(ledger_open(&l, s.url), ST_OK);
	ledger_close(l);
	write_file(s.path, version, sizeof(version), AT_USER_VERSION);
	assert_int_equal(ledger_open(&l, s.url), ST_IO);
	/* Another program's. */
	write_file(s.path, other, sizeof(other), AT_APPLICATION);
	assert_int_equal(ledger_open(&l, s.url), ST_IO);
	sqlite_remove(&s);
}

/* A store of the first version: what it holds is there, as after any restart,
 * and it can do what is new. */
static void
an_older_store_is_brought_up_to_date(void **state)
{
	static const struct {
		const char *id;
		int state;
	} want[] = { { "claimed", 0 }, { "settling", LEDGER_UNKNOWN },
		{ "unknown", LEDGER_UNKNOWN }, { "failed", LEDGER_FAILED },
		{ "settled", LEDGER_SETTLED }, { "running", LEDGER_SETTLED },
		{ "done", LEDGER_DONE }, { "spent", LEDGER_SETTLED } };
	struct ledger_claim c = claim_of("new");
	struct ledger *l = NULL;
	struct ledger_payer payer;
	struct ledger_row r;
	sqlite3 *db = NULL;
	struct store s;
	uint64_t bytes = 0;
	size_t i;

	(void)state;
	sqlite_make(&s);
	assert_int_equal(sqlite3_open(s.path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, ledger_v1, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	/* Who only looks changes nothing. */
	assert_int_equal(ledger_open_reader(&l, s.url), ST_IO);
	assert_null(l);
	assert_int_equal(ledger_open(&s.l, s.url), ST_OK);
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_int_equal(state_of(s.l, want[i].id), want[i].state);
	assert_int_equal(ledger_find(s.l, "done", &r), ST_OK);
	assert_int_equal(r.answer_http, 200);
	assert_string_equal(r.answer_headers, "A: b\r\n");
	assert_string_equal(r.answer_body, "{\"stdout\":\"kept\"}");
	assert_string_equal(r.transaction, "0xCC");
	assert_int_equal(r.created, 1795978276);
	assert_null(r.identifier);
	assert_false(r.keyed);
	ledger_row_free(&r);
	/* How their first calls ended is not known. */
	for (i = 1; i <= 3; i++) {
		assert_int_equal(ledger_look(s.l, want[i].id, &r), ST_OK);
		assert_int_equal(r.first, LEDGER_FIRST_REFUSED);
		ledger_row_free(&r);
	}
	assert_int_equal(ledger_answer_bytes(s.l, &bytes), ST_OK);
	assert_int_equal(bytes, 23);
	assert_int_equal(ledger_find(s.l, "done", &r), ST_OK);
	assert_int_equal(ledger_payer(s.l, r.payer, &payer), ST_OK);
	assert_true(payer.good);
	assert_int_equal(payer.answer_bytes, 23);
	ledger_row_free(&r);
	assert_int_equal(ledger_running(s.l, "spent"), ST_TOO_BIG);
	assert_int_equal(
	    ledger_given_up(s.l, "spent", 500, "", "{}", 2), ST_OK);
	c.identifier = "pay_0123456789abcdef";
	c.key = key_of(1);
	assert_int_equal(ledger_claim(s.l, &c), ST_OK);
	reopen(&s);
	assert_int_equal(state_of(s.l, "done"), LEDGER_DONE);
	assert_int_equal(state_of(s.l, "new"), 0);
	ledger_close(s.l);
	sqlite_remove(&s);
}

static void
relative_paths_are_files(void **state)
{
	static const char *const names[] = { ":memory:", "file:x?mode=memory" };
	char cwd[256], path[300];
	struct store s;
	struct ledger *l = NULL;
	size_t i;

	(void)state;
	sqlite_make(&s);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	assert_int_equal(chdir(s.dir), 0);
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "sqlite:%s", names[i]);
		assert_int_equal(ledger_open(&l, path), ST_OK);
		assert_int_equal(claim(l, "id"), ST_OK);
		ledger_close(l);
		assert_int_equal(access(names[i], F_OK), 0);
		assert_int_equal(unlink(names[i]), 0);
		snprintf(path, sizeof(path), "%s.lock", names[i]);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(chdir(cwd), 0);
	sqlite_remove(&s);
}

/* ---- many at once ---- */

#define THREADS 16
#define PER_THREAD 12

struct crowd {
	struct ledger *l;
	int number;
	int won;   /* claims of the shared identities that were ours */
	int wrong; /* anything unexpected */
};

static void *
crowd_thread(void *arg)
{
	struct crowd *c = arg;
	struct ledger_claim bad = claim_of("never");
	char id[32];
	int i;

	bad.request_digest = "short";
	for (i = 0; i < PER_THREAD; i++) {
		enum status st;

		snprintf(id, sizeof(id), "shared%d", i);
		st = claim(c->l, id);
		c->won += st == ST_OK;
		c->wrong += st != ST_OK && st != ST_CONFLICT;
		/* One that fails in the midst of a group. */
		c->wrong += ledger_claim(c->l, &bad) != ST_BUG;
		snprintf(id, sizeof(id), "own%d-%d", c->number, i);
		c->wrong += claim(c->l, id) != ST_OK;
		c->wrong += ledger_settling(c->l, id) != ST_OK;
		c->wrong += ledger_settled(c->l, id, id) != ST_OK;
		c->wrong += state_of(c->l, id) != LEDGER_SETTLED;
	}
	return NULL;
}

static void
groups_share_a_sync(void **state)
{
	struct store *s = *state;
	struct crowd crowd[THREADS];
	pthread_t threads[THREADS];
	int i, won = 0, all;

	syncs = 0;
	sync_ms = 5;
	for (i = 0; i < THREADS; i++) {
		crowd[i] = (struct crowd){ .l = s->l, .number = i };
		assert_int_equal(
		    pthread_create(&threads[i], NULL, crowd_thread, &crowd[i]),
		    0);
	}
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(crowd[i].wrong, 0);
		won += crowd[i].won;
	}
	sync_ms = 0;
	/* Each shared payment was claimed by exactly one thread. */
	assert_int_equal(won, PER_THREAD);
	assert_int_equal(state_of(s->l, "never"), 0);
	/* Every change was synced, though far from each alone. */
	all = THREADS * PER_THREAD * 5;
	assert_in_range(syncs, all / THREADS / 2, all / 3);
	reopen(s);
	assert_int_equal(state_of(s->l, "own3-7"), LEDGER_SETTLED);
}

/* ---- a store that cannot be written ---- */

static void
a_broken_sync_is_never_ok(void **state)
{
	struct store *s = *state;

	assert_int_equal(claim(s->l, "before"), ST_OK);
	assert_int_equal(ledger_settling(s->l, "before"), ST_OK);
	__atomic_store_n(&sync_breaks, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(claim(s->l, "x"), ST_IO);
	assert_int_equal(ledger_settled(s->l, "before", TXN), ST_IO);
	__atomic_store_n(&sync_breaks, 0, __ATOMIC_SEQ_CST);
	assert_int_equal(state_of(s->l, "x"), 0);
	assert_int_equal(state_of(s->l, "before"), LEDGER_SETTLING);
	assert_int_equal(ledger_settled(s->l, "before", TXN), ST_OK);
	assert_int_equal(claim(s->l, "x"), ST_OK);
	reopen(s);
	assert_int_equal(state_of(s->l, "before"), LEDGER_SETTLED);
}

static void
limit_files(rlim_t bytes)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &lim), 0);
	lim.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

struct huge {
	struct ledger *l;
	const char *body;
	size_t len;
	enum status st;
};

static void *
huge_thread(void *arg)
{
	struct huge *h = arg;

	h->st = ledger_done(h->l, "run", 200, "", h->body, h->len);
	return NULL;
}

/* Bytes that no packing makes smaller. */
static char *
noise(size_t len)
{
	char *p = malloc(len);
	uint32_t x = 1;

	for (size_t i = 0; p != NULL && i < len; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (char)(x >> 24);
	}
	return p;
}

/* No room for a huge answer: it fails alone, what is small still fits, and all
 * is well once there is room. Gives the number of the step that went wrong. */
static int
full_store(struct ledger *l)
{
	size_t len = 16u << 20;
	OWN_FREE char *body = noise(len);
	struct huge h = { .l = l, .body = body, .len = len };
	enum status st = ST_OK;
	pthread_t t;
	char id[32];
	int i;

	if (body == NULL)
		return 1;
	bring(l, "run", LEDGER_RUNNING, TXN);
	limit_files(6u << 20);
	/* While the huge one syncs or fails, others come and form groups. */
	sync_ms = 2;
	if (pthread_create(&t, NULL, huge_thread, &h) != 0)
		return 2;
	for (i = 0; i < 30; i++) {
		snprintf(id, sizeof(id), "small%d", i);
		if (claim(l, id) != ST_OK || ledger_release(l, id) != ST_OK)
			return 3;
	}
	pthread_join(t, NULL);
	sync_ms = 0;
	if (h.st != ST_IO)
		return 4;
	if (state_of(l, "run") != LEDGER_RUNNING)
		return 5;
	/* Now fill it up: sooner or later ST_IO, and then for good. */
	for (i = 0; i < 5000 && st == ST_OK; i++) {
		struct ledger_claim c;

		snprintf(id, sizeof(id), "fill%d", i);
		c = claim_of(id);
		c.settle_body = body;
		c.settle_body_len = 3000;
		st = ledger_claim(l, &c);
	}
	if (st != ST_IO || state_of(l, id) != 0)
		return 6;
	limit_files(RLIM_INFINITY);
	if (ledger_done(l, "run", 200, "", body, len) != ST_OK)
		return 7;
	return claim(l, id) == ST_OK ? 0 : 8;
}

static int
child_status(pid_t pid)
{
	int ws = 0;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	return WIFEXITED(ws) ? WEXITSTATUS(ws) : 1000 + ws;
}

static void
a_full_store_is_never_ok(void **state)
{
	struct store s;
	pid_t pid;

	(void)state;
	sqlite_make(&s);
	pid = fork();
	if (pid == 0) {
		struct sigaction ign = { .sa_handler = SIG_IGN };
		int bad = 100;

		sigaction(SIGXFSZ, &ign, NULL);
		if (ledger_open(&s.l, s.url) == ST_OK)
			bad = full_store(s.l);
		ledger_close(s.l);
		_exit(bad);
	}
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(ledger_open(&s.l, s.url), ST_OK);
	assert_int_equal(state_of(s.l, "run"), LEDGER_DONE);
	assert_int_equal(state_of(s.l, "small0"), 0);
	ledger_close(s.l);
	sqlite_remove(&s);
}

/* Not even room for an empty store. */
static void
a_store_that_cannot_be_made(void **state)
{
	struct store s;
	pid_t pid;

	(void)state;
	sqlite_make(&s);
	pid = fork();
	if (pid == 0) {
		struct sigaction ign = { .sa_handler = SIG_IGN };
		enum status st;

		sigaction(SIGXFSZ, &ign, NULL);
		limit_files(4096);
		st = ledger_open(&s.l, s.url);
		_exit(st == ST_IO && s.l == NULL ? 0 : 1);
	}
	assert_int_equal(child_status(pid), 0);
	/* What was left behind does no harm. */
	assert_int_equal(ledger_open(&s.l, s.url), ST_OK);
	assert_int_equal(claim(s.l, "id"), ST_OK);
	ledger_close(s.l);
	sqlite_remove(&s);
}

/* Who may only read the files gets no ledger that seems to work. */
static void
a_store_of_others_is_refused(void **state)
{
	struct store *s = *state;
	char lock[128];
	pid_t pid;

	assert_int_equal(claim(s->l, "id"), ST_OK);
	assert_int_equal(ledger_settling(s->l, "id"), ST_OK);
	ledger_close(s->l);
	s->l = NULL;
	snprintf(lock, sizeof(lock), "%s.lock", s->path);
	if (geteuid() == 0) {
		assert_int_equal(chown(s->path, NOBODY, NOBODY), 0);
		assert_int_equal(chown(lock, NOBODY, NOBODY), 0);
	}
	assert_int_equal(chmod(s->path, 0400), 0);
	assert_int_equal(chmod(s->dir, 0555), 0);
	pid = fork();
	if (pid == 0) {
		struct ledger *l = NULL;
		enum status st;

		if (geteuid() == 0 && setuid(NOBODY) != 0)
			_exit(2);
		st = ledger_open(&l, s->url);
		_exit(st == ST_IO && l == NULL ? 0 : 1);
	}
	assert_int_equal(child_status(pid), 0);
	assert_int_equal(chmod(s->dir, 0700), 0);
	assert_int_equal(chmod(s->path, 0600), 0);
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
	assert_int_equal(state_of(s->l, "id"), LEDGER_UNKNOWN);
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_STORE(files_are_private),
		cmocka_unit_test(what_is_not_ours_is_refused),
		cmocka_unit_test(an_older_store_is_brought_up_to_date),
		cmocka_unit_test(relative_paths_are_files),
		WITH_STORE(groups_share_a_sync),
		WITH_STORE(a_broken_sync_is_never_ok),
		cmocka_unit_test(a_full_store_is_never_ok),
		cmocka_unit_test(a_store_that_cannot_be_made),
		WITH_STORE(a_store_of_others_is_refused),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
