/*
 * How a look goes. Everything is read as of one block, the newest that has
 * enough confirmations:
 *
 *   chain id -> newest block -> the block that counts -> authorizationState
 *   false: unused (or fresh, if the newest block says true)
 *   true:  block of the claim's time -> the log, in pieces that the node takes
 *          -> its block -> cancelled, or the receipt and its transfer
 *   -> is the block that counts still the same one?
 *
 * A node may lie, lag behind, or be several behind one name. What one answer
 * says, another has to bear out; where they differ nothing is known.
 */
#include "pay/chain.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/chain_call.h"

#define CALLS 96      /* of one look */
#define BACK 128      /* first step back from the newest block, doubling */
#define BEFORE_S 120  /* logs are sought from so long before the claim */
#define LEAST_LOGS 8u /* blocks of one eth_getLogs */
#define WHO_BYTES 96

struct chain {
	struct chain_rpc *rpc;
	uint64_t id;
	uint64_t confirmations;
	uint64_t most_blocks;	     /* of one eth_getLogs, as it was set */
	_Atomic uint64_t log_blocks; /* with which the next look begins */
	char who[WHO_BYTES];
};

/* One look. */
struct look {
	struct chain *chain;
	const struct chain_ask *ask;
	struct chain_sight *out;
	struct chain_call call;
	struct chain_block head;
	struct chain_block sure; /* the newest block that counts */
};

enum status
chain_open(struct chain **out, const struct chain_setting *s)
{
	struct chain *c = NULL;
	struct u256 id;
	enum status st;

	*out = NULL;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return ST_NOMEM;
	snprintf(c->who, sizeof(c->who), "rpc of %s", s->network);
	c->confirmations = s->confirmations;
	c->most_blocks = s->log_blocks;
	atomic_store(&c->log_blocks, s->log_blocks);
	if (eth_chain_id(&id, s->network) != ST_OK ||
	    !u256_fits64(&c->id, &id)) {
		log_err("%s: only EVM networks (eip155:…) can be read", c->who);
		free(c);
		return ST_FORMAT;
	}
	st = chain_rpc_open(&c->rpc, c->who, s->rpc_url, s->ca_file);
	if (st == ST_OK)
		*out = OWN_STEAL(c);
	chain_close(c);
	return st;
}

void
chain_close(struct chain *c)
{
	if (c == NULL)
		return;
	chain_rpc_close(c->rpc);
	free(c);
}

/* ---- what cannot be read ---- */

static void
unread(struct look *l, const char *note)
{
	l->out->use = CHAIN_UNREAD;
	snprintf(l->out->note, sizeof(l->out->note), "%s", note);
}

/* True if the call went well; else the sight says what did not. */
static bool
went(struct look *l, enum status st, const char *what)
{
	const char *why = "failed";

	if (st == ST_OK)
		return true;
	if (st == ST_FORMAT)
		why = "gave what is no answer";
	else if (st == ST_NOT_FOUND)
		why = "knows nothing";
	else if (st == ST_REFUSED)
		why = "refused";
	else if (st == ST_SERVICE_BUSY)
		why = "takes no more calls for now";
	else if (st == ST_TOO_BIG)
		why = "would take too many calls";
	else if (st == ST_TIMEOUT)
		why = "came too late";
	l->out->use = CHAIN_UNREAD;
	snprintf(
	    l->out->note, sizeof(l->out->note), "%s: the RPC %s", what, why);
	return false;
}

/* ---- the frame: which block counts ---- */

static bool
find_sure(struct look *l)
{
	uint64_t id = 0, deep = l->chain->confirmations - 1;

	if (!went(l, chain_call_id(&l->call, &id), "chain id"))
		return false;
	if (id != l->chain->id) {
		log_err("%s: it is chain %" PRIu64 "'s", l->chain->who, id);
		unread(l, "the RPC is another chain's");
		return false;
	}
	if (!went(l, chain_call_block(&l->call, CHAIN_CALL_HEAD, &l->head),
		"newest block"))
		return false;
	l->sure = l->head;
	if (l->head.number < deep) {
		unread(l, "the chain is too short");
		return false;
	}
	if (deep > 0 &&
	    !went(l,
		chain_call_block(&l->call, l->head.number - deep, &l->sure),
		"confirmed block"))
		return false;
	if (l->sure.time > l->head.time) {
		unread(l, "the RPC's blocks are not in order");
		return false;
	}
	l->out->sure_time = l->sure.time;
	l->out->head_time = l->head.time;
	return true;
}

static bool
still_sure(struct look *l)
{
	struct chain_block again;

	if (!went(l, chain_call_block(&l->call, l->sure.number, &again),
		"confirmed block"))
		return false;
	if (chain_read_same(&again.hash, &l->sure.hash))
		return true;
	unread(l, "the chain was reorganised meanwhile");
	return false;
}

static enum status
state_at(struct look *l, uint64_t block, bool *used)
{
	return chain_call_state(&l->call, &l->ask->asset, &l->ask->from,
	    l->ask->nonce, block, used);
}

