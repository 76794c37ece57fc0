/*
 * What any store behind ledger.h must do, whatever it is made of. Run it with
 * ledger_conform(), which takes the way to a fresh store: another one needs a
 * store_kind and nothing else.
 */
#ifndef LEDGER_CONFORM_H
#define LEDGER_CONFORM_H

#include <time.h>

#include "base/own.h"
#include "ledger_fixture.h"

static const struct store_kind *conform_kind;

static int
setup(void **state)
{
	struct store *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	conform_kind->make(s);
	assert_int_equal(ledger_open(&s->l, s->url), ST_OK);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct store *s = *state;

	ledger_close(s->l);
	conform_kind->remove(s);
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
		.version = 1,
		.identifier = "pay_0123456789abcdef",
		.key = key_of(7) };
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
	assert_string_equal(r.identifier, c.identifier);
	assert_true(r.keyed);
	assert_memory_equal(r.key, key_of(7), LEDGER_KEY_BYTES);
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
	assert_null(r.identifier);
	assert_false(r.keyed);
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
	OP_GIVEN_UP,
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
	case OP_GIVEN_UP:
		return ledger_given_up(l, id, 500, "", "x", 1);
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
		/* Only after the last start: three_starts_and_no_more(). */
		[OP_GIVEN_UP] = { -1, -1, -1, -1, -1, -1, -1, -1 },
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

static void
assert_first(struct ledger *l, const char *identity, enum ledger_first first)
{
	struct ledger_row row;

	assert_int_equal(ledger_look(l, identity, &row), ST_OK);
	assert_int_equal(row.first, first);
	ledger_row_free(&row);
}

/* Of all calls only the first that was sent has its end kept, and it is LOST
 * until told otherwise. */
static void
the_first_call_is_kept(void **state)
{
	struct store *s = *state;

	assert_int_equal(claim(s->l, "id"), ST_OK);
	assert_first(s->l, "id", LEDGER_FIRST_NONE);
	assert_int_equal(
	    ledger_first(s->l, "id", LEDGER_FIRST_USED), ST_CONFLICT);
	assert_int_equal(ledger_settling(s->l, "id"), ST_OK);
	assert_first(s->l, "id", LEDGER_FIRST_LOST);
	/* It was not sent, so the next one is the first. */
	assert_int_equal(ledger_first(s->l, "id", LEDGER_FIRST_NONE), ST_OK);
	assert_int_equal(ledger_failed(s->l, "id", "not sent"), ST_OK);
	assert_first(s->l, "id", LEDGER_FIRST_NONE);
	/* No call is made for evidence. */
	assert_int_equal(ledger_reopened(s->l, "id"), ST_OK);
	assert_int_equal(state_of(s->l, "id"), LEDGER_SETTLING);
	assert_int_equal(ledger_unknown(s->l, "id", "doubt"), ST_OK);
	assert_first(s->l, "id", LEDGER_FIRST_NONE);
	assert_int_equal(ledger_settling(s->l, "id"), ST_OK);
	assert_int_equal(ledger_first(s->l, "id", LEDGER_FIRST_USED), ST_OK);
	assert_first(s->l, "id", LEDGER_FIRST_USED);
	assert_int_equal(ledger_unknown(s->l, "id", "used"), ST_OK);
	assert_int_equal(ledger_settling(s->l, "id"), ST_OK);
	assert_first(s->l, "id", LEDGER_FIRST_USED);
	assert_int_equal(
	    ledger_first(s->l, "id", LEDGER_FIRST_REFUSED), ST_CONFLICT);
	assert_int_equal(ledger_reopened(s->l, "id"), ST_CONFLICT);
	assert_first(s->l, "id", LEDGER_FIRST_USED);

	/* Killed before it was heard. */
	bring(s->l, "cut", LEDGER_SETTLING, NULL);
	reopen(s);
	assert_int_equal(state_of(s->l, "cut"), LEDGER_UNKNOWN);
	assert_first(s->l, "cut", LEDGER_FIRST_LOST);
	assert_first(s->l, "id", LEDGER_FIRST_USED);
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
		assert_int_equal(
		    ledger_given_up(s->l, "id", 500, "", "", 0), ST_CONFLICT);
		assert_int_equal(ledger_running(s->l, "id"), ST_OK);
		assert_int_equal(ledger_owed(s->l, "id"), ST_OK);
	}
	assert_int_equal(ledger_running(s->l, "id"), ST_TOO_BIG);
	assert_int_equal(state_of(s->l, "id"), LEDGER_SETTLED);
	assert_int_equal(ledger_look(s->l, "id", &r), ST_OK);
	assert_int_equal(r.answer_http, 0);
	ledger_row_free(&r);
	assert_int_equal(
	    ledger_given_up(s->l, "id", 500, NULL, "{}", 2), ST_OK);
	/* The answer is there and does not change; the row stays owed. */
	assert_int_equal(
	    ledger_given_up(s->l, "id", 500, NULL, "[]", 2), ST_CONFLICT);
	assert_int_equal(ledger_running(s->l, "id"), ST_TOO_BIG);
	assert_int_equal(ledger_look(s->l, "id", &r), ST_OK);
	assert_int_equal(r.answer_http, 500);
	ledger_row_free(&r);
	reopen(s);
	assert_int_equal(ledger_expire(s->l, UINT64_MAX, 0), ST_OK);
	assert_int_equal(ledger_find(s->l, "id", &r), ST_OK);
	assert_int_equal(r.state, LEDGER_SETTLED);
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

