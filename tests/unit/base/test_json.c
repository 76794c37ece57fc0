#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/utf8.h"

static const struct json_caps caps = { 64, 100000 };

/* Parse out of a block of exactly len bytes, so that AddressSanitizer sees a
 * read beyond its end. */
static enum status
parse_with(struct cJSON **out, const char *text, size_t len,
    const struct json_caps *with, struct fault *f)
{
	char *exact = malloc(len > 0 ? len : 1);
	enum status st;

	memcpy(exact, text, len);
	st = json_parse(out, exact, len, with, f);
	free(exact);
	return st;
}

static struct cJSON *
good(const char *text)
{
	struct cJSON *v = NULL;
	struct fault f = { 0 };

	if (parse_with(&v, text, strlen(text), &caps, &f) != ST_OK)
		fail_msg("%s: %s", text, f.message);
	assert_non_null(v);
	return v;
}

static void
refused_n(const char *text, size_t len, const char *message)
{
	struct cJSON *v;
	struct fault f = { .st = ST_REFUSED };

	memset(&v, 0x55, sizeof(v)); /* not NULL already */
	if (parse_with(&v, text, len, &caps, &f) != ST_FORMAT)
		fail_msg("%s was not refused", text);
	assert_null(v);
	assert_int_equal(f.st, ST_REFUSED);
	assert_string_equal(f.message, message);
	assert_int_equal(parse_with(&v, text, len, &caps, NULL), ST_FORMAT);
}

static void
refused(const char *text, const char *message)
{
	refused_n(text, strlen(text), message);
}

