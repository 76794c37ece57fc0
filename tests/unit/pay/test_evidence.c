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
	/* paid, after and before the claim */
	{ "paid", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_PAID },
	{ "paid, node behind", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED + 1,
	    IN_TIME, IN_TIME, IN_TIME + 9000, EVIDENCE_PAID },
	{ "paid, close", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED - 1,
	    IN_TIME, IN_TIME, IN_TIME, EVIDENCE_LIKELY },
	{ "paid, 59 s before", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED - 59,
	    IN_TIME, IN_TIME, IN_TIME, EVIDENCE_LIKELY },
	{ "paid, 60 s before", EVIDENCE_SAID_NOTHING, CHAIN_PAID, CLAIMED - 60,
	    IN_TIME, IN_TIME, IN_TIME, EVIDENCE_SPENT },
	{ "paid before, our clock ahead", EVIDENCE_SAID_NOTHING, CHAIN_PAID,
	    CLAIMED - 400, IN_TIME, IN_TIME, IN_TIME + 121, EVIDENCE_LIKELY },
	{ "paid after, our clock behind", EVIDENCE_SAID_NOTHING, CHAIN_PAID,
	    CLAIMED + 1, IN_TIME, IN_TIME, IN_TIME - 31, EVIDENCE_LIKELY },
	{ "paid before, yes", EVIDENCE_SAID_PAID, CHAIN_PAID, CLAIMED - 60,
	    IN_TIME, IN_TIME, IN_TIME, EVIDENCE_SPENT },
	/* the other ways to use a nonce */
	{ "cancelled", EVIDENCE_SAID_NOTHING, CHAIN_CANCELED, CLAIMED + 5,
	    IN_TIME, IN_TIME, IN_TIME, EVIDENCE_NOT_PAID },
	{ "cancelled before", EVIDENCE_SAID_NOTHING, CHAIN_CANCELED,
	    CLAIMED - 5, IN_TIME, IN_TIME, IN_TIME, EVIDENCE_NOT_PAID },
	{ "diverted", EVIDENCE_SAID_SPENT, CHAIN_DIVERTED, CLAIMED + 5, IN_TIME,
	    IN_TIME, IN_TIME, EVIDENCE_SPENT },
	{ "earlier", EVIDENCE_SAID_NOTHING, CHAIN_EARLIER, 0, IN_TIME, IN_TIME,
	    IN_TIME, EVIDENCE_SPENT },
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
every_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		const struct chain_sight sight = { .use = r->use,
			.block_time = r->block_time,
			.sure_time = r->sure_time,
			.head_time = r->head_time };
		const struct evidence e = { .said = r->said,
			.sight = r->use == CHAIN_USE_MAX ? NULL : &sight,
			.claimed = CLAIMED,
			.valid_before = BEFORE,
			.now = r->now };
		const char *why = NULL;
		enum evidence_verdict v = evidence_weigh(&e, &why);

		if (v != r->verdict)
			fail_msg("%s: %d", r->name, v);
		assert_non_null(why);
		assert_int_not_equal(why[0], '\0');
		assert_int_equal(evidence_weigh(&e, NULL), v);
		assert_int_equal(evidence_decides(v),
		    v == EVIDENCE_PAID || v == EVIDENCE_NOT_PAID ||
			v == EVIDENCE_SPENT);
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
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(no_end),
		cmocka_unit_test(pauses_grow),
		cmocka_unit_test(pauses_with_a_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
