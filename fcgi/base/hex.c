#include "base/hex.h"

#include <string.h>

static const char hex_digits[] = "0123456789abcdef";
static const char alphabet_std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz0123456789+/";
static const char alphabet_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz0123456789-_";

/* Value of a hex digit, or -1. */
static int
nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void
hex_encode(char *out, const uint8_t *in, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		*out++ = hex_digits[in[i] >> 4];
		*out++ = hex_digits[in[i] & 15];
	}
	*out = '\0';
}

enum status
hex_decode(uint8_t *out, size_t len, const char *in)
{
	size_t digits = 0;

	/* All of it before the first byte is written: out stays untouched on
	 * failure. The NUL is no digit, so this cannot run past the end. */
	while (nibble(in[digits]) >= 0) {
		if (digits / 2 == len)
			return ST_FORMAT;
		digits++;
	}
	if (in[digits] != '\0' || digits % 2 != 0 || digits / 2 != len)
		return ST_FORMAT;
	for (size_t i = 0; i < len; i++)
		out[i] =
		    (uint8_t)(nibble(in[2 * i]) << 4 | nibble(in[2 * i + 1]));
	return ST_OK;
}

enum status
hex_decode0x(uint8_t *out, size_t len, const char *in)
{
	if (in[0] != '0' || in[1] != 'x')
		return ST_FORMAT;
	return hex_decode(out, len, in + 2);
}

static void
encode64(struct buf *out, const char *alphabet, bool padded, const void *in,
    size_t len)
{
	const uint8_t *p = in;
	char chunk[1024];
	size_t n = 0;
	uint32_t bits;

	for (; len >= 3; len -= 3, p += 3) {
		bits = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
		chunk[n++] = alphabet[bits >> 18];
		chunk[n++] = alphabet[bits >> 12 & 63];
		chunk[n++] = alphabet[bits >> 6 & 63];
		chunk[n++] = alphabet[bits & 63];
		if (n == sizeof(chunk)) {
			buf_add(out, chunk, n);
			n = 0;
		}
	}
	if (len > 0) {
		bits = (uint32_t)p[0] << 16;
		if (len == 2)
			bits |= (uint32_t)p[1] << 8;
		chunk[n++] = alphabet[bits >> 18];
		chunk[n++] = alphabet[bits >> 12 & 63];
		if (len == 2)
			chunk[n++] = alphabet[bits >> 6 & 63];
		else if (padded)
			chunk[n++] = '=';
		if (padded)
			chunk[n++] = '=';
	}
	buf_add(out, chunk, n);
}

void
hex_base64(struct buf *out, const void *in, size_t len)
{
	encode64(out, alphabet_std, true, in, len);
}

void
hex_base64url(struct buf *out, const void *in, size_t len)
{
	encode64(out, alphabet_url, false, in, len);
}

/* Value of a base64 character of either alphabet, or -1. */
static int
sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	if (c == '/' || c == '_')
		return 63;
	return -1;
}

/* Length without padding if all of it is base64 as the header promises. */
static enum status
check64(size_t *digits, const char *in, size_t len)
{
	bool std = false, url = false;
	size_t n = len, unused;

	if (len % 4 == 0 && len > 0 && in[len - 1] == '=')
		n -= in[len - 2] == '=' ? 2 : 1;
	if (n % 4 == 1)
		return ST_FORMAT;
	for (size_t i = 0; i < n; i++) {
		if (sextet(in[i]) < 0)
			return ST_FORMAT;
		std |= in[i] == '+' || in[i] == '/';
		url |= in[i] == '-' || in[i] == '_';
	}
	if (std && url)
		return ST_FORMAT;
	/* 2 digits hold 8 bits of 12, 3 hold 16 of 18. */
	unused = n % 4 == 2 ? 0x0f : n % 4 == 3 ? 0x03 : 0;
	if (unused != 0 && ((size_t)sextet(in[n - 1]) & unused) != 0)
		return ST_FORMAT;
	*digits = n;
	return ST_OK;
}

enum status
hex_unbase64(struct buf *out, const char *in, size_t len)
{
	uint8_t chunk[768];
	size_t digits, n = 0;
	uint32_t bits = 0;
	unsigned int have = 0;
	enum status st = ST_BUG;

	st = check64(&digits, in, len);
	if (st != ST_OK)
		return st;
	for (size_t i = 0; i < digits; i++) {
		bits = bits << 6 | (uint32_t)sextet(in[i]);
		have += 6;
		if (have < 8)
			continue;
		have -= 8;
		chunk[n++] = (uint8_t)(bits >> have);
		if (n == sizeof(chunk)) {
			buf_add(out, chunk, n);
			n = 0;
		}
	}
	buf_add(out, chunk, n);
	return buf_status(out);
}