static void
accepts_what_rfc_8259_does(void **state)
{
	static const char *const texts[] = { "0", "-0", "1.5", "1e5", "1E+05",
		"-1.25e-2", "true", "false", "null", "\"\"", "[]", "{}",
		" \t\r\n[ ] \n", "[1,2]", "{\"a\":[{}],\"b\":null}",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD834\\uDd1e\"",
		"\"\x7f\"", "\"\xc2\x80\xf4\x8f\xbf\xbf\"", "{\"\":1}",
		"{\"a\":{\"a\":{\"a\":1}},\"A\":1}",
		"[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]",
		"\"\\ud83d\\ude00\"" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		json_free(good(texts[i]));
	json_free(NULL);
}

static void
refuses_bad_structure(void **state)
{
	(void)state;
	refused("", "invalid JSON at byte 0: empty");
	refused(" \n ", "invalid JSON at byte 3: empty");
	refused("[", "invalid JSON at byte 1: value expected, but the text "
		     "ends");
	refused("[1", "invalid JSON at byte 2: comma or ] expected");
	refused("[1,", "invalid JSON at byte 3: value expected, but the text "
		       "ends");
	refused("[1,]", "invalid JSON at byte 3: value expected");
	refused("[,1]", "invalid JSON at byte 1: value expected");
	refused("[1 2]", "invalid JSON at byte 3: comma or ] expected");
	refused("[1}", "invalid JSON at byte 2: comma or ] expected");
	refused("{", "invalid JSON at byte 1: member name expected");
	refused("{\"a\"", "invalid JSON at byte 4: colon expected");
	refused("{\"a\":", "invalid JSON at byte 5: value expected, but the "
			   "text ends");
	refused("{\"a\":1", "invalid JSON at byte 6: comma or } expected");
	refused("{\"a\":1,", "invalid JSON at byte 7: member name expected");
	refused("{\"a\":1,}", "invalid JSON at byte 7: member name expected");
	refused("{\"a\":1]", "invalid JSON at byte 6: comma or } expected");
	refused("{\"a\" 1}", "invalid JSON at byte 5: colon expected");
	refused("{a:1}", "invalid JSON at byte 1: member name expected");
	refused("{'a':1}", "invalid JSON at byte 1: member name expected");
	refused("{1:1}", "invalid JSON at byte 1: member name expected");
	refused("{,}", "invalid JSON at byte 1: member name expected");
	refused("]", "invalid JSON at byte 0: value expected");
	refused("}", "invalid JSON at byte 0: value expected");
	refused(":", "invalid JSON at byte 0: value expected");
	refused("[] []", "invalid JSON at byte 3: something behind the value");
	refused("{}x", "invalid JSON at byte 2: something behind the value");
	refused("1,", "invalid JSON at byte 1: something behind the value");
	refused_n(
	    "1\0", 2, "invalid JSON at byte 1: something behind the value");
	refused_n("\0", 1, "invalid JSON at byte 0: value expected");
	refused("\xef\xbb\xbf{}", "invalid JSON at byte 0: value expected");
	refused("// x\n1", "invalid JSON at byte 0: value expected");
	refused(
	    "[1]/**/", "invalid JSON at byte 3: something behind the value");
	/* Blanks that only cJSON takes for such. */
	refused("\v1", "invalid JSON at byte 0: value expected");
	refused("[\f]", "invalid JSON at byte 1: value expected");
	refused("[1\x01]", "invalid JSON at byte 2: comma or ] expected");
}

static void
refuses_bad_words_and_numbers(void **state)
{
	static const char *const values[] = { "tru", "True", "nul", "NaN",
		"Infinity", "fals", "undefined", "+1", ".5", "''" };
	char text[100];

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		refused(values[i], "invalid JSON at byte 0: value expected");
	refused("truex", "invalid JSON at byte 4: something behind the value");
	refused("-", "invalid JSON at byte 1: digit expected");
	refused("-a", "invalid JSON at byte 1: digit expected");
	refused("-Infinity", "invalid JSON at byte 1: digit expected");
	refused("01", "invalid JSON at byte 0: number with a leading zero");
	refused("-01", "invalid JSON at byte 0: number with a leading zero");
	refused("[00]", "invalid JSON at byte 1: number with a leading zero");
	refused("1.", "invalid JSON at byte 2: digit expected");
	refused("1.e1", "invalid JSON at byte 2: digit expected");
	refused("1e", "invalid JSON at byte 2: digit expected");
	refused("1e+", "invalid JSON at byte 3: digit expected");
	refused("0x10", "invalid JSON at byte 1: something behind the value");
	refused("1e400", "invalid JSON at byte 0: number out of range");
	refused("[-1e400]", "invalid JSON at byte 1: number out of range");
	/* As long as cJSON can read, and one more. */
	memset(text, '1', sizeof(text));
	text[63] = '\0';
	json_free(good(text));
	text[63] = '1';
	text[64] = '\0';
	refused(text, "invalid JSON at byte 0: number too long");
}

static void
refuses_bad_strings(void **state)
{
	(void)state;
	refused("\"", "invalid JSON at byte 0: string without an end");
	refused("[\"a", "invalid JSON at byte 1: string without an end");
	refused("\"a\\\"", "invalid JSON at byte 0: string without an end");
	refused("\"\\", "invalid JSON at byte 1: unknown escape");
	refused("\"\\x41\"", "invalid JSON at byte 1: unknown escape");
	refused("\"\\U0041\"", "invalid JSON at byte 1: unknown escape");
	refused("\"\\'\"", "invalid JSON at byte 1: unknown escape");
	refused_n("\"\\\0\"", 4, "invalid JSON at byte 1: unknown escape");
	refused(
	    "\"\\u\"", "invalid JSON at byte 1: \\u without four hex digits");
	refused("\"\\u00g0\"",
	    "invalid JSON at byte 1: \\u without four hex digits");
	refused(
	    "\"\\u004", "invalid JSON at byte 1: \\u without four hex digits");
	refused("\"\\u+041\"",
	    "invalid JSON at byte 1: \\u without four hex digits");
	refused("\"a\nb\"",
	    "invalid JSON at byte 2: control character in a string");
	refused("\"\x1f\"",
	    "invalid JSON at byte 1: control character in a string");
	refused_n("\"\0\"", 3,
	    "invalid JSON at byte 1: control character in a string");
	refused("{\"\t\":1}",
	    "invalid JSON at byte 2: control character in a string");
	/* Half a pair, in every position. */
	refused("\"\\ud800\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\udc00\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\ud800x\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\ud800\\n\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\ud800\\ud800\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\ud800\\u0041\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\ud800\\u\"", "invalid JSON at byte 1: lone surrogate");
	refused(
	    "\"\\ud800\\\\udc00\"", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\ud800", "invalid JSON at byte 1: lone surrogate");
	refused("\"\\udbff\\udfff\\udfff\"",
	    "invalid JSON at byte 13: lone surrogate");
}

static void
refuses_bad_utf8(void **state)
{
	static const char *const bytes[] = { "\x80", "\xff", "\xc0\x80", "\xc3",
		"\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\xf0\x80\x80\x80", "\xf5\x80\x80\x80" };
	char text[20];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		snprintf(text, sizeof(text), "\"%s\"", bytes[i]);
		refused(text, "invalid JSON at byte 1: not UTF-8");
		snprintf(text, sizeof(text), "{\"%s\":1}", bytes[i]);
		refused(text, "invalid JSON at byte 2: not UTF-8");
		snprintf(text, sizeof(text), "\"%s", bytes[i]);
		refused(text, "invalid JSON at byte 1: not UTF-8");
	}
	refused("[\xff]", "invalid JSON at byte 1: value expected");
}

static void
depth_is_capped(void **state)
{
	static char text[200001];
	const struct json_caps one = { 1, 10 }, three = { 3, 10 };
	const struct json_caps all = { SIZE_MAX, SIZE_MAX };
	struct cJSON *v;
	struct fault f;

	(void)state;
	assert_int_equal(parse_with(&v, "1", 1, &one, NULL), ST_OK);
	json_free(v);
	assert_int_equal(parse_with(&v, "[]", 2, &one, NULL), ST_OK);
	json_free(v);
	assert_int_equal(parse_with(&v, "[1]", 3, &one, &f), ST_FORMAT);
	assert_string_equal(
	    f.message, "invalid JSON at byte 1: nested too deep");
	assert_int_equal(parse_with(&v, "[{\"a\":1}]", 9, &three, NULL), ST_OK);
	json_free(v);
	assert_int_equal(
	    parse_with(&v, "[{\"a\":[1]}]", 11, &three, &f), ST_FORMAT);
	assert_string_equal(
	    f.message, "invalid JSON at byte 7: nested too deep");
	/* However much the caps allow, no recursion runs away. */
	for (size_t deep = 1000; deep <= 1001; deep++) {
		memset(text, '[', deep);
		memset(text + deep, ']', deep);
		assert_int_equal(parse_with(&v, text, 2 * deep, &all, &f),
		    deep == 1000 ? ST_OK : ST_FORMAT);
		json_free(v);
	}
	assert_string_equal(
	    f.message, "invalid JSON at byte 1000: nested too deep");
	memset(text, '[', 200000);
	assert_int_equal(parse_with(&v, text, 100000, &all, &f), ST_FORMAT);
	assert_int_equal(parse_with(&v, text, 100000, &caps, &f), ST_FORMAT);
	memset(text + 100000, ']', 100000);
	assert_int_equal(parse_with(&v, text, 200000, &all, &f), ST_FORMAT);
	for (size_t i = 0; i + 4 <= 200000; i += 4)
		memcpy(text + i, "{\"\":", 4);
	assert_int_equal(parse_with(&v, text, 200000, &all, &f), ST_FORMAT);
}

static void
values_are_capped(void **state)
{
	const struct json_caps four = { 10, 4 };
	struct cJSON *v;
	struct fault f;

	(void)state;
	assert_int_equal(parse_with(&v, "[1,2,3]", 7, &four, NULL), ST_OK);
	json_free(v);
	assert_int_equal(
	    parse_with(&v, "{\"a\":[{}],\"b\":1}", 16, &four, NULL), ST_OK);
	json_free(v);
	assert_int_equal(parse_with(&v, "[1,2,3,4]", 9, &four, &f), ST_FORMAT);
	assert_string_equal(
	    f.message, "invalid JSON at byte 7: too many values");
	assert_int_equal(
	    parse_with(&v, "[[],[],{},[]]", 13, &four, &f), ST_FORMAT);
}

static void
duplicates_are_refused_everywhere(void **state)
{
	char name[300], text[800];
	struct fault f;
	struct cJSON *v;

	(void)state;
	refused("{\"a\":1,\"a\":2}", "duplicate member \"a\" at byte 7");
	refused("{\"limits\":{},\"b\":{\"c\":[]},\"limits\":1}",
	    "duplicate member \"limits\" at byte 26");
	refused("{\"\":1,\"\":1}", "duplicate member \"\" at byte 6");
	/* Deep inside, behind members elsewhere. */
	refused("{\"a\":{\"a\":1},\"b\":[{\"a\":1},{\"x\":{\"c\":1,\"d\":2,"
		"\"c\":3}}]}",
	    "duplicate member \"c\" at byte 44");
	/* The same name in another spelling. */
	refused("{\"a\":1,\"\\u0061\":2}", "duplicate member \"a\" at byte 7");
	refused("{\"\xf0\x9f\x98\x80\":1,\"\\uD83D\\uDE00\":2}",
	    "duplicate member \"\xf0\x9f\x98\x80\" at byte 10");
	refused("{\"/\":1,\"\\/\":2}", "duplicate member \"/\" at byte 7");
	refused("{\"\\u0000\":1,\"\\u0000\":2}",
	    "duplicate member \"?\" at byte 12");
	json_free(good("{\"a\":1,\"A\":1,\"a \":1,\"a\\u0000\":1,\"\":1}"));
	/* A long name is shown in part, at a code point's border. */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name + 98, "\xe2\x82\xac", 3);
	snprintf(text, sizeof(text), "{\"%s\":1,\"%s\":1}", name, name);
	assert_int_equal(
	    parse_with(&v, text, strlen(text), &caps, &f), ST_FORMAT);
	name[98] = '\0';
	snprintf(
	    text, sizeof(text), "duplicate member \"%s\" at byte 305", name);
	assert_string_equal(f.message, text);
}