/* Several payments in one transaction, told apart by the chain's logs. */
static void
a_log_pays_once(void **state)
{
	struct store *s = *state;
	static const char *const ids[] = { "b", "c", "d" };
	struct ledger_row r;

	bring(s->l, "a", LEDGER_SETTLED, TXN);
	for (size_t i = 0; i < 3; i++)
		bring(s->l, ids[i], LEDGER_SETTLING, NULL);
	/* What was only told has the transaction; what is proved has a log. */
	assert_int_equal(ledger_proved(s->l, "b", "0xabcdef", 7), ST_OK);
	assert_int_equal(ledger_look(s->l, "b", &r), ST_OK);
	assert_int_equal(r.state, LEDGER_SETTLED);
	assert_string_equal(r.transaction, "0xabcdef");
	ledger_row_free(&r);
	assert_int_equal(ledger_proved(s->l, "c", TXN, 7), ST_CONFLICT);
	assert_int_equal(ledger_look(s->l, "c", &r), ST_OK);
	assert_int_equal(r.state, LEDGER_UNKNOWN);
	assert_non_null(strstr(r.reason, "another payment"));
	ledger_row_free(&r);
	assert_int_equal(ledger_proved(s->l, "c", TXN, UINT64_MAX), ST_OK);
	assert_int_equal(ledger_settled(s->l, "d", TXN), ST_CONFLICT);
	/* Nor may somebody be told what is proved to be another's alone. */
	assert_int_equal(ledger_proved(s->l, "d", "0x1", 0), ST_OK);
	bring(s->l, "e", LEDGER_SETTLING, NULL);
	assert_int_equal(ledger_settled(s->l, "e", "0X1"), ST_CONFLICT);
	assert_int_equal(state_of(s->l, "e"), LEDGER_UNKNOWN);
	/* It is an arrow like the other: from what waits for it alone. */
	assert_int_equal(ledger_proved(s->l, "e", "0x2", 0), ST_OK);
	assert_int_equal(ledger_proved(s->l, "e", "0x3", 0), ST_CONFLICT);
	assert_int_equal(ledger_proved(s->l, "none", "0x3", 0), ST_CONFLICT);
	bring(s->l, "f", LEDGER_CLAIMED, NULL);
	bring(s->l, "g", LEDGER_FAILED, NULL);
	assert_int_equal(ledger_proved(s->l, "f", "0x3", 0), ST_CONFLICT);
	assert_int_equal(ledger_proved(s->l, "g", "0x3", 0), ST_CONFLICT);
	reopen(s);
	bring(s->l, "h", LEDGER_SETTLING, NULL);
	assert_int_equal(ledger_proved(s->l, "h", TXN, 7), ST_CONFLICT);
}

