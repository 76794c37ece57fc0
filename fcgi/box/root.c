#include "box/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"

const char *const root_tops[ROOT_TOPS] = { "/usr", "/etc", "/bin", "/sbin",
	"/lib", "/lib32", "/lib64", "/libx32", "/opt" };

/* What root_look() notes of one name; NULL with errno if there is nothing, or
 * nothing that can be told. */
static char *
note(int root, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(root, name, text, sizeof(text) - 1);

	if (n < 0 && errno != EINVAL)
		return NULL;
	/* EINVAL: it is there and no link. A link stays one, so that it leads
	 * to where it would in there, not to a place of the host's. */
	text[n < 0 ? 0 : n] = '\0';
	return strdup(text);
}

enum status
root_look(struct root *out, const char *path)
{
	OWN_FD int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum status st = ST_OK;

	memset(out, 0, sizeof(*out));
	if (root < 0) {
		log_err("rootfs %s: %s", path, strerror(errno));
		return ST_IO;
	}
	for (size_t i = 0; st == ST_OK && i < ROOT_TOPS; i++) {
		out->link[i] = note(root, root_tops[i] + 1);
		if (out->link[i] != NULL || errno == ENOENT)
			continue;
		log_err("rootfs %s%s: %s", path, root_tops[i], strerror(errno));
		st = errno == ENOMEM ? ST_NOMEM : ST_IO;
	}
	if (st != ST_OK)
		root_free(out);
	return st;
}

void
root_free(struct root *r)
{
	for (size_t i = 0; i < ROOT_TOPS; i++)
		free(r->link[i]);
	memset(r, 0, sizeof(*r));
}

int
root_open(const char *root, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	OWN_FD int top = -1;

	if (root == NULL)
		return open(path, O_PATH | O_CLOEXEC);
	top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -1;
	how.resolve = RESOLVE_IN_ROOT;
	return (int)syscall(SYS_openat2, top, path, &how, sizeof(how));
}