/* An object of n members; the last one's name is that of member again, or new
 * if again is n. */
static void
big_object(struct buf *b, size_t n, size_t again)
{
	buf_clear(b);
	buf_addc(b, '{');
	for (size_t i = 0; i < n; i++) {
		json_sep(b);
		buf_addf(b, "\"member%zu\":%zu", i + 1 == n ? again : i, i);
	}
	buf_addc(b, '}');
	assert_int_equal(buf_status(b), ST_OK);
}

static void
duplicates_in_big_objects(void **state)
{
	static const size_t sizes[] = { 2, 31, 32, 33, 34, 1000 };
	struct cJSON *v;
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i];

		big_object(&b, n, n);
		assert_int_equal(
		    parse_with(&v, buf_cstr(&b), b.len, &caps, NULL), ST_OK);
		assert_int_equal(json_count(v), n);
		json_free(v);
		big_object(&b, n, 0);
		assert_int_equal(
		    parse_with(&v, buf_cstr(&b), b.len, &caps, NULL),
		    ST_FORMAT);
		big_object(&b, n, n / 2 - 1);
		assert_int_equal(
		    parse_with(&v, buf_cstr(&b), b.len, &caps, NULL),
		    ST_FORMAT);
	}
	buf_free(&b);
}

/* Big texts within seconds even under a sanitizer: what is quadratic here takes
 * minutes. */
