/*
 * In place of libFuzzer: every file of a target's corpus through the target,
 * each as one test. Started in the repository's folder, under the target's
 * name.
 */
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "fuzz.h"

#define FILES 512
#define FILE_BYTES (1u << 20)

/* Not every target has one. */
#pragma weak LLVMFuzzerInitialize

static char folder[PATH_MAX / 2];
static char *names[FILES];
static struct CMUnitTest tests[FILES];

static void
replay(void **state)
{
	char path[PATH_MAX];
	uint8_t *data = malloc(FILE_BYTES);
	uint8_t *exact;
	FILE *f;
	size_t n;

	(void)snprintf(
	    path, sizeof(path), "%s/%s", folder, (const char *)*state);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(data);
	n = fread(data, 1, FILE_BYTES, f);
	fclose(f);
	/* As long as it is, so that a sanitizer sees what is read beyond. */
	exact = realloc(data, n > 0 ? n : 1);
	assert_non_null(exact);
	assert_int_equal(LLVMFuzzerTestOneInput(exact, n), 0);
	free(exact);
}

static size_t
list(void)
{
	DIR *d = opendir(folder);
	size_t n = 0;

	if (d == NULL)
		return 0;
	for (struct dirent *e = readdir(d); e != NULL && n < FILES;
	     e = readdir(d)) {
		if (e->d_name[0] == '.')
			continue;
		names[n] = strdup(e->d_name);
		tests[n] = (struct CMUnitTest){ .name = names[n],
			.test_func = replay,
			.initial_state = names[n] };
		n++;
	}
	closedir(d);
	return n;
}

int
main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	size_t n;
	int failed;

	(void)snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%s",
	    name == NULL ? argv[0] : name + 1);
	n = list();
	if (n == 0) {
		printf("no files in %s\n", folder);
		return 1;
	}
	if (LLVMFuzzerInitialize != NULL)
		(void)LLVMFuzzerInitialize(&argc, &argv);
	failed = _cmocka_run_group_tests("corpus", tests, n, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	return failed;
}
