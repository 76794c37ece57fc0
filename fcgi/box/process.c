#include "box/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

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

enum status
process_look(struct process *out, pid_t pid)
{
	char path[32], text[4096];
	OWN_FD int fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	/* Which of these it is for one that goes just now differs. */
	if (n < 0)
		return errno == ENOENT || errno == ESRCH || errno == EACCES ||
			       errno == EPERM
			   ? ST_NOT_FOUND
			   : ST_IO;
	text[n] = '\0';
	return parse(out, text) ? ST_OK : ST_FORMAT;
}