static void
big_texts_take_linear_time(void **state)
{
	const struct json_caps all = { 64, SIZE_MAX };
	const size_t n = 32u << 20;
	int64_t start = io_now_ms();
	struct cJSON *v;
	char *text, *bytes;
	struct buf b;
	size_t len;

	(void)state;
	text = malloc(n);
	memset(text, 'x', n);
	text[0] = '"';
	text[n - 1] = '"';
	assert_int_equal(json_parse(&v, text, n, &all, NULL), ST_OK);
	assert_int_equal(strlen(json_string(v)), n - 2);
	json_free(v);
	/* All escapes of NUL, all backslashes, all broken at the end. */
	for (size_t i = 1; i + 6 < n; i += 6)
		memcpy(text + i, "\\u0000", 6);
	memset(text + 1 + (n - 2) / 6 * 6, 'x', (n - 2) % 6);
	assert_int_equal(json_parse(&v, text, n, &all, NULL), ST_OK);
	assert_int_equal(json_bytes(&bytes, &len, v), ST_OK);
	assert_int_equal(len, (n - 2) / 6 + (n - 2) % 6);
	free(bytes);
	json_free(v);
	memset(text + 1, '\\', n - 2);
	assert_int_equal(json_parse(&v, text, n, &all, NULL), ST_OK);
	assert_int_equal(strlen(json_string(v)), (n - 2) / 2);
	json_free(v);
	free(text);
	buf_init(&b, n);
	big_object(&b, 300000, 300000);
	assert_int_equal(
	    json_parse(&v, buf_cstr(&b), b.len, &all, NULL), ST_OK);
	json_free(v);
	big_object(&b, 300000, 150000);
	assert_int_equal(
	    json_parse(&v, buf_cstr(&b), b.len, &all, NULL), ST_FORMAT);
	buf_free(&b);
	assert_in_range(io_now_ms() - start, 0, 60000);
}

