/* What the sandbox gave into the members of an answer. */
#include "web/result_extras.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/jcs.h"
#include "base/json.h"
#include "base/wire.h"

#define BYTES 4096

static struct buf image;

static void
add(enum wire_kind kind, const char *path, const void *data, size_t len)
{
	uint8_t head[WIRE_RECORD_HEAD];

	wire_put_head(head, kind, strlen(path), len);
	buf_add(&image, head, sizeof(head));
	buf_adds(&image, path);
	buf_add(&image, data, len);
}

/* Both members, or a fault; a fresh image after it. */
static void
take(struct result_extras *x, uint64_t printed, enum status want)
{
	const struct job j = { .evaluate = true,
		.wants_outputs = true,
		.limits = { .output_bytes = BYTES } };

	result_extras_init(x, &j);
	assert_int_equal(buf_status(&image), ST_OK);
	assert_int_equal(
	    result_extras_read(x, &j, printed, image.data, image.len), want);
	assert_true(x->value.len + x->outputs.len <= result_extras_most(&j));
	buf_clear(&image);
}

static void
value_of(
    enum wire_kind kind, const char *text, uint64_t printed, const char *want)
{
	struct result_extras x;

	add(kind, "", text, strlen(text));
	take(&x, printed, ST_OK);
	assert_string_equal(buf_cstr(&x.value), want);
	assert_string_equal(buf_cstr(&x.outputs), "[]");
	result_extras_free(&x);
}

static void
values(void **state)
{
	(void)state;
	value_of(WIRE_VALUE_JSON, "42", 0, "{\"json\":42}");
	value_of(WIRE_VALUE_JSON, " {\"b\" : 1.0,\"a\":[null]}\n", 0,
	    "{\"json\":{\"a\":[null],\"b\":1}}");
	value_of(WIRE_VALUE_JSON, "null", 0, "{\"json\":null}");
	value_of(WIRE_VALUE_JSON, "1e300", 0, "{\"json\":1e+300}");
	value_of(WIRE_VALUE_JSON, "\"\\u0000\"", 0, "{\"json\":\"\\u0000\"}");
	value_of(WIRE_VALUE_REPR, "<A>", 0, "{\"repr\":\"<A>\"}");
	value_of(WIRE_VALUE_REPR, "", 0, "{\"repr\":\"\"}");
	value_of(WIRE_VALUE_REPR, "\xff\x01", 0,
	    "{\"repr\":\"\xef\xbf\xbd\\u0001\"}");
}

/* What claims to be JSON and is not what we would write is shown as it is. */
static void
values_that_are_no_json(void **state)
{
	static const char *const rows[][2] = { { "", "" }, { "{", "{" },
		{ "{\"a\":1,\"a\":2}", "{\\\"a\\\":1,\\\"a\\\":2}" },
		{ "1 2", "1 2" }, { "NaN", "NaN" }, { "1e999", "1e999" },
		{ "\"\\ud800\"", "\\\"\\\\ud800\\\"" },
		{ "\"\xff\"", "\\\"\xef\xbf\xbd\\\"" } };
	char want[64], deep[1001];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(
		    want, sizeof(want), "{\"repr\":\"%s\"}", rows[i][1]);
		value_of(WIRE_VALUE_JSON, rows[i][0], 0, want);
	}
	memset(deep, '[', 500);
	memset(deep + 500, ']', 500);
	deep[1000] = '\0';
	add(WIRE_VALUE_JSON, "", deep, 1000);
	{
		struct result_extras x;

		take(&x, 0, ST_OK);
		assert_int_equal(x.value.len, 1000 + strlen("{\"repr\":\"\"}"));
		result_extras_free(&x);
	}
}

/* It shares the budget with what was printed; cut, it never ends within a
 * character. */
static void
values_that_do_not_fit(void **state)
{
	(void)state;
	value_of(WIRE_VALUE_JSON, "[1]", BYTES - 3, "{\"json\":[1]}");
	value_of(WIRE_VALUE_JSON, "[1]", BYTES - 2, "{\"repr\":\"[1\"}");
	value_of(WIRE_VALUE_REPR, "a\xc3\xa9", BYTES - 2, "{\"repr\":\"a\"}");
	value_of(WIRE_VALUE_REPR, "abc", BYTES, "{\"repr\":\"\"}");
	value_of(WIRE_VALUE_REPR, "abc", BYTES + 1, "{\"repr\":\"\"}");
}

