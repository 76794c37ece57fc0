/* Reading what became of an authorization, from nodes that are honest, capped,
 * pruned, behind, or lie. */
#include "chain_node.h"

#include "base/hex.h"
#include "base/io.h"
#include "base/log.h"
#include "pay/chain.h"

#define CLAIM_BLOCK 99000
#define WAIT_MS 10000

struct fixture {
	struct node node;
	struct chain *chain;
	struct chain_ask ask;
	struct chain_sight sight;
	char url[64];
};

static void
reopen(struct fixture *x, uint64_t confirmations, uint64_t log_blocks)
{
	const struct chain_setting s = { .network = "eip155:84532",
		.rpc_url = x->url,
		.confirmations = confirmations,
		.log_blocks = log_blocks };

	chain_close(x->chain);
	assert_int_equal(chain_open(&x->chain, &s), ST_OK);
}

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	node_start(&x->node);
	snprintf(x->url, sizeof(x->url), "http://127.0.0.1:%u/v1?key=s3cret",
	    x->node.port);
	reopen(x, 3, 1000);
	assert_int_equal(
	    eth_address_parse(&x->ask.asset, "0x" NODE_TOKEN), ST_OK);
	assert_int_equal(
	    eth_address_parse(&x->ask.from, "0x" NODE_FROM), ST_OK);
	assert_int_equal(eth_address_parse(&x->ask.to, "0x" NODE_TO), ST_OK);
	assert_int_equal(hex_decode(x->ask.nonce, 32, NODE_NONCE), ST_OK);
	x->ask.value = u256_from(10000);
	x->ask.claimed = NODE_TIME(CLAIM_BLOCK);
	x->ask.valid_before = NODE_TIME(NODE_HEAD) + 300;
	*state = x;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *x = *state;

	chain_close(x->chain);
	node_stop(&x->node);
	free(x);
	return 0;
}

static enum chain_use
look(struct fixture *x)
{
	x->node.calls = 0;
	chain_look(x->chain, &x->ask, io_now_ms() + WAIT_MS, &x->sight);
	assert_string_not_equal(chain_use_name(x->sight.use), "?");
	if ((x->sight.use == CHAIN_UNREAD) != (x->sight.note[0] != '\0'))
		fail_msg("%s: note \"%s\"", chain_use_name(x->sight.use),
		    x->sight.note);
	return x->sight.use;
}

/* The authorization was used in that block, by these logs; the first of them
 * is about it. */
static void
use(struct fixture *x, uint64_t block, const struct node_log *logs, size_t n)
{
	x->node.used_in = block;
	memcpy(x->node.logs, logs, n * sizeof(logs[0]));
	x->node.n_logs = n;
	x->node.used_at = 0;
}

static void
pay_in(struct fixture *x, uint64_t block)
{
	const struct node_log logs[] = { NODE_LOG_USED, NODE_LOG_PAID };

	use(x, block, logs, 2);
}

static void
unused(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(look(x), CHAIN_UNUSED);
	assert_int_equal(x->sight.head_time, NODE_TIME(NODE_HEAD));
	assert_int_equal(x->sight.sure_time, NODE_TIME(NODE_HEAD - 2));
	/* Past its end the logs are read too. */
	x->ask.valid_before = NODE_TIME(CLAIM_BLOCK) + 300;
	assert_int_equal(look(x), CHAIN_UNUSED);
}

static void
paid(void **state)
{
	struct fixture *x = *state;

	pay_in(x, CLAIM_BLOCK + 2);
	assert_int_equal(look(x), CHAIN_PAID);
	assert_string_equal(x->sight.transaction, "0x" NODE_TXN);
	assert_int_equal(x->sight.block_time, NODE_TIME(CLAIM_BLOCK + 2));
	assert_int_equal(x->sight.log, 3);
	/* Also where its time is over by now. */
	x->ask.valid_before = NODE_TIME(CLAIM_BLOCK) + 300;
	assert_int_equal(look(x), CHAIN_PAID);
	assert_true(x->node.calls < 30);
}