static void
assert_payer(struct ledger *l, const char *payer, bool good, uint64_t bytes)
{
	struct ledger_payer p = { .good = !good };

	assert_int_equal(ledger_payer(l, payer, &p), ST_OK);
	assert_int_equal(p.good, good);
	assert_int_equal(p.answer_bytes, bytes);
}

static void
finish(struct ledger *l, const char *identity)
{
	assert_int_equal(ledger_running(l, identity), ST_OK);
	assert_int_equal(
	    ledger_done(l, identity, 200, "A: 1\n", "x", 1), ST_OK);
}

static void
payers_are_remembered(void **state)
{
	struct store *s = *state;
	struct ledger_claim c = claim_of("nobody");
	const uint64_t now = (uint64_t)time(NULL);
	uint64_t all = 0;

	/* Whoever has not paid is nobody, and cannot fall from grace. */
	bring(s->l, "unpaid", LEDGER_FAILED, NULL);
	bring(s->l, "unsure", LEDGER_UNKNOWN, NULL);
	assert_payer(s->l, PAYER, false, 0);
	assert_int_equal(ledger_doubt(s->l, PAYER), ST_CONFLICT);
	bring(s->l, "a", LEDGER_SETTLED, "0x1");
	assert_payer(s->l, PAYER, true, 0);
	assert_payer(s->l, "0xOther", false, 0);
	/* Answers are counted, as they are stored. */
	bring(s->l, "b", LEDGER_DONE, "0x2");
	bring(s->l, "c", LEDGER_DONE, "0x3");
	assert_int_equal(ledger_answer_bytes(s->l, &all), ST_OK);
	assert_payer(s->l, PAYER, true, all);
	assert_true(all > 0);
	/* A refusal, until he pays again. */
	assert_int_equal(ledger_doubt(s->l, PAYER), ST_OK);
	assert_payer(s->l, PAYER, false, all);
	reopen(s);
	assert_payer(s->l, PAYER, false, all);
	assert_int_equal(ledger_settling(s->l, "unsure"), ST_OK);
	assert_int_equal(ledger_proved(s->l, "unsure", "0x4", 1), ST_OK);
	assert_payer(s->l, PAYER, true, all);
	/* Who is not known by name is remembered by none. */
	c.payer = "";
	bring_claim(s->l, &c, LEDGER_DONE, "0x5");
	assert_payer(s->l, "", false, 0);
	assert_payer(s->l, PAYER, true, all);
	/* Answers go and count no more; payers stay longer. */
	assert_int_equal(ledger_expire(s->l, now + 86402, 86400), ST_OK);
	assert_payer(s->l, PAYER, true, 0);
	assert_int_equal(
	    ledger_expire(s->l, now + LEDGER_PAYER_KEEP_S - 60, 86400), ST_OK);
	assert_payer(s->l, PAYER, true, 0);
	/* As long as somebody is owed a run, so that its answer, when it
	 * comes, is counted, and taken off again. */
	assert_int_equal(
	    ledger_expire(s->l, now + LEDGER_PAYER_KEEP_S + 60, 86400), ST_OK);
	assert_payer(s->l, PAYER, true, 0);
	finish(s->l, "a");
	assert_payer(s->l, PAYER, true, 6);
	finish(s->l, "unsure");
	assert_payer(s->l, PAYER, true, 12);
	assert_int_equal(
	    ledger_expire(s->l, now + LEDGER_PAYER_KEEP_S + 60, 86400), ST_OK);
	assert_payer(s->l, PAYER, false, 0);
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
	assert_in_range(bytes, 10, len + 10);
}

/* What repeats takes little of the budget, what does not takes no more than it
 * has, and all of it comes back. */
