#include "base/hex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
hex_encodes_all_bytes(void **state)
{
	uint8_t all[256], back[256];
	char text[513];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	hex_encode(text, all, sizeof(all));
	assert_int_equal(strlen(text), 512);
	assert_memory_equal(text, "000102", 6);
	assert_string_equal(text + 506, "fdfeff");
	assert_int_equal(hex_decode(back, sizeof(back), text), ST_OK);
	assert_memory_equal(all, back, sizeof(all));
	hex_encode(text, all, 0);
	assert_string_equal(text, "");
}

static void
hex_decode_takes_both_cases(void **state)
{
	uint8_t out[3];

	(void)state;
	assert_int_equal(hex_decode(out, 3, "aBCdEf"), ST_OK);
	assert_memory_equal(out, "\xab\xcd\xef", 3);
	assert_int_equal(hex_decode0x(out, 3, "0x00fF10"), ST_OK);
	assert_memory_equal(out, "\x00\xff\x10", 3);
	assert_int_equal(hex_decode(out, 0, ""), ST_OK);
	assert_int_equal(hex_decode0x(out, 0, "0x"), ST_OK);
}

static void
hex_decode_refuses(void **state)
{
	static const char *const bad[] = { "", "a", "abc", "abcde", "abcdef",
		"abcg", "ab d", "0xab", "abc ", " abc", "+bcd", "abc\n",
		"ab\xff\xff", "ab/:", "ab@G", "ab`g" };
	uint8_t out[2] = { 1, 2 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hex_decode(out, 2, bad[i]), ST_FORMAT);
	assert_int_equal(hex_decode0x(out, 2, "abcd"), ST_FORMAT);
	assert_int_equal(hex_decode0x(out, 2, "0Xabcd"), ST_FORMAT);
	assert_int_equal(hex_decode0x(out, 2, "0x0xab"), ST_FORMAT);
	assert_int_equal(hex_decode0x(out, 2, "0"), ST_FORMAT);
	assert_int_equal(hex_decode0x(out, 2, ""), ST_FORMAT);
	assert_int_equal(hex_decode(out, 0, "a"), ST_FORMAT);
	/* Untouched by all of that. */
	assert_int_equal(out[0], 1);
	assert_int_equal(out[1], 2);
}

static void
base64_known_vectors(void **state)
{
	/* RFC 4648 section 10, and bytes where the alphabets differ. */
	static const struct {
		const char *in, *std, *url;
	} v[] = {
		{ "", "", "" },
		{ "f", "Zg==", "Zg" },
		{ "fo", "Zm8=", "Zm8" },
		{ "foo", "Zm9v", "Zm9v" },
		{ "foob", "Zm9vYg==", "Zm9vYg" },
		{ "fooba", "Zm9vYmE=", "Zm9vYmE" },
		{ "foobar", "Zm9vYmFy", "Zm9vYmFy" },
		{ "\xfb\xff\xbf", "+/+/", "-_-_" },
		{ "\xff\xff", "//8=", "__8" },
	};
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		buf_clear(&b);
		hex_base64(&b, v[i].in, strlen(v[i].in));
		assert_string_equal(buf_cstr(&b), v[i].std);
		buf_clear(&b);
		hex_base64url(&b, v[i].in, strlen(v[i].in));
		assert_string_equal(buf_cstr(&b), v[i].url);
		buf_clear(&b);
		assert_int_equal(
		    hex_unbase64(&b, v[i].std, strlen(v[i].std)), ST_OK);
		assert_string_equal(buf_cstr(&b), v[i].in);
		buf_clear(&b);
		assert_int_equal(
		    hex_unbase64(&b, v[i].url, strlen(v[i].url)), ST_OK);
		assert_string_equal(buf_cstr(&b), v[i].in);
	}
	buf_free(&b);
}

static void
base64_round_trip_of_every_length(void **state)
{
	uint8_t in[3000];
	struct buf text, back;
	uint32_t x = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(in); i++) {
		x = x * 1664525 + 1013904223;
		in[i] = (uint8_t)(x >> 24);
	}
	buf_init(&text, 5000);
	buf_init(&back, 5000);
	for (size_t len = 0; len <= sizeof(in); len += len < 100 ? 1 : 97) {
		for (int url = 0; url < 2; url++) {
			buf_clear(&text);
			buf_clear(&back);
			if (url)
				hex_base64url(&text, in, len);
			else
				hex_base64(&text, in, len);
			assert_int_equal(text.len,
			    url ? (len * 4 + 2) / 3 : (len + 2) / 3 * 4);
			assert_int_equal(
			    hex_unbase64(&back, buf_cstr(&text), text.len),
			    ST_OK);
			assert_int_equal(back.len, len);
			if (len > 0)
				assert_memory_equal(back.data, in, len);
		}
	}
	buf_free(&text);
	buf_free(&back);
}

static void
unbase64_refuses(void **state)
{
	static const char *const bad[] = {
		"Z",	    /* no such length */
		"Zm9vZ",    /* the same behind a whole group */
		"Zm9v=",    /* padding that is not needed */
		"Zm9v====", /* a group of it */
		"Zg=",	    /* too little */
		"Zm8==",    /* too much */
		"Zg===",    /* too much */
		"=",
		"==",
		"===",
		"====",
		"Zg==Zg==", /* two texts in one */
		"Z=g=",
		"=Zg=",
		"Zh==", /* unused bits set */
		"Zh",	/* the same unpadded */
		"Zi==",
		"Zk==",
		"Zo==",
		"Zm+=",
		"Zm-",
		"Zm9=",
		"Zm9", /* two of them */
		"Zm9v\n",
		"Zm9v\r\n",
		"Zm\n9v",
		" Zm9v",
		"Zm9v ",
		"Zm 9v",
		"Zm9v, Zm9v", /* two header lines joined */
		"+_+_",
		"-/__", /* alphabets mixed */
		"Zm9\xff",
		"Zm9*",
		"Zm9.",
		"Zm9:",
		"Zm9@",
		"Zm9[",
		"Zm9`",
		"Zm9{",
	};
	struct buf b;

	(void)state;
	buf_init(&b, 100);
	buf_adds(&b, "kept");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    hex_unbase64(&b, bad[i], strlen(bad[i])), ST_FORMAT);
	assert_int_equal(hex_unbase64(&b, "Zm\0v", 4), ST_FORMAT);
	assert_string_equal(buf_cstr(&b), "kept");
	assert_int_equal(hex_unbase64(&b, "Zm9vXX", 4), ST_OK);
	assert_string_equal(buf_cstr(&b), "keptfoo");
	buf_free(&b);
}

static void
unbase64_obeys_the_buffer(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 2);
	assert_int_equal(hex_unbase64(&b, "Zm9v", 4), ST_TOO_BIG);
	buf_clear(&b);
	assert_int_equal(hex_unbase64(&b, "Zm8", 3), ST_OK);
	assert_string_equal(buf_cstr(&b), "fo");
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hex_encodes_all_bytes),
		cmocka_unit_test(hex_decode_takes_both_cases),
		cmocka_unit_test(hex_decode_refuses),
		cmocka_unit_test(base64_known_vectors),
		cmocka_unit_test(base64_round_trip_of_every_length),
		cmocka_unit_test(unbase64_refuses),
		cmocka_unit_test(unbase64_obeys_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