static void
confirmations_count(void **state)
{
	struct fixture *x = *state;

	pay_in(x, NODE_HEAD - 2);
	assert_int_equal(look(x), CHAIN_PAID);
	pay_in(x, NODE_HEAD - 1);
	assert_int_equal(look(x), CHAIN_FRESH);
	pay_in(x, NODE_HEAD);
	assert_int_equal(look(x), CHAIN_FRESH);
	reopen(x, 1, 1000);
	assert_int_equal(look(x), CHAIN_PAID);
}

static void
other_uses(void **state)
{
	static const struct node_log canceled[] = { NODE_LOG_CANCELED };
	static const struct node_log to_another[] = { NODE_LOG_USED,
		{ NODE_TOKEN, NODE_TRANSFER, NODE_PAD NODE_FROM,
		    NODE_PAD NODE_OTHER, 10000 } };
	static const struct node_log less[] = { NODE_LOG_USED,
		{ NODE_TOKEN, NODE_TRANSFER, NODE_PAD NODE_FROM,
		    NODE_PAD NODE_TO, 9999 } };
	static const struct node_log other_token[] = { NODE_LOG_USED,
		{ NODE_OTHER, NODE_TRANSFER, NODE_PAD NODE_FROM,
		    NODE_PAD NODE_TO, 10000 } };
	static const struct node_log nothing[] = { NODE_LOG_USED };
	struct fixture *x = *state;

	use(x, CLAIM_BLOCK + 2, canceled, 1);
	assert_int_equal(look(x), CHAIN_CANCELED);
	use(x, CLAIM_BLOCK + 2, to_another, 2);
	assert_int_equal(look(x), CHAIN_DIVERTED);
	use(x, CLAIM_BLOCK + 2, less, 2);
	assert_int_equal(look(x), CHAIN_DIVERTED);
	use(x, CLAIM_BLOCK + 2, other_token, 2);
	assert_int_equal(look(x), CHAIN_DIVERTED);
	use(x, CLAIM_BLOCK + 2, nothing, 1);
	assert_int_equal(look(x), CHAIN_DIVERTED);
}

/* Several payments in one transaction: each has the transfer behind it. */
static void
batches(void **state)
{
	static const struct node_log used2 = { NODE_TOKEN, NODE_USED,
		NODE_PAD NODE_FROM, NODE_NONCE2, 0 };
	static const struct node_log small = { NODE_TOKEN, NODE_TRANSFER,
		NODE_PAD NODE_FROM, NODE_PAD NODE_OTHER, 1 };
	struct fixture *x = *state;
	struct node_log logs[] = { used2, NODE_LOG_PAID, NODE_LOG_USED,
		NODE_LOG_PAID };

	use(x, CLAIM_BLOCK + 2, logs, 4);
	x->node.used_at = 2;
	assert_int_equal(look(x), CHAIN_PAID);
	/* The other one paid, ours went elsewhere: not ours, but not proved. */
	logs[3] = small;
	use(x, CLAIM_BLOCK + 2, logs, 4);
	x->node.used_at = 2;
	assert_int_equal(look(x), CHAIN_LOST);
	/* A token that tells of the transfer first. */
	logs[0] = NODE_LOG_PAID;
	logs[1] = NODE_LOG_USED;
	use(x, CLAIM_BLOCK + 2, logs, 2);
	x->node.used_at = 1;
	assert_int_equal(look(x), CHAIN_PAID);
}

static void
before_the_claim(void **state)
{
	struct fixture *x = *state;

	/* Found, and told when: the order is for others to judge. */
	pay_in(x, CLAIM_BLOCK - 10);
	assert_int_equal(look(x), CHAIN_PAID);
	assert_int_equal(x->sight.block_time, NODE_TIME(CLAIM_BLOCK - 10));
	pay_in(x, 1000);
	assert_int_equal(look(x), CHAIN_EARLIER);
	x->node.pruned = NODE_HEAD - 128;
	assert_int_equal(look(x), CHAIN_LOST);
}