static void
answers_are_packed(void **state)
{
	struct store *s = *state;
	size_t len = 1u << 20, i;
	OWN_FREE char *body = malloc(len);
	struct ledger_row r;
	uint64_t bytes = 0, before = 0;
	uint32_t x = 1;

	assert_non_null(body);
	for (i = 0; i < len; i++)
		body[i] = "\\u0001"[i % 6];
	bring(s->l, "same", LEDGER_RUNNING, "0x1");
	assert_int_equal(
	    ledger_done(s->l, "same", 200, "A: b\n", body, len), ST_OK);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_in_range(bytes, 6, len / 50);
	reopen(s);
	assert_int_equal(ledger_answer_bytes(s->l, &before), ST_OK);
	assert_int_equal(before, bytes);
	assert_int_equal(ledger_find(s->l, "same", &r), ST_OK);
	assert_int_equal(r.answer_body_len, len);
	assert_memory_equal(r.answer_body, body, len);
	assert_int_equal(r.answer_body[len], 0);
	ledger_row_free(&r);
	for (i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		body[i] = (char)(x >> 24);
	}
	bring(s->l, "random", LEDGER_RUNNING, "0x2");
	assert_int_equal(
	    ledger_done(s->l, "random", 200, "", body, len), ST_OK);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_int_equal(bytes, before + len);
	assert_int_equal(ledger_find(s->l, "random", &r), ST_OK);
	assert_memory_equal(r.answer_body, body, len);
	ledger_row_free(&r);
	/* The count is right again when they are gone. */
	assert_int_equal(ledger_expire(s->l, UINT64_MAX, 0), ST_OK);
	assert_int_equal(ledger_answer_bytes(s->l, &bytes), ST_OK);
	assert_int_equal(bytes, 0);
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
		struct ledger_claim c = claim_of(id);

		snprintf(id, sizeof(id), "s%d", i);
		snprintf(txn, sizeof(txn), "0xs%d", i);
		c.valid_before = now;
		bring_claim(s->l, &c, i, txn);
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
	/* What is unclear goes after a long time, what is owed never. */
	assert_int_equal(
	    ledger_expire(s->l, now + LEDGER_UNKNOWN_KEEP_S, 0), ST_OK);
	assert_int_equal(state_of(s->l, "s3"), LEDGER_UNKNOWN);
	assert_int_equal(
	    ledger_expire(s->l, now + 1 + LEDGER_UNKNOWN_KEEP_S, 0), ST_OK);
	assert_int_equal(state_of(s->l, "s3"), 0);
	assert_int_equal(ledger_expire(s->l, UINT64_MAX, 0), ST_OK);
	assert_int_equal(state_of(s->l, "s2"), LEDGER_SETTLING);
	assert_int_equal(state_of(s->l, "s5"), LEDGER_SETTLED);
	assert_int_equal(state_of(s->l, "s6"), LEDGER_RUNNING);
}

/* ---- what else a request is known by ---- */

static void
with_key(struct ledger_claim *c, const char *identity, const char *payer,
    const char *digest, unsigned int key)
{
	*c = claim_of(identity);
	c->payer = payer;
	c->request_digest = digest;
	c->key = key_of(key);
}

/* Who has the key, "" for nobody, "409" for another digest. */
static void
holder_is(struct store *s, unsigned int key, const char *payer,
    const char *digest, const char *want)
{
	OWN_FREE char *got = NULL;
	enum status st =
	    ledger_find_key(s->l, key_of(key), payer, digest, &got);

	if (st == ST_OK)
		assert_string_equal(got, want);
	else
		assert_string_equal(st == ST_NOT_FOUND	? ""
				    : st == ST_CONFLICT ? "409"
							: status_name(st),
		    want);
	assert_true((st == ST_OK) == (got != NULL));
}