static void
tree_is_readable(void **state)
{
	struct cJSON *v = good("{\"s\":\"x\",\"n\":1.5,\"t\":true,\"f\":false,"
			       "\"z\":null,\"a\":[1,\"2\"],\"o\":{}}");
	const struct cJSON *m;
	size_t n = 0;

	(void)state;
	assert_true(json_is_object(v));
	assert_false(json_is_array(v));
	assert_int_equal(json_count(v), 7);
	assert_true(json_is_string(json_get(v, "s")));
	assert_true(json_is_number(json_get(v, "n")));
	assert_true(json_is_bool(json_get(v, "t")));
	assert_true(json_is_true(json_get(v, "t")));
	assert_true(json_is_bool(json_get(v, "f")));
	assert_false(json_is_true(json_get(v, "f")));
	assert_true(json_is_null(json_get(v, "z")));
	assert_true(json_is_array(json_get(v, "a")));
	assert_false(json_is_object(json_get(v, "a")));
	assert_string_equal(json_string(json_get(v, "s")), "x");
	assert_null(json_string(json_get(v, "n")));
	assert_null(json_get(v, "S"));
	assert_null(json_get(v, ""));
	assert_null(json_get(json_get(v, "a"), "s"));
	assert_null(json_get(json_get(v, "s"), "s"));
	for (m = json_first(v); m != NULL; m = json_next(m))
		assert_int_equal(json_name(m)[0], "sntfzao"[n++]);
	assert_int_equal(n, 7);
	m = json_first(json_get(v, "a"));
	assert_null(json_name(m));
	assert_string_equal(json_string(json_next(m)), "2");
	assert_null(json_next(json_next(m)));
	assert_int_equal(json_count(json_get(v, "s")), 0);
	assert_int_equal(json_count(json_get(v, "o")), 0);
	json_free(v);
}

static void
nothing_is_read_from_null(void **state)
{
	uint64_t u = 5;
	double d = 5;
	char *s;
	size_t len;

	(void)state;
	assert_false(json_is_object(NULL) || json_is_array(NULL) ||
		     json_is_string(NULL) || json_is_number(NULL) ||
		     json_is_bool(NULL) || json_is_true(NULL) ||
		     json_is_null(NULL));
	assert_null(json_get(NULL, "a"));
	assert_null(json_first(NULL));
	assert_null(json_next(NULL));
	assert_null(json_name(NULL));
	assert_null(json_string(NULL));
	assert_int_equal(json_count(NULL), 0);
	assert_int_equal(json_bytes(&s, &len, NULL), ST_FORMAT);
	assert_null(s);
	assert_int_equal(json_uint(&u, NULL), ST_FORMAT);
	assert_int_equal(json_double(&d, NULL), ST_FORMAT);
	assert_int_equal(u, 5);
}

static void
strings_are_decoded(void **state)
{
	struct cJSON *v =
	    good("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\uD834\\uDd1e"
		 "\\u20AC \xc3\xa4\"");

	(void)state;
	assert_string_equal(json_string(v), "\"\\/\b\f\n\r\t\xc3\xa4"
					    "\xf0\x9d\x84\x9e\xe2\x82\xac "
					    "\xc3\xa4");
	json_free(v);
}

static void
nul_is_carried_through(void **state)
{
	static const struct {
		const char *text, *bytes;
		size_t len;
	} v[] = {
		{ "\"\\u0000\"", "\0", 1 },
		{ "\"a\\u0000b\\u0000\"", "a\0b\0", 4 },
		/* An escaped backslash and text, not an escape. */
		{ "\"\\\\u0000\"", "\\u0000", 6 },
		{ "\"\\\\\\u0000\"", "\\\0", 2 },
		{ "\"\\\\\\\\u0000\"", "\\\\u0000", 7 },
		{ "\"\\\\\\\\\\u0000\\\\u0000\"", "\\\\\0\\u0000", 9 },
		{ "\"\\\"\\u0000\\\"\"", "\"\0\"", 3 },
		/* Longer and shorter digits beside it. */
		{ "\"\\u00000\\u00010\"",
		    "\0"
		    "0\1"
		    "0",
		    4 },
	};
	struct cJSON *tree;
	char *bytes;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		tree = good(v[i].text);
		assert_int_equal(json_bytes(&bytes, &len, tree), ST_OK);
		assert_int_equal(len, v[i].len);
		assert_memory_equal(bytes, v[i].bytes, len + 1);
		/* As a C string only where none is in it. */
		if (memchr(v[i].bytes, '\0', v[i].len) != NULL)
			assert_null(json_string(tree));
		else
			assert_string_equal(json_string(tree), v[i].bytes);
		free(bytes);
		json_free(tree);
	}
	/* A name does not end at it: it is not the name before it. */
	tree = good("{\"source\\u0000x\":1}");
	assert_null(json_get(tree, "source"));
	assert_string_equal(json_name(json_first(tree)), "source\xff"
							 "x");
	assert_int_equal(json_bytes(&bytes, &len, tree), ST_FORMAT);
	json_free(tree);
}

