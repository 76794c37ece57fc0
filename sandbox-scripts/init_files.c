#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/wire.h"

/* wire_path_ok() bounds it: depth times name and a '/' each. */
#define PATH_BYTES (LIMITS_PATH_DEPTH * (LIMITS_NAME + 1ul))

/* The folders of path, which is put back as it was. 0 or errno. */
static int
make_parents(char *path)
{
	int error = 0;

	for (char *s = strchr(path, '/'); s != NULL; s = strchr(s + 1, '/')) {
		*s = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			error = errno;
		*s = '/';
		if (error != 0)
			return error;
	}
	return 0;
}

/* A file below the working directory, fresh but for the one that was made, or
 * -1. Nothing in there can be a link yet, but that is no reason to follow
 * one. */
static int
create(const char *path, bool made)
{
	struct open_how how = {
		.flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC |
			 (made ? O_TRUNC : O_CREAT | O_EXCL),
		.mode = made ? 0 : 0644,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* 0 or errno. */
static int
write_whole(int fd, const uint8_t *data, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = write(fd, data, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* A record's path in a block of PATH_BYTES + 1, and the folders on the way to
 * it made. */
static bool
make_way(char *path, const struct wire_record *r, struct init_trouble *t)
{
	int error;

	/* The gate asked this too, for the caller's sake. */
	if (r->path_len > PATH_BYTES || !wire_path_ok(r->path, r->path_len))
		return init_trouble(t, "file path", EINVAL);
	memcpy(path, r->path, r->path_len);
	path[r->path_len] = '\0';
	error = make_parents(path);
	return error == 0 || init_trouble(t, "make folder", error);
}

static bool
make_folder(const struct wire_record *r, struct init_trouble *t)
{
	char path[PATH_BYTES + 1];

	if (!make_way(path, r, t))
		return false;
	return mkdir(path, 0755) == 0 || init_trouble(t, "make folder", errno);
}

static bool
write_file(
    const struct wire_record *r, const char *made, struct init_trouble *t)
{
	char path[PATH_BYTES + 1];
	int fd, error;

	if (!make_way(path, r, t))
		return false;
	fd = create(path, made != NULL && strcmp(path, made) == 0);
	if (fd < 0)
		return init_trouble(t, "create file", errno);
	error = write_whole(fd, r->data, r->data_len);
	close(fd);
	if (error != 0)
		return init_trouble(t, "write file", error);
	return true;
}

bool
init_files_write(
    const struct init_image *image, const char *made, struct init_trouble *t)
{
	struct wire_record r;
	size_t at = 0, files = 0;
	int rc = wire_next(&r, image->at, image->len, &at);

	for (; rc == 1; rc = wire_next(&r, image->at, image->len, &at)) {
		if (r.kind == WIRE_FOLDER && !make_folder(&r, t))
			return false;
		if (r.kind != WIRE_FILE)
			continue;
		if (!write_file(&r, made, t))
			return false;
		files++;
	}
	if (rc < 0 || files == 0)
		return init_trouble(t, "job image", EBADMSG);
	return true;
}

bool
init_files_full(void)
{
	struct statvfs v;

	return statvfs("/box", &v) == 0 && (v.f_bavail == 0 || v.f_ffree == 0);
}
