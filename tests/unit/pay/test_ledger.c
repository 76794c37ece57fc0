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

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"

#define DIGEST                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define NET "eip155:84532"
#define TXN "0xABCDEF"
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

struct store {
	char dir[64];
	char path[96];
	char url[112];
	struct ledger *l;
};

static void
store_name(struct store *s)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/test_ledger.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/ledger.db", s->dir);
	snprintf(s->url, sizeof(s->url), "sqlite:%s", s->path);
	s->l = NULL;
}

static void
store_remove(const struct store *s)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
	char name[128];
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", s->path, ends[i]);
		(void)unlink(name);
	}
	(void)rmdir(s->dir);
}

static int
setup(void **state)
{
	struct store *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	store_name(s);
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct store *s = *state;

	ledger_close(s->l);
	store_remove(s);
	free(s);
	return 0;
}

static struct ledger_claim
claim_of(const char *identity)
{
	return (struct ledger_claim){ .identity = identity,
		.site = "https://api.example.com",
		.route = "/execute",
		.request_digest = DIGEST,
		.payer = "0xf39F",
		.network = NET,
		.asset = "0x036C",
		.pay_to = "0x7099",
		.amount = "10000",
		.facilitator = "default",
		.settle_body = "{}",
		.settle_body_len = 2,
		.valid_before = 1740672389,
		.version = 2 };
}

static enum status
claim(struct ledger *l, const char *identity)
{
	struct ledger_claim c = claim_of(identity);

	return ledger_claim(l, &c);
}

/* The state of a row, 0 if there is none. */
static int
state_of(struct ledger *l, const char *identity)
{
	struct ledger_row row;
	enum status st = ledger_find(l, identity, &row);
	int state = st == ST_OK ? (int)row.state : 0;

	assert_true(st == ST_OK || st == ST_NOT_FOUND);
	ledger_row_free(&row);
	return state;
}

/* Make a row and bring it to a state (0: no row). */
static void
bring(struct ledger *l, const char *identity, int state, const char *txn)
{
	if (state == 0)
		return;
	assert_int_equal(claim(l, identity), ST_OK);
	if (state == LEDGER_CLAIMED)
		return;
	assert_int_equal(ledger_settling(l, identity), ST_OK);
	if (state == LEDGER_SETTLING)
		return;
	if (state == LEDGER_UNKNOWN) {
		assert_int_equal(ledger_unknown(l, identity, "r"), ST_OK);
		return;
	}
	if (state == LEDGER_FAILED) {
		assert_int_equal(ledger_failed(l, identity, "r"), ST_OK);
		return;
	}
	assert_int_equal(ledger_settled(l, identity, txn), ST_OK);
	if (state == LEDGER_SETTLED)
		return;
	assert_int_equal(ledger_running(l, identity), ST_OK);
	if (state == LEDGER_RUNNING)
		return;
	assert_int_equal(
	    ledger_done(l, identity, 200, "A: b\n", "body", 4), ST_OK);
}

static void
reopen(struct store *s)
{
	ledger_close(s->l);
	s->l = NULL;
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
}

/* ---- rows ---- */