static void
capped_nodes(void **state)
{
	struct fixture *x = *state;
	unsigned calls;

	pay_in(x, CLAIM_BLOCK + 200);
	x->node.log_cap = 100;
	assert_int_equal(look(x), CHAIN_PAID);
	calls = x->node.calls;
	/* What a node takes is remembered. */
	assert_int_equal(look(x), CHAIN_PAID);
	assert_true(x->node.calls < calls);
	/* Not without an end. */
	x->node.log_cap = 1;
	assert_int_equal(look(x), CHAIN_UNREAD);
	assert_true(x->node.calls < 100);
}

/* A node that is busy for a while, or refuses for a reason that passes, is read
 * as before once it is well. */
static const char *limit; /* what it says to eth_getLogs */

static const char *
limited(struct node *n, const char *method, const char *body)
{
	(void)n;
	(void)body;
	return strcmp(method, "eth_getLogs") == 0 ? limit : NULL;
}

#define SAYS(code, message)                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":" code           \
	",\"message\":\"" message "\"}}"

static void
busy_nodes(void **state)
{
	static const char *const busy[] = {
		"=" SAYS("-32005", "limit exceeded"),
		"=" SAYS("-32005", "daily request count exceeded"),
		"=" SAYS("-32029", "too many requests for these results"),
		"#" SAYS("-32000", "block range too large"),
		"#slow down",
	};
	struct fixture *x = *state;
	unsigned calls;

	pay_in(x, CLAIM_BLOCK + 200);
	assert_int_equal(look(x), CHAIN_PAID);
	calls = x->node.calls;
	for (size_t i = 0; i < sizeof(busy) / sizeof(busy[0]); i++) {
		limit = busy[i];
		x->node.twist = limited;
		assert_int_equal(look(x), CHAIN_UNREAD);
		assert_non_null(strstr(x->sight.note, "no more calls"));
		/* It was asked once, and not for less. */
		assert_true(x->node.calls <= calls);
		x->node.twist = NULL;
		assert_int_equal(look(x), CHAIN_PAID);
		assert_int_equal(x->node.calls, calls);
	}
}

/* The same code with another meaning. */
static const char *
many_results(struct node *n, const char *method, const char *body)
{
	return strcmp(method, "eth_getLogs") == 0 &&
		       node_number(body, "toBlock") -
			       node_number(body, "fromBlock") >=
			   n->log_cap
		   ? "=" SAYS("-32005", "query returned more than 10000 "
					"results")
		   : NULL;
}

static void
caps_by_another_code(void **state)
{
	struct fixture *x = *state;

	pay_in(x, CLAIM_BLOCK + 200);
	x->node.log_cap = 100;
	x->node.twist = many_results;
	assert_int_equal(look(x), CHAIN_PAID);
}

/* Refusals that pass: what they made small grows again. */
static void
a_small_piece_grows(void **state)
{
	struct fixture *x = *state;
	unsigned calls;

	pay_in(x, CLAIM_BLOCK + 200);
	assert_int_equal(look(x), CHAIN_PAID);
	calls = x->node.calls;
	x->node.log_cap = 8;
	(void)look(x);
	x->node.log_cap = 0;
	for (unsigned i = 0; i < 8; i++)
		(void)look(x);
	assert_int_equal(look(x), CHAIN_PAID);
	assert_int_equal(x->node.calls, calls);
}

/* A claim of hours ago on a node that takes ten blocks at once: what the search
 * stepped over must not use the calls up. */
