/* A state folder for keys, and the well-known key of RFC 8032 and RFC 8037. */
#ifndef KEYS_FIXTURE_H
#define KEYS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pay/keyring.h"

/* Seed 9d61b19d...cae7f60. */
#define KEYS_PEM                                                               \
	"-----BEGIN PRIVATE KEY-----\n"                                        \
	"MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"   \
	"-----END PRIVATE KEY-----\n"
#define KEYS_X "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
#define KEYS_ID "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
#define KEYS_EVM                                                               \
	"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
#define KEYS_EVM_ADDRESS "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"

struct keys_folder {
	char path[64];
};

static inline void
keys_folder_make(struct keys_folder *d)
{
	snprintf(d->path, sizeof(d->path), "/tmp/tollbox-keys.XXXXXX");
	assert_non_null(mkdtemp(d->path));
}

static inline void
keys_path(char out[192], const struct keys_folder *d, const char *name)
{
	snprintf(out, 192, "%s/keys/%s", d->path, name);
}

/* Put a file into it. */
static inline void
keys_put(const struct keys_folder *d, const char *name, const char *text,
    mode_t mode)
{
	char path[192];
	int fd;

	keys_path(path, d, "");
	(void)mkdir(path, 0700);
	keys_path(path, d, name);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Names in it that begin so. */
static inline int
keys_count(const struct keys_folder *d, const char *begin)
{
	const struct dirent *e;
	char path[192];
	DIR *all;
	int n = 0;

	keys_path(path, d, "");
	all = opendir(path);
	assert_non_null(all);
	for (e = readdir(all); e != NULL; e = readdir(all))
		n += strncmp(e->d_name, begin, strlen(begin)) == 0;
	closedir(all);
	return n;
}

static inline void
keys_folder_drop(const struct keys_folder *d)
{
	const struct dirent *e;
	char path[512];
	DIR *all;

	snprintf(path, sizeof(path), "%s/keys", d->path);
	all = opendir(path);
	for (e = all == NULL ? NULL : readdir(all); e != NULL;
	     e = readdir(all)) {
		snprintf(path, sizeof(path), "%s/keys/%s", d->path, e->d_name);
		(void)unlink(path);
	}
	if (all != NULL)
		closedir(all);
	snprintf(path, sizeof(path), "%s/keys", d->path);
	(void)rmdir(path);
	assert_int_equal(rmdir(d->path), 0);
}

/* Keys for a test; their files are needed no longer than this. The receipts'
 * key and the offers' are the well-known one. evm may be NULL. */
static inline struct keyring *
keys_well_known(const char *evm)
{
	struct fault f = { .st = ST_OK };
	struct keyring *k = NULL;
	struct keys_folder d;

	keys_folder_make(&d);
	keys_put(&d, "receipts.pem", KEYS_PEM, 0600);
	keys_put(&d, "offers.pem", KEYS_PEM, 0600);
	if (keyring_open(&k, d.path, evm, &f) != ST_OK)
		fail_msg("keys: %s", f.message);
	keys_folder_drop(&d);
	return k;
}

#endif
