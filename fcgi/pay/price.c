#include "pay/price.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MICROS_DECIMALS 6
#define MICROS 1000000u

enum status
price_atomic(struct u256 *out, uint64_t micros, unsigned decimals)
{
	char text[U256_TEXT + 1];
	unsigned zeros = 0;
	int len;

	if (decimals > 60)
		return ST_FORMAT;
	for (unsigned d = decimals; d < MICROS_DECIMALS; d++) {
		if (micros % 10 != 0)
			return ST_FORMAT;
		micros /= 10;
	}
	if (micros == 0) {
		*out = u256_from(0);
		return ST_OK;
	}
	if (decimals > MICROS_DECIMALS)
		zeros = decimals - MICROS_DECIMALS;
	/* 20 digits and 54 zeros at most, and below 2^256. */
	len = snprintf(text, sizeof(text), "%" PRIu64, micros);
	memset(text + len, '0', zeros);
	text[(unsigned)len + zeros] = '\0';
	return u256_parse(out, text);
}

enum status
price_micros(uint64_t *out, const char *amount, unsigned decimals)
{
	static const char zeros[] = "000000";
	char text[U256_TEXT + MICROS_DECIMALS];
	size_t len = strnlen(amount, U256_TEXT);
	size_t cut =
	    decimals > MICROS_DECIMALS ? decimals - MICROS_DECIMALS : 0;
	int more =
	    decimals < MICROS_DECIMALS ? MICROS_DECIMALS - (int)decimals : 0;
	struct u256 v;

	if (strcmp(amount, "0") == 0) {
		*out = 0;
		return ST_OK;
	}
	if (len == U256_TEXT || cut >= len ||
	    strspn(amount + len - cut, "0") != cut)
		return ST_FORMAT;
	snprintf(text, sizeof(text), "%.*s%.*s", (int)(len - cut), amount, more,
	    zeros);
	if (u256_parse(&v, text) != ST_OK || !u256_fits64(out, &v))
		return ST_FORMAT;
	return ST_OK;
}

/* "1.230000" with the zeros cut that stand behind `keep` decimals. */
static void
decimal(char out[31], uint64_t micros, int keep)
{
	int len = snprintf(out, 31, "%" PRIu64 ".%06" PRIu64, micros / MICROS,
	    micros % MICROS);
	int least = len - (MICROS_DECIMALS - keep);

	while (len > least && out[len - 1] == '0')
		len--;
	if (out[len - 1] == '.')
		len--;
	out[len] = '\0';
}

void
price_dollars(char out[32], uint64_t micros)
{
	out[0] = '$';
	decimal(out + 1, micros, 4);
}

void
price_number(char out[32], uint64_t micros)
{
	decimal(out, micros, 0);
}