static void
a_key_belongs_to_its_payer(void **state)
{
	struct store *s = *state;
	struct ledger_claim c;

	holder_is(s, 1, "alice", DIGEST, "");
	with_key(&c, "a", "alice", DIGEST, 1);
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	holder_is(s, 1, "alice", DIGEST, "a");
	holder_is(s, 1, "alice", OTHER_DIGEST, "409");
	holder_is(s, 1, "bob", DIGEST, "");
	holder_is(s, 1, "bob", OTHER_DIGEST, "");
	holder_is(s, 2, "alice", DIGEST, "");
	/* Neither another payment for the same nor one for another request. */
	with_key(&c, "b", "alice", DIGEST, 1);
	assert_int_equal(ledger_claim(s->l, &c), ST_CONFLICT);
	with_key(&c, "b", "alice", OTHER_DIGEST, 1);
	assert_int_equal(ledger_claim(s->l, &c), ST_CONFLICT);
	assert_int_equal(state_of(s->l, "b"), 0);
	/* Another payer's use of it is his own. */
	with_key(&c, "b", "bob", OTHER_DIGEST, 1);
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	holder_is(s, 1, "bob", OTHER_DIGEST, "b");
	holder_is(s, 1, "alice", DIGEST, "a");
	/* Many payments have no key at all. */
	assert_int_equal(claim(s->l, "none"), ST_OK);
	assert_int_equal(claim(s->l, "none2"), ST_OK);
}

/* A key is found in every state but FAILED, and by nobody's name too. */
static void
a_key_in_every_state(void **state)
{
	struct store *s = *state;
	unsigned int from;

	for (from = LEDGER_CLAIMED; from < LEDGER_STATE_MAX; from++) {
		bool counts = from != LEDGER_FAILED;
		struct ledger_claim c;
		char id[16], txn[16];

		snprintf(id, sizeof(id), "id-%u", from);
		snprintf(txn, sizeof(txn), "0x%u", from);
		with_key(&c, id, PAYER, DIGEST, from);
		bring_claim(s->l, &c, (int)from, txn);
		holder_is(s, from, PAYER, DIGEST, counts ? id : "");
		holder_is(s, from, NULL, DIGEST, counts ? id : "");
		/* A refused payment's key stays bound to its digest. */
		holder_is(s, from, PAYER, OTHER_DIGEST, "409");
		holder_is(s, from, NULL, OTHER_DIGEST, "");
	}
	reopen(s);
	holder_is(s, LEDGER_CLAIMED, PAYER, DIGEST, "");
	holder_is(s, LEDGER_SETTLING, PAYER, DIGEST, "id-2");
	holder_is(s, LEDGER_DONE, NULL, DIGEST, "id-7");
}

/* Of several payers' runs with one key, nobody's name gives the one that is
 * furthest, and of those the first. */
static void
a_key_without_a_payer(void **state)
{
	static const struct {
		const char *id;
		int state;
		const char *then;
	} rows[] = {
		{ "failed", LEDGER_FAILED, "" },
		{ "unknown", LEDGER_UNKNOWN, "unknown" },
		{ "settled", LEDGER_SETTLED, "settled" },
		{ "done", LEDGER_DONE, "done" },
		{ "running", LEDGER_RUNNING, "done" },
		{ "done2", LEDGER_DONE, "done" },
	};
	struct store *s = *state;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ledger_claim c;
		char txn[16];

		snprintf(txn, sizeof(txn), "0x%zu", i);
		with_key(&c, rows[i].id, rows[i].id, DIGEST, 1);
		bring_claim(s->l, &c, rows[i].state, txn);
		holder_is(s, 1, NULL, DIGEST, rows[i].then);
	}
}

static void
a_released_claim_frees_all(void **state)
{
	struct store *s = *state;
	struct ledger_claim c;
	OWN_FREE char *got = NULL;

	with_key(&c, "a", PAYER, DIGEST, 1);
	c.identifier = "pay_0123456789abcdef";
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	assert_int_equal(ledger_release(s->l, "a"), ST_OK);
	holder_is(s, 1, PAYER, DIGEST, "");
	assert_int_equal(
	    ledger_find_identifier(s->l, PAYER, c.identifier, &got),
	    ST_NOT_FOUND);
	assert_null(got);
	c.identity = "b";
	c.request_digest = OTHER_DIGEST;
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	holder_is(s, 1, PAYER, OTHER_DIGEST, "b");
}

/* A payment that was refused for good gives its key to the next one for the
 * same request, and never settles after that. */