static void
claim_keeps_every_field(void **state)
{
	struct store *s = *state;
	static const char body[] = "{\"a\":\0\"\xff\"}";
	struct ledger_claim c = { .identity = "eip155:1/0xa/0xb/0xc'; --",
		.site = "https://api.example.com/'\"",
		.route = "/api/code/run",
		.request_digest = DIGEST,
		.payer = "0xPayer",
		.network = "eip155:8453",
		.asset = "0xAsset",
		.pay_to = "0xTo",
		.amount = "115792089237316195423570985008687907853"
			  "269984665640564039457584007913129639935",
		.facilitator = "cdp",
		.settle_body = body,
		.settle_body_len = sizeof(body) - 1,
		.valid_before = UINT64_MAX,
		.version = 1 };
	struct ledger_row r;
	time_t before = time(NULL);

	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	assert_int_equal(ledger_find(s->l, c.identity, &r), ST_OK);
	assert_int_equal(r.state, LEDGER_CLAIMED);
	assert_string_equal(r.site, c.site);
	assert_string_equal(r.route, c.route);
	assert_string_equal(r.request_digest, DIGEST);
	assert_string_equal(r.payer, c.payer);
	assert_string_equal(r.network, c.network);
	assert_string_equal(r.asset, c.asset);
	assert_string_equal(r.pay_to, c.pay_to);
	assert_string_equal(r.amount, c.amount);
	assert_string_equal(r.facilitator, c.facilitator);
	assert_int_equal(r.settle_body_len, c.settle_body_len);
	assert_memory_equal(r.settle_body, body, sizeof(body));
	assert_null(r.transaction);
	assert_null(r.reason);
	assert_true(r.valid_before == INT64_MAX);
	assert_int_equal(r.version, 1);
	assert_int_equal(r.starts, 0);
	assert_in_range(r.created, before, time(NULL));
	assert_null(r.answer_body);
	assert_null(r.answer_headers);
	assert_int_equal(r.answer_http, 0);
	ledger_row_free(&r);
	ledger_row_free(&r);
	ledger_row_free(NULL);
}

static void
second_claim_is_refused(void **state)
{
	struct store *s = *state;
	struct ledger_claim other = claim_of("id");
	struct ledger_row r;

	other.route = "/v1/code";
	other.amount = "1";
	assert_int_equal(claim(s->l, "id"), ST_OK);
	assert_int_equal(ledger_claim(s->l, &other), ST_CONFLICT);
	assert_int_equal(ledger_find(s->l, "id", &r), ST_OK);
	assert_string_equal(r.route, "/execute");
	assert_string_equal(r.amount, "10000");
	ledger_row_free(&r);
	assert_int_equal(claim(s->l, "ID"), ST_OK);
}

static void
bad_claims_are_bugs(void **state)
{
	struct store *s = *state;
	struct ledger_claim c = claim_of("id");

	c.request_digest = "0123";
	assert_int_equal(ledger_claim(s->l, &c), ST_BUG);
	c = claim_of("");
	assert_int_equal(ledger_claim(s->l, &c), ST_BUG);
	c = claim_of(NULL);
	assert_int_equal(ledger_claim(s->l, &c), ST_BUG);
	c = claim_of("id");
	c.payer = NULL;
	assert_int_equal(ledger_claim(s->l, &c), ST_BUG);
	assert_int_equal(state_of(s->l, "id"), 0);
	assert_int_equal(claim(s->l, "id"), ST_OK);
}

/* ---- the state machine, each arrow and each that must not be ---- */

enum op {
	OP_CLAIM,
	OP_RELEASE,
	OP_SETTLING,
	OP_SETTLED,
	OP_UNKNOWN,
	OP_FAILED,
	OP_RUNNING,
	OP_OWED,
	OP_DONE,
	OP_MAX
};

static enum status
apply(struct ledger *l, enum op op, const char *id, const char *txn)
{
	switch (op) {
	case OP_CLAIM:
		return claim(l, id);
	case OP_RELEASE:
		return ledger_release(l, id);
	case OP_SETTLING:
		return ledger_settling(l, id);
	case OP_SETTLED:
		return ledger_settled(l, id, txn);
	case OP_UNKNOWN:
		return ledger_unknown(l, id, "why");
	case OP_FAILED:
		return ledger_failed(l, id, "why");
	case OP_RUNNING:
		return ledger_running(l, id);
	case OP_OWED:
		return ledger_owed(l, id);
	case OP_DONE:
		return ledger_done(l, id, 200, "", "x", 1);
	case OP_MAX:
		break;
	}
	return ST_BUG;
}

