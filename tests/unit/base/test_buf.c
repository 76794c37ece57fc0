#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Lets a huge request fail under AddressSanitizer as it does without. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void
fresh_is_empty(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(b.len, 0);
	assert_null(b.data);
	assert_string_equal(buf_cstr(&b), "");
	buf_free(&b);
	buf_free(&b);
	buf_free(NULL);
}

static void
all_ways_to_add(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	buf_adds(&b, "ab");
	buf_addc(&b, 'c');
	buf_add(&b, "d\0e", 3);
	buf_addf(&b, "%d-%s", 42, "f");
	buf_add(&b, NULL, 0);
	buf_adds(&b, "");
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(b.len, 10);
	assert_memory_equal(b.data, "abcd\0e42-f", 11);
	buf_free(&b);
}

static void
grows_and_stays_terminated(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 100000);
	for (size_t i = 0; i < 100000; i++) {
		buf_addc(&b, (char)('a' + i % 26));
		assert_int_equal(b.data[i + 1], '\0');
	}
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(b.len, 100000);
	assert_true(b.cap <= 100001);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	buf_free(&b);
}

static void
max_is_exact_and_sticks(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	buf_adds(&b, "abcd");
	assert_int_equal(buf_status(&b), ST_OK);
	assert_string_equal(buf_cstr(&b), "abcd");
	buf_addc(&b, 'e');
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	assert_string_equal(buf_cstr(&b), "");
	/* Nothing works any more, not even what would fit. */
	buf_adds(&b, "");
	buf_addf(&b, "%s", "");
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	assert_int_equal(b.len, 4);
	buf_clear(&b);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(b.len, 0);
	assert_string_equal(buf_cstr(&b), "");
	buf_adds(&b, "xy");
	assert_string_equal(buf_cstr(&b), "xy");
	buf_free(&b);
}

static void
first_error_wins(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 2);
	buf_adds(&b, "abc");
	assert_int_equal(b.len, 0);
	buf_adds(&b, "a");
	assert_int_equal(b.len, 0);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	buf_free(&b);
}

static void
zero_max_holds_nothing(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 0);
	buf_adds(&b, "");
	assert_int_equal(buf_status(&b), ST_OK);
	buf_addc(&b, 'x');
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	buf_free(&b);
}

static void
formatted_text_grows_and_stops(void **state)
{
	char text[300];
	struct buf b;

	(void)state;
	memset(text, 'z', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	/* Longer than the room there is, twice: must be formatted again. */
	buf_init(&b, 600);
	buf_addf(&b, "<%s>", text);
	buf_addf(&b, "%s", text);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(b.len, 600);
	assert_int_equal(b.data[0], '<');
	assert_int_equal(b.data[300], '>');
	assert_memory_equal(b.data + 301, text, 300);
	buf_free(&b);
	/* One too many: nothing of it stays. */
	buf_init(&b, 301);
	buf_adds(&b, "abc");
	buf_addf(&b, "%s", text);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "abc", 4);
	buf_free(&b);
}

static void
exact_fit_of_formatted_text(void **state)
{
	struct buf b;

	(void)state;
	for (int n = 0; n < 200; n++) {
		buf_init(&b, 200);
		buf_addf(&b, "%0*d", n, 0);
		buf_addf(&b, "%s", "end");
		assert_int_equal(buf_status(&b), n > 197 ? ST_TOO_BIG : ST_OK);
		if (n > 0 && n <= 197)
			assert_string_equal(b.data + n, "end");
		buf_free(&b);
	}
}

static void
too_much_memory_sticks(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, SIZE_MAX);
	buf_adds(&b, "abc");
	buf_add(&b, "x", SIZE_MAX / 4); /* refused before it is read */
	assert_int_equal(buf_status(&b), ST_NOMEM);
	buf_adds(&b, "d");
	assert_int_equal(buf_status(&b), ST_NOMEM);
	assert_memory_equal(b.data, "abc", 4);
	/* Lengths that would wrap. */
	buf_clear(&b);
	buf_adds(&b, "abc");
	buf_add(&b, "x", SIZE_MAX - 3);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	buf_clear(&b);
	buf_adds(&b, "abc");
	buf_add(&b, "x", SIZE_MAX);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	buf_free(&b);
}

static void
take_hands_over(void **state)
{
	struct buf b;
	size_t len = 99;
	char *s;

	(void)state;
	buf_init(&b, 10);
	buf_add(&b, "a\0b", 3);
	s = buf_take(&b, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(s, "a\0b", 4);
	free(s);
	assert_int_equal(b.len, 0);
	assert_null(b.data);
	/* It can be used again, with the same maximum. */
	buf_adds(&b, "0123456789");
	assert_int_equal(buf_status(&b), ST_OK);
	s = buf_take(&b, NULL);
	assert_string_equal(s, "0123456789");
	free(s);
}

static void
take_of_empty_and_of_failed(void **state)
{
	struct buf b;
	size_t len = 99;
	char *s;

	(void)state;
	buf_init(&b, 2);
	s = buf_take(&b, &len);
	assert_string_equal(s, "");
	assert_int_equal(len, 0);
	free(s);
	buf_adds(&b, "ab");
	buf_adds(&b, "c");
	len = 99;
	assert_null(buf_take(&b, &len));
	assert_int_equal(len, 0);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	assert_null(b.data);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fresh_is_empty),
		cmocka_unit_test(all_ways_to_add),
		cmocka_unit_test(grows_and_stays_terminated),
		cmocka_unit_test(max_is_exact_and_sticks),
		cmocka_unit_test(first_error_wins),
		cmocka_unit_test(zero_max_holds_nothing),
		cmocka_unit_test(formatted_text_grows_and_stops),
		cmocka_unit_test(exact_fit_of_formatted_text),
		cmocka_unit_test(too_much_memory_sticks),
		cmocka_unit_test(take_hands_over),
		cmocka_unit_test(take_of_empty_and_of_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