static void
a_refused_payments_key_is_taken_over(void **state)
{
	struct store *s = *state;
	struct ledger_claim c;

	with_key(&c, "old", PAYER, DIGEST, 1);
	bring_claim(s->l, &c, LEDGER_FAILED, NULL);
	with_key(&c, "other", PAYER, OTHER_DIGEST, 1);
	assert_int_equal(ledger_claim(s->l, &c), ST_CONFLICT);
	/* As long as nobody has, it may try again itself. */
	assert_int_equal(ledger_settling(s->l, "old"), ST_OK);
	holder_is(s, 1, PAYER, DIGEST, "old");
	with_key(&c, "new", PAYER, DIGEST, 1);
	assert_int_equal(ledger_claim(s->l, &c), ST_CONFLICT);
	assert_int_equal(ledger_failed(s->l, "old", "no"), ST_OK);
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	holder_is(s, 1, PAYER, DIGEST, "new");
	assert_int_equal(ledger_settling(s->l, "old"), ST_CONFLICT);
	assert_int_equal(state_of(s->l, "old"), LEDGER_FAILED);
	assert_int_equal(ledger_settling(s->l, "new"), ST_OK);
	/* The new one went as well: then either may, but not both. */
	assert_int_equal(ledger_failed(s->l, "new", "no"), ST_OK);
	assert_int_equal(ledger_settling(s->l, "old"), ST_OK);
	assert_int_equal(ledger_settling(s->l, "new"), ST_CONFLICT);
}

