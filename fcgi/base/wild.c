#include "base/wild.h"

#include <stdint.h>
#include <string.h>

#include "base/limits.h"
#include "base/utf8.h"

struct text {
	const char *at;
	size_t len;
};

/* The first character of t, taken off it. Ill-formed bytes count one each. */
static uint32_t
take(struct text *t)
{
	uint32_t c;
	size_t n = utf8_next(&c, t->at, t->len);

	if (n == 0)
		n = 1;
	t->at += n;
	t->len -= n;
	return c;
}

/* p begins behind a '['. Does the set hold c? p is moved behind its ']', or
 * left alone if there is none: then the bracket is itself. */
static bool
in_set(struct text *p, uint32_t c, bool *is_set)
{
	struct text t = *p;
	bool negated = t.len > 0 && (t.at[0] == '!' || t.at[0] == '^');
	bool first = true, hit = false;
	uint32_t from, to;

	*is_set = false;
	if (negated)
		take(&t);
	while (t.len > 0) {
		from = to = take(&t);
		if (from == ']' && !first) {
			*is_set = true;
			*p = t;
			return hit != negated;
		}
		first = false;
		if (t.len > 1 && t.at[0] == '-' && t.at[1] != ']') {
			take(&t);
			to = take(&t);
		}
		hit = hit || (from <= c && c <= to);
	}
	return false;
}

/* Does the next item of p, which is no star, match the next character of s?
 * Both are moved behind it. */
static bool
one(struct text *p, struct text *s)
{
	uint32_t c = take(s), want = take(p);
	bool is_set = false, hit;

	if (want == '?')
		return true;
	if (want != '[')
		return want == c;
	hit = in_set(p, c, &is_set);
	return is_set ? hit : c == '[';
}

/* One component. After a star that stopped too early the last one is made
 * longer by a character; earlier ones need not be tried again. */
static bool
component(struct text p, struct text s)
{
	struct text star = { NULL, 0 }, from = { NULL, 0 };

	if (s.at[0] == '.' && (p.len == 0 || p.at[0] != '.'))
		return false;
	while (s.len > 0) {
		if (p.len > 0 && p.at[0] == '*') {
			take(&p);
			star = p;
			from = s;
			continue;
		}
		if (p.len > 0 && one(&p, &s))
			continue;
		if (star.at == NULL)
			return false;
		take(&from);
		p = star;
		s = from;
	}
	while (p.len > 0 && p.at[0] == '*')
		take(&p);
	return p.len == 0;
}

static struct text
next_component(struct text *t)
{
	const char *slash = memchr(t->at, '/', t->len);
	struct text c = { t->at,
		slash == NULL ? t->len : (size_t)(slash - t->at) };

	t->at += c.len;
	t->len -= c.len;
	if (slash != NULL) {
		t->at++;
		t->len--;
	}
	return c;
}

static bool
is_any_depth(struct text c)
{
	return c.len == 2 && c.at[0] == '*' && c.at[1] == '*';
}

/* Where in the pattern one may stand: bit i, before its component i. What
 * stands before a ** that more follows may stand behind it too. */
static uint32_t
spread(uint32_t places, const struct text *parts, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if ((places >> i & 1) != 0 && is_any_depth(parts[i]))
			places |= 1u << (i + 1);
	}
	return places;
}

static uint32_t
step(uint32_t places, const struct text *parts, size_t n, struct text name)
{
	uint32_t next = 0;

	for (size_t i = 0; i < n; i++) {
		if ((places >> i & 1) == 0)
			continue;
		if (!is_any_depth(parts[i])) {
			if (component(parts[i], name))
				next |= 1u << (i + 1);
		} else if (name.at[0] != '.') {
			next |= 1u << i;
			if (i + 1 == n)
				next |= 1u << n;
		}
	}
	return spread(next, parts, n);
}

bool
wild_match(
    const char *pattern, size_t pattern_len, const char *path, size_t len)
{
	struct text p = { pattern, pattern_len }, s = { path, len };
	struct text parts[LIMITS_PATH_DEPTH] = { { NULL, 0 } };
	uint32_t places;
	size_t n = 0;

	if (pattern_len == len && memcmp(pattern, path, len) == 0)
		return true;
	while (p.len > 0 && n < LIMITS_PATH_DEPTH)
		parts[n++] = next_component(&p);
	if (p.len > 0)
		return false;
	places = spread(1, parts, n);
	while (s.len > 0 && places != 0)
		places = step(places, parts, n, next_component(&s));
	return (places >> n & 1) != 0;
}
