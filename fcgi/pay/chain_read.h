/* What a chain's node answers, as values: strict, and total over hostile
 * input. Pure. */
#ifndef CHAIN_READ_H
#define CHAIN_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "pay/eth.h"

#define CHAIN_READ_TOPICS 4
#define CHAIN_READ_DATA 32 /* bytes of a log's data that are of use */

struct cJSON;

struct chain_hash {
	uint8_t b[32];
};

struct chain_block {
	uint64_t number;
	uint64_t time; /* Unix seconds, as its maker says */
	struct chain_hash hash;
};

struct chain_log {
	struct eth_address address;
	struct chain_hash topics[CHAIN_READ_TOPICS];
	size_t n_topics;
	uint8_t data[CHAIN_READ_DATA];
	size_t data_len; /* as it came; data holds it only up to its size */
	uint64_t block;
	struct chain_hash block_hash;
	struct chain_hash transaction;
	uint64_t index; /* in its block */
};

/* All: ST_OK with *out, or ST_FORMAT. */

/* "0x1f4" of at most 64 bits. */
enum status chain_read_quantity(uint64_t *out, const struct cJSON *v)
    __attribute__((warn_unused_result));
/* "0x" and 64 digits. */
enum status chain_read_hash(struct chain_hash *out, const struct cJSON *v)
    __attribute__((warn_unused_result));
/* A word that is 0 or 1. */
enum status chain_read_bool(bool *out, const struct cJSON *v)
    __attribute__((warn_unused_result));
/* A block that is mined. */
enum status chain_read_block(struct chain_block *out, const struct cJSON *v)
    __attribute__((warn_unused_result));
/* A log of a block that is mined and has not been taken back. */
enum status chain_read_log(struct chain_log *out, const struct cJSON *v)
    __attribute__((warn_unused_result));

bool chain_read_same(const struct chain_hash *a, const struct chain_hash *b);

#endif
