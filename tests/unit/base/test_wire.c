#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Append a record to image; gives the new length. */
static size_t
record(uint8_t *image, size_t at, enum wire_kind kind, const char *path,
    const void *data, size_t data_len)
{
	size_t path_len = strlen(path);

	wire_put_head(image + at, kind, path_len, data_len);
	at += WIRE_RECORD_HEAD;
	memcpy(image + at, path, path_len);
	at += path_len;
	if (data_len > 0)
		memcpy(image + at, data, data_len);
	return at + data_len;
}

static void
head_is_little_endian(void **state)
{
	uint8_t head[WIRE_RECORD_HEAD];

	(void)state;
	wire_put_head(head, WIRE_ENV, 0x01020304, 0x1112131415161718);
	assert_memory_equal(
	    head, "\x03\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11", 13);
}

static void
records_come_back_in_order(void **state)
{
	uint8_t image[200];
	struct wire_record r;
	size_t len = 0, at = 0;

	(void)state;
	len = record(image, len, WIRE_FILE, "main.py", "print(1)", 8);
	len = record(image, len, WIRE_FILE, "a/b", "", 0);
	len = record(image, len, WIRE_ARG, "", "x\0y", 3);
	len = record(image, len, WIRE_ENV, "", "A=1", 3);
	len = record(image, len, WIRE_STDIN, "", "in", 2);

	assert_int_equal(wire_next(&r, image, len, &at), 1);
	assert_int_equal(r.kind, WIRE_FILE);
	assert_int_equal(r.path_len, 7);
	assert_memory_equal(r.path, "main.py", 7);
	assert_int_equal(r.data_len, 8);
	assert_memory_equal(r.data, "print(1)", 8);
	assert_int_equal(wire_next(&r, image, len, &at), 1);
	assert_int_equal(r.path_len, 3);
	assert_int_equal(r.data_len, 0);
	assert_int_equal(wire_next(&r, image, len, &at), 1);
	assert_int_equal(r.kind, WIRE_ARG);
	assert_int_equal(r.path_len, 0);
	assert_memory_equal(r.data, "x\0y", 3);
	assert_int_equal(wire_next(&r, image, len, &at), 1);
	assert_int_equal(r.kind, WIRE_ENV);
	assert_int_equal(wire_next(&r, image, len, &at), 1);
	assert_int_equal(r.kind, WIRE_STDIN);
	assert_memory_equal(r.data, "in", 2);
	assert_int_equal(wire_next(&r, image, len, &at), 0);
	assert_int_equal(at, len);
	assert_int_equal(wire_next(&r, image, len, &at), 0);
}

/* An exact block, so that AddressSanitizer sees a read beyond its end. */
static int
next_of(const void *bytes, size_t len, size_t at)
{
	struct wire_record r;
	uint8_t *image = malloc(len > 0 ? len : 1);
	size_t before = at;
	int got;

	memcpy(image, bytes, len);
	got = wire_next(&r, image, len, &at);
	if (got != 1)
		assert_int_equal(at, before);
	free(image);
	return got;
}

static void
every_cut_is_seen(void **state)
{
	uint8_t image[100];
	size_t len = record(image, 0, WIRE_FILE, "main.py", "print(1)", 8);

	(void)state;
	assert_int_equal(next_of(image, 0, 0), 0);
	for (size_t n = 1; n < len; n++)
		assert_int_equal(next_of(image, n, 0), -1);
	assert_int_equal(next_of(image, len, 0), 1);
	assert_int_equal(next_of(image, len, len + 1), -1);
	assert_int_equal(next_of(image, len, SIZE_MAX), -1);
}

static void
lengths_that_lie_are_refused(void **state)
{
	static const struct {
		size_t path, data;
	} lies[] = {
		{ 1, UINT64_MAX },
		{ 1, UINT64_MAX - 1 },
		{ 1, UINT64_MAX - WIRE_RECORD_HEAD },
		{ 1, INT64_MAX },
		{ 1, 27 },
		{ 28, 0 },
		{ UINT32_MAX, 0 },
		{ UINT32_MAX, UINT64_MAX - UINT32_MAX },
		{ UINT32_MAX, UINT64_MAX - UINT32_MAX + 1 },
	};
	uint8_t image[WIRE_RECORD_HEAD + 27];

	(void)state;
	memset(image, 'x', sizeof(image));
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		wire_put_head(image, WIRE_FILE, lies[i].path, lies[i].data);
		assert_int_equal(next_of(image, sizeof(image), 0), -1);
	}
	wire_put_head(image, WIRE_FILE, 1, 26);
	assert_int_equal(next_of(image, sizeof(image), 0), 1);
}

