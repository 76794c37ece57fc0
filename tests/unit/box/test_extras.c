#include "box/extras.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/wire.h"

#define ALL                                                                    \
	(WIRE_JOB_EVALUATE | WIRE_JOB_OUTPUTS | WIRE_JOB_FIGURES |             \
	    WIRE_JOB_TELL)
#define PNG "\x89PNG\r\n\x1a\n\0\0"

/* An image under way, in one block of room for all tests. */
static uint8_t image[1u << 20];
static size_t len;

static void
add(enum wire_kind kind, const char *path, const void *data, size_t data_len)
{
	size_t path_len = strlen(path);

	wire_put_head(image + len, kind, path_len, data_len);
	len += WIRE_RECORD_HEAD;
	memcpy(image + len, path, path_len);
	len += path_len;
	if (data_len > 0)
		memcpy(image + len, data, data_len);
	len += data_len;
}

static void
add_text(enum wire_kind kind, const char *path, const char *text)
{
	add(kind, path, text, strlen(text));
}

static void
add_omitted(const char *path, uint64_t size)
{
	add(WIRE_OMITTED, path, &size, sizeof(size));
}

/* The image so far, in an exact block, and a fresh start. */
static enum status
read_all(struct extras *x, uint32_t flags, uint64_t output_bytes)
{
	uint8_t *copy = malloc(len > 0 ? len : 1);
	enum status st;

	assert_non_null(copy);
	memcpy(copy, image, len);
	st = extras_read(x, copy, len, flags, output_bytes);
	if (st != ST_OK) {
		assert_int_equal(x->value, EXTRAS_VALUE_NONE);
		assert_int_equal(x->n_files + x->n_figures, 0);
	}
	free(copy);
	len = 0;
	return st;
}

static void
refused(uint32_t flags, uint64_t output_bytes)
{
	struct extras x;

	assert_int_equal(read_all(&x, flags, output_bytes), ST_FORMAT);
}

static void
all_kinds(void **state)
{
	struct extras x;

	(void)state;
	add_text(WIRE_VALUE_JSON, "", "[1]");
	add_text(WIRE_GIVEN, "a", "hi");
	add_omitted("b/c", 11);
	add_text(WIRE_GIVEN, "b/c d", "");
	add(WIRE_FIGURE, "001.png", PNG, 10);
	/* The pointers below lead into the image itself. */
	assert_int_equal(extras_read(&x, image, len, ALL, 12), ST_OK);
	len = 0;
	assert_int_equal(x.value, EXTRAS_VALUE_JSON);
	assert_int_equal(x.text_len, 3);
	assert_memory_equal(x.text, "[1]", 3);
	assert_int_equal(x.n_files, 3);
	assert_memory_equal(x.files[0].path, "a", 1);
	assert_int_equal(x.files[0].size, 2);
	assert_memory_equal(x.files[0].data, "hi", 2);
	assert_int_equal(x.files[1].path_len, 3);
	assert_null(x.files[1].data);
	assert_int_equal(x.files[1].size, 11);
	assert_non_null(x.files[2].data);
	assert_int_equal(x.files[2].size, 0);
	assert_int_equal(x.n_figures, 1);
	assert_int_equal(x.figures[0].size, 10);
}

static void
thrown(void **state)
{
	struct extras x;

	(void)state;
	add(WIRE_THROWN, "", "E\0m\0t", 5);
	assert_int_equal(extras_read(&x, image, len, ALL, 5), ST_OK);
	len = 0;
	assert_int_equal(x.value, EXTRAS_VALUE_THROWN);
	assert_memory_equal(x.text, "E\0m\0t", x.text_len);
	/* In place of a value, not beside it; and within the same size. */
	add_text(WIRE_VALUE_REPR, "", "x");
	add_text(WIRE_THROWN, "", "E");
	refused(ALL, 100);
	add_text(WIRE_THROWN, "", "E");
	add_text(WIRE_VALUE_JSON, "", "1");
	refused(ALL, 100);
	add_text(WIRE_THROWN, "", "EEEEEE");
	refused(ALL, 5);
}

static void
nothing(void **state)
{
	struct extras x;

	(void)state;
	assert_int_equal(read_all(&x, 0, 0), ST_OK);
	assert_int_equal(x.value, EXTRAS_VALUE_NONE);
	assert_int_equal(x.n_files + x.n_figures, 0);
}

static void
what_was_not_asked_for(void **state)
{
	(void)state;
	add_text(WIRE_VALUE_REPR, "", "x");
	refused(ALL & ~WIRE_JOB_EVALUATE, 100);
	add_text(WIRE_GIVEN, "a", "");
	refused(ALL & ~WIRE_JOB_OUTPUTS, 100);
	add_omitted("a", 101);
	refused(ALL & ~WIRE_JOB_OUTPUTS, 100);
	add_text(WIRE_THROWN, "", "E");
	refused(ALL & ~WIRE_JOB_TELL, 100);
	add_text(WIRE_THROWN, "", "E");
	refused(ALL & ~WIRE_JOB_EVALUATE, 100);
	add(WIRE_FOLDER, "a", "", 0);
	refused(ALL, 100);
	add(WIRE_FIGURE, "a", PNG, 10);
	refused(ALL & ~WIRE_JOB_FIGURES, 100);
	for (int kind = WIRE_FILE; kind <= WIRE_HELPER; kind++) {
		add_text(
		    (enum wire_kind)kind, kind == WIRE_FILE ? "a" : "", "x");
		refused(ALL, 100);
	}
}

