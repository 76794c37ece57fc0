#include "base/wild.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* In exact blocks, so that AddressSanitizer sees a read beyond an end. */
static bool
match(const char *pattern, const char *path)
{
	size_t n = strlen(pattern), len = strlen(path);
	char *p = malloc(n), *s = malloc(len);
	bool hit;

	assert_non_null(p);
	assert_non_null(s);
	memcpy(p, pattern, n);
	memcpy(s, path, len);
	hit = wild_match(p, n, s, len);
	free(p);
	free(s);
	return hit;
}

struct row {
	const char *pattern;
	const char *path;
};

static void
hits(void **state)
{
	static const struct row rows[] = {
		{ "a", "a" },
		{ "a/b/c", "a/b/c" },
		{ "*", "a" },
		{ "*", "main.py" },
		{ "*.py", "main.py" },
		{ "m*n*.py", "main.py" },
		{ "*m*a*i*n*", "main.py" },
		{ "***", "main.py" },
		{ "main.py*", "main.py" },
		{ "a**", "abc" },
		{ "?", "a" },
		{ "?", "\xc3\xa9" },
		{ "?.t", "\xf0\x9f\xa7\xb0.t" },
		{ "[abc]", "b" },
		{ "[a-c]x", "bx" },
		{ "[!a-c]", "d" },
		{ "[^a-c]", "d" },
		{ "[]]", "]" },
		{ "[!]]", "a" },
		{ "[a-]", "-" },
		{ "[-a]", "-" },
		{ "[\xc3\xa0-\xc3\xbc]", "\xc3\xa9" },
		{ "[*]", "*" },
		{ "[?]", "?" },
		{ "a[", "a[" },
		{ "[a", "[a" },
		{ "*[a", "x[a" },
		{ "*[]", "x[]" },
		{ "x[1].txt", "x[1].txt" },
		{ "x[1].txt", "x1.txt" },
		{ "*/b", "a/b" },
		{ "a/*", "a/b" },
		{ "*/*/*", "a/b/c" },
		{ "**", "a" },
		{ "**", "a/b/c" },
		{ "a/**", "a/b" },
		{ "a/**", "a/b/c" },
		{ "**/a", "a" },
		{ "**/a", "x/y/a" },
		{ "a/**/b", "a/b" },
		{ "a/**/b", "a/x/y/b" },
		{ "**/**/a", "a" },
		{ "**/x/**", "a/x/b" },
		{ "**/*.py", "a/b/main.py" },
		{ ".*", ".a" },
		{ ".a", ".a" },
		{ "a/.h/*", "a/.h/b" },
		{ "**/.h/*", "a/b/.h/c" },
		{ "a.*", "a.b" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!match(rows[i].pattern, rows[i].path))
			fail_msg("%s does not match %s", rows[i].pattern,
			    rows[i].path);
	}
}

static void
misses(void **state)
{
	static const struct row rows[] = {
		{ "a", "b" },
		{ "a", "ab" },
		{ "ab", "a" },
		{ "a", "a/b" },
		{ "a/b", "a" },
		{ "*", "a/b" },
		{ "*/*", "a" },
		{ "?", "ab" },
		{ "??", "\xc3\xa9" },
		{ "[abc]", "d" },
		{ "[!a-c]", "b" },
		{ "[c-a]", "b" },
		{ "a*b", "abc" },
		{ "a/**", "a" },
		{ "a/**", "b/c" },
		{ "**/a", "ab" },
		{ "a/**/b", "a/x" },
		{ "*", ".a" },
		{ "?a", ".a" },
		{ "[.]a", ".a" },
		{ "**", ".a" },
		{ "**", ".a/b" },
		{ "**", "a/.b" },
		{ "**/b", ".a/b" },
		{ "a?b", "a/b" },
		{ "a[/]b", "a/b" },
		{ "a*b", "a/b" },
		{ "A", "a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (match(rows[i].pattern, rows[i].path))
			fail_msg(
			    "%s matches %s", rows[i].pattern, rows[i].path);
	}
}

/* What takes for ever where every star is tried at every place. */
static void
no_pattern_takes_long(void **state)
{
	static const char star[] = "*a", any[] = "**/";
	char pattern[16 * 256], path[16 * 256];
	clock_t before = clock();

	(void)state;
	memset(path, 'a', 255);
	path[255] = '\0';
	pattern[0] = '\0';
	for (int i = 0; i < 126; i++)
		memcpy(pattern + 2 * i, star, sizeof(star));
	memcpy(pattern + 252, "*b", 3);
	assert_false(match(pattern, path));

	for (int i = 0; i < 15; i++)
		memcpy(pattern + 3 * i, any, sizeof(any));
	memcpy(pattern + 45, "b", 2);
	for (int i = 0; i < 16; i++)
		memcpy(path + 2 * i, "a/", 2);
	path[31] = '\0';
	assert_false(match(pattern, path));
	assert_true(clock() - before < CLOCKS_PER_SEC);
}

/* Any bytes: nothing is read outside, nothing hangs. */
static void
noise(void **state)
{
	static const char bytes[] = "ab*?[]!-/.\xc3\xa9\xff";
	char pattern[24], path[24];
	uint32_t x = 3;

	(void)state;
	for (int round = 0; round < 50000; round++) {
		char *const both[] = { pattern, path };

		for (int k = 0; k < 2; k++) {
			size_t n;

			x = x * 1664525 + 1013904223;
			n = 1 + (x >> 24) % 22;
			for (size_t i = 0; i < n; i++) {
				x = x * 1664525 + 1013904223;
				both[k][i] =
				    bytes[(x >> 20) % (sizeof(bytes) - 1)];
				/* As wire_path_ok() would have it. */
				if (both[k][i] == '/' &&
				    (i == 0 || i + 1 == n ||
					both[k][i - 1] == '/'))
					both[k][i] = 'a';
			}
			both[k][n] = '\0';
		}
		(void)match(pattern, path);
		assert_true(match(path, path));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits),
		cmocka_unit_test(misses),
		cmocka_unit_test(no_pattern_takes_long),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
