/* Which unknown settlements are looked at when, and asked for from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger.h"

#define DIGEST                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct store {
	char dir[64];
	char url[112];
	struct ledger *l;
};

static int
setup(void **state)
{
	struct store *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	snprintf(s->dir, sizeof(s->dir), "/tmp/test_ledger_due.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->url, sizeof(s->url), "sqlite:%s/l", s->dir);
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	static const char *const names[] = { "l", "l-wal", "l-shm", "l.lock" };
	struct store *s = *state;
	char path[96];

	ledger_close(s->l);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", s->dir, names[i]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(s->dir), 0);
	free(s);
	return 0;
}

static void
make_unknown(struct ledger *l, const char *identity)
{
	const struct ledger_claim c = { .identity = identity,
		.site = "https://api.example.com",
		.route = "/execute",
		.request_digest = DIGEST,
		.payer = "0xf39F",
		.network = "eip155:1",
		.asset = "0x036C",
		.pay_to = "0x7099",
		.amount = "10000",
		.facilitator = "default",
		.settle_body = "{}",
		.settle_body_len = 2,
		.valid_before = 1740672389,
		.version = 2 };

	assert_int_equal(ledger_claim(l, &c), ST_OK);
	assert_int_equal(ledger_settling(l, identity), ST_OK);
	assert_int_equal(ledger_unknown(l, identity, "lost"), ST_OK);
}

static void
assert_due(struct ledger *l, uint64_t now, const char *identity)
{
	OWN_FREE char *got = NULL;
	enum status st = ledger_due(l, now, &got);

	if (identity == NULL) {
		assert_int_equal(st, ST_NOT_FOUND);
		assert_null(got);
		return;
	}
	assert_int_equal(st, ST_OK);
	assert_string_equal(got, identity);
}

static void
assert_row(struct ledger *l, const char *identity, uint64_t next_try,
    const char *reason)
{
	struct ledger_row row;

	assert_int_equal(ledger_look(l, identity, &row), ST_OK);
	assert_int_equal(row.state, LEDGER_UNKNOWN);
	assert_true(row.next_try == next_try);
	assert_string_equal(row.reason, reason);
	ledger_row_free(&row);
}

static void
unknown_ones_are_due_in_their_order(void **state)
{
	struct store *s = *state;
	uint64_t now = (uint64_t)time(NULL);

	assert_due(s->l, LEDGER_NEVER, NULL);
	make_unknown(s->l, "a");
	make_unknown(s->l, "b");
	/* Not at once: the answer may have been on its way. */
	assert_due(s->l, now, NULL);
	assert_due(s->l, now + 3600, "a");
	assert_int_equal(ledger_later(s->l, "a", now + 50, "found"), ST_OK);
	assert_row(s->l, "a", now + 50, "found");
	assert_due(s->l, now + 3600, "b");
	assert_int_equal(ledger_later(s->l, "b", now + 60, "found"), ST_OK);
	assert_due(s->l, now + 49, NULL);
	assert_due(s->l, now + 50, "a");
	/* What is decided is not due any more, nor changed later. */
	assert_int_equal(ledger_settled(s->l, "a", "0x1"), ST_OK);
	assert_int_equal(ledger_later(s->l, "a", now, "no"), ST_CONFLICT);
	assert_due(s->l, now + 3600, "b");
	assert_int_equal(ledger_failed(s->l, "b", "no"), ST_OK);
	assert_due(s->l, now + 3600, NULL);
	assert_int_equal(ledger_later(s->l, "nobody", now, "no"), ST_CONFLICT);
}

static void
a_new_doubt_is_due_anew(void **state)
{
	struct store *s = *state;
	uint64_t now = (uint64_t)time(NULL);

	make_unknown(s->l, "a");
	assert_int_equal(
	    ledger_later(s->l, "a", LEDGER_NEVER, "given up"), ST_OK);
	assert_row(s->l, "a", LEDGER_NEVER, "given up");
	assert_due(s->l, now + 3600, NULL);
	assert_int_equal(ledger_settling(s->l, "a"), ST_OK);
	assert_due(s->l, now + 3600, NULL);
	assert_int_equal(ledger_unknown(s->l, "a", "again"), ST_OK);
	assert_due(s->l, now + 3600, "a");
}

