#include "box/stray.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

#define NAME_MAX_LEN 15 /* of a process: TASK_COMM_LEN */

struct process {
	char name[NAME_MAX_LEN + 1];
	uid_t uid;
	pid_t parent;
	bool first; /* PID 1 of a namespace of its own */
	bool dead;  /* nobody reaps it */
};

/* What follows key in /proc/PID/status, up to the line's end. */
static bool
field(char *out, size_t size, const char *text, const char *key)
{
	const char *at = strstr(text, key);
	size_t len;

	if (at == NULL)
		return false;
	at += strlen(key);
	len = strcspn(at, "\n");
	if (len >= size)
		return false;
	memcpy(out, at, len);
	out[len] = '\0';
	return true;
}

static bool
parse(struct process *out, const char *text)
{
	char value[128], *last;

	if (!field(out->name, sizeof(out->name), text, "Name:\t") ||
	    !field(value, sizeof(value), text, "\nPPid:\t"))
		return false;
	out->parent = (pid_t)strtol(value, NULL, 10);
	if (!field(value, sizeof(value), text, "\nState:\t"))
		return false;
	out->dead = value[0] == 'Z' || value[0] == 'X';
	if (!field(value, sizeof(value), text, "\nUid:\t"))
		return false;
	out->uid = (uid_t)strtoul(value, NULL, 10);
	/* Its numbers from the outermost namespace to its own. */
	if (!field(value, sizeof(value), text, "\nNSpid:\t"))
		return false;
	last = strrchr(value, '\t');
	out->first = last != NULL && strcmp(last, "\t1") == 0;
	return true;
}

/* ST_NOT_FOUND: it is no more, or not ours to see (which /proc may tell with
 * any of these). All else, a lack of descriptors above all, says nothing. */
static enum status
look(struct process *out, pid_t pid)
{
	char path[32], text[4096];
	OWN_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return errno == ENOENT || errno == ESRCH || errno == EACCES ||
			       errno == EPERM
			   ? ST_NOT_FOUND
			   : ST_IO;
	text[n] = '\0';
	return parse(out, text) ? ST_OK : ST_FORMAT;
}

/* One whose monitor cannot be looked at may have one, and is left alone. */
static bool
is_stray(pid_t pid, const char *name, uid_t uid)
{
	struct process child, parent;
	enum status st = look(&child, pid);

	if (st != ST_OK || child.dead || child.uid != uid || !child.first ||
	    strcmp(child.name, name) != 0)
		return false;
	st = look(&parent, child.parent);
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
	char name[NAME_MAX_LEN + 1];
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
