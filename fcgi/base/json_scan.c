#include "base/json_scan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* cJSON cuts a number's text there. */
#define NUMBER_CHARS 63

#define NO_MEMBER SIZE_MAX

/* What may come next. */
enum state {
	STATE_VALUE,
	STATE_FIRST_VALUE, /* or the array's end */
	STATE_FIRST_NAME,  /* or the object's end */
	STATE_NAME,
	STATE_AFTER, /* a value: comma, end of its container or of the text */
};

struct scan {
	const char *text;
	size_t len;
	size_t at;
	enum state state;
	size_t depth; /* containers open, in_object holds their kinds */
	bool in_object[JSON_SCAN_DEPTH];
	size_t values;
	size_t members;
	size_t nth; /* the member whose place is asked, or NO_MEMBER */
	size_t nth_at;
	bool nul;
	const struct json_caps *caps;
	struct fault *f;
};

static enum status
fail(struct scan *s, size_t at, const char *reason)
{
	enum status kept;

	if (s->f != NULL) {
		kept = s->f->st;
		fault_set(s->f, ST_FORMAT, "invalid JSON at byte %zu: %s", at,
		    reason);
		s->f->st = kept;
	}
	return ST_FORMAT;
}

/* The byte at, or -1 behind the end. */
static int
peek(const struct scan *s, size_t at)
{
	return at < s->len ? (unsigned char)s->text[at] : -1;
}

static bool
is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static void
skip_blanks(struct scan *s)
{
	int c = peek(s, s->at);

	while (c == ' ' || c == '\t' || c == '\n' || c == '\r')
		c = peek(s, ++s->at);
}

/* The four hex digits at, or -1. */
static int32_t
four_hex(const struct scan *s, size_t at)
{
	int32_t v = 0;
	int c;

	for (size_t i = 0; i < 4; i++) {
		c = peek(s, at + i);
		if (is_digit(c))
			c -= '0';
		else if (c >= 'a' && c <= 'f')
			c -= 'a' - 10;
		else if (c >= 'A' && c <= 'F')
			c -= 'A' - 10;
		else
			return -1;
		v = v << 4 | c;
	}
	return v;
}

/* An escape, from its backslash on. */
static enum status
scan_escape(struct scan *s)
{
	int c = peek(s, s->at + 1);
	int32_t unit;

	if (c != 'u') {
		if (c <= 0 || strchr("\"\\/bfnrt", c) == NULL)
			return fail(s, s->at, "unknown escape");
		s->at += 2;
		return ST_OK;
	}
	unit = four_hex(s, s->at + 2);
	if (unit < 0)
		return fail(s, s->at, "\\u without four hex digits");
	if (unit >= 0xdc00 && unit <= 0xdfff)
		return fail(s, s->at, "lone surrogate");
	if (unit >= 0xd800 && unit <= 0xdbff) {
		/* The other half must stand right behind it. */
		unit = -1;
		if (peek(s, s->at + 6) == '\\' && peek(s, s->at + 7) == 'u')
			unit = four_hex(s, s->at + 8);
		if (unit < 0xdc00 || unit > 0xdfff)
			return fail(s, s->at, "lone surrogate");
		s->at += 6;
	}
	if (unit == 0)
		s->nul = true;
	s->at += 6;
	return ST_OK;
}

static enum status
scan_string(struct scan *s)
{
	enum status st = ST_BUG;
	size_t start = s->at, n;
	uint32_t cp;
	int c;

	s->at++;
	for (;;) {
		c = peek(s, s->at);
		if (c == '"')
			break;
		if (c < 0)
			return fail(s, start, "string without an end");
		if (c < 0x20)
			return fail(s, s->at, "control character in a string");
		if (c == '\\') {
			st = scan_escape(s);
			if (st != ST_OK)
				return st;
		} else if (c < 0x80) {
			s->at++;
		} else {
			n = utf8_next(&cp, s->text + s->at, s->len - s->at);
			if (n == 0)
				return fail(s, s->at, "not UTF-8");
			s->at += n;
		}
	}
	s->at++;
	return ST_OK;
}

/* Skip digits; false if there is none. */
static bool
scan_digits(struct scan *s)
{
	size_t start = s->at;

	while (is_digit(peek(s, s->at)))
		s->at++;
	return s->at > start;
}