static void
an_old_claim(void **state)
{
	struct fixture *x = *state;
	const uint64_t claimed = NODE_HEAD - 16500;

	reopen(x, 3, 10);
	x->ask.claimed = NODE_TIME(claimed);
	x->ask.valid_before = x->ask.claimed + 300;
	pay_in(x, claimed + 40);
	assert_int_equal(look(x), CHAIN_PAID);
}

/* ---- nodes that lie ---- */

static const char *
first_block_only(struct node *n, const char *method, const char *body)
{
	(void)n;
	return strcmp(method, "eth_getBlockByNumber") == 0 &&
		       strstr(body, "latest") == NULL
		   ? "{\"number\":\"0x1\",\"timestamp\":\"0x1\",\"hash\":"
		     "\"0x" NODE_NONCE "\"}"
		   : NULL;
}

/* The confirmed block's hash is another one when it is asked for again. */
static const char *
reorganised(struct node *n, const char *method, const char *body)
{
	static char text[256];

	if (strcmp(method, "eth_getBlockByNumber") != 0 || n->calls < 5 ||
	    node_number(body, "params\":[") != NODE_HEAD - 2)
		return NULL;
	snprintf(text, sizeof(text),
	    "{\"number\":\"0x%x\",\"timestamp\":\"0x1\",\"hash\":\"0x" NODE_TXN
	    "\"}",
	    NODE_HEAD - 2);
	return text;
}

#define LIE(fn, of, text)                                                      \
	static const char *fn(                                                 \
	    struct node *n, const char *method, const char *body)              \
	{                                                                      \
		(void)n;                                                       \
		(void)body;                                                    \
		return strcmp(method, of) == 0 ? text : NULL;                  \
	}

LIE(other_chain, "eth_chainId", "\"0x1\"")
LIE(chain_beyond, "eth_chainId", "\"0x14a34000000000000\"")
LIE(chain_number, "eth_chainId", "84532")
LIE(chain_bare, "eth_chainId", "\"0x\"")
LIE(state_short, "eth_call", "\"0x1\"")
LIE(state_two, "eth_call",
    "\"0x0000000000000000000000000000000000000000000000000000000000000002\"")
LIE(state_high, "eth_call",
    "\"0x1000000000000000000000000000000000000000000000000000000000000001\"")
LIE(state_refused, "eth_call", "!execution reverted")
LIE(logs_object, "eth_getLogs", "{}")
LIE(logs_null, "eth_getLogs", "null")
LIE(logs_junk, "eth_getLogs", "[1]")
LIE(logs_two, "eth_getLogs", "[{},{}]")
LIE(receipt_null, "eth_getTransactionReceipt", "null")
LIE(receipt_empty, "eth_getTransactionReceipt", "{}")
LIE(not_json, "eth_chainId", "=<html>")
LIE(no_version, "eth_chainId", "={\"id\":1,\"result\":\"0x14a34\"}")
LIE(old_id, "eth_chainId",
    "={\"jsonrpc\":\"2.0\",\"id\":0,\"result\":\"0x14a34\"}")
LIE(no_result, "eth_chainId", "={\"jsonrpc\":\"2.0\",\"id\":1}")
LIE(text_error, "eth_chainId", "={\"jsonrpc\":\"2.0\",\"error\":\"x\"}")
LIE(twice, "eth_chainId",
    "={\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0x14a34\",\"result\":1}")
LIE(block_null, "eth_getBlockByNumber", "null")
LIE(block_text, "eth_getBlockByNumber", "\"0x1\"")
LIE(block_no_time, "eth_getBlockByNumber",
    "{\"number\":\"0x1\",\"hash\":\"0x" NODE_TXN "\"}")

