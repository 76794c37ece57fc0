#include "pay/chain_read.h"

#include <string.h>

#include "base/hex.h"
#include "base/json.h"

#define QUANTITY_DIGITS 16
#define DATA_CHARS (64u << 10) /* of a log that is only measured */

/* A string member, or NULL. */
static const char *
text(const struct cJSON *v)
{
	return v != NULL ? json_string(v) : NULL;
}

static bool
hex_digits(const char *s, size_t *len)
{
	*len = strspn(s, "0123456789abcdefABCDEF");
	return s[*len] == '\0';
}

enum status
chain_read_quantity(uint64_t *out, const struct cJSON *v)
{
	const char *s = text(v);
	uint8_t bytes[QUANTITY_DIGITS / 2];
	char whole[QUANTITY_DIGITS + 1];
	uint64_t n = 0;
	size_t len;

	if (s == NULL || strncmp(s, "0x", 2) != 0 || !hex_digits(s + 2, &len) ||
	    len == 0 || len > QUANTITY_DIGITS)
		return ST_FORMAT;
	memset(whole, '0', QUANTITY_DIGITS);
	memcpy(whole + QUANTITY_DIGITS - len, s + 2, len + 1);
	if (hex_decode(bytes, sizeof(bytes), whole) != ST_OK)
		return ST_FORMAT;
	for (size_t i = 0; i < sizeof(bytes); i++)
		n = n << 8 | bytes[i];
	*out = n;
	return ST_OK;
}

enum status
chain_read_hash(struct chain_hash *out, const struct cJSON *v)
{
	const char *s = text(v);

	return s != NULL ? hex_decode0x(out->b, sizeof(out->b), s) : ST_FORMAT;
}

enum status
chain_read_bool(bool *out, const struct cJSON *v)
{
	static const struct chain_hash zero;
	struct chain_hash word;
	uint8_t last;

	if (chain_read_hash(&word, v) != ST_OK)
		return ST_FORMAT;
	last = word.b[sizeof(word.b) - 1];
	word.b[sizeof(word.b) - 1] = 0;
	if (!chain_read_same(&word, &zero) || last > 1)
		return ST_FORMAT;
	*out = last == 1;
	return ST_OK;
}

enum status
chain_read_block(struct chain_block *out, const struct cJSON *v)
{
	if (v == NULL || !json_is_object(v))
		return ST_FORMAT;
	if (chain_read_quantity(&out->number, json_get(v, "number")) != ST_OK ||
	    chain_read_quantity(&out->time, json_get(v, "timestamp")) !=
		ST_OK ||
	    chain_read_hash(&out->hash, json_get(v, "hash")) != ST_OK)
		return ST_FORMAT;
	return ST_OK;
}

static enum status
read_topics(struct chain_log *out, const struct cJSON *topics)
{
	const struct cJSON *t;

	if (topics == NULL || !json_is_array(topics))
		return ST_FORMAT;
	out->n_topics = 0;
	for (t = json_first(topics); t != NULL; t = json_next(t)) {
		if (out->n_topics == CHAIN_READ_TOPICS ||
		    chain_read_hash(&out->topics[out->n_topics], t) != ST_OK)
			return ST_FORMAT;
		out->n_topics++;
	}
	return ST_OK;
}

/* Data that is larger than what we read of any log is only measured. */
static enum status
read_data(struct chain_log *out, const struct cJSON *v)
{
	const char *s = text(v);
	size_t len;

	if (s == NULL || strncmp(s, "0x", 2) != 0 || !hex_digits(s + 2, &len) ||
	    len % 2 != 0 || len > DATA_CHARS)
		return ST_FORMAT;
	out->data_len = len / 2;
	if (out->data_len > sizeof(out->data))
		return ST_OK;
	return hex_decode(out->data, out->data_len, s + 2);
}

enum status
chain_read_log(struct chain_log *out, const struct cJSON *v)
{
	const struct cJSON *removed;
	const char *address;

	memset(out, 0, sizeof(*out));
	if (v == NULL || !json_is_object(v))
		return ST_FORMAT;
	removed = json_get(v, "removed");
	if (removed != NULL && !json_is_null(removed) &&
	    (!json_is_bool(removed) || json_is_true(removed)))
		return ST_FORMAT;
	address = text(json_get(v, "address"));
	if (address == NULL ||
	    eth_address_parse(&out->address, address) != ST_OK)
		return ST_FORMAT;
	if (chain_read_quantity(&out->block, json_get(v, "blockNumber")) !=
		ST_OK ||
	    chain_read_quantity(&out->index, json_get(v, "logIndex")) !=
		ST_OK ||
	    chain_read_hash(&out->block_hash, json_get(v, "blockHash")) !=
		ST_OK ||
	    chain_read_hash(
		&out->transaction, json_get(v, "transactionHash")) != ST_OK)
		return ST_FORMAT;
	if (read_topics(out, json_get(v, "topics")) != ST_OK)
		return ST_FORMAT;
	return read_data(out, json_get(v, "data"));
}

bool
chain_read_same(const struct chain_hash *a, const struct chain_hash *b)
{
	return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}
