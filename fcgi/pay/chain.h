/*
 * What became of an EIP-3009 authorization, read from the chain itself
 * (x402.md 3.4) over a JSON-RPC that is not trusted further than it agrees
 * with itself. Read-only. Thread-safe.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/eth.h"

struct chain;

/* How to read one network. Texts are copied by chain_open(). */
struct chain_setting {
	const char *network; /* "eip155:8453" */
	const char *rpc_url; /* may hold a key: never shown */
	const char *ca_file; /* or NULL: the system's */
	/* A block counts once it and those upon it are this many. */
	uint64_t confirmations; /* at least 1 */
	/* Blocks that one eth_getLogs asks for; halved for as long as the node
	 * refuses, since many cap it. */
	uint64_t log_blocks;
};

/* Sends nothing yet. ST_OK; ST_FORMAT, logged: no EVM network; ST_NOMEM. */
enum status chain_open(struct chain **out, const struct chain_setting *s)
    __attribute__((warn_unused_result));
void chain_close(struct chain *c); /* NULL is fine */

/* The payment that is looked for. */
struct chain_ask {
	struct eth_address asset;
	struct eth_address from;
	uint8_t nonce[32];
	struct eth_address to;
	struct u256 value;
	uint64_t claimed;      /* Unix seconds: when we claimed it */
	uint64_t valid_before; /* Unix seconds */
};

/* What the chain says, as of the newest block with enough confirmations where
 * nothing else is said. */
enum chain_use {
	CHAIN_UNREAD, /* could not be asked, or its answers do not agree */
	CHAIN_UNUSED,
	CHAIN_FRESH,	/* used or cancelled in blocks that are too young */
	CHAIN_PAID,	/* used, and the transfer asked for came of it */
	CHAIN_CANCELED, /* by the payer: it can pay nobody any more */
	CHAIN_DIVERTED, /* the nonce was used for another transfer */
	CHAIN_EARLIER,	/* used or cancelled long before the claim */
	CHAIN_LOST,	/* used or cancelled, but no log says which */
	CHAIN_USE_MAX
};

#define CHAIN_TRANSACTION 67 /* 0x, 64 digits, NUL */
#define CHAIN_NOTE 96

struct chain_sight {
	enum chain_use use;
	char transaction[CHAIN_TRANSACTION]; /* PAID, CANCELED, DIVERTED */
	uint64_t log;	     /* in it, which says so: its number in the block */
	uint64_t block_time; /* of that transaction */
	uint64_t sure_time;  /* of the newest block that counts */
	uint64_t head_time;  /* of the newest block at all */
	char note[CHAIN_NOTE]; /* UNREAD: why, for the operator; else "" */
};

/* Look until deadline_ms (io_now_ms()), with a bounded number of calls. Always
 * fills *out. */
void chain_look(struct chain *c, const struct chain_ask *ask,
    int64_t deadline_ms, struct chain_sight *out);

/* How much of a token somebody holds, as of the newest block. ST_OK;
 * ST_CONFLICT: the node is another chain's; else as chain_rpc_call(). */
enum status chain_held(struct chain *c, const struct eth_address *token,
    const struct eth_address *holder, int64_t deadline_ms, struct u256 *out)
    __attribute__((warn_unused_result));

const char *chain_use_name(enum chain_use u); /* "unused" */

/* Does the node answer, and for this network? ST_OK; ST_CONFLICT: it is another
 * chain's; else as chain_rpc_call(). */
enum status chain_check(struct chain *c, int64_t deadline_ms)
    __attribute__((warn_unused_result));

#endif