static void
an_identifier_belongs_to_one_payment(void **state)
{
	static const char id[] = "pay_0123456789abcdef";
	struct store *s = *state;
	struct ledger_claim c = claim_of("a");
	OWN_FREE char *got = NULL;

	c.identifier = id;
	bring_claim(s->l, &c, LEDGER_FAILED, NULL);
	assert_int_equal(ledger_find_identifier(s->l, PAYER, id, &got), ST_OK);
	assert_string_equal(got, "a");
	c.identity = "b";
	assert_int_equal(ledger_claim(s->l, &c), ST_CONFLICT);
	assert_int_equal(state_of(s->l, "b"), 0);
	/* In another letter case it is another, and so it is of another. */
	c.identifier = "PAY_0123456789abcdef";
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	c.identity = "c";
	c.identifier = id;
	c.payer = "bob";
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	/* Payers who are not known do not meet in "". */
	c.payer = "";
	c.identity = "d";
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
	c.identity = "e";
	assert_int_equal(ledger_claim(s->l, &c), ST_OK);
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

static void
rows_are_counted_by_state(void **state)
{
	static const uint64_t want[LEDGER_STATE_MAX] = {
		[LEDGER_CLAIMED] = 1,
		[LEDGER_SETTLING] = 2,
		[LEDGER_UNKNOWN] = 3,
		[LEDGER_FAILED] = 1,
		[LEDGER_SETTLED] = 2,
		[LEDGER_RUNNING] = 1,
		[LEDGER_DONE] = 4, /* is not told */
	};
	struct store *s = *state;
	struct ledger_counts n;
	char id[16], txn[16];

	assert_int_equal(ledger_count(s->l, &n), ST_OK);
	for (int i = 0; i < LEDGER_STATE_MAX; i++)
		assert_int_equal(n.rows[i], 0);
	for (int i = LEDGER_CLAIMED; i < LEDGER_STATE_MAX; i++)
		for (uint64_t k = 0; k < want[i]; k++) {
			snprintf(id, sizeof(id), "%d-%d", i, (int)k);
			snprintf(txn, sizeof(txn), "0x%d%d", i, (int)k);
			bring(s->l, id, i, txn);
		}
	for (int i = 1; i < LEDGER_STARTS; i++) {
		assert_int_equal(ledger_running(s->l, "5-0"), ST_OK);
		assert_int_equal(ledger_owed(s->l, "5-0"), ST_OK);
	}
	assert_int_equal(ledger_running(s->l, "5-0"), ST_OK);
	assert_int_equal(ledger_owed(s->l, "5-0"), ST_OK);
	assert_int_equal(
	    ledger_given_up(s->l, "5-0", 500, NULL, "{}", 2), ST_OK);
	assert_int_equal(ledger_count(s->l, &n), ST_OK);
	for (int i = LEDGER_CLAIMED; i < LEDGER_DONE; i++)
		assert_int_equal(n.rows[i], want[i]);
	assert_int_equal(n.rows[LEDGER_DONE], 0);
	assert_int_equal(n.given_up, 1);
}

static void
assert_around(
    struct ledger *l, const char *head, const char *tail, const char *expected)
{
	OWN_FREE char *got = NULL;
	enum status st = ledger_find_around(l, head, tail, &got);

	assert_int_equal(st, expected == NULL ? ST_NOT_FOUND : ST_OK);
	if (expected == NULL)
		assert_null(got);
	else
		assert_string_equal(got, expected);
}

/* What stands between head and tail need not be known. */
static void
a_payment_is_found_without_its_asset(void **state)
{
	static const char *const ids[] = { "n:1/0xa/f/1", "n:1/0xa/f/2",
		"n:1/0xb/f/2", "n:1/0xb/g/3", "n:1/0xbb/f/4", "n:1/0xc/f/5",
		"n:1/0xc/f/5/6", "n:1/0xcf", "n:1/0xd/e/f/7", "n:10/0xa/f/8",
		"m/0xa/f/9" };
	struct store *s = *state;

	assert_around(s->l, "n:1/0x", "/f/1", NULL);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		bring(s->l, ids[i], LEDGER_FAILED, NULL);
	assert_around(s->l, "n:1/0x", "/f/1", "n:1/0xa/f/1");
	assert_around(s->l, "n:1/0x", "/f/2", "n:1/0xa/f/2");
	assert_around(s->l, "n:1/0x", "/g/3", "n:1/0xb/g/3");
	assert_around(s->l, "n:1/0x", "/f/4", "n:1/0xbb/f/4");
	assert_around(s->l, "n:1/0x", "/f/5", "n:1/0xc/f/5");
	assert_around(s->l, "n:10/0x", "/f/8", "n:10/0xa/f/8");
	/* Another payer, nonce or network, more than one part, none at all. */
	assert_around(s->l, "n:1/0x", "/g/1", NULL);
	assert_around(s->l, "n:1/0x", "/f", NULL);
	assert_around(s->l, "n:1/0x", "/f/8", NULL);
	assert_around(s->l, "n:1/0x", "/f/7", NULL);
	assert_around(s->l, "m/0x", "/f/8", NULL);
	assert_around(s->l, "o/0x", "/f/1", NULL);
}

#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* How many failed. */
static int
ledger_conform(const struct store_kind *kind)
{
	static const struct CMUnitTest tests[] = {
		WITH_STORE(claim_keeps_every_field),
		WITH_STORE(second_claim_is_refused),
		WITH_STORE(bad_claims_are_bugs),
		WITH_STORE(every_arrow),
		WITH_STORE(reasons_are_kept),
		WITH_STORE(another_facilitator),
		WITH_STORE(the_first_call_is_kept),
		WITH_STORE(three_starts_and_no_more),
		WITH_STORE(a_transaction_pays_once),
		WITH_STORE(a_log_pays_once),
		WITH_STORE(payers_are_remembered),
		WITH_STORE(no_settlement_without_transaction),
		WITH_STORE(answers_come_back_byte_for_byte),
		WITH_STORE(answers_are_packed),
		WITH_STORE(a_refused_answer_leaves_the_run),
		WITH_STORE(expiry),
		WITH_STORE(a_key_belongs_to_its_payer),
		WITH_STORE(a_key_in_every_state),
		WITH_STORE(a_key_without_a_payer),
		WITH_STORE(a_released_claim_frees_all),
		WITH_STORE(a_refused_payments_key_is_taken_over),
		WITH_STORE(an_identifier_belongs_to_one_payment),
		WITH_STORE(a_payment_is_found_without_its_asset),
		WITH_STORE(listing),
		WITH_STORE(rows_are_counted_by_state),
		cmocka_unit_test(state_names),
		WITH_STORE(recovery),
		WITH_STORE(one_owner_and_readers),
	};

	conform_kind = kind;
	return cmocka_run_group_tests_name(kind->name, tests, NULL, NULL);
}

#endif
