/*
 * What the base room does when memory runs out (torture.h). A sanitizer brings
 * a malloc family of its own, so there only a big text's allocation fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../torture.h"
#include "base/buf.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/jcs.h"
#include "base/json.h"
#include "base/utf8.h"

static const struct json_caps caps = { 100, 1000 };

#ifdef SANITIZED

const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1:max_allocation_size_mb=8";
}

/* No copy of a text of 9 MiB fits: neither ours for a NUL nor cJSON's string.
 * LeakSanitizer watches. */
static void
a_big_text_fails_cleanly(void **state)
{
	static char text[9 << 20];
	const size_t len = sizeof(text);
	struct cJSON *v;

	(void)state;
	memset(text, 'x', len);
	memcpy(text, "[1,\"ab\",\"", 9);
	memcpy(text + len - 2, "\"]", 2);
	assert_int_equal(json_parse(&v, text, len, &caps, NULL), ST_NOMEM);
	assert_null(v);
	memcpy(text + 9, "\\u0000", 6);
	assert_int_equal(json_parse(&v, text, len, &caps, NULL), ST_NOMEM);
	assert_null(v);
}

static void
a_buffer_fails_cleanly(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, SIZE_MAX);
	for (int i = 0; i < 20000000 && buf_status(&b) == ST_OK; i++)
		buf_addc(&b, 'x');
	assert_int_equal(buf_status(&b), ST_NOMEM);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_big_text_fails_cleanly),
		cmocka_unit_test(a_buffer_fails_cleanly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static enum status
parse_and_write(void)
{
	/* More than 32 names, so that they are sorted in a block of their own;
	 * NULs in names and strings. qsort(3) does without memory. */
	static const char text[] =
	    "{\"a\":1,\"b\":[1,{\"c\\u0000\":\"x\\u0000\"}],\"d\":\"e\",\"0\":"
	    "0,"
	    "\"1\":0,\"2\":0,\"3\":0,\"4\":0,\"5\":0,\"6\":0,\"7\":0,\"8\":0,"
	    "\"10\":0,\"11\":0,\"12\":0,\"13\":0,\"14\":0,\"15\":0,\"16\":0,"
	    "\"20\":0,\"21\":0,\"22\":0,\"23\":0,\"24\":0,\"25\":0,\"26\":0,"
	    "\"30\":0,\"31\":0,\"32\":0,\"33\":0,\"34\":0,\"35\":0,\"36\":0}";
	enum status st;
	struct cJSON *v;
	struct buf b;

	st = json_parse(&v, text, sizeof(text) - 1, &caps, NULL);
	if (st != ST_OK) {
		assert_null(v);
		return st;
	}
	buf_init(&b, 10000);
	jcs_write(&b, v);
	st = buf_status(&b);
	buf_free(&b);
	json_free(v);
	return st;
}

static void
json_gives_all_back(void **state)
{
	(void)state;
	torture(parse_and_write, 80);
}

static enum status
read_bytes(void)
{
	static const char text[] = "\"a\\u0000b\"";
	enum status st;
	struct cJSON *v;
	char *bytes = NULL;
	size_t len;

	st = json_parse(&v, text, sizeof(text) - 1, &caps, NULL);
	if (st == ST_OK)
		st = json_bytes(&bytes, &len, v);
	json_free(v);
	free(bytes);
	return st;
}

static void
bytes_give_all_back(void **state)
{
	(void)state;
	torture(read_bytes, 3);
}

static enum status
fill_and_take(void)
{
	struct buf b, plain;
	char *taken;

	buf_init(&b, 100000);
	buf_init(&plain, 100000);
	for (int i = 0; i < 300; i++)
		buf_addf(&b, "%s%0*d", "a", i, 7);
	utf8_mend(&b, "\xff", 1, false);
	hex_base64(&b, "abc", 3);
	json_put_ascii(&b, "\xc3\xa4");
	if (hex_unbase64(&plain, "Zm9v", 4) != ST_OK)
		b.st = buf_status(&plain);
	buf_free(&plain);
	taken = buf_take(&b, NULL);
	assert_true((taken != NULL) == (buf_status(&b) == ST_OK));
	free(taken);
	return buf_status(&b);
}

static void
buffers_give_all_back(void **state)
{
	(void)state;
	torture(fill_and_take, 10);
}

static enum status
read_whole_file(void)
{
	char *text;
	enum status st = io_read_path("/proc/self/exe", 64u << 20, &text, NULL);

	assert_true((text != NULL) == (st == ST_OK));
	free(text);
	return st;
}

static void
files_give_all_back(void **state)
{
	(void)state;
	torture(read_whole_file, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_gives_all_back),
		cmocka_unit_test(bytes_give_all_back),
		cmocka_unit_test(buffers_give_all_back),
		cmocka_unit_test(files_give_all_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
