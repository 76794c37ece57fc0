/* The few calls that reading an authorization takes, each one typed. */
#ifndef CHAIN_CALL_H
#define CHAIN_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/chain_read.h"
#include "pay/chain_rpc.h"

#define CHAIN_CALL_HEAD UINT64_MAX /* in place of a block's number */

/* One look: all its calls share these. */
struct chain_call {
	struct chain_rpc *rpc;
	int64_t deadline_ms;
	unsigned left; /* calls that may still be made */
};

/* All of them: ST_OK; ST_TOO_BIG when no call is left; ST_NOT_FOUND where the
 * node says null; else as chain_rpc_call(). */

enum status chain_call_id(struct chain_call *c, uint64_t *out)
    __attribute__((warn_unused_result));
/* The block of that number, or the newest. ST_FORMAT when another came. */
enum status chain_call_block(struct chain_call *c, uint64_t number,
    struct chain_block *out) __attribute__((warn_unused_result));
/* authorizationState(from, nonce) of the token at the block's end. */
enum status chain_call_state(struct chain_call *c,
    const struct eth_address *token, const struct eth_address *from,
    const uint8_t nonce[32], uint64_t block, bool *used)
    __attribute__((warn_unused_result));

/* balanceOf(holder) of the token in the newest block. */
enum status chain_call_balance(struct chain_call *c,
    const struct eth_address *token, const struct eth_address *holder,
    struct u256 *out) __attribute__((warn_unused_result));

/* What became of an authorization has one log, of one of two kinds. */
extern const struct chain_hash chain_call_used;
extern const struct chain_hash chain_call_canceled;
extern const struct chain_hash chain_call_transfer;

/* Is it a log of the token's about (from, nonce), USED or CANCELED? */
bool chain_call_about(const struct chain_log *l,
    const struct eth_address *token, const struct eth_address *from,
    const uint8_t nonce[32]);

/* Such a log in the blocks first to last: ST_OK with *out, ST_NOT_FOUND, or
 * ST_FORMAT (two, or what was not asked for). ST_REFUSED: too many blocks. */
enum status chain_call_log(struct chain_call *c,
    const struct eth_address *token, const struct eth_address *from,
    const uint8_t nonce[32], uint64_t first, uint64_t last,
    struct chain_log *out) __attribute__((warn_unused_result));

/* The token's logs of a transaction in their order (free them); others' are
 * left out. ST_FORMAT also where the transaction failed, or a log of it claims
 * to be another's or another block's. */
struct chain_receipt {
	uint64_t block;
	struct chain_hash block_hash;
	struct chain_log *logs;
	size_t n_logs;
};
enum status chain_call_receipt(struct chain_call *c,
    const struct chain_hash *transaction, const struct eth_address *token,
    struct chain_receipt *out) __attribute__((warn_unused_result));
void chain_call_receipt_free(struct chain_receipt *r);

/* An address as a topic or a word of a call. */
void chain_call_word(struct chain_hash *out, const struct eth_address *a);

#endif
