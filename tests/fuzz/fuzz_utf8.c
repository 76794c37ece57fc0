/*
 * Mending any bytes: the result is well-formed, well-formed text is left as it
 * is, and a stream cut anywhere, its incomplete end held back, joins to the
 * same text as the whole (api.md section 3).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

#define OUT_BYTES (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int holds)
{
	if (!holds)
		abort();
}

/* The code points of s one by one must tell the same as the whole. */
static void
step_through(const char *s, size_t len, bool valid)
{
	size_t at = 0, points = 0, n;
	uint32_t cp;

	for (; at < len; at += n, points++) {
		n = utf8_next(&cp, s + at, len - at);
		if (n == 0)
			break;
		must(cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff));
		must(n == (cp < 0x80	     ? 1u
			      : cp < 0x800   ? 2u
			      : cp < 0x10000 ? 3u
					     : 4u));
	}
	must((at == len) == valid);
	if (valid)
		must(points == utf8_length(s, len));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s;
	struct buf whole, parts;
	size_t at, held;
	bool valid;

	if (size == 0 || size > OUT_BYTES / 8)
		return 0;
	/* The first byte says where to cut. */
	s = (const char *)data + 1;
	size--;
	at = size * data[0] / 255;
	valid = utf8_valid(s, size);
	step_through(s, size, valid);

	buf_init(&whole, OUT_BYTES);
	buf_init(&parts, OUT_BYTES);
	utf8_mend(&whole, s, size, false);
	must(buf_status(&whole) == ST_OK);
	must(utf8_valid(buf_cstr(&whole), whole.len));
	if (valid)
		must(whole.len == size &&
		     memcmp(buf_cstr(&whole), s, size) == 0);

	held = utf8_incomplete(s, at);
	must(held <= 3 && held <= at);
	utf8_mend(&parts, s, at - held, false);
	utf8_mend(&parts, s + at - held, size - at + held, false);
	must(parts.len == whole.len &&
	     memcmp(buf_cstr(&parts), buf_cstr(&whole), whole.len) == 0);

	/* Cut for good: the same without the end that is incomplete. */
	buf_clear(&parts);
	buf_clear(&whole);
	utf8_mend(&parts, s, at, true);
	utf8_mend(&whole, s, at - held, false);
	must(strcmp(buf_cstr(&parts), buf_cstr(&whole)) == 0);
	buf_free(&whole);
	buf_free(&parts);
	return 0;
}
