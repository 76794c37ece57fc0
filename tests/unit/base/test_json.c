/* Trees read, strings written, and time. */
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json_fixture.h"

#include "base/io.h"

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

/* In bytes of UTF-8 and in code points; a NUL is one of each. */
static void
lengths(void **state)
{
	static const struct {
		const char *text;
		size_t bytes, points;
	} table[] = {
		{ "\"\"", 0, 0 },
		{ "\"abc\"", 3, 3 },
		{ "\"\\u00e9\\u20ac\\ud83d\\ude00\"", 9, 3 },
		{ "\"a\\u0000\\u00e9\"", 4, 3 },
		{ "7", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct cJSON *v = good(table[i].text);

		assert_int_equal(json_length(v), table[i].bytes);
		assert_int_equal(json_points(v), table[i].points);
		json_free(v);
	}
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(big_texts_take_linear_time),
		cmocka_unit_test(lengths),
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
