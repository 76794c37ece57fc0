/* Duplicate names, through json_parse(). */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(duplicates_are_refused_everywhere),
		cmocka_unit_test(duplicates_in_big_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
