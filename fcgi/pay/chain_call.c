#include "pay/chain_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/json.h"

#define PARAMS_BYTES 1024
#define STATE_SELECTOR "0xe94a0102"   /* authorizationState(address,bytes32) */
#define BALANCE_SELECTOR "0x70a08231" /* balanceOf(address) */

/* keccak-256 of the events' signatures (x402.md 3.4). */
const struct chain_hash chain_call_used = { { 0x98, 0xde, 0x50, 0x35, 0x28,
    0xee, 0x59, 0xb5, 0x75, 0xef, 0x0c, 0x0a, 0x25, 0x76, 0xa8, 0x24, 0x97,
    0xbf, 0xc0, 0x29, 0xa5, 0x68, 0x5b, 0x20, 0x9e, 0x9e, 0xc3, 0x33, 0x47,
    0x9b, 0x10, 0xa5 } };
const struct chain_hash chain_call_canceled = { { 0x1c, 0xdd, 0x46, 0xff, 0x24,
    0x27, 0x16, 0xcd, 0xaa, 0x72, 0xd1, 0x59, 0xd3, 0x39, 0xa4, 0x85, 0xb3,
    0x43, 0x83, 0x98, 0x34, 0x8d, 0x68, 0xf0, 0x9d, 0x7c, 0x8c, 0x0a, 0x59,
    0x35, 0x3d, 0x81 } };
const struct chain_hash chain_call_transfer = { { 0xdd, 0xf2, 0x52, 0xad, 0x1b,
    0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa, 0x95,
    0x2b, 0xa7, 0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5,
    0x23, 0xb3, 0xef } };

void
chain_call_word(struct chain_hash *out, const struct eth_address *a)
{
	memset(out->b, 0, sizeof(out->b) - sizeof(a->b));
	memcpy(out->b + sizeof(out->b) - sizeof(a->b), a->b, sizeof(a->b));
}

/* ---- writing parameters ---- */

static void
put_hex(struct buf *out, const uint8_t *bytes, size_t len)
{
	char text[2 * 32 + 1];

	hex_encode(text, bytes, len);
	buf_adds(out, text);
}

static void
put_hash(struct buf *out, const struct chain_hash *h)
{
	buf_adds(out, "\"0x");
	put_hex(out, h->b, sizeof(h->b));
	buf_addc(out, '"');
}

static void
put_address(struct buf *out, const struct eth_address *a)
{
	buf_adds(out, "\"0x");
	put_hex(out, a->b, sizeof(a->b));
	buf_addc(out, '"');
}

static void
put_block(struct buf *out, uint64_t number)
{
	if (number == CHAIN_CALL_HEAD)
		buf_adds(out, "\"latest\"");
	else
		buf_addf(out, "\"0x%llx\"", (unsigned long long)number);
}

/* ---- calls ---- */

static enum status
call(struct chain_call *c, const char *method, const struct buf *params,
    struct cJSON **tree, const struct cJSON **result)
{
	enum status st = buf_status(params);

	if (st != ST_OK)
		return st == ST_TOO_BIG ? ST_BUG : st;
	if (c->left == 0)
		return ST_TOO_BIG;
	c->left--;
	st = chain_rpc_call(
	    c->rpc, method, buf_cstr(params), c->deadline_ms, tree, result);
	return st == ST_OK && json_is_null(*result) ? ST_NOT_FOUND : st;
}

enum status
chain_call_id(struct chain_call *c, uint64_t *out)
{
	OWN_JSON struct cJSON *tree = NULL;
	const struct cJSON *v = NULL;
	OWN_BUF struct buf params;
	enum status st;

	buf_init(&params, PARAMS_BYTES);
	buf_adds(&params, "[]");
	st = call(c, "eth_chainId", &params, &tree, &v);
	return st == ST_OK ? chain_read_quantity(out, v) : st;
}

enum status
chain_call_block(struct chain_call *c, uint64_t number, struct chain_block *out)
{
	OWN_JSON struct cJSON *tree = NULL;
	const struct cJSON *v = NULL;
	OWN_BUF struct buf params;
	enum status st;

	buf_init(&params, PARAMS_BYTES);
	buf_addc(&params, '[');
	put_block(&params, number);
	buf_adds(&params, ",false]");
	st = call(c, "eth_getBlockByNumber", &params, &tree, &v);
	if (st == ST_OK)
		st = chain_read_block(out, v);
	if (st == ST_OK && number != CHAIN_CALL_HEAD && out->number != number)
		st = ST_FORMAT;
	return st;
}

enum status
chain_call_state(struct chain_call *c, const struct eth_address *token,
    const struct eth_address *from, const uint8_t nonce[32], uint64_t block,
    bool *used)
{
	OWN_JSON struct cJSON *tree = NULL;
	const struct cJSON *v = NULL;
	struct chain_hash word;
	OWN_BUF struct buf params;
	enum status st;

	chain_call_word(&word, from);
	buf_init(&params, PARAMS_BYTES);
	buf_adds(&params, "[{\"to\":");
	put_address(&params, token);
	buf_adds(&params, ",\"data\":\"" STATE_SELECTOR);
	put_hex(&params, word.b, sizeof(word.b));
	put_hex(&params, nonce, 32);
	buf_adds(&params, "\"},");
	put_block(&params, block);
	buf_addc(&params, ']');
	st = call(c, "eth_call", &params, &tree, &v);
	return st == ST_OK ? chain_read_bool(used, v) : st;
}

