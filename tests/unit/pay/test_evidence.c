/* The table of evidence, row by row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pay/evidence.h"

#define CLAIMED 1000000
#define BEFORE (CLAIMED + 300)
#define IN_TIME (CLAIMED + 100)
#define OVER (BEFORE + 200)

struct row {
	const char *name;
	enum evidence_said said;
	enum chain_use use; /* CHAIN_USE_MAX: no chain at all */
	uint64_t block_time, sure_time, head_time, now;
	enum evidence_verdict verdict;
};

#define NO_CHAIN CHAIN_USE_MAX, 0, 0, 0

static const struct row rows[] = {
	/* without a chain: the facilitator's yes alone */
	{ "nothing", EVIDENCE_SAID_NOTHING, NO_CHAIN, IN_TIME, EVIDENCE_NONE },
	{ "yes", EVIDENCE_SAID_PAID, NO_CHAIN, IN_TIME, EVIDENCE_PAID },
	{ "yes, late", EVIDENCE_SAID_PAID, NO_CHAIN, OVER, EVIDENCE_PAID },
	{ "used", EVIDENCE_SAID_SPENT, NO_CHAIN, IN_TIME, EVIDENCE_LIKELY },
	{ "used, late", EVIDENCE_SAID_SPENT, NO_CHAIN, OVER, EVIDENCE_LIKELY },
	{ "no", EVIDENCE_SAID_NO, NO_CHAIN, IN_TIME, EVIDENCE_NONE },
	{ "no, late", EVIDENCE_SAID_NO, NO_CHAIN, OVER, EVIDENCE_NONE },
	/* a chain that cannot be read is none */
	{ "unread", EVIDENCE_SAID_NOTHING, CHAIN_UNREAD, 0, 0, 0, OVER,
	    EVIDENCE_NONE },
	{ "unread, yes", EVIDENCE_SAID_PAID, CHAIN_UNREAD, 0, 0, 0, OVER,
	    EVIDENCE_PAID },
	{ "unread, used", EVIDENCE_SAID_SPENT, CHAIN_UNREAD, 0, 0, 0, OVER,
	    EVIDENCE_LIKELY },
	/* unused: open until the end, in the chain's time and in ours */
	{ "unused", EVIDENCE_SAID_NOTHING, CHAIN_UNUSED, 0, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_OPEN },
	{ "unused, over here", EVIDENCE_SAID_NOTHING, CHAIN_UNUSED, 0,
	    BEFORE - 1, BEFORE + 9, OVER, EVIDENCE_OPEN },
	{ "unused, over there", EVIDENCE_SAID_NOTHING, CHAIN_UNUSED, 0, BEFORE,
	    BEFORE, BEFORE - 1, EVIDENCE_OPEN },
	{ "unused, over", EVIDENCE_SAID_NOTHING, CHAIN_UNUSED, 0, BEFORE,
	    BEFORE, BEFORE, EVIDENCE_NOT_PAID },
	/* the chain was read: a yes needs no block yet, a no is nothing */
	{ "unused, yes", EVIDENCE_SAID_PAID, CHAIN_UNUSED, 0, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_PAID },
	{ "unused, used", EVIDENCE_SAID_SPENT, CHAIN_UNUSED, 0, IN_TIME,
	    IN_TIME, IN_TIME, EVIDENCE_OPEN },
	{ "unused for good, yes", EVIDENCE_SAID_PAID, CHAIN_UNUSED, 0, OVER,
	    OVER, OVER, EVIDENCE_NOT_PAID },
	{ "fresh", EVIDENCE_SAID_NOTHING, CHAIN_FRESH, 0, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_LIKELY },
	/* paid, after the claim; and before it by clocks that do not agree */
	{ "paid", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_PAID },
	{ "paid, node behind", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED + 1,
	    IN_TIME, IN_TIME, IN_TIME + 9000, EVIDENCE_PAID },
	{ "paid before, our clock ahead", EVIDENCE_SAID_NOTHING, CHAIN_PAID,
	    CLAIMED - 400, IN_TIME, IN_TIME, IN_TIME + 121, EVIDENCE_LIKELY },
	{ "paid after, our clock behind", EVIDENCE_SAID_NOTHING, CHAIN_PAID,
	    CLAIMED + 1, IN_TIME, IN_TIME, IN_TIME - 31, EVIDENCE_LIKELY },
	/* the other ways to use a nonce */
	{ "cancelled", EVIDENCE_SAID_NOTHING, CHAIN_CANCELED, CLAIMED + 5,
	    IN_TIME, IN_TIME, IN_TIME, EVIDENCE_NOT_PAID },
	{ "cancelled before", EVIDENCE_SAID_NOTHING, CHAIN_CANCELED,
	    CLAIMED - 5, IN_TIME, IN_TIME, IN_TIME, EVIDENCE_NOT_PAID },
	{ "diverted", EVIDENCE_SAID_SPENT, CHAIN_DIVERTED, CLAIMED + 5, IN_TIME,
	    IN_TIME, IN_TIME, EVIDENCE_SPENT },
	{ "earlier, our clock ahead", EVIDENCE_SAID_NOTHING, CHAIN_EARLIER, 0,
	    IN_TIME, IN_TIME, IN_TIME + 121, EVIDENCE_LIKELY },
	{ "earlier, our clock behind", EVIDENCE_SAID_NOTHING, CHAIN_EARLIER, 0,
	    IN_TIME, IN_TIME, IN_TIME - 31, EVIDENCE_LIKELY },
	{ "lost", EVIDENCE_SAID_NOTHING, CHAIN_LOST, 0, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_LIKELY },
	{ "lost, over", EVIDENCE_SAID_NOTHING, CHAIN_LOST, 0, OVER, OVER, OVER,
	    EVIDENCE_LIKELY },
};

