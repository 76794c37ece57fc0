#include "pay/ledger_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/log.h"
#include "base/own.h"

#define SUFFIX ".lock"

/* Two processes that both think they recover the store would release each
 * other's claims, so only one may have it to change. */
enum status
ledger_lock_take(int *out, const char *path)
{
	OWN_FREE char *name = NULL;
	OWN_FD int fd = -1;

	if (asprintf(&name, "%s" SUFFIX, path) < 0) {
		name = NULL;
		return ST_NOMEM;
	}
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		log_err("ledger: %s: %s%s", name, strerror(errno),
		    errno == EACCES ? " (the service's user must get to its "
				      "folder, through each one above)"
				    : "");
		return ST_IO;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		log_err("ledger: %s: %s", name,
		    errno == EWOULDBLOCK ? "another process has the store"
					 : strerror(errno));
		return ST_IO;
	}
	*out = own_steal_fd(&fd);
	return ST_OK;
}

enum status
ledger_lock_held(bool *held, const char *path)
{
	OWN_FREE char *name = NULL;
	OWN_FD int fd = -1;

	*held = false;
	if (asprintf(&name, "%s" SUFFIX, path) < 0) {
		name = NULL;
		return ST_NOMEM;
	}
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	/* Never opened to change: nobody has it. */
	if (fd < 0 && errno == ENOENT)
		return ST_OK;
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return ST_OK;
	*held = fd >= 0 && errno == EWOULDBLOCK;
	if (*held)
		return ST_OK;
	log_err("ledger: %s: %s", name, strerror(errno));
	return ST_IO;
}