static enum status
scan_number(struct scan *s)
{
	char copy[NUMBER_CHARS + 1];
	size_t start = s->at, n;
	int c;

	if (peek(s, s->at) == '-')
		s->at++;
	if (peek(s, s->at) == '0')
		s->at++;
	else if (!scan_digits(s))
		return fail(s, s->at, "digit expected");
	if (is_digit(peek(s, s->at)))
		return fail(s, start, "number with a leading zero");
	if (peek(s, s->at) == '.') {
		s->at++;
		if (!scan_digits(s))
			return fail(s, s->at, "digit expected");
	}
	c = peek(s, s->at);
	if (c == 'e' || c == 'E') {
		s->at++;
		c = peek(s, s->at);
		if (c == '+' || c == '-')
			s->at++;
		if (!scan_digits(s))
			return fail(s, s->at, "digit expected");
	}
	n = s->at - start;
	if (n > NUMBER_CHARS)
		return fail(s, start, "number too long");
	memcpy(copy, s->text + start, n);
	copy[n] = '\0';
	if (!isfinite(strtod(copy, NULL)))
		return fail(s, start, "number out of range");
	return ST_OK;
}

static enum status
scan_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if (s->len - s->at < n || memcmp(s->text + s->at, word, n) != 0)
		return fail(s, s->at, "value expected");
	s->at += n;
	return ST_OK;
}

static enum status
scan_value(struct scan *s)
{
	int c = peek(s, s->at);

	if (s->depth >= s->caps->depth || s->depth >= JSON_SCAN_DEPTH)
		return fail(s, s->at, "nested too deep");
	if (++s->values > s->caps->values)
		return fail(s, s->at, "too many values");
	if (c == '{' || c == '[') {
		s->in_object[s->depth++] = c == '{';
		s->state = c == '{' ? STATE_FIRST_NAME : STATE_FIRST_VALUE;
		s->at++;
		return ST_OK;
	}
	s->state = STATE_AFTER;
	if (c == '"')
		return scan_string(s);
	if (c == '-' || is_digit(c))
		return scan_number(s);
	if (c == 't')
		return scan_word(s, "true");
	if (c == 'f')
		return scan_word(s, "false");
	if (c == 'n')
		return scan_word(s, "null");
	if (c < 0)
		return fail(s, s->at, "value expected, but the text ends");
	return fail(s, s->at, "value expected");
}

/* A member up to its colon. */
static enum status
scan_name(struct scan *s)
{
	enum status st = ST_BUG;

	if (peek(s, s->at) != '"')
		return fail(s, s->at, "member name expected");
	if (s->members++ == s->nth)
		s->nth_at = s->at;
	st = scan_string(s);
	if (st != ST_OK)
		return st;
	skip_blanks(s);
	if (peek(s, s->at) != ':')
		return fail(s, s->at, "colon expected");
	s->at++;
	s->state = STATE_VALUE;
	return ST_OK;
}

static void
scan_close(struct scan *s)
{
	s->at++;
	s->depth--;
	s->state = STATE_AFTER;
}

/* What stands behind a value inside a container. */
static enum status
scan_after(struct scan *s)
{
	bool object = s->in_object[s->depth - 1];
	int c = peek(s, s->at);

	if (c == ',') {
		s->at++;
		s->state = object ? STATE_NAME : STATE_VALUE;
		return ST_OK;
	}
	if (c != (object ? '}' : ']'))
		return fail(s, s->at,
		    object ? "comma or } expected" : "comma or ] expected");
	scan_close(s);
	return ST_OK;
}

static enum status
scan_step(struct scan *s)
{
	switch (s->state) {
	case STATE_FIRST_VALUE:
		if (peek(s, s->at) == ']') {
			scan_close(s);
			return ST_OK;
		}
		return scan_value(s);
	case STATE_VALUE:
		return scan_value(s);
	case STATE_FIRST_NAME:
		if (peek(s, s->at) == '}') {
			scan_close(s);
			return ST_OK;
		}
		return scan_name(s);
	case STATE_NAME:
		return scan_name(s);
	case STATE_AFTER:
		return scan_after(s);
	}
	return ST_BUG;
}

static enum status
scan_all(struct scan *s)
{
	enum status st = ST_BUG;

	skip_blanks(s);
	if (s->at == s->len)
		return fail(s, s->at, "empty");
	do {
		st = scan_step(s);
		if (st != ST_OK)
			return st;
		skip_blanks(s);
	} while (s->state != STATE_AFTER || s->depth > 0);
	if (s->at < s->len)
		return fail(s, s->at, "something behind the value");
	return ST_OK;
}

enum status
json_scan(bool *nul, const char *text, size_t len, const struct json_caps *caps,
    struct fault *f)
{
	struct scan s = {
		.text = text, .len = len, .nth = NO_MEMBER, .caps = caps, .f = f
	};
	enum status st = scan_all(&s);

	*nul = s.nul;
	return st;
}

size_t
json_scan_member(const char *text, size_t len, size_t nth)
{
	const struct json_caps caps = { JSON_SCAN_DEPTH, SIZE_MAX };
	struct scan s = { .text = text,
		.len = len,
		.nth = nth,
		.nth_at = len,
		.caps = &caps };

	return scan_all(&s) == ST_OK ? s.nth_at : len;
}
