#include "box/stray.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "box/process.h"

/* One whose monitor cannot be looked at may have one, and is left alone. */
static bool
is_stray(pid_t pid, const char *name, uid_t uid)
{
	struct process child, parent;
	enum status st = process_look(&child, pid);

	if (st != ST_OK || child.dead || child.uid != uid || !child.first ||
	    strcmp(child.name, name) != 0)
		return false;
	st = process_look(&parent, child.parent);
	return st == ST_NOT_FOUND ||
	       (st == ST_OK && strcmp(parent.name, name) != 0);
}

static bool
end_stray(pid_t pid, const char *name, uid_t uid)
{
	OWN_FD int held = -1;

	if (!is_stray(pid, name, uid))
		return false;
	/* The number may be another's by now: hold it, and look again. */
	held = (int)syscall(SYS_pidfd_open, pid, 0);
	return held >= 0 && is_stray(pid, name, uid) &&
	       syscall(SYS_pidfd_send_signal, held, SIGKILL, NULL, 0) == 0;
}

size_t
stray_sweep(const char *bwrap, uid_t uid)
{
	const char *slash = strrchr(bwrap, '/');
	char name[PROCESS_NAME];
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	if (d == NULL)
		return 0;
	(void)snprintf(
	    name, sizeof(name), "%s", slash == NULL ? bwrap : slash + 1);
	for (e = readdir(d); e != NULL; e = readdir(d)) {
		if (isdigit((unsigned char)e->d_name[0]) &&
		    end_stray((pid_t)strtol(e->d_name, NULL, 10), name, uid))
			n++;
	}
	closedir(d);
	if (n > 0)
		log_info("%zu sandboxes that an earlier life had begun to "
			 "start are gone",
		    n);
	return n;
}
