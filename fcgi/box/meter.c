#include "box/meter.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/own.h"

#define PROCESSES ((size_t)2 * LIMITS_TASKS)

/* The whole of a small file of /proc; false if it is not there. */
static bool
read_proc(char *out, size_t cap, pid_t pid, const char *name)
{
	OWN_FD int fd = -1;
	char path[64];
	size_t len = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do {
		n = read(fd, out + len, cap - 1 - len);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0 && len + 1 < cap);
	out[len] = '\0';
	return len > 0;
}

/* The number behind "Key:" at the start of a line, 0 if there is none. */
static uint64_t
kib_in(const char *text, const char *key)
{
	size_t len = strlen(key);
	const char *p = text;

	while (p != NULL) {
		if (strncmp(p, key, len) == 0)
			return strtoull(p + len, NULL, 10) * 1024;
		p = strchr(p, '\n');
		if (p != NULL)
			p++;
	}
	return 0;
}

/* Add the children that one thread of pid has made. */
static bool
add_children_of(pid_t *list, size_t *n, pid_t pid, const char *tid)
{
	char name[300], text[4096], *p, *end;
	long child;

	(void)snprintf(name, sizeof(name), "task/%s/children", tid);
	if (!read_proc(text, sizeof(text), pid, name))
		return true;
	for (p = text;; p = end) {
		child = strtol(p, &end, 10);
		if (end == p)
			return true;
		if (*n == PROCESSES)
			return false;
		list[(*n)++] = (pid_t)child;
	}
}

static bool
add_children(pid_t *list, size_t *n, pid_t pid)
{
	char path[64];
	struct dirent *e;
	bool room = true;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (d == NULL)
		return true;
	for (e = readdir(d); room && e != NULL; e = readdir(d)) {
		if (e->d_name[0] != '.')
			room = add_children_of(list, n, pid, e->d_name);
	}
	closedir(d);
	return room;
}

/* User and system time of a process and of the children it has waited for:
 * fields 14 to 17 of stat, counted behind the name, which may hold anything. */
static uint64_t
cpu_us(pid_t pid)
{
	char text[1024], *p, *end;
	uint64_t ticks = 0;

	if (!read_proc(text, sizeof(text), pid, "stat"))
		return 0;
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 14; field++) {
		p = strchr(p, ' ');
		if (p != NULL)
			p++;
	}
	for (int i = 0; p != NULL && i < 4; i++) {
		ticks += strtoull(p, &end, 10);
		p = end;
	}
	return ticks * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Cheap: counts what several processes share once for each of them. */
static uint64_t
mapped(pid_t pid)
{
	char text[4096];

	if (!read_proc(text, sizeof(text), pid, "status"))
		return 0;
	return kib_in(text, "RssAnon:") + kib_in(text, "RssShmem:");
}

/* Dear: walks the page tables, and shares out what is shared. Where the kernel
 * does not tell, the cheap sum stands: too strict is better than no limit. */
static uint64_t
mapped_share(pid_t pid)
{
	char text[4096];

	if (!read_proc(text, sizeof(text), pid, "smaps_rollup"))
		return mapped(pid);
	return kib_in(text, "Pss_Anon:") + kib_in(text, "Pss_Shmem:");
}

enum status
meter_use(struct meter_use *out, pid_t init, uint64_t enough)
{
	pid_t list[PROCESSES];
	size_t n = 0;

	memset(out, 0, sizeof(*out));
	list[n++] = init;
	for (size_t i = 0; i < n; i++) {
		if (!add_children(list, &n, list[i]))
			return ST_TOO_BIG;
		out->memory += mapped(list[i]);
		out->cpu_us += cpu_us(list[i]);
	}
	if (n == 1 && out->cpu_us == 0 && out->memory == 0)
		return ST_NOT_FOUND;
	if (out->memory <= enough)
		return ST_OK;
	out->memory = 0;
	for (size_t i = 0; i < n; i++)
		out->memory += mapped_share(list[i]);
	return ST_OK;
}
