#include "base/cidr.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS 64 /* longer than any written address */

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool
parse_address(struct cidr *out, const char *text)
{
	out->bits = 128;
	if (inet_pton(AF_INET6, text, out->b) == 1)
		return true;
	memcpy(out->b, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, out->b + sizeof(mapped)) == 1;
}

/* The digits behind a slash, at most most. */
static bool
parse_bits(unsigned *out, const char *text, unsigned most)
{
	size_t len = strspn(text, "0123456789");

	if (len == 0 || len > 3 || text[len] != '\0')
		return false;
	*out = (unsigned)strtoul(text, NULL, 10);
	return *out <= most;
}

/* Is every bit behind the first `bits` zero? */
static bool
rest_is_zero(const struct cidr *c)
{
	for (unsigned i = c->bits; i < 128; i++)
		if ((c->b[i / 8] >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

enum status
cidr_parse(struct cidr *out, const char *text)
{
	const char *slash = strchr(text, '/');
	char address[ADDRESS];
	size_t len = slash == NULL ? strlen(text) : (size_t)(slash - text);
	bool v4 = memchr(text, ':', len) == NULL;
	unsigned bits = 0;

	if (len >= sizeof(address))
		return ST_FORMAT;
	memcpy(address, text, len);
	address[len] = '\0';
	if (!parse_address(out, address))
		return ST_FORMAT;
	if (slash == NULL)
		return ST_OK;
	if (!parse_bits(&bits, slash + 1, v4 ? 32 : 128))
		return ST_FORMAT;
	out->bits = v4 ? bits + 96 : bits;
	/* 10.0.0.1/8 is a slip: who wrote it meant something else. */
	return rest_is_zero(out) ? ST_OK : ST_FORMAT;
}

bool
cidr_has(const struct cidr *a, const struct cidr *b)
{
	unsigned bytes = a->bits / 8, rest = a->bits % 8;

	if (b->bits < a->bits || memcmp(a->b, b->b, bytes) != 0)
		return false;
	return rest == 0 || (a->b[bytes] ^ b->b[bytes]) >> (8 - rest) == 0;
}

bool
cidr_ipv4(const struct cidr *c)
{
	return c->bits >= 96 && memcmp(c->b, mapped, sizeof(mapped)) == 0;
}
