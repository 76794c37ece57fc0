#include "pay/u256.h"

#include <string.h>

/* v = v * 10 + digit; false if that needs more than 256 bits. */
static bool
push_digit(struct u256 *v, unsigned digit)
{
	unsigned carry = digit;

	for (size_t i = sizeof(v->be); i-- > 0;) {
		unsigned n = v->be[i] * 10u + carry;

		v->be[i] = (uint8_t)n;
		carry = n >> 8;
	}
	return carry == 0;
}

/* v = v / 10; gives the remainder. */
static unsigned
pop_digit(struct u256 *v)
{
	unsigned rest = 0;

	for (size_t i = 0; i < sizeof(v->be); i++) {
		unsigned n = rest << 8 | v->be[i];

		v->be[i] = (uint8_t)(n / 10);
		rest = n % 10;
	}
	return rest;
}

static bool
is_zero(const struct u256 *v)
{
	for (size_t i = 0; i < sizeof(v->be); i++) {
		if (v->be[i] != 0)
			return false;
	}
	return true;
}

enum status
u256_parse(struct u256 *out, const char *text)
{
	struct u256 v = { { 0 } };
	size_t len = strnlen(text, U256_TEXT);

	if (len == 0 || len >= U256_TEXT)
		return ST_FORMAT;
	if (text[0] == '0' && len > 1)
		return ST_FORMAT;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return ST_FORMAT;
		if (!push_digit(&v, (unsigned)(text[i] - '0')))
			return ST_FORMAT;
	}
	*out = v;
	return ST_OK;
}

void
u256_text(char out[U256_TEXT], const struct u256 *v)
{
	struct u256 rest = *v;
	char digits[U256_TEXT];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + pop_digit(&rest));
	} while (!is_zero(&rest));
	for (size_t i = 0; i < n; i++)
		out[i] = digits[n - 1 - i];
	out[n] = '\0';
}

struct u256
u256_from(uint64_t v)
{
	struct u256 out = { { 0 } };

	for (size_t i = 0; i < 8; i++)
		out.be[31 - i] = (uint8_t)(v >> (8 * i));
	return out;
}

void
u256_add(struct u256 *out, const struct u256 *a, const struct u256 *b)
{
	unsigned carry = 0;

	for (size_t i = sizeof(out->be); i-- > 0;) {
		unsigned n = (unsigned)a->be[i] + b->be[i] + carry;

		out->be[i] = (uint8_t)n;
		carry = n >> 8;
	}
}

int
u256_cmp(const struct u256 *a, const struct u256 *b)
{
	return memcmp(a->be, b->be, sizeof(a->be));
}

bool
u256_fits64(uint64_t *out, const struct u256 *v)
{
	uint64_t n = 0;

	for (size_t i = 0; i < 24; i++) {
		if (v->be[i] != 0)
			return false;
	}
	for (size_t i = 24; i < 32; i++)
		n = n << 8 | v->be[i];
	*out = n;
	return true;
}
