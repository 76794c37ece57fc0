#include "base/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FFFD "\xef\xbf\xbd"

/* Ill-formed texts and what the WHATWG decoder makes of them. */
static const struct {
	const char *in, *out;
} mends[] = {
	/* Stray continuations, impossible bytes. */
	{ "\x80", FFFD },
	{ "a\xbf\x80z", "a" FFFD FFFD "z" },
	{ "\xc0\xc1\xf5\xf8\xfe\xff", FFFD FFFD FFFD FFFD FFFD FFFD },
	/* Overlong forms: no byte of them belongs together. */
	{ "\xc0\x80", FFFD FFFD },
	{ "\xe0\x80\x80", FFFD FFFD FFFD },
	{ "\xe0\x9f\xbf", FFFD FFFD FFFD },
	{ "\xf0\x80\x80\x80", FFFD FFFD FFFD FFFD },
	{ "\xf0\x8f\xbf\xbf", FFFD FFFD FFFD FFFD },
	/* Surrogates, beyond U+10FFFF. */
	{ "\xed\xa0\x80", FFFD FFFD FFFD },
	{ "\xed\xbf\xbf", FFFD FFFD FFFD },
	{ "\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD },
	/* Cut in the middle by something else: one mark for the good part. */
	{ "\xc3z", FFFD "z" },
	{ "\xe2\x82z", FFFD "z" },
	{ "\xf0\x9f\x98z", FFFD "z" },
	{ "\xf0\x9f\x98\xf0\x9f\x98\x80", FFFD "\xf0\x9f\x98\x80" },
	{ "\xe2\xe2\x82\xac", FFFD "\xe2\x82\xac" },
	{ "\xf1\x80\x80\xe1\x80\xc2z", FFFD FFFD FFFD "z" },
	/* Unicode 15, table 3-8. */
	{ "\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64",
	    FFFD FFFD FFFD "b" FFFD "c" FFFD FFFD "d" },
	/* Far enough in for the eight bytes at a time. */
	{ "0123456789abcdef\xff"
	  "0123456789\xe2\x82\xac"
	  "89abcdef\xc3",
	    "0123456789abcdef" FFFD "0123456789\xe2\x82\xac"
	    "89abcdef" FFFD },
};

/* Good texts, at the borders of each form. */
static const struct {
	const char *in;
	uint32_t cp;
} points[] = {
	{ "a", 'a' },
	{ "\x7f", 0x7f },
	{ "\xc2\x80", 0x80 },
	{ "\xdf\xbf", 0x7ff },
	{ "\xe0\xa0\x80", 0x800 },
	{ "\xe2\x82\xac", 0x20ac },
	{ "\xed\x9f\xbf", 0xd7ff },
	{ "\xee\x80\x80", 0xe000 },
	{ "\xef\xbf\xbf", 0xffff },
	{ "\xf0\x90\x80\x80", 0x10000 },
	{ "\xf0\x9f\x98\x80", 0x1f600 },
	{ "\xf4\x8f\xbf\xbf", 0x10ffff },
};

#define N_MENDS (sizeof(mends) / sizeof(mends[0]))
#define N_POINTS (sizeof(points) / sizeof(points[0]))

static void
mended(const char *want, const char *in, size_t len, bool cut)
{
	struct buf b;

	buf_init(&b, 1000);
	utf8_mend(&b, in, len, cut);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_string_equal(buf_cstr(&b), want);
	assert_int_equal(b.len, strlen(want));
	assert_true(utf8_valid(buf_cstr(&b), b.len));
	buf_free(&b);
}

static void
good_text_passes(void **state)
{
	char text[40];
	uint32_t cp;

	(void)state;
	assert_true(utf8_valid("", 0));
	assert_true(utf8_valid("a\0b", 3));
	for (size_t i = 0; i < N_POINTS; i++) {
		size_t n = strlen(points[i].in);

		assert_true(utf8_valid(points[i].in, n));
		assert_int_equal(utf8_next(&cp, points[i].in, n), n);
		assert_int_equal(cp, points[i].cp);
		assert_int_equal(utf8_length(points[i].in, n), 1);
		assert_int_equal(utf8_incomplete(points[i].in, n), 0);
		mended(points[i].in, points[i].in, n, true);
		/* At every place of an eight-byte step. */
		for (size_t at = 0; at < 16; at++) {
			memset(text, 'x', sizeof(text));
			memcpy(text + at, points[i].in, n);
			assert_true(utf8_valid(text, 24));
			assert_int_equal(utf8_length(text, 24), 24 - n + 1);
		}
	}
}

static void
bad_text_is_refused_and_mended(void **state)
{
	char text[40];

	(void)state;
	for (size_t i = 0; i < N_MENDS; i++) {
		assert_false(utf8_valid(mends[i].in, strlen(mends[i].in)));
		mended(mends[i].out, mends[i].in, strlen(mends[i].in), false);
	}
	for (size_t at = 0; at < 24; at++) {
		memset(text, 'x', sizeof(text));
		text[at] = '\x80';
		assert_false(utf8_valid(text, 24));
	}
}

static void
next_needs_a_whole_form(void **state)
{
	uint32_t cp = 1;

	(void)state;
	assert_int_equal(utf8_next(&cp, "x", 0), 0);
	assert_int_equal(cp, 0xfffd);
	for (size_t i = 0; i < N_POINTS; i++) {
		for (size_t n = 1; n < strlen(points[i].in); n++) {
			cp = 1;
			assert_int_equal(utf8_next(&cp, points[i].in, n), 0);
			assert_int_equal(cp, 0xfffd);
			assert_false(utf8_valid(points[i].in, n));
			assert_int_equal(utf8_incomplete(points[i].in, n), n);
		}
	}
	assert_int_equal(utf8_next(&cp, "\0", 1), 1);
	assert_int_equal(cp, 0);
	assert_int_equal(utf8_next(&cp, "\x80", 1), 0);
	assert_int_equal(utf8_next(&cp, "\xed\xa0\x80", 3), 0);
}

static void
incomplete_is_only_what_can_still_become_good(void **state)
{
	(void)state;
	assert_int_equal(utf8_incomplete("", 0), 0);
	assert_int_equal(utf8_incomplete("abc", 3), 0);
	assert_int_equal(utf8_incomplete("a\xe2\x82", 3), 2);
	assert_int_equal(utf8_incomplete("a\xe2\x82\xac\xf0\x9f\x98", 7), 3);
	assert_int_equal(utf8_incomplete("\xe2\xe2", 2), 1);
	/* Lost already: nothing that follows mends these. */
	assert_int_equal(utf8_incomplete("a\x80", 2), 0);
	assert_int_equal(utf8_incomplete("\x80\x80\x80\x80", 4), 0);
	assert_int_equal(utf8_incomplete("\xe0\x80", 2), 0);
	assert_int_equal(utf8_incomplete("\xed\xa0", 2), 0);
	assert_int_equal(utf8_incomplete("\xf4\x90", 2), 0);
	assert_int_equal(utf8_incomplete("\xf0\x9f\xff", 3), 0);
	assert_int_equal(utf8_incomplete("\xc0", 1), 0);
	assert_int_equal(utf8_incomplete("\xff", 1), 0);
}

static void
a_cut_code_point_is_dropped(void **state)
{
	(void)state;
	mended("a", "a\xf0\x9f\x98", 4, true);
	mended("a" FFFD, "a\xf0\x9f\x98", 4, false);
	mended("", "\xc3", 1, true);
	mended("\xe2\x82\xac", "\xe2\x82\xac", 3, true);
	/* Only the very end, and only what the cut can have made. */
	mended("a" FFFD "b",
	    "a\xe2\x82"
	    "b",
	    4, true);
	mended("a" FFFD FFFD, "a\xe0\x80", 3, true);
	mended("a" FFFD, "a\x80", 2, true);
	mended(FFFD, "\xe2\xe2", 2, true);
}

static void
mend_keeps_nul_and_obeys_the_buffer(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 5);
	utf8_mend(&b, NULL, 0, true);
	assert_int_equal(b.len, 0);
	utf8_mend(&b, "a\0\xff", 3, false);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "a\0" FFFD, 5);
	utf8_mend(&b, "x", 1, false);
	assert_int_equal(buf_status(&b), ST_TOO_BIG);
	buf_free(&b);
}