/* ---- the log ---- */

/* A block of before the claim, not much earlier than need be: what is stepped
 * over may take more calls to read than a look has. */
static enum status
find_first(struct look *l, struct chain_block *out)
{
	uint64_t until =
	    l->ask->claimed > BEFORE_S ? l->ask->claimed - BEFORE_S : 0;
	uint64_t late = l->sure.number; /* a block that is not early enough */
	struct chain_block b;
	enum status st = ST_OK;

	*out = l->sure;
	for (uint64_t back = BACK;
	     st == ST_OK && out->time > until && out->number > 0; back *= 2) {
		uint64_t number = out->number > back ? out->number - back : 0;

		late = out->number;
		st = chain_call_block(&l->call, number, out);
	}
	while (st == ST_OK && late - out->number > BACK) {
		st = chain_call_block(
		    &l->call, out->number + (late - out->number) / 2, &b);
		if (st == ST_OK && b.time > until)
			late = b.number;
		else if (st == ST_OK)
			*out = b;
	}
	return st;
}

/* A block by whose time the authorization is over, or the sure one. */
static enum status
find_last(struct look *l, const struct chain_block *first, uint64_t *last)
{
	struct chain_block b = *first;
	enum status st = ST_OK;

	*last = l->sure.number;
	if (l->sure.time < l->ask->valid_before)
		return ST_OK;
	for (uint64_t on = BACK; st == ST_OK && b.time < l->ask->valid_before &&
				 l->sure.number - b.number > on;
	     on *= 2)
		st = chain_call_block(&l->call, b.number + on, &b);
	if (st == ST_OK && b.time >= l->ask->valid_before)
		*last = b.number;
	return st;
}

/* What a node took is where the next look begins, at twice that: a refusal can
 * have had another reason, and must not make all later looks too long. */
static void
remember(struct chain *c, uint64_t step)
{
	atomic_store(&c->log_blocks,
	    step > c->most_blocks / 2 ? c->most_blocks : 2 * step);
}

/* The log of the authorization in blocks first to last, in pieces. */
static enum status
find_between(
    struct look *l, uint64_t first, uint64_t last, struct chain_log *out)
{
	uint64_t step = atomic_load(&l->chain->log_blocks);
	enum status st = ST_NOT_FOUND;

	while (st == ST_NOT_FOUND && first <= last) {
		uint64_t to = last - first < step ? last : first + step - 1;

		st = chain_call_log(&l->call, &l->ask->asset, &l->ask->from,
		    l->ask->nonce, first, to, out);
		if (st == ST_REFUSED && step > LEAST_LOGS) {
			step /= 2;
			st = ST_NOT_FOUND;
			continue;
		}
		if (st == ST_OK || st == ST_NOT_FOUND)
			remember(l->chain, step);
		first = to + 1;
	}
	return st;
}

/* The log in all blocks in which a payment that we had claimed can stand.
 * ST_NOT_FOUND: there is none; *first is the block the search began at. */
static enum status
find_log(struct look *l, struct chain_log *out, uint64_t *first)
{
	struct chain_block begin;
	uint64_t last = 0;
	enum status st = find_first(l, &begin);

	*first = begin.number;
	if (st == ST_OK)
		st = find_last(l, &begin, &last);
	if (st == ST_NOT_FOUND)
		return ST_FORMAT; /* a block that must be there */
	if (st != ST_OK)
		return st;
	return find_between(l, begin.number, last, out);
}

/* ---- what the log means ---- */

static bool
pays(const struct look *l, const struct chain_log *t)
{
	struct chain_hash from, to;

	chain_call_word(&from, &l->ask->from);
	chain_call_word(&to, &l->ask->to);
	return t->n_topics == 3 && chain_read_same(&t->topics[1], &from) &&
	       chain_read_same(&t->topics[2], &to) &&
	       t->data_len == sizeof(l->ask->value.be) &&
	       memcmp(t->data, l->ask->value.be, t->data_len) == 0;
}

static bool
is(const struct chain_log *log, const struct chain_hash *event)
{
	return log->n_topics > 0 && chain_read_same(&log->topics[0], event);
}

/* The transfer that belongs to a use is the token's next log, or the only one
 * that can: a transaction may hold several payments. */
static enum chain_use
use_of(const struct look *l, const struct chain_receipt *r, size_t used)
{
	size_t uses = 0, paying = 0;

	for (size_t i = 0; i < r->n_logs; i++) {
		bool good = is(&r->logs[i], &chain_call_transfer) &&
			    pays(l, &r->logs[i]);

		if (good && i == used + 1)
			return CHAIN_PAID;
		paying += good ? 1 : 0;
		uses += is(&r->logs[i], &chain_call_used) ? 1 : 0;
	}
	if (paying == 0)
		return CHAIN_DIVERTED;
	return uses == 1 ? CHAIN_PAID : CHAIN_LOST;
}

