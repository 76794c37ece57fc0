/* The files of a keyring: STATE_DIR/keys, held locked while it is worked on.
 * Private to keyring*.c. */
#ifndef KEYRING_FILES_H
#define KEYRING_FILES_H

#include <stdbool.h>

#include "base/status.h"
#include "pay/edkey.h"

#define KEYRING_RECEIPTS "receipts.pem"
#define KEYRING_OFFERS "offers.pem"
#define KEYRING_FILES_NAME 64

struct keyring_files {
	int dir;
	const char *state_dir; /* for messages; borrowed */
};

/* Open the folder, made with mode 0700 if it is not there, and wait for its
 * lock. */
enum status keyring_files_open(struct keyring_files *d, const char *state_dir,
    struct fault *f) __attribute__((warn_unused_result));
void keyring_files_close(struct keyring_files *d);

/* The key in a file. ST_NOT_FOUND (no fault is set); ST_REFUSED: not ours, or
 * others may read it; ST_FORMAT, ST_IO, ST_NOMEM. */
enum status keyring_files_read(struct edkey **out,
    const struct keyring_files *d, const char *name, struct fault *f)
    __attribute__((warn_unused_result));

/* Write a key, mode 0600, on the disk when it returns: the old file or the new
 * one is there, whole, whatever happens. */
enum status keyring_files_write(const struct keyring_files *d, const char *name,
    const struct edkey *k, bool secret, struct fault *f)
    __attribute__((warn_unused_result));

/* The name of an earlier key's file. */
void keyring_files_old_name(char out[KEYRING_FILES_NAME], const char *id);
/* Call fn for each of them, until it fails. */
enum status keyring_files_old(const struct keyring_files *d,
    enum status (*fn)(void *ctx, const struct keyring_files *d,
	const char *name, struct fault *f),
    void *ctx, struct fault *f) __attribute__((warn_unused_result));

#endif