static void
liars(void **state)
{
	static const struct {
		const char *name;
		const char *(*twist)(
		    struct node *n, const char *method, const char *body);
	} cases[] = { { "other_chain", other_chain },
		{ "chain_beyond", chain_beyond },
		{ "chain_number", chain_number }, { "chain_bare", chain_bare },
		{ "state_short", state_short }, { "state_two", state_two },
		{ "state_high", state_high },
		{ "state_refused", state_refused },
		{ "logs_object", logs_object }, { "logs_null", logs_null },
		{ "logs_junk", logs_junk }, { "logs_two", logs_two },
		{ "receipt_null", receipt_null },
		{ "receipt_empty", receipt_empty }, { "not_json", not_json },
		{ "no_version", no_version }, { "old_id", old_id },
		{ "no_result", no_result }, { "text_error", text_error },
		{ "twice", twice }, { "block_null", block_null },
		{ "block_text", block_text },
		{ "block_no_time", block_no_time },
		{ "first_block_only", first_block_only },
		{ "reorganised", reorganised } };
	struct fixture *x = *state;

	pay_in(x, CLAIM_BLOCK + 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		x->node.twist = cases[i].twist;
		if (look(x) != CHAIN_UNREAD)
			fail_msg("%s: %s", cases[i].name,
			    chain_use_name(x->sight.use));
		x->node.twist = NULL;
		assert_int_equal(look(x), CHAIN_PAID);
	}
}

LIE(never_used, "eth_call",
    "\"0x0000000000000000000000000000000000000000000000000000000000000000\"")

/* "Unused" past the end would free the payer: a log must not say otherwise. */
static void
unused_against_its_log(void **state)
{
	struct fixture *x = *state;

	pay_in(x, CLAIM_BLOCK + 2);
	x->ask.valid_before = NODE_TIME(CLAIM_BLOCK) + 300;
	x->node.twist = never_used;
	assert_int_equal(look(x), CHAIN_UNREAD);
}

/* A receipt that does not hold the log, or not as the log had it. */
static void
receipts_that_do_not_agree(void **state)
{
	static const struct node_log other[] = {
		{ NODE_TOKEN, NODE_USED, NODE_PAD NODE_FROM, NODE_NONCE2, 0 },
		NODE_LOG_PAID, NODE_LOG_USED
	};
	struct fixture *x = *state;

	pay_in(x, CLAIM_BLOCK + 2);
	memcpy(x->node.logs, other, sizeof(other));
	x->node.n_logs = 2;
	x->node.used_at = 2; /* found by its topics, and not in the receipt */
	assert_int_equal(look(x), CHAIN_UNREAD);
}

static void
nobody_there(void **state)
{
	struct fixture *x = *state;
	int64_t begin = io_now_ms();

	x->node.twist = NULL;
	chain_look(x->chain, &x->ask, begin - 1, &x->sight);
	assert_int_equal(x->sight.use, CHAIN_UNREAD);
	snprintf(x->url, sizeof(x->url), "http://127.0.0.1:1/");
	reopen(x, 1, 10);
	assert_int_equal(look(x), CHAIN_UNREAD);
	assert_int_equal(chain_check(x->chain, io_now_ms() + WAIT_MS), ST_IO);
}

static void
checks(void **state)
{
	struct fixture *x = *state;
	struct chain *c = NULL;

	assert_int_equal(chain_check(x->chain, io_now_ms() + WAIT_MS), ST_OK);
	x->node.twist = other_chain;
	assert_int_equal(
	    chain_check(x->chain, io_now_ms() + WAIT_MS), ST_CONFLICT);
	assert_int_equal(
	    chain_open(&c, &(struct chain_setting){ .network = "solana:x",
			       .rpc_url = x->url,
			       .confirmations = 1,
			       .log_blocks = 1 }),
	    ST_FORMAT);
	assert_null(c);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(unused),
		T(paid),
		T(confirmations_count),
		T(other_uses),
		T(batches),
		T(before_the_claim),
		T(capped_nodes),
		T(busy_nodes),
		T(caps_by_another_code),
		T(a_small_piece_grows),
		T(an_old_claim),
		T(liars),
		T(unused_against_its_log),
		T(receipts_that_do_not_agree),
		T(nobody_there),
		T(checks),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
