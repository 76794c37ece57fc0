#include "pay/u256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TEXT                                                               \
	"1157920892373161954235709850086879078532699846656405640394575840079"  \
	"13129639935"
#define OVER_TEXT                                                              \
	"1157920892373161954235709850086879078532699846656405640394575840079"  \
	"13129639936"

#define NINES_78                                                               \
	"999999999999999999999999999999999999999"                              \
	"999999999999999999999999999999999999999"

static struct u256
parsed(const char *text)
{
	struct u256 v;

	assert_int_equal(u256_parse(&v, text), ST_OK);
	return v;
}

static void
test_parse_bytes(void **state)
{
	struct u256 v = parsed("10000");
	uint8_t expected[32] = { [30] = 0x27, [31] = 0x10 };

	(void)state;
	assert_memory_equal(v.be, expected, 32);
	v = parsed("0");
	memset(expected, 0, 32);
	assert_memory_equal(v.be, expected, 32);
	v = parsed("18446744073709551616"); /* 2^64 */
	expected[23] = 1;
	assert_memory_equal(v.be, expected, 32);
	v = parsed(MAX_TEXT);
	memset(expected, 0xff, 32);
	assert_memory_equal(v.be, expected, 32);
}

static void
test_parse_refuses(void **state)
{
	static const char *const bad[] = { "", "00", "010000", "+1", "-1", " 1",
		"1 ", "1.0", "1e4", "0x10", "1\n", "a", "\xd9\xa1", OVER_TEXT,
		"2" MAX_TEXT, "9" MAX_TEXT MAX_TEXT, NINES_78 };
	struct u256 v = u256_from(7), kept = u256_from(7);

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(u256_parse(&v, bad[i]), ST_FORMAT);
		assert_int_equal(u256_cmp(&v, &kept), 0);
	}
}

static void
test_text(void **state)
{
	static const char *const texts[] = { "0", "1", "9", "10", "255", "256",
		"10000", "18446744073709551615", "18446744073709551616",
		"100000000000000000000000000000000000000000000000000000",
		MAX_TEXT };
	char out[U256_TEXT];

	(void)state;
	assert_int_equal(strlen(MAX_TEXT) + 1, U256_TEXT);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct u256 v = parsed(texts[i]);

		u256_text(out, &v);
		assert_string_equal(out, texts[i]);
	}
}

static void
test_cmp(void **state)
{
	static const char *const rising[] = { "0", "1", "255", "256", "65535",
		"65536", "4294967296", "18446744073709551616", MAX_TEXT };
	size_t n = sizeof(rising) / sizeof(rising[0]);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n; k++) {
			struct u256 a = parsed(rising[i]);
			struct u256 b = parsed(rising[k]);
			int cmp = u256_cmp(&a, &b);

			assert_int_equal(cmp < 0, i < k);
			assert_int_equal(cmp > 0, i > k);
		}
	}
}

static void
test_64(void **state)
{
	static const uint64_t values[] = { 0, 1, 10000, UINT32_MAX,
		UINT64_MAX };
	struct u256 v;
	uint64_t back = 5;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		v = u256_from(values[i]);
		assert_true(u256_fits64(&back, &v));
		assert_true(back == values[i]);
	}
	v = u256_from(UINT64_MAX);
	assert_int_equal(u256_cmp(&v, &(struct u256){ { [24] = 0xff,
					  0xff,
					  0xff,
					  0xff,
					  0xff,
					  0xff,
					  0xff,
					  0xff } }),
	    0);
	back = 5;
	v = parsed("18446744073709551616");
	assert_false(u256_fits64(&back, &v));
	v = parsed(MAX_TEXT);
	assert_false(u256_fits64(&back, &v));
	assert_true(back == 5);
}

static void
test_add(void **state)
{
	static const struct {
		const char *a, *b, *sum;
	} rows[] = {
		{ "0", "0", "0" },
		{ "255", "1", "256" },
		{ "18446744073709551615", "1", "18446744073709551616" },
		/* What no double holds. */
		{ "9007199254740993", "9007199254740993", "18014398509481986" },
		{ MAX_TEXT, "0", MAX_TEXT },
		{ MAX_TEXT, "1", "0" },
		{ MAX_TEXT, "3", "2" },
	};
	char text[U256_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct u256 a = parsed(rows[i].a), b = parsed(rows[i].b);

		u256_add(&a, &a, &b); /* into itself */
		u256_text(text, &a);
		assert_string_equal(text, rows[i].sum);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_bytes),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_cmp),
		cmocka_unit_test(test_64),
		cmocka_unit_test(test_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