static void
every_arrow(void **state)
{
	/* The state after op from each state; -1: refused, nothing changed.
	 * Columns: none CLAIMED SETTLING UNKNOWN FAILED SETTLED RUNNING DONE */
	static const int to[OP_MAX][LEDGER_STATE_MAX] = {
		[OP_CLAIM] = { 1, -1, -1, -1, -1, -1, -1, -1 },
		[OP_RELEASE] = { -1, 0, -1, -1, -1, -1, -1, -1 },
		[OP_SETTLING] = { -1, 2, -1, 2, 2, -1, -1, -1 },
		[OP_SETTLED] = { -1, -1, 5, 5, -1, -1, -1, -1 },
		[OP_UNKNOWN] = { -1, -1, 3, -1, -1, -1, -1, -1 },
		[OP_FAILED] = { -1, -1, 4, 4, -1, -1, -1, -1 },
		[OP_RUNNING] = { -1, -1, -1, -1, -1, 6, -1, -1 },
		[OP_OWED] = { -1, -1, -1, -1, -1, -1, 5, -1 },
		[OP_DONE] = { -1, -1, -1, -1, -1, -1, 7, -1 },
	};
	struct store *s = *state;
	int op, from;

	for (op = 0; op < OP_MAX; op++)
		for (from = 0; from < LEDGER_STATE_MAX; from++) {
			char id[32], txn[32];
			int want = to[op][from];
			enum status st;

			snprintf(id, sizeof(id), "id-%d-%d", op, from);
			snprintf(txn, sizeof(txn), "0x%d%d", op, from);
			bring(s->l, id, from, txn);
			st = apply(s->l, (enum op)op, id, txn);
			if (st != (want < 0 ? ST_CONFLICT : ST_OK))
				fail_msg("op %d from %d: %s", op, from,
				    status_name(st));
			if (state_of(s->l, id) != (want < 0 ? from : want))
				fail_msg("op %d from %d: now %d", op, from,
				    state_of(s->l, id));
		}
}

static void
reasons_are_kept(void **state)
{
	struct store *s = *state;
	struct ledger_row r;

	bring(s->l, "id", LEDGER_SETTLING, NULL);
	assert_int_equal(ledger_unknown(s->l, "id", "timed out"), ST_OK);
	assert_int_equal(ledger_find(s->l, "id", &r), ST_OK);
	assert_string_equal(r.reason, "timed out");
	ledger_row_free(&r);
	assert_int_equal(ledger_failed(s->l, "id", "cancelled"), ST_OK);
	assert_int_equal(ledger_find(s->l, "id", &r), ST_OK);
	assert_string_equal(r.reason, "cancelled");
	ledger_row_free(&r);
	assert_int_equal(ledger_settling(s->l, "id"), ST_OK);
	assert_int_equal(ledger_settled(s->l, "id", TXN), ST_OK);
	assert_int_equal(ledger_find(s->l, "id", &r), ST_OK);
	assert_null(r.reason);
	assert_string_equal(r.transaction, TXN);
	ledger_row_free(&r);
}

static void
three_starts_and_no_more(void **state)
{
	struct store *s = *state;
	struct ledger_row r;
	int i;

	bring(s->l, "id", LEDGER_SETTLED, TXN);
	for (i = 0; i < LEDGER_STARTS; i++) {
		/* An owed run cannot be closed while it may still start. */
		assert_int_equal(
		    ledger_done(s->l, "id", 500, "", "", 0), ST_CONFLICT);
		assert_int_equal(ledger_running(s->l, "id"), ST_OK);
		assert_int_equal(ledger_owed(s->l, "id"), ST_OK);
	}
	assert_int_equal(ledger_running(s->l, "id"), ST_TOO_BIG);
	assert_int_equal(state_of(s->l, "id"), LEDGER_SETTLED);
	assert_int_equal(ledger_done(s->l, "id", 500, NULL, "{}", 2), ST_OK);
	assert_int_equal(ledger_running(s->l, "id"), ST_CONFLICT);
	assert_int_equal(ledger_find(s->l, "id", &r), ST_OK);
	assert_int_equal(r.starts, LEDGER_STARTS);
	assert_int_equal(r.answer_http, 500);
	assert_string_equal(r.answer_headers, "");
	assert_string_equal(r.answer_body, "{}");
	ledger_row_free(&r);
}