static void
files(void **state)
{
	uint64_t size = 1u << 30;
	struct result_extras x;

	(void)state;
	add(WIRE_GIVEN, "a", "\0\xc3\xa9\"", 4);
	add(WIRE_GIVEN, "b.PNG", "\xff\x00", 2);
	add(WIRE_OMITTED, "c.tar.gz", &size, sizeof(size));
	add(WIRE_GIVEN, "d.png/e", "", 0);
	add(WIRE_GIVEN, "f.", "", 0);
	add(WIRE_GIVEN, "\xc3\xa9.txt", "\xf0\x9f\xa7", 3);
	take(&x, 0, ST_OK);
	assert_string_equal(buf_cstr(&x.value), "null");
	assert_string_equal(buf_cstr(&x.outputs),
	    "[{\"content\":\"\\u0000\xc3\xa9\\\"\","
	    "\"mimeType\":\"application/octet-stream\",\"path\":\"a\","
	    "\"size\":4},"
	    "{\"base64\":\"/wA=\",\"mimeType\":\"image/png\","
	    "\"path\":\"b.PNG\",\"size\":2},"
	    "{\"mimeType\":\"application/gzip\",\"omitted\":\"too_large\","
	    "\"path\":\"c.tar.gz\",\"size\":1073741824},"
	    "{\"content\":\"\",\"mimeType\":\"application/octet-stream\","
	    "\"path\":\"d.png/e\",\"size\":0},"
	    "{\"content\":\"\",\"mimeType\":\"application/octet-stream\","
	    "\"path\":\"f.\",\"size\":0},"
	    "{\"base64\":\"8J+n\",\"mimeType\":\"text/plain\","
	    "\"path\":\"\xc3\xa9.txt\",\"size\":3}]");
	result_extras_free(&x);
}

/* The text is its own canonical form: it is digested as it stands. */
static void
canonical(void **state)
{
	static const struct json_caps caps = { .depth = 8, .values = 100 };
	OWN_JSON struct cJSON *v = NULL;
	struct result_extras x;
	OWN_BUF struct buf again;

	(void)state;
	add(WIRE_GIVEN, "a\"\n.csv", "x\x7f\xe2\x80\xa8", 5);
	take(&x, 0, ST_OK);
	buf_init(&again, 4096);
	assert_int_equal(
	    json_parse(&v, buf_cstr(&x.outputs), x.outputs.len, &caps, NULL),
	    ST_OK);
	jcs_write(&again, v);
	assert_string_equal(buf_cstr(&again), buf_cstr(&x.outputs));
	result_extras_free(&x);
}

static void
worst(void **state)
{
	static char data[BYTES];
	struct result_extras x;

	(void)state;
	memset(data, 1, sizeof(data));
	add(WIRE_VALUE_REPR, "", data, sizeof(data));
	add(WIRE_GIVEN, "a", data, sizeof(data));
	take(&x, 0, ST_OK);
	assert_true(x.value.len > 6 * BYTES);
	assert_true(x.outputs.len > 6 * BYTES);
	result_extras_free(&x);
}

static void
broken(void **state)
{
	struct result_extras x;

	(void)state;
	add(WIRE_VALUE_JSON, "", "1", 1);
	add(WIRE_GIVEN, "../x", "", 0);
	take(&x, 0, ST_FORMAT);
	assert_string_equal(buf_cstr(&x.value), "null");
	assert_string_equal(buf_cstr(&x.outputs), "[]");
	result_extras_free(&x);
}

static int
set_up(void **state)
{
	(void)state;
	buf_init(&image, 1u << 20);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	buf_free(&image);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(values_that_are_no_json),
		cmocka_unit_test(values_that_do_not_fit),
		cmocka_unit_test(files),
		cmocka_unit_test(canonical),
		cmocka_unit_test(worst),
		cmocka_unit_test(broken),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