static void
budgets(void **state)
{
	struct extras x;

	(void)state;
	add_text(WIRE_VALUE_REPR, "", "12345");
	assert_int_equal(read_all(&x, ALL, 5), ST_OK);
	add_text(WIRE_VALUE_REPR, "", "123456");
	refused(ALL, 5);
	/* one for the value, one for files and figures together */
	add_text(WIRE_VALUE_REPR, "", "0123456789ab");
	add_text(WIRE_GIVEN, "a", "12");
	add(WIRE_FIGURE, "a.png", PNG, 10);
	assert_int_equal(read_all(&x, ALL, 12), ST_OK);
	add_text(WIRE_GIVEN, "a", "123");
	add(WIRE_FIGURE, "a.png", PNG, 10);
	refused(ALL, 12);
	/* nobody omits what had room, or has a size that no file has */
	add_omitted("a", 12);
	refused(ALL, 12);
	add_omitted("a", UINT64_MAX);
	refused(ALL, 12);
	add_text(WIRE_OMITTED, "a", "1234567");
	refused(ALL, 12);
}

static void
only_one_value(void **state)
{
	(void)state;
	add_text(WIRE_VALUE_REPR, "", "1");
	add_text(WIRE_VALUE_JSON, "", "1");
	refused(ALL, 100);
}

static void
paths(void **state)
{
	static const char *const bad[] = { "/etc/passwd", "..", "a/../b",
		"a//b", "./a", "a/", "\xff", "a/\xc3" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		add_text(WIRE_GIVEN, bad[i], "");
		refused(ALL, 100);
		add_omitted(bad[i], 101);
		refused(ALL, 100);
		add(WIRE_FIGURE, bad[i], PNG, 10);
		refused(ALL, 100);
	}
}

static void
order(void **state)
{
	static const char *const pairs[][2] = { { "a", "a" }, { "b", "a" },
		{ "ab", "a" }, { "a/b", "a-b" }, { "\xc3\xa9", "z" } };
	struct extras x;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		add_text(WIRE_GIVEN, pairs[i][0], "");
		add_text(WIRE_GIVEN, pairs[i][1], "");
		refused(ALL, 100);
		if (i == 0)
			continue;
		add_text(WIRE_GIVEN, pairs[i][1], "");
		add_text(WIRE_GIVEN, pairs[i][0], "");
		assert_int_equal(read_all(&x, ALL, 100), ST_OK);
	}
}

static void
numbers(void **state)
{
	char path[8];
	struct extras x;

	(void)state;
	for (int n = LIMITS_OUTPUTS; n <= LIMITS_OUTPUTS + 1; n++) {
		for (int i = 0; i < n; i++) {
			memcpy(path,
			    (char[]){ 'a', (char)('A' + i / 26),
				(char)('A' + i % 26), '\0' },
			    4);
			add_text(WIRE_GIVEN, path, "");
		}
		if (n > LIMITS_OUTPUTS) {
			refused(ALL, 100);
		} else {
			assert_int_equal(read_all(&x, ALL, 100), ST_OK);
			assert_int_equal(x.n_files, LIMITS_OUTPUTS);
		}
	}
}

/* What a program left among the figures is no reason to lose them. */
static void
figures_that_are_none(void **state)
{
	struct extras x;

	(void)state;
	add_text(WIRE_FIGURE, "a.png", "not one");
	add(WIRE_FIGURE, "b.png", PNG, 10);
	assert_int_equal(read_all(&x, ALL, 100), ST_OK);
	assert_int_equal(x.n_figures, 1);
	assert_int_equal(x.figures[0].path_len, 5);
}

static void
every_cut(void **state)
{
	struct extras x;
	size_t whole;

	(void)state;
	add_text(WIRE_VALUE_JSON, "", "[1]");
	add_text(WIRE_GIVEN, "a", "hi");
	whole = len;
	for (size_t n = 1; n < whole; n++) {
		/* Up to the border between the two it is a whole one. */
		len = n;
		if (n == WIRE_RECORD_HEAD + 3)
			assert_int_equal(read_all(&x, ALL, 100), ST_OK);
		else
			refused(ALL, 100);
	}
}

static void
the_most(void **state)
{
	static char path[LIMITS_PATH_DEPTH * (LIMITS_NAME + 1)];
	struct extras x;

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	for (size_t i = LIMITS_NAME; i < sizeof(path); i += LIMITS_NAME + 1)
		path[i] = i + 1 == sizeof(path) ? '\0' : '/';
	add_text(WIRE_VALUE_REPR, "", "12345678");
	for (int i = 0; i < LIMITS_OUTPUTS; i++) {
		path[0] = (char)('0' + i);
		add_omitted(path, 100);
	}
	assert_true(len <= extras_most(8));
	assert_int_equal(read_all(&x, ALL, 8), ST_OK);
	assert_int_equal(x.n_files, LIMITS_OUTPUTS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds),
		cmocka_unit_test(thrown),
		cmocka_unit_test(nothing),
		cmocka_unit_test(what_was_not_asked_for),
		cmocka_unit_test(budgets),
		cmocka_unit_test(only_one_value),
		cmocka_unit_test(paths),
		cmocka_unit_test(order),
		cmocka_unit_test(numbers),
		cmocka_unit_test(figures_that_are_none),
		cmocka_unit_test(every_cut),
		cmocka_unit_test(the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