static void
a_transaction_pays_once(void **state)
{
	struct store *s = *state;
	struct ledger_claim c = claim_of("elsewhere");
	struct ledger_row r;

	bring(s->l, "a", LEDGER_SETTLED, TXN);
	bring(s->l, "b", LEDGER_SETTLING, NULL);
	assert_int_equal(ledger_settled(s->l, "b", TXN), ST_CONFLICT);
	assert_int_equal(ledger_find(s->l, "b", &r), ST_OK);
	assert_int_equal(r.state, LEDGER_UNKNOWN);
	assert_null(r.transaction);
	assert_non_null(strstr(r.reason, "another payment"));
	ledger_row_free(&r);
	/* From UNKNOWN, in another letter case: still the same. */
	assert_int_equal(ledger_settled(s->l, "b", "0xabcdef"), ST_CONFLICT);
	assert_int_equal(state_of(s->l, "b"), LEDGER_UNKNOWN);
	/* The holder was not touched; its own can be told again only in a
	 * state that waits for it. */
	assert_int_equal(state_of(s->l, "a"), LEDGER_SETTLED);
	/* On another chain the same number is another transaction. */
	c.network = "eip155:1";
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	assert_int_equal(ledger_settling(s->l, "elsewhere"), ST_OK);
	assert_int_equal(ledger_settled(s->l, "elsewhere", TXN), ST_OK);
	assert_int_equal(ledger_settled(s->l, "b", "0xother"), ST_OK);
}

static void
no_settlement_without_transaction(void **state)
{
	struct store *s = *state;

	bring(s->l, "id", LEDGER_SETTLING, NULL);
	assert_int_equal(ledger_settled(s->l, "id", ""), ST_BUG);
	assert_int_equal(ledger_settled(s->l, "id", NULL), ST_BUG);
	assert_int_equal(state_of(s->l, "id"), LEDGER_SETTLING);
}

/* ---- answers ---- */

static void
answers_come_back_byte_for_byte(void **state)
{
	struct store *s = *state;
	size_t len = 5u << 20, i;
	OWN_FREE char *body = malloc(len);
	struct ledger_row r;
	uint64_t bytes = 1;

	assert_non_null(body);
	for (i = 0; i < len; i++)
		body[i] = (char)(i * 2654435761u >> 13);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_true(bytes == 0);
	bring(s->l, "big", LEDGER_RUNNING, "0x1");
	bring(s->l, "none", LEDGER_RUNNING, "0x2");
	assert_int_equal(
	    ledger_done(s->l, "big", 200, "A: 1\nB: 2\n", body, len), ST_OK);
	assert_int_equal(ledger_done(s->l, "none", 402, NULL, NULL, 0), ST_OK);
	reopen(s);
	assert_int_equal(ledger_find(s->l, "big", &r), ST_OK);
	assert_int_equal(r.state, LEDGER_DONE);
	assert_int_equal(r.answer_http, 200);
	assert_string_equal(r.answer_headers, "A: 1\nB: 2\n");
	assert_int_equal(r.answer_body_len, len);
	assert_true(memcmp(r.answer_body, body, len) == 0);
	ledger_row_free(&r);
	assert_int_equal(ledger_find(s->l, "none", &r), ST_OK);
	assert_non_null(r.answer_body);
	assert_int_equal(r.answer_body_len, 0);
	assert_int_equal(r.answer_http, 402);
	ledger_row_free(&r);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_true(bytes == len + 10);
}

/* DONE and its answer come together or not at all. */
static void
a_refused_answer_leaves_the_run(void **state)
{
	struct store *s = *state;
	uint64_t bytes = 1;

	bring(s->l, "id", LEDGER_RUNNING, "0x1");
	assert_int_equal(ledger_done(s->l, "id", 42, "", "x", 1), ST_BUG);
	assert_int_equal(state_of(s->l, "id"), LEDGER_RUNNING);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_true(bytes == 0);
	assert_int_equal(ledger_done(s->l, "id", 200, "", "x", 1), ST_OK);
}