static void
whole_numbers_in_any_spelling(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} v[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "0.0", 0 },
		{ "0e5", 0 },
		{ "1", 1 },
		{ "10000", 10000 },
		{ "1e4", 10000 },
		{ "1E+4", 10000 },
		{ "10000.0", 10000 },
		{ "100000e-1", 10000 },
		{ "1.5e1", 15 },
		{ "4294967296", 4294967296 },
		{ "9007199254740991", 9007199254740991 },
		{ "9007199254740992", 9007199254740992 },
	};
	static const char *const bad[] = { "1.5", "-1", "-1e-5", "1e-1", "0.1",
		"9007199254740994", "1e16", "18446744073709551616", "1e308",
		"true", "\"1\"", "null", "[]", "{}" };
	struct cJSON *tree;
	uint64_t got;

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		tree = good(v[i].text);
		assert_int_equal(json_uint(&got, tree), ST_OK);
		assert_int_equal(got, v[i].want);
		json_free(tree);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		tree = good(bad[i]);
		got = 77;
		assert_int_equal(json_uint(&got, tree), ST_FORMAT);
		assert_int_equal(got, 77);
		json_free(tree);
	}
}

static void
doubles(void **state)
{
	struct cJSON *v = good("[1.25,-3e-2,\"1\"]");
	const struct cJSON *m = json_first(v);
	double d;

	(void)state;
	assert_int_equal(json_double(&d, m), ST_OK);
	assert_true(d == 1.25);
	m = json_next(m);
	assert_int_equal(json_double(&d, m), ST_OK);
	assert_true(d == -0.03);
	assert_int_equal(json_double(&d, json_next(m)), ST_FORMAT);
	json_free(v);
}

/* ---- writing ---- */

static void
strings_are_escaped_as_jcs_does(void **state)
{
	char all[33] = "";
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	for (int i = 0; i < 32; i++)
		all[i] = (char)i;
	json_put_bytes(&b, all, 32);
	assert_string_equal(buf_cstr(&b),
	    "\"\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t"
	    "\\n\\u000b\\f\\r\\u000e\\u000f\\u0010\\u0011\\u0012\\u0013\\u0014"
	    "\\u0015\\u0016\\u0017\\u0018\\u0019\\u001a\\u001b\\u001c\\u001d"
	    "\\u001e\\u001f\"");
	buf_clear(&b);
	json_put_string(&b, "\"\\/\x7f\xc2\x80\xe2\x80\xa8\xf0\x9f\x98\x80");
	assert_string_equal(buf_cstr(&b),
	    "\"\\\"\\\\/\x7f\xc2\x80\xe2\x80\xa8\xf0\x9f\x98\x80\"");
	buf_clear(&b);
	json_put_string(&b, "");
	json_put_bytes(&b, NULL, 0);
	assert_string_equal(buf_cstr(&b), "\"\"\"\"");
	buf_free(&b);
}

static void
ascii_for_old_clients(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	json_put_ascii(&b, "a\"\\\n\x01\x7f\xc2\x80\xc3\xa4\xe2\x82\xac\xef\xbf"
			   "\xbf\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf"
			   "\xbf");
	assert_string_equal(buf_cstr(&b),
	    "\"a\\\"\\\\\\n\\u0001\x7f\\u0080\\u00e4\\u20ac\\uffff"
	    "\\ud800\\udc00\\ud83d\\ude00\\udbff\\udfff\"");
	buf_clear(&b);
	json_put_ascii(&b, "\xff"
			   "a");
	assert_string_equal(buf_cstr(&b), "\"\\ufffda\"");
	buf_free(&b);
}