static void
read_use(struct look *l, const struct chain_log *used)
{
	struct chain_receipt r;
	size_t i = 0;

	if (!went(l,
		chain_call_receipt(
		    &l->call, &used->transaction, &l->ask->asset, &r),
		"receipt"))
		return;
	while (i < r.n_logs && (r.logs[i].index != used->index ||
				   !is(&r.logs[i], &chain_call_used) ||
				   !chain_call_about(&r.logs[i], &l->ask->asset,
				       &l->ask->from, l->ask->nonce)))
		i++;
	if (i < r.n_logs && r.block == used->block &&
	    chain_read_same(&r.block_hash, &used->block_hash))
		l->out->use = use_of(l, &r, i);
	else
		unread(l, "log and receipt do not agree");
	chain_call_receipt_free(&r);
}

static void
read_log(struct look *l, const struct chain_log *log)
{
	struct chain_block block;

	if (!went(l, chain_call_block(&l->call, log->block, &block),
		"the log's block"))
		return;
	if (!chain_read_same(&block.hash, &log->block_hash)) {
		unread(l, "log and block do not agree");
		return;
	}
	l->out->block_time = block.time;
	l->out->log = log->index;
	memcpy(l->out->transaction, "0x", 2);
	hex_encode(l->out->transaction + 2, log->transaction.b,
	    sizeof(log->transaction.b));
	if (is(log, &chain_call_canceled))
		l->out->use = CHAIN_CANCELED;
	else
		read_use(l, log);
}

/* Used, and no log since the claim: was it so before? Nodes that keep no old
 * states cannot tell. */
static void
read_earlier(struct look *l, uint64_t first)
{
	bool used = false;

	if (first > 0 && state_at(l, first, &used) == ST_OK && used)
		l->out->use = CHAIN_EARLIER;
	else
		l->out->use = CHAIN_LOST;
}

static void
read_used(struct look *l)
{
	struct chain_log log = { .n_topics = 0 };
	uint64_t first = 0;
	enum status st = find_log(l, &log, &first);

	if (st == ST_NOT_FOUND)
		read_earlier(l, first);
	else if (went(l, st, "logs"))
		read_log(l, &log);
}

/* Past its time "unused" is for good and will be acted upon, so a log must not
 * say otherwise. */
static void
read_unused(struct look *l)
{
	struct chain_log log = { .n_topics = 0 };
	uint64_t first = 0;
	bool used = false;
	enum status st;

	l->out->use = CHAIN_UNUSED;
	if (l->sure.time >= l->ask->valid_before) {
		st = find_log(l, &log, &first);
		if (st == ST_OK)
			unread(l, "state and logs do not agree");
		else if (st != ST_NOT_FOUND)
			(void)went(l, st, "logs");
	} else if (l->head.number > l->sure.number &&
		   went(
		       l, state_at(l, l->head.number, &used), "newest state") &&
		   used) {
		l->out->use = CHAIN_FRESH;
	}
}

void
chain_look(struct chain *c, const struct chain_ask *ask, int64_t deadline_ms,
    struct chain_sight *out)
{
	struct look l = { .chain = c,
		.ask = ask,
		.out = out,
		.call = { .rpc = c->rpc,
		    .deadline_ms = deadline_ms,
		    .left = CALLS } };
	bool used = false;

	memset(out, 0, sizeof(*out));
	if (!find_sure(&l) ||
	    !went(&l, state_at(&l, l.sure.number, &used), "state"))
		return;
	if (used)
		read_used(&l);
	else
		read_unused(&l);
	if (out->use != CHAIN_UNREAD)
		(void)still_sure(&l);
}

enum status
chain_check(struct chain *c, int64_t deadline_ms)
{
	struct chain_call call = {
		.rpc = c->rpc, .deadline_ms = deadline_ms, .left = 1
	};
	uint64_t id = 0;
	enum status st = chain_call_id(&call, &id);

	return st == ST_OK && id != c->id ? ST_CONFLICT : st;
}

enum status
chain_held(struct chain *c, const struct eth_address *token,
    const struct eth_address *holder, int64_t deadline_ms, struct u256 *out)
{
	struct chain_call call = {
		.rpc = c->rpc, .deadline_ms = deadline_ms, .left = 1
	};
	enum status st = chain_check(c, deadline_ms);

	return st == ST_OK ? chain_call_balance(&call, token, holder, out) : st;
}

const char *
chain_use_name(enum chain_use u)
{
	switch (u) {
	case CHAIN_UNREAD:
		return "unread";
	case CHAIN_UNUSED:
		return "unused";
	case CHAIN_FRESH:
		return "fresh";
	case CHAIN_PAID:
		return "paid";
	case CHAIN_CANCELED:
		return "canceled";
	case CHAIN_DIVERTED:
		return "diverted";
	case CHAIN_EARLIER:
		return "earlier";
	case CHAIN_LOST:
		return "lost";
	case CHAIN_USE_MAX:
		break;
	}
	return "?";
}