/* Put off by a clock that was ahead and has been set back: not for as long as
 * it was ahead, unless it is for ever. */
static void
nothing_waits_for_a_clock_set_back(void **state)
{
	struct store *s = *state;
	uint64_t now = (uint64_t)time(NULL);

	make_unknown(s->l, "a");
	make_unknown(s->l, "b");
	make_unknown(s->l, "c");
	assert_int_equal(
	    ledger_later(s->l, "a", now + LEDGER_REST_S + 1, "ahead"), ST_OK);
	assert_int_equal(
	    ledger_later(s->l, "b", now + LEDGER_REST_S, "rests"), ST_OK);
	assert_int_equal(
	    ledger_later(s->l, "c", LEDGER_NEVER, "given up"), ST_OK);
	assert_due(s->l, now, "a");
	assert_due(s->l, now + 1, NULL);
	assert_int_equal(ledger_later(s->l, "a", now + 10, "seen"), ST_OK);
	assert_due(s->l, now, NULL);
	/* Months, by a clock that had lost its battery. */
	assert_due(s->l, now - 90 * 86400, "a");
	assert_int_equal(
	    ledger_later(s->l, "a", LEDGER_NEVER, "given up"), ST_OK);
	assert_due(s->l, now - 90 * 86400, "b");
	assert_int_equal(ledger_failed(s->l, "b", "no"), ST_OK);
	assert_due(s->l, now - 90 * 86400, NULL);
	assert_due(s->l, 0, NULL);
	/* The same where nothing was written but the time of the doubt. */
	make_unknown(s->l, "d");
	assert_due(s->l, now - LEDGER_REST_S, "d");
}

/* What `tollbox reconcile` does beside the daemon. */
static void
another_process_asks(void **state)
{
	struct store *s = *state;
	struct ledger *beside = NULL;
	uint64_t now = (uint64_t)time(NULL);
	bool held = false;

	make_unknown(s->l, "a");
	make_unknown(s->l, "b");
	assert_int_equal(ledger_later(s->l, "a", now + 500, "x"), ST_OK);
	assert_int_equal(ledger_later(s->l, "b", LEDGER_NEVER, "y"), ST_OK);
	assert_int_equal(ledger_held(&held, s->url), ST_OK);
	assert_true(held);
	assert_int_equal(ledger_open_beside(&beside, s->url), ST_OK);

	assert_int_equal(ledger_recall(beside, NULL, false), ST_OK);
	assert_row(s->l, "a", 0, "x");
	assert_row(s->l, "b", LEDGER_NEVER, "y");
	assert_due(s->l, now, "a");
	assert_int_equal(ledger_later(s->l, "a", now + 500, "x"), ST_OK);
	assert_int_equal(ledger_recall(beside, "b", false), ST_OK);
	assert_due(s->l, now, "b");
	assert_row(beside, "a", now + 500, "x");
	assert_int_equal(ledger_recall(beside, NULL, true), ST_OK);
	assert_row(s->l, "a", 0, "x");
	assert_int_equal(ledger_recall(beside, "nobody", true), ST_CONFLICT);
	ledger_close(beside);
	/* It held no lock, and let go of none. */
	assert_int_equal(ledger_held(&held, s->url), ST_OK);
	assert_true(held);

	ledger_close(s->l);
	s->l = NULL;
	assert_int_equal(ledger_held(&held, s->url), ST_OK);
	assert_false(held);
	assert_int_equal(ledger_held(&held, "sqlite:/nonexistent/x"), ST_OK);
	assert_false(held);
	assert_int_equal(ledger_held(&held, "postgresql://x"), ST_IO);
}

/* A store that is not there is not made. */
static void
nothing_to_stand_beside(void **state)
{
	struct store *s = *state;
	struct ledger *beside = NULL;
	char url[128], path[112];

	snprintf(path, sizeof(path), "%s/none", s->dir);
	snprintf(url, sizeof(url), "sqlite:%s", path);
	assert_int_equal(ledger_open_beside(&beside, url), ST_IO);
	assert_null(beside);
	assert_int_not_equal(access(path, F_OK), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    unknown_ones_are_due_in_their_order, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_new_doubt_is_due_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    nothing_waits_for_a_clock_set_back, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    another_process_asks, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    nothing_to_stand_beside, setup, teardown),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