static void
check(const struct row *r, enum ledger_first first)
{
	const struct chain_sight sight = { .use = r->use,
		.block_time = r->block_time,
		.sure_time = r->sure_time,
		.head_time = r->head_time };
	const struct evidence e = { .said = r->said,
		.sight = r->use == CHAIN_USE_MAX ? NULL : &sight,
		.first = first,
		.claimed = CLAIMED,
		.valid_before = BEFORE,
		.now = r->now };
	const char *why = NULL;
	enum evidence_verdict v = evidence_weigh(&e, &why);

	if (v != r->verdict)
		fail_msg("%s, first %d: %d", r->name, first, v);
	assert_non_null(why);
	assert_int_not_equal(why[0], '\0');
	assert_int_equal(evidence_weigh(&e, NULL), v);
	assert_int_equal(evidence_decides(v), v == EVIDENCE_PAID ||
						  v == EVIDENCE_NOT_PAID ||
						  v == EVIDENCE_SPENT);
}

static void
every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int first = 0; first < LEDGER_FIRST_MAX; first++)
			check(&rows[i], (enum ledger_first)first);
}

/* What was used before the claim by our clock, which may have been ahead then
 * and be right now: how our first call ended tells it apart. */
static void
before_the_claim(void **state)
{
	static const struct {
		uint64_t early; /* seconds from the block to the claim */
		enum evidence_verdict by[LEDGER_FIRST_MAX];
	} table[] = {
#define NONE [LEDGER_FIRST_NONE]
#define LOST [LEDGER_FIRST_LOST]
#define USED [LEDGER_FIRST_USED]
#define REFUSED [LEDGER_FIRST_REFUSED]
		{ 0, { NONE = EVIDENCE_PAID, LOST = EVIDENCE_PAID,
			 USED = EVIDENCE_PAID, REFUSED = EVIDENCE_PAID } },
		{ 1, { NONE = EVIDENCE_LIKELY, LOST = EVIDENCE_PAID,
			 USED = EVIDENCE_LIKELY, REFUSED = EVIDENCE_LIKELY } },
		{ 59, { NONE = EVIDENCE_LIKELY, LOST = EVIDENCE_PAID,
			  USED = EVIDENCE_LIKELY, REFUSED = EVIDENCE_LIKELY } },
		{ 60, { NONE = EVIDENCE_LIKELY, LOST = EVIDENCE_PAID,
			  USED = EVIDENCE_SPENT, REFUSED = EVIDENCE_LIKELY } },
		{ 61, { NONE = EVIDENCE_LIKELY, LOST = EVIDENCE_LIKELY,
			  USED = EVIDENCE_SPENT, REFUSED = EVIDENCE_LIKELY } },
		{ 285, { NONE = EVIDENCE_LIKELY, LOST = EVIDENCE_LIKELY,
			   USED = EVIDENCE_SPENT, REFUSED = EVIDENCE_LIKELY } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (int first = 0; first < LEDGER_FIRST_MAX; first++) {
			struct row r = { .name = "before",
				.use = CHAIN_PAID,
				.block_time = CLAIMED - table[i].early,
				.sure_time = IN_TIME,
				.head_time = IN_TIME,
				.now = IN_TIME,
				.verdict = table[i].by[first] };

			check(&r, (enum ledger_first)first);
			/* By clocks that do not agree nothing is said. */
			if (r.verdict == EVIDENCE_SPENT) {
				r.said = EVIDENCE_SAID_PAID;
				check(&r, (enum ledger_first)first);
				r.said = EVIDENCE_SAID_NOTHING;
				r.now = IN_TIME + 121;
				r.verdict = EVIDENCE_LIKELY;
				check(&r, (enum ledger_first)first);
			}
			r.now = IN_TIME - 31;
			r.verdict = EVIDENCE_LIKELY;
			check(&r, (enum ledger_first)first);
		}
}

static void
long_before_the_claim(void **state)
{
	struct row r = { .name = "earlier",
		.use = CHAIN_EARLIER,
		.sure_time = IN_TIME,
		.head_time = IN_TIME,
		.now = IN_TIME };

	(void)state;
	for (int first = 0; first < LEDGER_FIRST_MAX; first++) {
		r.verdict = first == LEDGER_FIRST_USED ? EVIDENCE_SPENT
						       : EVIDENCE_LIKELY;
		check(&r, (enum ledger_first)first);
	}
}

/* An end that is not known proves nothing, but there is one. */
static void
no_end(void **state)
{
	const struct chain_sight sight = {
		.use = CHAIN_UNUSED, .sure_time = OVER, .head_time = OVER
	};
	struct evidence e = {
		.sight = &sight, .claimed = CLAIMED, .now = OVER
	};

	(void)state;
	assert_int_equal(evidence_weigh(&e, NULL), EVIDENCE_OPEN);
	e.sight = NULL;
	e.now = CLAIMED + 86400 + EVIDENCE_MARGIN_S - 1;
	assert_int_equal(evidence_next(&e, EVIDENCE_NONE), e.now + 600);
	e.now++;
	assert_true(evidence_next(&e, EVIDENCE_NONE) == EVIDENCE_NEVER);
}

static void
pauses_grow(void **state)
{
	struct evidence e = { .claimed = CLAIMED, .now = CLAIMED };
	uint64_t pause = 0;

	(void)state;
	e.valid_before = CLAIMED + 86400;
	for (; e.now < e.valid_before + EVIDENCE_MARGIN_S;) {
		uint64_t next = evidence_next(&e, EVIDENCE_NONE);

		assert_in_range(next, e.now + 5, e.now + 600);
		assert_true(next - e.now >= pause);
		pause = next - e.now;
		e.now = next;
	}
	assert_int_equal(pause, 600);
	assert_true(evidence_next(&e, EVIDENCE_NONE) == EVIDENCE_NEVER);
	assert_true(evidence_next(&e, EVIDENCE_LIKELY) == EVIDENCE_NEVER);
}

static void
pauses_with_a_chain(void **state)
{
	struct chain_sight sight = { .use = CHAIN_UNUSED };
	struct evidence e = { .sight = &sight,
		.claimed = CLAIMED,
		.valid_before = BEFORE,
		.now = CLAIMED + 200 };

	(void)state;
	assert_int_equal(evidence_next(&e, EVIDENCE_OPEN), CLAIMED + 300);
	/* Soon after the end, and then until the chain is that far. */
	e.now = CLAIMED + 250;
	assert_int_equal(evidence_next(&e, EVIDENCE_OPEN), BEFORE + 5);
	e.now = BEFORE + 5;
	assert_int_equal(evidence_next(&e, EVIDENCE_OPEN), BEFORE + 10);
	sight.use = CHAIN_FRESH;
	assert_int_equal(evidence_next(&e, EVIDENCE_LIKELY), BEFORE + 8);
	/* A node may be mended after days. */
	sight.use = CHAIN_UNREAD;
	e.now = CLAIMED + 90000;
	assert_int_equal(
	    evidence_next(&e, EVIDENCE_NONE), CLAIMED + 90000 + 3600);
	/* A clock that went back. */
	e.now = CLAIMED - 50;
	assert_int_equal(evidence_next(&e, EVIDENCE_NONE), CLAIMED - 45);
	/* Nor does anything rest for longer than the ledger lets it. */
	e.valid_before = CLAIMED + 100000;
	for (e.now = CLAIMED; e.now < CLAIMED + 110000; e.now += 7) {
		sight.use = CHAIN_UNUSED;
		assert_true(
		    evidence_next(&e, EVIDENCE_OPEN) - e.now <= LEDGER_REST_S);
		sight.use = CHAIN_LOST;
		assert_true(evidence_next(&e, EVIDENCE_LIKELY) - e.now <=
			    LEDGER_REST_S);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(before_the_claim),
		cmocka_unit_test(long_before_the_claim),
		cmocka_unit_test(no_end),
		cmocka_unit_test(pauses_grow),
		cmocka_unit_test(pauses_with_a_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
