#include "pay/keyring_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

#define FOLDER "keys"
#define OLD_BEGIN "old-"
#define OLD_END ".pem"
#define HALF_DONE ".new"

static enum status
failed(struct fault *f, const struct keyring_files *d, const char *name)
{
	return fault_set(f, ST_IO, "%s/" FOLDER "/%s: %s", d->state_dir, name,
	    strerror(errno));
}

enum status
keyring_files_open(
    struct keyring_files *d, const char *state_dir, struct fault *f)
{
	OWN_FD int dir = -1;
	OWN_FD int at = -1;

	*d = (struct keyring_files){ .dir = -1, .state_dir = state_dir };
	at = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return fault_set(
		    f, ST_IO, "%s: %s", state_dir, strerror(errno));
	if (mkdirat(at, FOLDER, 0700) != 0 && errno != EEXIST)
		return failed(f, d, "");
	dir =
	    openat(at, FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Two that start at once must not make two keys each. */
	if (dir < 0 || flock(dir, LOCK_EX) != 0)
		return failed(f, d, "");
	d->dir = own_steal_fd(&dir);
	return ST_OK;
}

void
keyring_files_close(struct keyring_files *d)
{
	if (d->dir >= 0)
		close(d->dir);
	d->dir = -1;
}

/* ---- read ---- */

/* All that a key file can hold, on the stack, so that there is one copy to
 * wipe. */
static enum status
read_text(char text[EDKEY_PEM], size_t *len, int fd)
{
	ssize_t n = read(fd, text, EDKEY_PEM);

	if (n < 0)
		return ST_IO;
	*len = (size_t)n;
	return *len < EDKEY_PEM ? ST_OK : ST_FORMAT;
}

enum status
keyring_files_read(struct edkey **out, const struct keyring_files *d,
    const char *name, struct fault *f)
{
	OWN_FD int fd = openat(
	    d->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[EDKEY_PEM];
	struct stat sb;
	size_t len = 0;
	enum status st;

	*out = NULL;
	if (fd < 0 && errno == ENOENT)
		return ST_NOT_FOUND;
	if (fd < 0 && errno == EACCES)
		return fault_set(f, ST_REFUSED,
		    "%s/" FOLDER "/%s must be the service's user's (chown it)",
		    d->state_dir, name);
	if (fd < 0 || fstat(fd, &sb) != 0)
		return failed(f, d, name);
	if (!S_ISREG(sb.st_mode) || sb.st_uid != geteuid() ||
	    (sb.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return fault_set(f, ST_REFUSED,
		    "%s/" FOLDER "/%s must be a file of the service's user "
		    "that nobody else may read (chmod 600)",
		    d->state_dir, name);
	st = read_text(text, &len, fd);
	if (st == ST_OK)
		st = edkey_read(out, text, len);
	explicit_bzero(text, sizeof(text));
	if (st == ST_IO)
		return failed(f, d, name);
	if (st != ST_OK)
		return fault_set(f, st,
		    "%s/" FOLDER "/%s: there is no Ed25519 key in it",
		    d->state_dir, name);
	return ST_OK;
}

/* ---- write ---- */

static enum status
write_durably(int dir, const char *name, const struct buf *text)
{
	OWN_FD int fd = -1;

	/* What a crash left of an earlier one. */
	if (unlinkat(dir, HALF_DONE, 0) != 0 && errno != ENOENT)
		return ST_IO;
	fd = openat(dir, HALF_DONE,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || io_write_all(fd, text->data, text->len) != ST_OK ||
	    fsync(fd) != 0 || renameat(dir, HALF_DONE, dir, name) != 0 ||
	    fsync(dir) != 0)
		return ST_IO;
	return ST_OK;
}

enum status
keyring_files_write(const struct keyring_files *d, const char *name,
    const struct edkey *k, bool secret, struct fault *f)
{
	struct buf text;
	enum status st;

	buf_init(&text, EDKEY_PEM);
	if (secret)
		edkey_put_private(&text, k);
	else
		edkey_put_public(&text, k);
	st = buf_status(&text);
	if (st != ST_OK)
		fault_set(f, st, "a key could not be written as text");
	else if (write_durably(d->dir, name, &text) != ST_OK)
		st = failed(f, d, name);
	if (text.data != NULL)
		explicit_bzero(text.data, text.len);
	buf_free(&text);
	return st;
}

/* ---- earlier keys ---- */

void
keyring_files_old_name(char out[KEYRING_FILES_NAME], const char *id)
{
	snprintf(out, KEYRING_FILES_NAME, OLD_BEGIN "%s" OLD_END, id);
}

static bool
is_old(const char *name)
{
	size_t n = strlen(name);

	return n > sizeof(OLD_BEGIN OLD_END) - 1 && n < KEYRING_FILES_NAME &&
	       strncmp(name, OLD_BEGIN, sizeof(OLD_BEGIN) - 1) == 0 &&
	       strcmp(name + n - (sizeof(OLD_END) - 1), OLD_END) == 0;
}

enum status
keyring_files_old(const struct keyring_files *d,
    enum status (*fn)(void *ctx, const struct keyring_files *d,
	const char *name, struct fault *f),
    void *ctx, struct fault *f)
{
	int copy = openat(d->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;
	enum status st = ST_OK;

	if (all == NULL) {
		if (copy >= 0)
			close(copy);
		return failed(f, d, "");
	}
	for (e = readdir(all); e != NULL && st == ST_OK; e = readdir(all))
		if (is_old(e->d_name))
			st = fn(ctx, d, e->d_name, f);
	closedir(all);
	return st;
}
