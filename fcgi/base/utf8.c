#include "base/utf8.h"

#include <string.h>

enum form {
	FORM_WHOLE,
	FORM_BAD,
	FORM_SHORT
};

/*
 * One step of the WHATWG decoder over s, which is not empty: the number of
 * bytes taken and, in form, whether they are a code point, a maximal
 * ill-formed part, or a good beginning that the end of s cuts off.
 */
static size_t
step(uint32_t *cp, enum form *form, const uint8_t *s, size_t len)
{
	uint8_t lo = 0x80, hi = 0xbf;
	size_t need;

	*form = FORM_BAD;
	if (s[0] < 0x80) {
		need = 1;
		*cp = s[0];
	} else if (s[0] >= 0xc2 && s[0] <= 0xdf) {
		need = 2;
		*cp = s[0] & 0x1fu;
	} else if (s[0] >= 0xe0 && s[0] <= 0xef) {
		need = 3;
		*cp = s[0] & 0x0fu;
		if (s[0] == 0xe0)
			lo = 0xa0; /* below: overlong */
		if (s[0] == 0xed)
			hi = 0x9f; /* above: surrogates */
	} else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		need = 4;
		*cp = s[0] & 0x07u;
		if (s[0] == 0xf0)
			lo = 0x90; /* below: overlong */
		if (s[0] == 0xf4)
			hi = 0x8f; /* above: over U+10FFFF */
	} else {
		return 1;
	}
	for (size_t i = 1; i < need; i++) {
		if (i == len) {
			*form = FORM_SHORT;
			return i;
		}
		if (s[i] < lo || s[i] > hi)
			return i;
		*cp = *cp << 6 | (s[i] & 0x3fu);
		lo = 0x80;
		hi = 0xbf;
	}
	*form = FORM_WHOLE;
	return need;
}

/* Length of the well-formed beginning of s, eight ASCII bytes at a time where
 * there are such: bodies of many megabytes pass through here. */
static size_t
good_prefix(const uint8_t *s, size_t len)
{
	size_t at = 0;
	enum form form;
	uint64_t eight;
	uint32_t cp;
	size_t n;

	while (at < len) {
		if (len - at >= sizeof(eight)) {
			memcpy(&eight, s + at, sizeof(eight));
			if ((eight & 0x8080808080808080u) == 0) {
				at += sizeof(eight);
				continue;
			}
		}
		n = step(&cp, &form, s + at, len - at);
		if (form != FORM_WHOLE)
			break;
		at += n;
	}
	return at;
}

bool
utf8_valid(const char *s, size_t len)
{
	return good_prefix((const uint8_t *)s, len) == len;
}

size_t
utf8_next(uint32_t *cp, const char *s, size_t len)
{
	enum form form = FORM_BAD;
	size_t n = 0;

	if (len > 0)
		n = step(cp, &form, (const uint8_t *)s, len);
	if (form != FORM_WHOLE) {
		*cp = 0xfffd;
		return 0;
	}
	return n;
}

size_t
utf8_incomplete(const char *s, size_t len)
{
	const uint8_t *p = (const uint8_t *)s;
	enum form form;
	uint32_t cp;

	/* A lead byte always begins a new part, whatever came before it, so
	 * looking back to the last one is enough. */
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		if ((p[len - back] & 0xc0) == 0x80)
			continue;
		step(&cp, &form, p + len - back, back);
		return form == FORM_SHORT ? back : 0;
	}
	return 0;
}

void
utf8_mend(struct buf *out, const void *s, size_t len, bool cut)
{
	const uint8_t *p = s;
	enum form form;
	uint32_t cp;
	size_t n;

	if (cut)
		len -= utf8_incomplete(s, len);
	while (len > 0) {
		n = good_prefix(p, len);
		buf_add(out, p, n);
		p += n;
		len -= n;
		if (len == 0)
			break;
		n = step(&cp, &form, p, len);
		buf_adds(out, "\xef\xbf\xbd");
		p += n;
		len -= n;
	}
}

size_t
utf8_length(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((uint8_t)s[i] & 0xc0) != 0x80;
	return n;
}
