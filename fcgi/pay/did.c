#include "pay/did.h"

#include <ctype.h>
#include <string.h>

#include "base/hex.h"

#define PART_BYTES 256 /* of a DID's part, decoded */

/* Characters that stand for themselves in a did:web name. */
static bool
plain(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

static void
put_escaped(struct buf *out, char c)
{
	if (plain(c))
		buf_addc(out, c);
	else
		buf_addf(out, "%%%02X", (unsigned char)c);
}

void
did_put(struct buf *out, const char *public_url)
{
	const char *p = strstr(public_url, "://");

	buf_adds(out, DID_PREFIX);
	for (p = p == NULL ? public_url : p + 3; *p != '\0' && *p != '/'; p++)
		put_escaped(out, (char)tolower((unsigned char)*p));
	for (; *p != '\0'; p++) {
		if (*p == '/')
			buf_addc(out, ':');
		else if (*p == '%')
			buf_addc(out, '%'); /* escaped there already */
		else
			put_escaped(out, *p);
	}
}

/* ---- the way back ---- */

/* The part of a DID up to the next ':' or the end, decoded; *at is moved past
 * it. ST_FORMAT if it is empty, over-long or holds anything odd. */
static enum status
part(char out[PART_BYTES], const char **at)
{
	const char *p = *at;
	size_t n = 0;

	while (*p != '\0' && *p != ':') {
		char pair[3] = "";
		uint8_t byte;

		if (n == PART_BYTES - 1)
			return ST_FORMAT;
		if (plain(*p)) {
			out[n++] = *p++;
			continue;
		}
		if (*p != '%' || p[1] == '\0' || p[2] == '\0')
			return ST_FORMAT;
		memcpy(pair, p + 1, 2);
		if (hex_decode(&byte, 1, pair) != ST_OK || byte < 0x20 ||
		    byte == 0x7f)
			return ST_FORMAT;
		out[n++] = (char)byte;
		p += 3;
	}
	out[n] = '\0';
	*at = *p == ':' ? p + 1 : p;
	return n > 0 && (*p != ':' || p[1] != '\0') ? ST_OK : ST_FORMAT;
}

/* A host name or address, perhaps with a port. */
static bool
host_ok(const char *s)
{
	size_t n;

	if (s[0] == '[') {
		n = strspn(s + 1, "0123456789abcdefABCDEF:.") + 1;
		if (n < 3 || s[n] != ']')
			return false;
		n++;
	} else {
		n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._");
	}
	if (n == 0)
		return false;
	if (s[n] == '\0')
		return true;
	s += n + 1;
	n = strspn(s, "0123456789");
	return s[-1] == ':' && n > 0 && n < 6 && s[n] == '\0';
}

enum status
did_document_url(struct buf *origin, struct buf *path, const char *did)
{
	const char *at = did + sizeof(DID_PREFIX) - 1;
	char text[PART_BYTES];
	enum status st = ST_FORMAT;

	if (strncmp(did, DID_PREFIX, sizeof(DID_PREFIX) - 1) != 0 ||
	    part(text, &at) != ST_OK || !host_ok(text))
		return ST_FORMAT;
	buf_addf(origin, "https://%s", text);
	if (*at == '\0')
		buf_adds(path, "/.well-known");
	while (*at != '\0') {
		if (part(text, &at) != ST_OK || strcmp(text, ".") == 0 ||
		    strcmp(text, "..") == 0)
			return ST_FORMAT;
		buf_addc(path, '/');
		for (const char *p = text; *p != '\0'; p++)
			put_escaped(path, *p);
	}
	buf_adds(path, "/did.json");
	st = buf_status(origin);
	return st == ST_OK ? buf_status(path) : st;
}