static void
expiry(void **state)
{
	struct store *s = *state;
	uint64_t now = (uint64_t)time(NULL), bytes = 0;
	struct ledger_claim fresh = claim_of("fresh");
	struct ledger_claim timeless = claim_of("timeless");
	struct ledger_row r;
	char id[16], txn[16];
	int i;

	/* More than one step's worth. */
	for (i = 0; i < 450; i++) {
		snprintf(id, sizeof(id), "d%d", i);
		snprintf(txn, sizeof(txn), "0x%d", i);
		bring(s->l, id, LEDGER_DONE, txn);
	}
	for (i = LEDGER_CLAIMED; i < LEDGER_DONE; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		snprintf(txn, sizeof(txn), "0xs%d", i);
		bring(s->l, id, i, txn);
	}
	fresh.valid_before = now + 5000;
	assert_int_equal(ledger_claim(s->l, &fresh), ST_OK);
	assert_int_equal(ledger_settling(s->l, "fresh"), ST_OK);
	assert_int_equal(ledger_settled(s->l, "fresh", "0xf"), ST_OK);
	assert_int_equal(ledger_running(s->l, "fresh"), ST_OK);
	assert_int_equal(ledger_done(s->l, "fresh", 200, "", "y", 1), ST_OK);
	timeless.valid_before = 0;
	assert_int_equal(ledger_claim(s->l, &timeless), ST_OK);
	assert_int_equal(ledger_settling(s->l, "timeless"), ST_OK);
	assert_int_equal(ledger_failed(s->l, "timeless", "no"), ST_OK);

	/* Too young: nothing goes, however large the age is. */
	assert_int_equal(ledger_expire(s->l, now, 1000), ST_OK);
	assert_int_equal(ledger_expire(s->l, now, UINT64_MAX), ST_OK);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_true(bytes == 450 * 9 + 1);
	assert_int_equal(state_of(s->l, "d0"), LEDGER_DONE);

	/* The answers are old enough. Rows whose payment could still be used
	 * stay, without an answer. */
	assert_int_equal(ledger_expire(s->l, now + 2000, 1000), ST_OK);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_true(bytes == 0);
	assert_int_equal(ledger_find(s->l, "fresh", &r), ST_OK);
	assert_int_equal(r.state, LEDGER_DONE);
	assert_null(r.answer_body);
	ledger_row_free(&r);
	for (i = 0; i < 450; i++) {
		snprintf(id, sizeof(id), "d%d", i);
		assert_int_equal(state_of(s->l, id), 0);
	}
	for (i = LEDGER_CLAIMED; i < LEDGER_DONE; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		assert_int_equal(
		    state_of(s->l, id), i == LEDGER_FAILED ? 0 : i);
	}
	assert_int_equal(state_of(s->l, "timeless"), LEDGER_FAILED);

	/* Inside the margin after valid_before, then beyond it. */
	assert_int_equal(ledger_expire(s->l, now + 5300, 1000), ST_OK);
	assert_int_equal(state_of(s->l, "fresh"), LEDGER_DONE);
	assert_int_equal(ledger_expire(s->l, now + 6000, 1000), ST_OK);
	assert_int_equal(state_of(s->l, "fresh"), 0);
	assert_int_equal(ledger_expire(s->l, now + 90000, 1000), ST_OK);
	assert_int_equal(state_of(s->l, "timeless"), 0);
	/* What is owed or unclear never goes. */
	assert_int_equal(ledger_expire(s->l, UINT64_MAX, 0), ST_OK);
	assert_int_equal(state_of(s->l, "s3"), LEDGER_UNKNOWN);
	assert_int_equal(state_of(s->l, "s5"), LEDGER_SETTLED);
	assert_int_equal(state_of(s->l, "s6"), LEDGER_RUNNING);
}

