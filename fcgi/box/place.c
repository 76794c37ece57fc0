#include "box/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"

#define TABLE_MAX (1u << 20)

/* v1 hierarchies by role; those without which there is no limit come first. */
static const struct {
	const char *controller;
	bool needed;
} roles[PLACE_ROLES] = {
	[PLACE_MEMORY] = { "memory", true },
	[PLACE_PIDS] = { "pids", true },
	[PLACE_CPUACCT] = { "cpuacct", true },
	[PLACE_CPU] = { "cpu", false },
};

static bool
name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 64 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

static bool
join(char out[PLACE_PATH], const char *a, const char *b)
{
	int len = snprintf(out, PLACE_PATH, "%s/%s", a, b);

	return len > 0 && len < PLACE_PATH;
}

/* ---- /proc/self/mountinfo ---- */

struct mount {
	char *point;
	char *type;
	char *options; /* of the file system: its controllers */
};

/* Undo the kernel's octal escapes of blanks in a path, in place. */
static void
unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		if (s[0] == '\\' && strspn(s + 1, "01234567") >= 3) {
			*to++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 +
				       (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Cut a line (which is changed): "ID PARENT DEV ROOT POINT OPTIONS [TAG]... -
 * TYPE SOURCE OPTIONS". */
static bool
cut_mount(struct mount *out, char *line)
{
	char *field[16], *rest = line;
	size_t n = 0, dash = 0;

	while (rest != NULL && n < 16) {
		field[n] = strsep(&rest, " ");
		if (dash == 0 && n >= 6 && strcmp(field[n], "-") == 0)
			dash = n;
		n++;
	}
	if (dash == 0 || n < dash + 4)
		return false;
	out->point = field[4];
	unescape(out->point);
	out->type = field[dash + 1];
	out->options = field[dash + 3];
	return true;
}

static bool
lists(const char *options, const char *word)
{
	size_t len = strlen(word);
	const char *p = options;

	while (p != NULL) {
		if (strncmp(p, word, len) == 0 &&
		    (p[len] == ',' || p[len] == '\0'))
			return true;
		p = strchr(p, ',');
		if (p != NULL)
			p++;
	}
	return false;
}

/* Mount point of the first file system of this type with this option (NULL:
 * any). */
static enum status
find_mount(char out[PLACE_PATH], const char *type, const char *option)
{
	OWN_FREE char *table = NULL;
	enum status st = ST_BUG;
	char *rest, *line;
	struct mount m;

	st = io_read_path("/proc/self/mountinfo", TABLE_MAX, &table, NULL);
	if (st != ST_OK)
		return st;
	rest = table;
	for (line = strsep(&rest, "\n"); line != NULL;
	     line = strsep(&rest, "\n")) {
		if (!cut_mount(&m, line) || strcmp(m.type, type) != 0 ||
		    (option != NULL && !lists(m.options, option)))
			continue;
		if (strlen(m.point) >= PLACE_PATH)
			return ST_TOO_BIG;
		memcpy(out, m.point, strlen(m.point) + 1);
		return ST_OK;
	}
	return ST_NOT_FOUND;
}

/* ---- where the folders are ---- */

static enum status
find_v1(struct place *p, const char *name)
{
	char mount[PLACE_PATH], dir[PLACE_PATH];
	enum status st = ST_BUG;
	size_t i;

	for (size_t role = 0; role < PLACE_ROLES; role++) {
		st = find_mount(mount, "cgroup", roles[role].controller);
		if (st == ST_NOT_FOUND && !roles[role].needed) {
			p->of[role] = PLACE_ROLES;
			continue;
		}
		if (st != ST_OK)
			return st;
		if (!join(dir, mount, name))
			return ST_TOO_BIG;
		/* "cpu,cpuacct" are one hierarchy on most hosts. */
		for (i = 0; i < p->n && strcmp(p->dir[i], dir) != 0; i++)
			;
		p->of[role] = i;
		if (i == p->n)
			memcpy(p->dir[p->n++], dir, sizeof(dir));
	}
	return ST_OK;
}

/* This process's own v2 cgroup, "" for the top, less a trailing /NAME/main
 * that place_delegate() put it in. */
static enum status
own_v2(char out[PLACE_PATH], const char *name)
{
	OWN_FREE char *table = NULL;
	char tail[PLACE_PATH];
	enum status st = ST_BUG;
	char *rest, *line;
	size_t len, cut;

	st = io_read_path("/proc/self/cgroup", TABLE_MAX, &table, NULL);
	if (st != ST_OK)
		return st;
	rest = table;
	for (line = strsep(&rest, "\n"); line != NULL;
	     line = strsep(&rest, "\n")) {
		if (strncmp(line, "0::/", 4) == 0)
			break;
	}
	if (line == NULL)
		return ST_NOT_FOUND;
	line += 3;
	len = strlen(line);
	if (len >= PLACE_PATH || snprintf(tail, sizeof(tail), "/%s/%s", name,
				     PLACE_MAIN) >= (int)sizeof(tail))
		return ST_TOO_BIG;
	cut = strlen(tail);
	if (len >= cut && strcmp(line + len - cut, tail) == 0)
		len -= cut;
	else if (len == 1)
		len = 0;
	memcpy(out, line, len);
	out[len] = '\0';
	return ST_OK;
}

static enum status
find_v2(struct place *p, const char *name)
{
	char mount[PLACE_PATH], own[PLACE_PATH];
	enum status st = ST_BUG;
	int len;

	st = find_mount(mount, "cgroup2", NULL);
	if (st == ST_OK)
		st = own_v2(own, name);
	if (st != ST_OK)
		return st;
	len =
	    snprintf(p->dir[0], sizeof(p->dir[0]), "%s%s/%s", mount, own, name);
	if (len <= 0 || (size_t)len >= sizeof(p->dir[0]))
		return ST_TOO_BIG;
	p->n = 1;
	return ST_OK;
}

enum status
place_find(struct place *out, enum cgroup_kind kind, const char *name)
{
	memset(out, 0, sizeof(*out));
	out->kind = kind;
	if (!name_ok(name))
		return ST_FORMAT;
	switch (kind) {
	case CGROUP_NONE:
		return ST_NOT_FOUND;
	case CGROUP_V1:
		return find_v1(out, name);
	case CGROUP_V2:
		return find_v2(out, name);
	}
	return ST_BUG;
}

/* ---- delegation ---- */

/* The folder above dir[0]. */
static bool
parent_of(char out[PLACE_PATH], const struct place *p)
{
	const char *slash = strrchr(p->dir[0], '/');
	size_t len;

	if (slash == NULL)
		return false;
	len = (size_t)(slash - p->dir[0]);
	memcpy(out, p->dir[0], len);
	out[len] = '\0';
	return true;
}

bool
place_offers(const struct place *p, const char *controller)
{
	OWN_FREE char *text = NULL;
	char parent[PLACE_PATH], path[PLACE_PATH];
	char *rest, *word;

	if (!parent_of(parent, p) ||
	    !join(path, parent, "cgroup.controllers") ||
	    io_read_path(path, 4096, &text, NULL) != ST_OK)
		return false;
	rest = text;
	for (word = strsep(&rest, " \n"); word != NULL;
	     word = strsep(&rest, " \n")) {
		if (strcmp(word, controller) == 0)
			return true;
	}
	return false;
}

static bool
write_file(const char *dir, const char *name, const char *text)
{
	char path[PLACE_PATH];
	OWN_FD int fd = -1;
	size_t len = strlen(text);

	if (!join(path, dir, name)) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, len) == (ssize_t)len;
}

static bool
give(const char *dir, const char *name, uid_t uid, gid_t gid)
{
	char path[PLACE_PATH];

	return join(path, dir, name) && chown(path, uid, gid) == 0;
}

static bool
memsw_or_no_swap(const struct place *p)
{
	OWN_FREE char *swaps = NULL;
	char path[PLACE_PATH];
	const char *line;

	if (join(path, p->dir[p->of[PLACE_MEMORY]],
		"memory.memsw.limit_in_bytes") &&
	    access(path, F_OK) == 0)
		return true;
	if (io_read_path("/proc/swaps", TABLE_MAX, &swaps, NULL) != ST_OK)
		return true;
	line = strchr(swaps, '\n'); /* behind the headings */
	return line == NULL || line[1] == '\0';
}

/* All runs together weigh as much as one busy process on each core, so that
 * neither they nor the rest of the host starve (fault 56). Good to have, no
 * limit: failure is no error. */
static void
set_weight(const char *dir, const char *name, unsigned one)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cores = 1;
	char text[24];

	if (online > 1) /* 100 is the most that v2 takes */
		cores = online > 100 ? 100 : (unsigned)online;
	(void)snprintf(text, sizeof(text), "%u", one * cores);
	(void)write_file(dir, name, text);
}