static void
tenths(void **state)
{
	static const struct {
		uint64_t in;
		const char *out;
	} v[] = { { 0, "0" }, { 1, "0.1" }, { 10, "1" }, { 120, "12" },
		{ 123, "12.3" }, { 1000000, "100000" },
		{ 90071992547409919, "9007199254740991.9" } };
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		buf_clear(&b);
		json_put_tenths(&b, v[i].in);
		assert_string_equal(buf_cstr(&b), v[i].out);
	}
	buf_free(&b);
}

static void
commas_come_by_themselves(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	json_sep(&b);
	buf_addc(&b, '{');
	json_key(&b, "a\n");
	json_put_string(&b, "[{:");
	json_key(&b, "b");
	buf_addc(&b, '[');
	for (int i = 0; i < 3; i++) {
		json_sep(&b);
		buf_addf(&b, "%d", i);
	}
	buf_addc(&b, ']');
	json_key(&b, "c");
	buf_addc(&b, '{');
	buf_addc(&b, '}');
	json_key(&b, "d");
	json_sep(&b);
	buf_adds(&b, "null}");
	assert_string_equal(buf_cstr(&b),
	    "{\"a\\n\":\"[{:\",\"b\":[0,1,2],\"c\":{},\"d\":null}");
	json_free(good(buf_cstr(&b)));
	buf_free(&b);
}

static void
what_is_written_reads_back(void **state)
{
	struct cJSON *v;
	struct buf b;
	char *bytes;
	size_t len;
	char in[64];
	uint32_t x = 3;

	(void)state;
	buf_init(&b, 1000);
	for (int round = 0; round < 500; round++) {
		for (size_t i = 0; i < sizeof(in); i++) {
			x = x * 1664525 + 1013904223;
			in[i] = (char)(x >> 25);
		}
		buf_clear(&b);
		json_put_bytes(&b, in, sizeof(in));
		v = good(buf_cstr(&b));
		assert_int_equal(json_bytes(&bytes, &len, v), ST_OK);
		assert_int_equal(len, sizeof(in));
		assert_memory_equal(bytes, in, len);
		free(bytes);
		json_free(v);
	}
	buf_free(&b);
}

/* Every text of up to five characters out of those that matter to the grammar:
 * what the scanner lets through, cJSON must take. */
static void
scanner_and_cjson_agree(void **state)
{
	static const char set[] = "[]{},:\"\\u01-.e t";
	const size_t kinds = sizeof(set) - 1;
	size_t taken = 0, total = 1;
	struct cJSON *v;
	char text[5];

	(void)state;
	for (size_t len = 1; len <= sizeof(text); len++) {
		total *= kinds;
		for (size_t n = 0; n < total; n++) {
			enum status st;
			size_t rest = n;

			for (size_t i = 0; i < len; i++, rest /= kinds)
				text[i] = set[rest % kinds];
			st = json_parse(&v, text, len, &caps, NULL);
			/* ST_NOMEM would be cJSON's refusal. */
			assert_true(st == ST_OK || st == ST_FORMAT);
			taken += st == ST_OK;
			json_free(v);
		}
	}
	assert_in_range(taken, 1000, 100000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_what_rfc_8259_does),
		cmocka_unit_test(refuses_bad_structure),
		cmocka_unit_test(refuses_bad_words_and_numbers),
		cmocka_unit_test(refuses_bad_strings),
		cmocka_unit_test(refuses_bad_utf8),
		cmocka_unit_test(depth_is_capped),
		cmocka_unit_test(values_are_capped),
		cmocka_unit_test(duplicates_are_refused_everywhere),
		cmocka_unit_test(duplicates_in_big_objects),
		cmocka_unit_test(big_texts_take_linear_time),
		cmocka_unit_test(tree_is_readable),
		cmocka_unit_test(nothing_is_read_from_null),
		cmocka_unit_test(strings_are_decoded),
		cmocka_unit_test(nul_is_carried_through),
		cmocka_unit_test(whole_numbers_in_any_spelling),
		cmocka_unit_test(doubles),
		cmocka_unit_test(strings_are_escaped_as_jcs_does),
		cmocka_unit_test(ascii_for_old_clients),
		cmocka_unit_test(tenths),
		cmocka_unit_test(commas_come_by_themselves),
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(scanner_and_cjson_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
