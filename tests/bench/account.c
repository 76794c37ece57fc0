#include "account.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box/place.h"
#include "say.h"

#define OWN "/bench"

struct account {
	bool v2;
	char dir[PLACE_PATH];
	pid_t boxer;
};

static void
enter(const char *dir, const char *below)
{
	char path[PLACE_PATH + 64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s%s/cgroup.procs", dir, below);
	f = fopen(path, "w");
	if (f == NULL || fprintf(f, "%d\n", (int)getpid()) < 0 ||
	    fclose(f) == EOF)
		say_stop("%s: %s", path, strerror(errno));
}

struct account *
account_open(enum cgroup_kind kind, const char *name, pid_t boxer)
{
	char path[PLACE_PATH + 64];
	struct account *a;
	struct place p;
	size_t at;

	if (kind == CGROUP_NONE || place_find(&p, kind, name) != ST_OK)
		return NULL;
	at = p.of[PLACE_CPUACCT];
	if (at >= p.n)
		return NULL;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		say_stop("no memory");
	a->v2 = kind == CGROUP_V2;
	a->boxer = boxer;
	memcpy(a->dir, p.dir[at], sizeof(a->dir));
	/* v2: cgroup_prepare() has moved this process into the instance, and
	 * the boxer with it. */
	if (a->v2)
		return a;
	(void)snprintf(path, sizeof(path), "%s" OWN, a->dir);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		say_stop("%s: %s", path, strerror(errno));
	enter(a->dir, OWN);
	return a;
}

void
account_close(struct account *a)
{
	char path[PLACE_PATH + 64];

	if (a == NULL)
		return;
	if (!a->v2) {
		enter(a->dir, "/..");
		(void)snprintf(path, sizeof(path), "%s" OWN, a->dir);
		(void)rmdir(path);
	}
	free(a);
}

/* Fields 14 and 15 of its stat, in clock ticks. */
static double
process_s(pid_t pid)
{
	char path[64], text[1024] = "", *p;
	double sum = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f == NULL || fgets(text, sizeof(text), f) == NULL)
		say_stop("the boxer is gone");
	fclose(f);
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 15; field++) {
		p = strchr(p + 1, ' ');
		if (p != NULL && field >= 13)
			sum += strtod(p, NULL);
	}
	return sum / (double)sysconf(_SC_CLK_TCK);
}

double
account_s(const struct account *a)
{
	char path[PLACE_PATH + 64], line[128] = "";
	double usage;
	FILE *f;

	if (a == NULL)
		return NAN;
	/* v2's first line is "usage_usec N". */
	(void)snprintf(path, sizeof(path), "%s/%s", a->dir,
	    a->v2 ? "cpu.stat" : "cpuacct.usage");
	f = fopen(path, "r");
	if (f == NULL || fgets(line, sizeof(line), f) == NULL)
		say_stop("%s cannot be read", path);
	fclose(f);
	usage = strtod(line + strcspn(line, "0123456789"), NULL);
	return a->v2 ? usage / 1e6 : usage / 1e9 + process_s(a->boxer);
}