/* ---- listing ---- */

struct seen {
	struct ledger *l;
	char text[128];
	int stop_after;
	int n;
};

static bool
see(void *ctx, const char *identity, const struct ledger_row *row)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	/* The ledger may be called from here. */
	assert_int_equal(state_of(seen->l, identity), row->state);
	assert_null(row->answer_body);
	assert_string_equal(row->amount, "10000");
	snprintf(seen->text + len, sizeof(seen->text) - len, "%s ", identity);
	seen->n++;
	return seen->n != seen->stop_after;
}

static void
listing(void **state)
{
	struct store *s = *state;
	struct seen seen = { .l = s->l };

	assert_int_equal(ledger_list(s->l, 0, see, &seen), ST_OK);
	assert_int_equal(seen.n, 0);
	bring(s->l, "a", LEDGER_DONE, "0x1");
	bring(s->l, "b", LEDGER_SETTLED, "0x2");
	bring(s->l, "c", LEDGER_CLAIMED, NULL);
	bring(s->l, "d", LEDGER_SETTLED, "0x4");
	assert_int_equal(ledger_list(s->l, 0, see, &seen), ST_OK);
	assert_string_equal(seen.text, "d c b a ");
	seen = (struct seen){ .l = s->l };
	assert_int_equal(ledger_list(s->l, LEDGER_SETTLED, see, &seen), ST_OK);
	assert_string_equal(seen.text, "d b ");
	seen = (struct seen){ .l = s->l, .stop_after = 2 };
	assert_int_equal(ledger_list(s->l, 0, see, &seen), ST_OK);
	assert_string_equal(seen.text, "d c ");
	seen = (struct seen){ .l = s->l };
	assert_int_equal(ledger_list(s->l, LEDGER_FAILED, see, &seen), ST_OK);
	assert_int_equal(seen.n, 0);
}

static void
state_names(void **state)
{
	(void)state;
	assert_string_equal(ledger_state_name(LEDGER_CLAIMED), "claimed");
	assert_string_equal(ledger_state_name(LEDGER_SETTLING), "settling");
	assert_string_equal(ledger_state_name(LEDGER_UNKNOWN), "unknown");
	assert_string_equal(ledger_state_name(LEDGER_FAILED), "failed");
	assert_string_equal(ledger_state_name(LEDGER_SETTLED), "settled");
	assert_string_equal(ledger_state_name(LEDGER_RUNNING), "running");
	assert_string_equal(ledger_state_name(LEDGER_DONE), "done");
	assert_string_equal(ledger_state_name(LEDGER_STATE_MAX), "?");
	assert_string_equal(ledger_state_name((enum ledger_state)0), "?");
}

/* ---- opening ---- */

static void
recovery(void **state)
{
	static const int after[] = { 0, 0, LEDGER_UNKNOWN, LEDGER_UNKNOWN,
		LEDGER_FAILED, LEDGER_SETTLED, LEDGER_SETTLED, LEDGER_DONE };
	struct store *s = *state;
	struct ledger_row r;
	char id[16], txn[16];
	int i;

	for (i = LEDGER_CLAIMED; i < LEDGER_STATE_MAX; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		snprintf(txn, sizeof(txn), "0x%d", i);
		bring(s->l, id, i, txn);
	}
	reopen(s);
	for (i = LEDGER_CLAIMED; i < LEDGER_STATE_MAX; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		assert_int_equal(state_of(s->l, id), after[i]);
	}
	/* The lost start counts. */
	assert_int_equal(ledger_find(s->l, "s6", &r), ST_OK);
	assert_int_equal(r.starts, 1);
	assert_string_equal(r.transaction, "0x6");
	ledger_row_free(&r);
	assert_int_equal(ledger_find(s->l, "s2", &r), ST_OK);
	assert_non_null(strstr(r.reason, "stopped"));
	ledger_row_free(&r);
	assert_int_equal(claim(s->l, "s1"), ST_OK);
}

