#include "check_state.h"

#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/conf.h"
#include "check.h"

#define MIB (1024.0 * 1024.0)
#define LEAST_BYTES (64u << 20) /* below this there is no service for long */

/* A file or folder of the service's user alone. False: it is not there. */
static bool
check_own(bool *all, const char *what, const char *path, const char *user)
{
	const struct passwd *pw = getpwnam(user);
	struct stat st;

	if (stat(path, &st) != 0) {
		if (errno != ENOENT)
			check_say(
			    all, false, what, "%s: %s", path, strerror(errno));
		else
			check_say(all, true, what,
			    "%s is not there yet: the first start makes it",
			    path);
		return false;
	}
	/* An empty folder of root's is taken over by the first start. */
	if (pw != NULL && st.st_uid != pw->pw_uid &&
	    !(S_ISDIR(st.st_mode) && st.st_uid == 0))
		check_say(all, false, what,
		    "%s is uid %u's — chown it to %s, if it is Tollbox's", path,
		    (unsigned)st.st_uid, user);
	else if ((st.st_mode & 077) != 0)
		check_say(all, false, what,
		    "%s can be used by others (mode %03o) — chmod %s", path,
		    (unsigned)(st.st_mode & 0777),
		    S_ISDIR(st.st_mode) ? "700" : "600");
	else
		check_say(all, true, what, "%s, mode %03o", path,
		    (unsigned)(st.st_mode & 0777));
	return true;
}

static void
check_room(bool *all, const struct conf *c)
{
	struct statvfs fs;
	uint64_t left;

	if (statvfs(c->state_dir, &fs) != 0)
		return;
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	if ((fs.f_flag & ST_RDONLY) != 0)
		check_say(all, false, "disk", "%s is read-only", c->state_dir);
	else if (left < LEAST_BYTES)
		check_say(all, false, "disk",
		    "%.0f MiB are left in %s — make room: without it no "
		    "payment is taken",
		    (double)left / MIB, c->state_dir);
	else
		check_say(all, true, "disk",
		    "%.0f MiB are left in %s; answers may take %.0f MiB%s",
		    (double)left / MIB, c->state_dir,
		    (double)c->answer_bytes / MIB,
		    left < c->answer_bytes ? " (answer_bytes), which is more"
					   : "");
}

void
check_state(bool *all, const struct conf *c)
{
	static const char *const keys[] = { "receipts.pem", "offers.pem" };
	char path[4200];

	if (!check_own(all, "state", c->state_dir, c->user))
		return;
	check_room(all, c);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(
		    path, sizeof(path), "%s/keys/%s", c->state_dir, keys[i]);
		(void)check_own(all, "signing key", path, c->user);
	}
}
