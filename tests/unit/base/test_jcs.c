#include "base/jcs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static const struct json_caps caps = { 1000, 1000000 };

/* The canonical form of text. */
static void
canonical(const char *text, const char *want)
{
	struct cJSON *v = NULL;
	struct fault f = { 0 };
	struct buf b;

	if (json_parse(&v, text, strlen(text), &caps, &f) != ST_OK)
		fail_msg("%s: %s", text, f.message);
	buf_init(&b, 1 << 20);
	jcs_write(&b, v);
	json_free(v);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_string_equal(buf_cstr(&b), want);
	/* Canonical stays as it is. */
	assert_int_equal(
	    json_parse(&v, buf_cstr(&b), b.len, &caps, NULL), ST_OK);
	buf_clear(&b);
	jcs_write(&b, v);
	json_free(v);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

static void
number(const char *want, double d)
{
	struct buf b;

	buf_init(&b, 100);
	jcs_number(&b, d);
	assert_string_equal(buf_cstr(&b), want);
	buf_free(&b);
}

static void
number_bits(const char *want, uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	number(want, d);
}

/* RFC 8785, appendix B, whole. */
static void
numbers_of_the_rfc(void **state)
{
	static const struct {
		uint64_t bits;
		const char *want;
	} v[] = {
		{ 0x0000000000000000, "0" },
		{ 0x8000000000000000, "0" },
		{ 0x0000000000000001, "5e-324" },
		{ 0x8000000000000001, "-5e-324" },
		{ 0x7fefffffffffffff, "1.7976931348623157e+308" },
		{ 0xffefffffffffffff, "-1.7976931348623157e+308" },
		{ 0x4340000000000000, "9007199254740992" },
		{ 0xc340000000000000, "-9007199254740992" },
		{ 0x4430000000000000, "295147905179352830000" },
		{ 0x44b52d02c7e14af5, "9.999999999999997e+22" },
		{ 0x44b52d02c7e14af6, "1e+23" },
		{ 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
		{ 0x444b1ae4d6e2ef4e, "999999999999999700000" },
		{ 0x444b1ae4d6e2ef4f, "999999999999999900000" },
		{ 0x444b1ae4d6e2ef50, "1e+21" },
		{ 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
		{ 0x3eb0c6f7a0b5ed8d, "0.000001" },
		{ 0x41b3de4355555553, "333333333.3333332" },
		{ 0x41b3de4355555554, "333333333.33333325" },
		{ 0x41b3de4355555555, "333333333.3333333" },
		{ 0x41b3de4355555556, "333333333.3333334" },
		{ 0x41b3de4355555557, "333333333.33333343" },
		{ 0xbecbf647612f3696, "-0.0000033333333333333333" },
		{ 0x43143ff3c1cb0959, "1424953923781206.2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		number_bits(v[i].want, v[i].bits);
}

/* Powers of two where the nearest decimal of the right length does not read
 * back, but the one above does; as node 20 writes them. */
static void
numbers_at_uneven_gaps(void **state)
{
	static const struct {
		uint64_t bits;
		const char *want;
	} v[] = {
		{ 0x0060000000000000, "7.120236347223045e-307" },
		{ 0x0d70000000000000, "5.858190679279809e-244" },
		{ 0x13e0000000000000, "5.940911144672375e-213" },
		{ 0x1da0000000000000, "5.426657103235053e-166" },
		{ 0x2800000000000000, "5.075883674631299e-116" },
		{ 0x39e0000000000000, "6.310887241768095e-30" },
		{ 0x3d30000000000000, "5.684341886080802e-14" },
		{ 0x3e60000000000000, "2.9802322387695312e-8" },
		{ 0x4580000000000000, "6.189700196426902e+26" },
		{ 0x4b50000000000000, "6.129982163463556e+54" },
		{ 0x5790000000000000, "6.156563468186638e+113" },
		{ 0x6150000000000000, "5.623642243178996e+160" },
		{ 0x6510000000000000, "6.483618076376552e+178" },
		{ 0x77f0000000000000, "5.282945311356653e+269" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		number_bits(v[i].want, v[i].bits);
}

static void
numbers_at_the_borders_of_notation(void **state)
{
	(void)state;
	number("1", 1);
	number("-1", -1);
	number("10", 10);
	number("1402", 1402);
	number("0.1", 0.1);
	number("0.5", 0.5);
	number("12.3", 12.3);
	number("0.001", 0.001);
	number("0.3", 0.3);
	number("0.30000000000000004", 0.1 + 0.2);
	number("123456789.125", 123456789.125);
	number("100000000000000000000", 1e20);
	number("1e+21", 1e21);
	number("1.5e+21", 1.5e21);
	number("123000000000000000000", 1.23e20);
	number("0.000001", 1e-6);
	number("0.0000012", 1.2e-6);
	number("1e-7", 1e-7);
	number("1.2e-7", 1.2e-7);
	number("1e+100", 1e100);
	number("2.2250738585072014e-308", 2.2250738585072014e-308);
	number("4294967295", 4294967295);
	number("9007199254740991", 9007199254740991);
	number("1760000000", 1760000000);
}

/* Whatever is written reads back as the same double. */
static void
numbers_read_back(void **state)
{
	uint64_t bits = 88172645463325252;
	struct buf b;
	double d;

	(void)state;
	buf_init(&b, 100);
	for (int i = 0; i < 20000; i++) {
		bits ^= bits << 13;
		bits ^= bits >> 7;
		bits ^= bits << 17;
		if ((bits >> 52 & 0x7ff) == 0x7ff)
			continue; /* infinite or no number */
		memcpy(&d, &bits, sizeof(d));
		buf_clear(&b);
		jcs_number(&b, d);
		assert_true(strtod(buf_cstr(&b), NULL) == d);
		assert_in_range(b.len, 1, 25);
	}
	buf_free(&b);
}

/* RFC 8785, section 3.2.2 and 3.2.3. */
static void
example_of_the_rfc(void **state)
{
	(void)state;
	canonical(
	    "{\n"
	    "  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
	    "              2e-3, 0.000000000000000000000000001],\n"
	    "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c"
	    "\\\\\\\"\\/\",\n"
	    "  \"literals\": [null, true, false]\n"
	    "}",
	    "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,"
	    "1e+30,4.5,0.002,1e-27],\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\""
	    "\\\\\\\\\\\"/\"}");
}

static void
names_in_the_order_of_the_rfc(void **state)
{
	(void)state;
	canonical("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\","
		  "\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\","
		  "\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\","
		  "\"\\u0080\":\"Control\","
		  "\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
	    "{\"\\r\":\"Carriage Return\",\"1\":\"One\","
	    "\"\xc2\x80\":\"Control\","
	    "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
	    "\"\xe2\x82\xac\":\"Euro Sign\","
	    "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
	    "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
}

static void
names_by_utf16_units(void **state)
{
	(void)state;
	/* Prefixes first, then units; UTF-8 order would differ only for
	 * U+E000..U+FFFF against what is beyond. */
	canonical("{\"b\":1,\"aa\":1,\"a\":1,\"\":1,\"B\":1,\"10\":1,\"9\":1}",
	    "{\"\":1,\"10\":1,\"9\":1,\"B\":1,\"a\":1,\"aa\":1,\"b\":1}");
	canonical("{\"\\uffff\":1,\"\\ue000\":1,\"\\ud7ff\":1,"
		  "\"\\udbff\\udfff\":1,\"\\ud800\\udc01\":1,"
		  "\"\\ud800\\udc00\":1,\"\\ud800\\udc00a\":1}",
	    "{\"\xed\x9f\xbf\":1,\"\xf0\x90\x80\x80\":1,"
	    "\"\xf0\x90\x80\x80"
	    "a\":1,\"\xf0\x90\x80\x81\":1,"
	    "\"\xf4\x8f\xbf\xbf\":1,\"\xee\x80\x80\":1,\"\xef\xbf\xbf\":1}");
	/* A NUL orders as the smallest unit, but after the end. */
	canonical("{\"a\\u0001\":1,\"a\\u0000b\":1,\"a\\u0000\":1,\"a\":1,"
		  "\"\\u0000\":1}",
	    "{\"\\u0000\":1,\"a\":1,\"a\\u0000\":1,\"a\\u0000b\":1,"
	    "\"a\\u0001\":1}");
}

static void
values_of_every_kind(void **state)
{
	(void)state;
	canonical(" [ ] ", "[]");
	canonical("{ }", "{}");
	canonical("\"\"", "\"\"");
	canonical("null", "null");
	canonical("-0", "0");
	canonical("[1,[2,[3,{\"b\":[{}],\"a\":{\"d\":[],\"c\":null}}]],4]",
	    "[1,[2,[3,{\"a\":{\"c\":null,\"d\":[]},\"b\":[{}]}]],4]");
	canonical(
	    "[[],[[]],{},true,false,\"x\"]", "[[],[[]],{},true,false,\"x\"]");
	canonical("\"a\\u0000\\\\u0000\"", "\"a\\u0000\\\\u0000\"");
	/* No normalization: these stay two names. */
	canonical("{\"\\u212b\":1,\"A\\u030a\":2,\"\\u00c5\":3}",
	    "{\"A\xcc\x8a\":2,\"\xc3\x85\":3,\"\xe2\x84\xab\":1}");
}

static void
as_deep_as_the_parser_goes(void **state)
{
	char text[2001];

	(void)state;
	memset(text, '[', 1000);
	memset(text + 1000, ']', 1000);
	text[2000] = '\0';
	canonical(text, text);
}

static void
many_names_are_sorted(void **state)
{
	struct buf in, out;
	struct cJSON *v;
	const struct cJSON *m;

	(void)state;
	buf_init(&in, 1 << 20);
	buf_init(&out, 1 << 20);
	buf_addc(&in, '{');
	for (unsigned int i = 0; i < 5000; i++) {
		json_sep(&in);
		buf_addf(&in, "\"%04u\":%u", i * 2671 % 5000, i);
	}
	buf_addc(&in, '}');
	assert_int_equal(
	    json_parse(&v, buf_cstr(&in), in.len, &caps, NULL), ST_OK);
	jcs_write(&out, v);
	json_free(v);
	assert_int_equal(
	    json_parse(&v, buf_cstr(&out), out.len, &caps, NULL), ST_OK);
	assert_int_equal(json_count(v), 5000);
	for (m = json_first(v); json_next(m) != NULL; m = json_next(m))
		assert_true(strcmp(json_name(m), json_name(json_next(m))) < 0);
	json_free(v);
	buf_free(&in);
	buf_free(&out);
}

static void
errors_stick_in_the_buffer(void **state)
{
	static const char text[] = "{\"a\":[1,2,3],\"b\\u0000\":\"x\\u0000\"}";
	struct cJSON *v;
	struct buf b;

	(void)state;
	assert_int_equal(
	    json_parse(&v, text, sizeof(text) - 1, &caps, NULL), ST_OK);
	for (size_t max = 0; max <= sizeof(text) - 1; max++) {
		buf_init(&b, max);
		jcs_write(&b, v);
		assert_int_equal(buf_status(&b),
		    max == sizeof(text) - 1 ? ST_OK : ST_TOO_BIG);
		buf_free(&b);
	}
	json_free(v);
}

static void
sha256_known_vectors(void **state)
{
	char out[65];

	(void)state;
	assert_int_equal(jcs_sha256(out, "", 0), ST_OK);
	assert_string_equal(out, "e3b0c44298fc1c149afbf4c8996fb924"
				 "27ae41e4649b934ca495991b7852b855");
	assert_int_equal(jcs_sha256(out, "abc", 3), ST_OK);
	assert_string_equal(out, "ba7816bf8f01cfea414140de5dae2223"
				 "b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(jcs_sha256(out, NULL, 0), ST_OK);
}

/* One member of the outermost object alone. */
static void
test_without(void **state)
{
	static const char text[] =
	    "{\"b\":{\"x\":1},\"x\":2,\"a\":[{\"x\":3}]}";
	OWN_JSON struct cJSON *v = NULL;
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 256);
	assert_int_equal(
	    json_parse(&v, text, strlen(text), &caps, NULL), ST_OK);
	jcs_write_without(&b, v, "x");
	assert_string_equal(
	    buf_cstr(&b), "{\"a\":[{\"x\":3}],\"b\":{\"x\":1}}");
	buf_clear(&b);
	jcs_write_without(&b, v, "y");
	assert_string_equal(
	    buf_cstr(&b), "{\"a\":[{\"x\":3}],\"b\":{\"x\":1},\"x\":2}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_the_rfc),
		cmocka_unit_test(numbers_at_uneven_gaps),
		cmocka_unit_test(numbers_at_the_borders_of_notation),
		cmocka_unit_test(numbers_read_back),
		cmocka_unit_test(example_of_the_rfc),
		cmocka_unit_test(names_in_the_order_of_the_rfc),
		cmocka_unit_test(names_by_utf16_units),
		cmocka_unit_test(values_of_every_kind),
		cmocka_unit_test(as_deep_as_the_parser_goes),
		cmocka_unit_test(many_names_are_sorted),
		cmocka_unit_test(errors_stick_in_the_buffer),
		cmocka_unit_test(sha256_known_vectors),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
