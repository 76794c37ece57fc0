/* What json_parse() takes and refuses, and its caps. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_fixture.h"

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
		cmocka_unit_test(scanner_and_cjson_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
