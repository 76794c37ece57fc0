#include "box/host_shared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

/* So much of each is more than programs have memory for; 0 is no limit. */
static const struct {
	const char *path;
	const char *name;
	long enough;
} counts[] = {
	{ "/proc/sys/fs/epoll/max_user_watches", "fs.epoll.max_user_watches",
	    1000000000 },
	{ "/proc/sys/fs/pipe-user-pages-soft", "fs.pipe-user-pages-soft", 0 },
	/* For 512 runs (work.c bounds each). */
	{ "/proc/sys/fs/inotify/max_user_instances",
	    "fs.inotify.max_user_instances", 8192 },
};

/* In v2 what waits in sockets is part of a run's memory, and the bound that all
 * of the host share must not come first. The middle of three numbers is the
 * one from which on the kernel keeps everybody short. */
static const struct {
	const char *path;
	const char *name;
} socket_pages[] = {
	{ "/proc/sys/net/ipv4/tcp_mem", "net.ipv4.tcp_mem" },
	{ "/proc/sys/net/ipv4/udp_mem", "net.ipv4.udp_mem" },
};

long
host_shared_number(const char *path, long other)
{
	OWN_FREE char *text = NULL;
	char *end;
	long n;

	if (io_read_path(path, 64, &text, NULL) != ST_OK)
		return other;
	n = strtol(text, &end, 10);
	return end == text ? other : n;
}

static bool
is_enough(long n, long enough)
{
	return enough == 0 ? n == 0 : n >= enough;
}

static long
middle_number(const char *path, long other)
{
	OWN_FREE char *text = NULL;
	char *at, *end;
	long n;

	if (io_read_path(path, 128, &text, NULL) != ST_OK)
		return other;
	(void)strtol(text, &at, 10);
	n = strtol(at, &end, 10);
	return end == at ? other : n;
}

bool
host_shared_sockets(
    struct host_line *line, enum cgroup_kind kind, uint64_t memory_bytes)
{
	long pages = (long)(memory_bytes / (uint64_t)sysconf(_SC_PAGESIZE));
	size_t len = 0;

	memset(line, 0, sizeof(*line));
	line->what = "sockets of runs";
	line->ok = true;
	if (kind != CGROUP_V2)
		return false;
	for (size_t i = 0; i < sizeof(socket_pages) / sizeof(socket_pages[0]);
	     i++) {
		if (middle_number(socket_pages[i].path, pages) >= pages)
			continue;
		len += (size_t)snprintf(line->text + len,
		    sizeof(line->text) - len, "%s%s=%ld %ld %ld",
		    len == 0 ? "runs can use up the host's: advised in "
			       "/etc/sysctl.d/tollbox.conf: "
			     : ", ",
		    socket_pages[i].name, pages, pages, pages);
	}
	if (len == 0)
		(void)snprintf(line->text, sizeof(line->text),
		    "the limits of their memory come before the host's");
	return true;
}

void
host_shared_tell(struct host_line *line, enum cgroup_kind kind)
{
	size_t len = 0, n = 0;

	memset(line, 0, sizeof(*line));
	line->what = "shared by runs";
	line->ok = true;
	if (kind == CGROUP_NONE) {
		(void)snprintf(line->text, sizeof(line->text),
		    "watches, pipes: as they are, since no cgroup counts the "
		    "memory of more");
		return;
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (is_enough(
			host_shared_number(counts[i].path, counts[i].enough),
			counts[i].enough))
			continue;
		len += (size_t)snprintf(line->text + len,
		    sizeof(line->text) - len, "%s%s=%ld",
		    n++ == 0 ? "one program can use up watches or pipes: "
			       "advised in /etc/sysctl.d/tollbox.conf: "
			     : ", ",
		    counts[i].name, counts[i].enough);
	}
	if (n == 0)
		(void)snprintf(line->text, sizeof(line->text),
		    "watches, pipes: more than programs can use up");
}