enum status
chain_call_balance(struct chain_call *c, const struct eth_address *token,
    const struct eth_address *holder, struct u256 *out)
{
	OWN_JSON struct cJSON *tree = NULL;
	const struct cJSON *v = NULL;
	struct chain_hash word;
	OWN_BUF struct buf params;
	enum status st;

	chain_call_word(&word, holder);
	buf_init(&params, PARAMS_BYTES);
	buf_adds(&params, "[{\"to\":");
	put_address(&params, token);
	buf_adds(&params, ",\"data\":\"" BALANCE_SELECTOR);
	put_hex(&params, word.b, sizeof(word.b));
	buf_adds(&params, "\"},");
	put_block(&params, CHAIN_CALL_HEAD);
	buf_addc(&params, ']');
	st = call(c, "eth_call", &params, &tree, &v);
	if (st == ST_OK)
		st = chain_read_hash(&word, v);
	if (st == ST_OK)
		memcpy(out->be, word.b, sizeof(out->be));
	return st;
}

bool
chain_call_about(const struct chain_log *l, const struct eth_address *token,
    const struct eth_address *from, const uint8_t nonce[32])
{
	struct chain_hash word;

	chain_call_word(&word, from);
	return eth_address_equal(&l->address, token) && l->n_topics == 3 &&
	       (chain_read_same(&l->topics[0], &chain_call_used) ||
		   chain_read_same(&l->topics[0], &chain_call_canceled)) &&
	       chain_read_same(&l->topics[1], &word) &&
	       memcmp(l->topics[2].b, nonce, 32) == 0;
}

enum status
chain_call_log(struct chain_call *c, const struct eth_address *token,
    const struct eth_address *from, const uint8_t nonce[32], uint64_t first,
    uint64_t last, struct chain_log *out)
{
	OWN_JSON struct cJSON *tree = NULL;
	const struct cJSON *v = NULL;
	struct chain_hash word;
	OWN_BUF struct buf params;
	enum status st;

	chain_call_word(&word, from);
	buf_init(&params, PARAMS_BYTES);
	buf_adds(&params, "[{\"address\":");
	put_address(&params, token);
	buf_adds(&params, ",\"topics\":[[");
	put_hash(&params, &chain_call_used);
	buf_addc(&params, ',');
	put_hash(&params, &chain_call_canceled);
	buf_adds(&params, "],");
	put_hash(&params, &word);
	buf_adds(&params, ",\"0x");
	put_hex(&params, nonce, 32);
	buf_adds(&params, "\"],\"fromBlock\":");
	put_block(&params, first);
	buf_adds(&params, ",\"toBlock\":");
	put_block(&params, last);
	buf_adds(&params, "}]");
	st = call(c, "eth_getLogs", &params, &tree, &v);
	/* No logs are an empty list. */
	if (st == ST_NOT_FOUND || (st == ST_OK && !json_is_array(v)))
		return ST_FORMAT;
	if (st == ST_OK && json_count(v) == 0)
		st = ST_NOT_FOUND;
	if (st != ST_OK)
		return st;
	/* A nonce is used up once. */
	if (json_count(v) != 1)
		return ST_FORMAT;
	st = chain_read_log(out, json_first(v));
	if (st == ST_OK && (!chain_call_about(out, token, from, nonce) ||
			       out->block < first || out->block > last))
		st = ST_FORMAT;
	return st;
}

/* ---- receipts ---- */

static enum status
read_logs(struct chain_receipt *out, const struct cJSON *logs,
    const struct chain_hash *transaction, const struct eth_address *token)
{
	const struct cJSON *v;
	struct chain_log *l;
	uint64_t after = 0;

	if (logs == NULL || !json_is_array(logs))
		return ST_FORMAT;
	out->logs = calloc(json_count(logs) + 1, sizeof(out->logs[0]));
	if (out->logs == NULL)
		return ST_NOMEM;
	for (v = json_first(logs); v != NULL; v = json_next(v)) {
		l = &out->logs[out->n_logs];
		if (chain_read_log(l, v) != ST_OK || l->block != out->block ||
		    l->index < after ||
		    !chain_read_same(&l->block_hash, &out->block_hash) ||
		    !chain_read_same(&l->transaction, transaction))
			return ST_FORMAT;
		after = l->index + 1;
		out->n_logs += eth_address_equal(&l->address, token) ? 1 : 0;
	}
	return ST_OK;
}

static enum status
read_receipt(struct chain_receipt *out, const struct cJSON *v,
    const struct chain_hash *transaction, const struct eth_address *token)
{
	struct chain_hash named;
	uint64_t good = 0;

	if (!json_is_object(v) ||
	    chain_read_quantity(&good, json_get(v, "status")) != ST_OK ||
	    good != 1 ||
	    chain_read_hash(&named, json_get(v, "transactionHash")) != ST_OK ||
	    !chain_read_same(&named, transaction) ||
	    chain_read_quantity(&out->block, json_get(v, "blockNumber")) !=
		ST_OK ||
	    chain_read_hash(&out->block_hash, json_get(v, "blockHash")) !=
		ST_OK)
		return ST_FORMAT;
	return read_logs(out, json_get(v, "logs"), transaction, token);
}

enum status
chain_call_receipt(struct chain_call *c, const struct chain_hash *transaction,
    const struct eth_address *token, struct chain_receipt *out)
{
	OWN_JSON struct cJSON *tree = NULL;
	const struct cJSON *v = NULL;
	OWN_BUF struct buf params;
	enum status st;

	memset(out, 0, sizeof(*out));
	buf_init(&params, PARAMS_BYTES);
	buf_addc(&params, '[');
	put_hash(&params, transaction);
	buf_addc(&params, ']');
	st = call(c, "eth_getTransactionReceipt", &params, &tree, &v);
	if (st == ST_OK)
		st = read_receipt(out, v, transaction, token);
	if (st != ST_OK)
		chain_call_receipt_free(out);
	return st;
}

void
chain_call_receipt_free(struct chain_receipt *r)
{
	free(r->logs);
	memset(r, 0, sizeof(*r));
}
