/* Rows that failed writes left in the middle of something: mended by the round
 * where nobody is at work on them, and only there. */
#include "web/leftover.h"

#include "../pay/ledger_fixture.h"
#include "web/flight.h"

#define BUSY "busy"

static void
the_round(void **state)
{
	static const struct {
		const char *identity;
		int before;
		int after; /* 0: gone */
	} rows[] = {
		{ "claimed", LEDGER_CLAIMED, 0 },
		{ "settling", LEDGER_SETTLING, LEDGER_UNKNOWN },
		{ "unknown", LEDGER_UNKNOWN, LEDGER_UNKNOWN },
		{ "failed", LEDGER_FAILED, LEDGER_FAILED },
		{ "settled", LEDGER_SETTLED, LEDGER_SETTLED },
		{ "running", LEDGER_RUNNING, LEDGER_SETTLED },
		{ "done", LEDGER_DONE, LEDGER_DONE },
	};
	struct store s;
	struct context g = { .ledger = NULL };
	char busy[64], txn[64];

	(void)state;
	sqlite_make(&s);
	assert_int_equal(ledger_open(&s.l, s.url), ST_OK);
	assert_int_equal(flight_open(&g.flight, 8, 1000), ST_OK);
	g.ledger = s.l;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(busy, sizeof(busy), BUSY "%s", rows[i].identity);
		snprintf(txn, sizeof(txn), "0x%zu", i);
		bring(s.l, rows[i].identity, rows[i].before, txn);
		snprintf(txn, sizeof(txn), "0xf%zu", i);
		bring(s.l, busy, rows[i].before, txn);
		assert_int_equal(flight_enter(g.flight, busy, 0, 0), ST_OK);
	}
	leftover_round(&g);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(busy, sizeof(busy), BUSY "%s", rows[i].identity);
		assert_int_equal(
		    state_of(s.l, rows[i].identity), rows[i].after);
		assert_int_equal(state_of(s.l, busy), rows[i].before);
		flight_leave(g.flight, busy);
	}
	/* Whoever had them is gone. */
	leftover_round(&g);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(busy, sizeof(busy), BUSY "%s", rows[i].identity);
		assert_int_equal(state_of(s.l, busy), rows[i].after);
		/* The round keeps no turn. */
		assert_int_equal(flight_enter(g.flight, busy, 0, 0), ST_OK);
		flight_leave(g.flight, busy);
	}
	flight_close(g.flight);
	ledger_close(s.l);
	sqlite_remove(&s);
}

/* A store that cannot be written is told of, and left as it is. */
static void
nothing_can_be_written(void **state)
{
	struct store s;
	struct context g = { .ledger = NULL };
	enum ledger_state now = LEDGER_SETTLING;

	(void)state;
	sqlite_make(&s);
	assert_int_equal(ledger_open(&s.l, s.url), ST_OK);
	bring(s.l, "settling", LEDGER_SETTLING, NULL);
	assert_int_equal(flight_open(&g.flight, 8, 1000), ST_OK);
	assert_int_equal(ledger_open_reader(&g.ledger, s.url), ST_OK);
	leftover_round(&g);
	assert_int_equal(state_of(s.l, "settling"), LEDGER_SETTLING);
	assert_int_not_equal(leftover_mend(g.ledger, "settling", &now), ST_OK);
	assert_int_equal(now, LEDGER_SETTLING);
	ledger_close(g.ledger);
	g.ledger = s.l;
	leftover_round(&g);
	assert_int_equal(state_of(s.l, "settling"), LEDGER_UNKNOWN);
	flight_close(g.flight);
	ledger_close(s.l);
	sqlite_remove(&s);
}

/* What is unknown or owed at another site is counted; not what is done, what
 * was given up, or what is of this one. */
static void
elsewhere(void **state)
{
	static const char here[] = "https://api.example.com";
	struct store s;
	struct ledger_claim c;
	char identity[32], txn[32];

	(void)state;
	sqlite_make(&s);
	assert_int_equal(ledger_open(&s.l, s.url), ST_OK);
	for (int i = LEDGER_CLAIMED; i < LEDGER_STATE_MAX; i++) {
		snprintf(identity, sizeof(identity), "here%d", i);
		snprintf(txn, sizeof(txn), "0x%d", i);
		bring(s.l, identity, i, txn);
	}
	assert_int_equal(leftover_elsewhere(s.l, here), 0);
	for (int i = LEDGER_CLAIMED; i < LEDGER_STATE_MAX; i++) {
		snprintf(identity, sizeof(identity), "there%d", i);
		snprintf(txn, sizeof(txn), "0xf%d", i);
		c = claim_of(identity);
		c.site = "https://old.example.com";
		bring_claim(s.l, &c, i, txn);
	}
	assert_int_equal(leftover_elsewhere(s.l, here), 2);
	assert_int_equal(leftover_elsewhere(s.l, "https://old.example.com"), 2);
	assert_int_equal(leftover_elsewhere(s.l, "https://new.example"), 4);
	for (int i = 0; i < LEDGER_STARTS; i++) {
		assert_int_equal(ledger_running(s.l, "there5"), ST_OK);
		assert_int_equal(ledger_owed(s.l, "there5"), ST_OK);
	}
	assert_int_equal(leftover_elsewhere(s.l, here), 1);
	ledger_close(s.l);
	sqlite_remove(&s);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_round),
		cmocka_unit_test(nothing_can_be_written),
		cmocka_unit_test(elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