/* v1 counts what waits in sockets apart, and only in groups that were given a
 * limit. None here: it keeps the counting on between two runs, since switching
 * it changes the kernel's code. */
static void
count_sockets(const struct place *p)
{
	const char *dir = p->dir[p->of[PLACE_MEMORY]];

	if (!write_file(dir, PLACE_SOCKETS, "-1"))
		log_warn("%s/%s: %s: what waits in a run's sockets has no "
			 "limit",
		    dir, PLACE_SOCKETS, strerror(errno));
}

static enum status
delegate_v1(const struct place *p, uid_t uid, gid_t gid, struct fault *f)
{
	/* A memory limit with swap behind it is none (fault 21). */
	if (!memsw_or_no_swap(p))
		return fault_set(f, ST_IO,
		    "cgroup: this host swaps and its kernel cannot limit a "
		    "run's swap: boot with swapaccount=1, or switch swap off");
	for (size_t i = 0; i < p->n; i++) {
		/* Only the folder: its own limits stay root's. */
		if (chown(p->dir[i], uid, gid) < 0)
			return fault_set(f, ST_IO, "chown %s: %s", p->dir[i],
			    strerror(errno));
	}
	count_sockets(p);
	if (p->of[PLACE_CPU] < p->n)
		set_weight(p->dir[p->of[PLACE_CPU]], "cpu.shares", 1024);
	return ST_OK;
}