/* What a stream does: hold the incomplete end back until more comes. Joined,
 * it must be what the whole gives (api.md section 3). */
static void
stream_in_two_parts_is_the_whole(void **state)
{
	struct buf parts;

	(void)state;
	buf_init(&parts, 1000);
	for (size_t i = 0; i < N_MENDS; i++) {
		const char *in = mends[i].in;
		size_t len = strlen(in);

		for (size_t cut = 0; cut <= len; cut++) {
			size_t held = utf8_incomplete(in, cut);

			buf_clear(&parts);
			utf8_mend(&parts, in, cut - held, false);
			utf8_mend(
			    &parts, in + cut - held, len - cut + held, false);
			assert_string_equal(buf_cstr(&parts), mends[i].out);
		}
	}
	buf_free(&parts);
}

static void
length_counts_code_points(void **state)
{
	static const char text[] = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\0z";

	(void)state;
	assert_int_equal(utf8_length(text, sizeof(text) - 1), 6);
	assert_int_equal(utf8_length("", 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_text_passes),
		cmocka_unit_test(bad_text_is_refused_and_mended),
		cmocka_unit_test(next_needs_a_whole_form),
		cmocka_unit_test(incomplete_is_only_what_can_still_become_good),
		cmocka_unit_test(a_cut_code_point_is_dropped),
		cmocka_unit_test(mend_keeps_nul_and_obeys_the_buffer),
		cmocka_unit_test(stream_in_two_parts_is_the_whole),
		cmocka_unit_test(length_counts_code_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
