/* What a facilitator offers, as told by one /supported answer after the
 * other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "pay/facilitator_kinds.h"

#define BASE "eip155:8453"
#define SOLANA "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
#define KIND(v, s, n)                                                          \
	"{\"x402Version\":" v ",\"scheme\":\"" s "\",\"network\":\"" n "\"}"
#define PAYER(who)                                                             \
	"{\"x402Version\":2,\"scheme\":\"exact\",\"network\":\"" SOLANA        \
	"\",\"extra\":{\"feePayer\":\"" who "\",\"name\":\"x\"}}"

static int
setup(void **state)
{
	struct facilitator_kinds *k = NULL;

	assert_int_equal(facilitator_kinds_open(&k), ST_OK);
	*state = k;
	return 0;
}

static int
teardown(void **state)
{
	facilitator_kinds_close(*state);
	return 0;
}

static enum status
take(struct facilitator_kinds *k, const char *body)
{
	struct facilitator_reply r = {
		.http = 200, .body = body, .len = strlen(body)
	};

	return facilitator_kinds_take(k, &r);
}

static bool
offers(struct facilitator_kinds *k)
{
	return facilitator_kinds_offer(k, 2, "exact", BASE, NULL);
}

static void
lists(void **state)
{
	static const char *const bad[] = { "{\"kinds\":{}}", "{\"kinds\":null}",
		"{}", "[]", "", "{\"kinds\":[],\"kinds\":[]}" };
	struct facilitator_kinds *k = *state;

	assert_false(facilitator_kinds_known(k));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(take(k, bad[i]), ST_FORMAT);
	assert_false(facilitator_kinds_known(k));
	assert_int_equal(
	    take(k, "{\"kinds\":[" KIND("2", "exact", BASE) "]}"), ST_OK);
	assert_true(facilitator_kinds_known(k));
	assert_true(offers(k));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(take(k, bad[i]), ST_FORMAT);
	assert_true(offers(k));
	assert_int_equal(
	    take(k, "{\"kinds\":[" KIND("1", "exact", BASE) "," KIND(
			"2", "upto", BASE) "," KIND("2", "exact",
			"eip155:84532") "," KIND("\"2\"", "exact", BASE) "]}"),
	    ST_OK);
	assert_false(offers(k));
	assert_int_equal(take(k, "{\"kinds\":[1,null,{},[]," KIND("2", "exact",
				     BASE) "],\"extensions\":[]}"),
	    ST_OK);
	assert_true(offers(k));
	assert_int_equal(take(k, "{\"kinds\":[]}"), ST_OK);
	assert_false(offers(k));
}

static const char *
extra(struct facilitator_kinds *k)
{
	const char *told = NULL;

	assert_true(facilitator_kinds_offer(k, 2, "exact", SOLANA, &told));
	return told;
}

#define TOLD(list, signers)                                                    \
	"{\"kinds\":[" list "],\"signers\":{\"solana:*\":[" signers "]}}"

/* One of several keys comes at random: the first one stays as long as it is
 * used at all; and what was told before is remembered. */
static void
extras(void **state)
{
	struct facilitator_kinds *k = *state;

	assert_int_equal(take(k, TOLD(PAYER("A"), "\"A\",\"B\"")), ST_OK);
	assert_string_equal(extra(k), "\"feePayer\":\"A\"");
	assert_int_equal(take(k, TOLD(PAYER("B"), "\"A\",\"B\"")), ST_OK);
	assert_string_equal(extra(k), "\"feePayer\":\"A\"");
	assert_int_equal(take(k, TOLD(PAYER("B"), "\"B\"")), ST_OK);
	assert_string_equal(extra(k), "\"feePayer\":\"B\"");
	assert_string_equal(facilitator_kinds_extra(k, 2, "exact", SOLANA, 0),
	    "\"feePayer\":\"A\"");
	assert_string_equal(facilitator_kinds_extra(k, 2, "exact", SOLANA, 1),
	    "\"feePayer\":\"B\"");
	assert_null(facilitator_kinds_extra(k, 2, "exact", SOLANA, 2));
	/* Without a list of signers the answer's word counts. */
	assert_int_equal(take(k, "{\"kinds\":[" PAYER("A") "]}"), ST_OK);
	assert_string_equal(extra(k), "\"feePayer\":\"A\"");
	/* Nothing that could not stand in an offer. */
	assert_int_equal(take(k, "{\"kinds\":[" PAYER("\xc3\xa9") "]}"), ST_OK);
	assert_null(extra(k));
}

/* However much it says, what is kept has an end, and lent text stays good. */
static void
bounds(void **state)
{
	struct facilitator_kinds *k = *state;
	char text[256];
	const char *first;
	OWN_BUF struct buf b;

	buf_init(&b, 1u << 20);
	assert_int_equal(take(k, "{\"kinds\":[" PAYER("K") "]}"), ST_OK);
	first = extra(k);
	for (int i = 0; i < 50; i++) {
		snprintf(
		    text, sizeof(text), "{\"kinds\":[" PAYER("%d") "]}", i);
		assert_int_equal(take(k, text), ST_OK);
		assert_non_null(extra(k));
	}
	assert_string_equal(first, "\"feePayer\":\"K\"");
	assert_null(facilitator_kinds_extra(
	    k, 2, "exact", SOLANA, FACILITATOR_KINDS_EXTRAS));
	buf_adds(&b, "{\"kinds\":[");
	for (int i = 0; i < 2 * FACILITATOR_KINDS; i++)
		buf_addf(&b, KIND("2", "exact", "x:%d") ",", i);
	buf_adds(&b, "1]}");
	assert_int_equal(take(k, buf_cstr(&b)), ST_OK);
	assert_true(facilitator_kinds_offer(k, 2, "exact", "x:7", NULL));
	assert_false(facilitator_kinds_offer(k, 2, "exact", "x:511", NULL));
	/* Old ones make room. */
	assert_int_equal(
	    take(k, "{\"kinds\":[" KIND("2", "exact", BASE) "]}"), ST_OK);
	assert_true(offers(k));
	assert_false(facilitator_kinds_offer(k, 2, "exact", "x:7", NULL));
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(lists),
		T(extras),
		T(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
