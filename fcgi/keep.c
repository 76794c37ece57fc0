#include "keep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

#define LOCK_FLAGS (O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

static enum status
failed(struct fault *f, const char *path, const char *what)
{
	return fault_set(f, ST_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* Lock file `file` below folder at; path is for f. The file stays when the
 * lock goes: unlinking one that another process may be opening is a race. */
static enum status
lock(int *out, int at, const char *file, const char *path, const char *what,
    struct fault *f)
{
	OWN_FD int fd = openat(at, file, LOCK_FLAGS, 0600);

	if (fd < 0)
		return failed(f, path, "lock");
	if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK
			   ? fault_set(f, ST_CONFLICT, "%s runs already (%s)",
				 what, path)
			   : failed(f, path, "flock");
	*out = own_steal_fd(&fd);
	return ST_OK;
}

enum status
keep_name(int *fd, const char *name, struct fault *f)
{
	char path[128];
	char what[96];

	/* A folder of root's alone: in /run/lock anyone could hold it. */
	snprintf(path, sizeof(path), "/run/tollbox-%s.lock", name);
	snprintf(what, sizeof(what), "an instance of the name %s", name);
	return lock(fd, AT_FDCWD, path, path, what, f);
}

static bool
empty(int dir)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *e;
	int n = 0;

	if (d == NULL) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	for (e = readdir(d); e != NULL; e = readdir(d))
		n++;
	closedir(d);
	return n == 2; /* . and .. */
}

enum status
keep_state(int *fd, const char *dir, uid_t uid, gid_t gid, struct fault *f)
{
	OWN_FD int at = -1;
	struct stat sb;
	char path[4200];

	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return failed(f, dir, "mkdir");
	at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0 || fstat(at, &sb) != 0)
		return failed(f, dir, "open");
	if (sb.st_uid != uid && !(sb.st_uid == 0 && empty(at)))
		return fault_set(f, ST_CONFLICT,
		    "%s is neither the service user's nor empty: it is left "
		    "alone (chown it, or set state_dir)",
		    dir);
	if (fchown(at, uid, gid) != 0 || fchmod(at, 0700) != 0)
		return failed(f, dir, "chown");
	snprintf(path, sizeof(path), "%s/lock", dir);
	return lock(fd, at, "lock", path, "another instance", f);
}