static enum status
delegate_v2(const struct place *p, uid_t uid, gid_t gid, struct fault *f)
{
	const char *dir = p->dir[0];
	char parent[PLACE_PATH], leaf[PLACE_PATH];

	if (!parent_of(parent, p) || !join(leaf, dir, PLACE_MAIN))
		return fault_set(f, ST_IO, "cgroup: path too long");
	/* First out of the way: a cgroup with processes in it cannot hand
	 * controllers to its children. */
	if ((mkdir(leaf, 0755) < 0 && errno != EEXIST) ||
	    !write_file(leaf, "cgroup.procs", "0"))
		return fault_set(f, ST_IO, "%s: %s", leaf, strerror(errno));
	if (!write_file(parent, "cgroup.subtree_control", "+memory +pids") ||
	    !write_file(dir, "cgroup.subtree_control", "+memory +pids"))
		return fault_set(f, ST_IO,
		    "%s: memory and pids cannot be switched on (%s): start "
		    "the service in a cgroup of its own (systemd: "
		    "Delegate=yes)",
		    parent, strerror(errno));
	/* Equal shares of the CPU among runs are good to have, no limit. */
	if (write_file(parent, "cgroup.subtree_control", "+cpu"))
		(void)write_file(dir, "cgroup.subtree_control", "+cpu");
	set_weight(dir, "cpu.weight", 100);
	if (chown(dir, uid, gid) < 0 || !give(dir, "cgroup.procs", uid, gid) ||
	    !give(dir, "cgroup.subtree_control", uid, gid))
		return fault_set(
		    f, ST_IO, "chown %s: %s", dir, strerror(errno));
	return ST_OK;
}

enum status
place_delegate(const struct place *p, uid_t uid, gid_t gid, struct fault *f)
{
	switch (p->kind) {
	case CGROUP_NONE:
		return ST_OK;
	case CGROUP_V1:
		return delegate_v1(p, uid, gid, f);
	case CGROUP_V2:
		return delegate_v2(p, uid, gid, f);
	}
	return ST_BUG;
}

void
place_leave(const struct place *p)
{
	static const char *const off[] = { "-memory -pids", "-cpu" };
	char parent[PLACE_PATH];

	if (p->kind != CGROUP_V2 || !parent_of(parent, p))
		return;
	if (write_file(parent, "cgroup.procs", "0") || errno != EBUSY)
		return;
	/* Not the top of all, so it was made for us alone; it takes processes
	 * again once it hands no controller on. */
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		(void)write_file(p->dir[0], "cgroup.subtree_control", off[i]);
		(void)write_file(parent, "cgroup.subtree_control", off[i]);
	}
	(void)write_file(parent, "cgroup.procs", "0");
}