static void
one_owner_and_readers(void **state)
{
	struct store *s = *state;
	struct ledger *second = NULL, *reader = NULL;
	struct seen seen = { 0 };

	bring(s->l, "c", LEDGER_CLAIMED, NULL);
	bring(s->l, "r", LEDGER_RUNNING, "0x1");
	assert_int_equal(ledger_open(&second, s->url), ST_IO);
	assert_null(second);
	assert_int_equal(ledger_open_reader(&reader, s->url), ST_OK);
	assert_int_equal(state_of(reader, "c"), LEDGER_CLAIMED);
	assert_int_equal(state_of(reader, "r"), LEDGER_RUNNING);
	seen.l = reader;
	assert_int_equal(ledger_list(reader, 0, see, &seen), ST_OK);
	assert_string_equal(seen.text, "r c ");
	assert_int_equal(claim(reader, "x"), ST_BUG);
	assert_int_equal(ledger_release(reader, "c"), ST_BUG);
	assert_int_equal(ledger_expire(reader, UINT64_MAX, 0), ST_BUG);
	/* What the owner does later shows. */
	assert_int_equal(claim(s->l, "later"), ST_OK);
	assert_int_equal(state_of(reader, "later"), LEDGER_CLAIMED);
	ledger_close(reader);
	assert_int_equal(claim(s->l, "after"), ST_OK);
	ledger_close(NULL);
}

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
	static const uint8_t version[4] = { 0, 0, 0, 2 };
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
	store_name(&s);
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
	store_remove(&s);
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
	store_name(&s);
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
	store_remove(&s);
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

/* No room for a huge answer: it fails alone, what is small still fits, and all
 * is well once there is room. Gives the number of the step that went wrong. */
static int
full_store(struct ledger *l)
{
	size_t len = 16u << 20;
	OWN_FREE char *body = calloc(1, len);
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
	store_name(&s);
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
	store_remove(&s);
}

/* Not even room for an empty store. */
static void
a_store_that_cannot_be_made(void **state)
{
	struct store s;
	pid_t pid;

	(void)state;
	store_name(&s);
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
	store_remove(&s);
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

/* Whoever got the call is who is asked again. */
static void
another_facilitator(void **state)
{
	struct store *s = *state;
	struct ledger_row row;

	assert_int_equal(claim(s->l, "id"), ST_OK);
	assert_int_equal(ledger_facilitator(s->l, "id", "second"), ST_CONFLICT);
	assert_int_equal(ledger_settling(s->l, "id"), ST_OK);
	assert_int_equal(ledger_facilitator(s->l, "id", "second"), ST_OK);
	assert_int_equal(ledger_look(s->l, "id", &row), ST_OK);
	assert_int_equal(row.state, LEDGER_SETTLING);
	assert_string_equal(row.facilitator, "second");
	ledger_row_free(&row);
	assert_int_equal(ledger_unknown(s->l, "id", NULL), ST_OK);
	assert_int_equal(ledger_facilitator(s->l, "id", "third"), ST_CONFLICT);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_STORE(claim_keeps_every_field),
		WITH_STORE(second_claim_is_refused),
		WITH_STORE(bad_claims_are_bugs),
		WITH_STORE(every_arrow),
		WITH_STORE(reasons_are_kept),
		WITH_STORE(another_facilitator),
		WITH_STORE(three_starts_and_no_more),
		WITH_STORE(a_transaction_pays_once),
		WITH_STORE(no_settlement_without_transaction),
		WITH_STORE(answers_come_back_byte_for_byte),
		WITH_STORE(a_refused_answer_leaves_the_run),
		WITH_STORE(expiry),
		WITH_STORE(listing),
		cmocka_unit_test(state_names),
		WITH_STORE(recovery),
		WITH_STORE(one_owner_and_readers),
		WITH_STORE(files_are_private),
		cmocka_unit_test(what_is_not_ours_is_refused),
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
