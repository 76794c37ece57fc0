/* What the tests of conf share: a folder for each test, and load, good, bad. */
#ifndef CONF_FIXTURE_H
#define CONF_FIXTURE_H

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conf.h"

#define USDC "0x036CbD53842c5426634e7929541eC2318f3dCF7e" /* Base Sepolia */
#define PAYEE "0x1111111111111111111111111111111111111111"

#define SITE                                                                   \
	"[site]\npublic_url = https://h\nnetwork = eip155:84532\n"             \
	"asset = " USDC "\nasset_name = USDC\nasset_version = 2\n"             \
	"pay_to = " PAYEE "\n"

#define RUNTIME "entry = main.x\ncommand = /bin/sh {entry}\n"

/* The folder of one test: a file to load and a folder of runtimes. */
static char dir[64];
static char file[96];

static inline int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_conf.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/tollbox.conf", dir);
	return 0;
}

static inline int
remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
	(void)sb;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int
teardown(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void
write_file(const char *path, const void *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static inline void
write_runtime(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/runtime.conf", dir, name);
	write_file(path, text, strlen(text));
}

/* Load text as the file with the test's folder of runtimes and environment
 * over it. */
static inline enum status
load(struct conf **c, const char *text, char *const *env, struct fault *f)
{
	struct buf b;
	enum status st;

	buf_init(&b, 1u << 20);
	buf_addf(&b, "[sandbox]\nruntimes_dir=%s\n%s", dir, text);
	write_file(file, buf_cstr(&b), b.len);
	buf_free(&b);
	memset(f, 0, sizeof(*f));
	st = conf_load(c, file, env, f);
	if (st != ST_OK)
		assert_null(*c);
	return st;
}

/* It must load. */
static inline struct conf *
good(const char *text, char *const *env)
{
	struct conf *c = NULL;
	struct fault f;
	enum status st = load(&c, text, env, &f);

	if (st != ST_OK)
		fail_msg("%s: %s", status_name(st), f.message);
	return c;
}

/* It must be refused with a message that holds part. */
static inline void
bad(const char *text, char *const *env, const char *part)
{
	struct conf *c = NULL;
	struct fault f;

	if (load(&c, text, env, &f) == ST_OK) {
		conf_free(c);
		fail_msg("taken: %.200s (wanted: %s)", text, part);
	}
	if (strstr(f.message, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", f.message, part);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