static void
kinds_are_checked(void **state)
{
	uint8_t image[WIRE_RECORD_HEAD + 4] = { 0 };

	(void)state;
	for (int kind = 0; kind < 256; kind++) {
		bool known = kind >= WIRE_FILE && kind < WIRE_KIND_MAX;
		bool named = kind == WIRE_FILE || kind == WIRE_FOLDER ||
			     kind == WIRE_GIVEN || kind == WIRE_OMITTED ||
			     kind == WIRE_FIGURE;

		/* Only a file or folder has a path, and it must have one. */
		wire_put_head(image, (enum wire_kind)kind, 2, 2);
		assert_int_equal(
		    next_of(image, sizeof(image), 0), named ? 1 : -1);
		wire_put_head(image, (enum wire_kind)kind, 0, 4);
		assert_int_equal(
		    next_of(image, sizeof(image), 0), known && !named ? 1 : -1);
	}
}

static void
noise_never_leaves_the_image(void **state)
{
	uint8_t image[64];
	struct wire_record r;
	uint32_t x = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t at = 0, len;

		for (size_t i = 0; i < sizeof(image); i++) {
			x = x * 1664525 + 1013904223;
			/* Small numbers mostly, else nothing gets far. */
			image[i] = (uint8_t)(x >> 24) & (x & 0x100 ? 3 : 255);
		}
		len = x >> 8 & 63;
		while (wire_next(&r, image, len, &at) == 1) {
			assert_true((const uint8_t *)r.path >= image);
			assert_true(r.data + r.data_len <= image + len);
			assert_ptr_equal(image + at, r.data + r.data_len);
		}
		assert_true(at <= len);
	}
}

static void
good_paths(void **state)
{
	static const char *const good[] = { "a", "a/b", "...", ".a", "..a",
		"a..", "a.", ".a/..b", "-", "a b", "a\\b", "a\nb",
		"\xc3\xa4/\xff", "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p" };
	char name[256];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(wire_path_ok(good[i], strlen(good[i])));
	memset(name, 'n', sizeof(name));
	assert_true(wire_path_ok(name, 255));
	assert_true(wire_path_ok("a/../b", 1)); /* the length counts */
}

static void
bad_paths(void **state)
{
	static const char *const bad[] = { "", "/", "/a", "a/", "a//b", "//",
		".", "..", "./a", "../a", "a/.", "a/..", "a/./b", "a/../b",
		"a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q" };
	char name[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(wire_path_ok(bad[i], strlen(bad[i])));
	assert_false(wire_path_ok("a\0b", 3));
	assert_false(wire_path_ok("\0", 1));
	assert_false(wire_path_ok("a\0", 2));
	memset(name, 'n', sizeof(name));
	assert_false(wire_path_ok(name, 256));
	name[1] = '/';
	assert_true(wire_path_ok(name, 257));
	assert_false(wire_path_ok(name, 258));
}

static void
messages_fit_their_limits(void **state)
{
	(void)state;
	/* Both ends are one build, but a hole would carry stack bytes. */
	assert_int_equal(sizeof(struct wire_reserve),
	    8 + sizeof(struct limits) + 2 * WIRE_NAME + 16);
	assert_int_equal(sizeof(struct wire_refused), 8 + WIRE_TEXT);
	assert_int_equal(sizeof(struct wire_job), 32);
	assert_int_equal(sizeof(struct wire_chunk), 12 + WIRE_CHUNK_BYTES);
	assert_int_equal(
	    sizeof(struct wire_result), 16 + 32 + 8 + WIRE_TEXT + 8);
	assert_int_equal(sizeof(struct wire_state), 28 + 32 * (WIRE_NAME + 8));
	assert_int_equal(
	    sizeof(struct wire_init_warm), 12 + WIRE_NAME + WIRE_HOOK_ENV);
	assert_int_equal(
	    sizeof(struct wire_init_job), 24 + sizeof(struct limits));
	assert_int_equal(sizeof(struct wire_seen), 16);
	assert_int_equal(
	    sizeof(struct wire_init_report), 48 + sizeof(struct wire_seen));
	assert_int_equal(sizeof(struct wire_init_extras), 16);
	assert_int_equal(sizeof(struct wire_init_failed), 56);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(head_is_little_endian),
		cmocka_unit_test(records_come_back_in_order),
		cmocka_unit_test(every_cut_is_seen),
		cmocka_unit_test(lengths_that_lie_are_refused),
		cmocka_unit_test(kinds_are_checked),
		cmocka_unit_test(noise_never_leaves_the_image),
		cmocka_unit_test(good_paths),
		cmocka_unit_test(bad_paths),
		cmocka_unit_test(messages_fit_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
