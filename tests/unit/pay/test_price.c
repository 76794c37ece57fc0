#include "pay/price.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/jcs.h"

static void
assert_atomic(uint64_t micros, unsigned decimals, const char *expected)
{
	struct u256 v;
	char text[U256_TEXT];

	assert_int_equal(price_atomic(&v, micros, decimals), ST_OK);
	u256_text(text, &v);
	assert_string_equal(text, expected);
}

static void
test_atomic(void **state)
{
	(void)state;
	assert_atomic(1000, 6, "1000");
	assert_atomic(10000, 6, "10000");
	assert_atomic(1, 6, "1");
	assert_atomic(0, 6, "0");
	assert_atomic(0, 18, "0");
	assert_atomic(0, 0, "0");
	assert_atomic(20000, 2, "2");
	assert_atomic(3000000, 0, "3");
	assert_atomic(1000, 18, "1000000000000000");
	assert_atomic(UINT64_MAX, 6, "18446744073709551615");
	assert_atomic(UINT64_MAX, 60,
	    "18446744073709551615"
	    "000000000000000000000000000000000000000000000000000000");
}

static void
test_atomic_refuses(void **state)
{
	struct u256 v;

	(void)state;
	assert_int_equal(price_atomic(&v, 1000, 2), ST_FORMAT);
	assert_int_equal(price_atomic(&v, 1, 5), ST_FORMAT);
	assert_int_equal(price_atomic(&v, 10001, 2), ST_FORMAT);
	assert_int_equal(price_atomic(&v, 999999, 0), ST_FORMAT);
	assert_int_equal(price_atomic(&v, 1000000, 61), ST_FORMAT);
	assert_int_equal(price_atomic(&v, 0, 61), ST_FORMAT);
	assert_int_equal(price_atomic(&v, 1000000, (unsigned)-1), ST_FORMAT);
}

static void
assert_micros(const char *amount, unsigned decimals, uint64_t expected)
{
	uint64_t micros = 7;

	assert_int_equal(price_micros(&micros, amount, decimals), ST_OK);
	assert_true(micros == expected);
}

static void
test_micros(void **state)
{
	static const struct {
		const char *amount;
		unsigned decimals;
	} bad[] = { { "", 6 }, { "01000", 6 }, { "1e3", 6 }, { "1", 7 },
		{ "10", 8 }, { "1001", 7 }, { "100", 18 },
		{ "18446744073709551616", 6 }, { "18446744073709551615", 5 },
		{ "10", (unsigned)-1 } };
	uint64_t micros;

	(void)state;
	assert_micros("1000", 6, 1000);
	assert_micros("0", 6, 0);
	assert_micros("0", 18, 0);
	assert_micros("2", 2, 20000);
	assert_micros("3", 0, 3000000);
	assert_micros("10", 7, 1);
	assert_micros("1000000000000000", 18, 1000);
	assert_micros("18446744073709551615", 6, UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    price_micros(&micros, bad[i].amount, bad[i].decimals),
		    ST_FORMAT);
}

static void
test_dollars(void **state)
{
	static const struct {
		uint64_t micros;
		const char *text;
	} rows[] = {
		{ 0, "$0.0000" },
		{ 1, "$0.000001" },
		{ 100, "$0.0001" },
		{ 1000, "$0.0010" },
		{ 1010, "$0.00101" },
		{ 5000, "$0.0050" },
		{ 20000, "$0.0200" },
		{ 1000000, "$1.0000" },
		{ 12345678, "$12.345678" },
		{ 1000000000000, "$1000000.0000" },
		{ UINT64_MAX, "$18446744073709.551615" },
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		price_dollars(out, rows[i].micros);
		assert_string_equal(out, rows[i].text);
	}
}

/* As JCS writes the nearest double, for every price that conf.h allows. */
static void
test_number(void **state)
{
	static const uint64_t micros[] = { 0, 1, 7, 10, 100, 999, 1000, 1001,
		5000, 20000, 100000, 123456, 999999, 1000000, 1000001, 1500000,
		10000000, 100000000, 123456789012, 999999999999,
		1000000000000 };
	char out[32];

	(void)state;
	price_number(out, 1000);
	assert_string_equal(out, "0.001");
	price_number(out, 5000000);
	assert_string_equal(out, "5");
	price_number(out, 10000000);
	assert_string_equal(out, "10");
	for (size_t i = 0; i < sizeof(micros) / sizeof(micros[0]); i++) {
		OWN_BUF struct buf b;

		buf_init(&b, 64);
		jcs_number(&b, (double)micros[i] / 1e6);
		price_number(out, micros[i]);
		assert_string_equal(out, buf_cstr(&b));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_atomic_refuses),
		cmocka_unit_test(test_micros),
		cmocka_unit_test(test_dollars),
		cmocka_unit_test(test_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
