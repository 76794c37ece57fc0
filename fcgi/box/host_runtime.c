#include "box/host_runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "box/bwrap.h"
#include "box/root.h"
#include "box/trial.h"

static const char hello[] = "hello\n";

static bool __attribute__((format(printf, 3, 4)))
say(struct host_line *line, bool ok, const char *fmt, ...)
{
	va_list ap;

	line->ok = ok;
	va_start(ap, fmt);
	vsnprintf(line->text, sizeof(line->text), fmt, ap);
	va_end(ap);
	return ok;
}

/* Has its root file system what the sandbox needs of it? */
static bool
check_root(struct host_line *line, const struct conf *c,
    const struct conf_runtime *r, uid_t uid, gid_t gid)
{
	int error = trial_reach(r->rootfs, uid, gid);

	if (error != 0)
		return say(line, false,
		    "%s: rootfs %s: %s; unpack it there, and let %s read it "
		    "and every folder above it",
		    r->name, r->rootfs, strerror(error), c->run_user);
	for (int e = 0; e < BWRAP_ETC_MAX; e++) {
		const char *path = bwrap_etc_path((enum bwrap_etc)e);
		OWN_FD int fd = root_open(r->rootfs, path);

		if (fd < 0)
			return say(line, false,
			    "%s: rootfs %s has no %s to lay the sandbox's own "
			    "over: touch %s%s",
			    r->name, r->rootfs, path, r->rootfs, path);
	}
	return true;
}

static bool
check_program(struct host_line *line, const struct conf_runtime *r)
{
	const char *program = r->command[0];
	OWN_FD int fd = -1;

	if (program == NULL || program[0] != '/')
		return say(line, false,
		    "%s: its command must begin with an absolute path",
		    r->name);
	fd = root_open(r->rootfs, program);
	if (fd < 0 || faccessat(fd, "", X_OK, AT_EMPTY_PATH) < 0)
		return say(line, false,
		    "%s: %s%s: %s; install it, or take the runtime out",
		    r->name, r->rootfs != NULL ? r->rootfs : "", program,
		    strerror(errno));
	return true;
}

/* Can path be seen inside: is it, all links followed, below /usr or a bind?
 * Only said when the trial failed, where it is the likely reason. */
static bool
seen_inside(const struct conf_runtime *r, const char *path)
{
	char real[PATH_MAX];
	size_t n;

	if (r->rootfs != NULL)
		return true;
	if (realpath(path, real) == NULL)
		return false;
	if (strncmp(real, "/usr/", 5) == 0)
		return true;
	for (char **b = r->binds; b != NULL && *b != NULL; b++) {
		n = strlen(*b);
		if (strncmp(real, *b, n) == 0 &&
		    (real[n] == '/' || real[n] == '\0'))
			return true;
	}
	return false;
}

/* How a program ended that should have ended well. */
static void
say_ended(struct host_line *line, const struct conf_runtime *r,
    const struct trial_told *told)
{
	bool by_signal = WIFSIGNALED(told->wait_status);
	int first = (int)strcspn(told->output, "\n");

	say(line, false, "%s: %s ended with %s %d and said \"%.*s\"", r->name,
	    r->hello != NULL ? "its hello" : "an empty program",
	    by_signal ? "signal" : "exit status",
	    by_signal ? WTERMSIG(told->wait_status)
		      : WEXITSTATUS(told->wait_status),
	    first < 120 ? first : 120, told->output);
}

void
host_runtime_check(struct host_line *line, const struct conf *c,
    const struct conf_runtime *r, uid_t uid, gid_t gid)
{
	const struct trial_ask ask = { .conf = c,
		.runtime = r,
		.source = r->hello != NULL ? r->hello : "",
		.uid = uid,
		.gid = gid };
	struct trial_told told;
	struct fault f = { 0 };

	line->what = "runtime";
	if ((r->rootfs != NULL && !check_root(line, c, r, uid, gid)) ||
	    !check_program(line, r))
		return;
	if (trial_run(&told, &ask, &f) != ST_OK)
		say(line, false, "%s: %s%s", r->name, f.message,
		    seen_inside(r, r->command[0])
			? ""
			: "; it is outside /usr: add its folder to binds");
	else if (told.wait_status != 0 ||
		 (r->hello != NULL && strcmp(told.output, hello) != 0))
		say_ended(line, r, &told);
	else
		say(line, true, "%s: %s in %llu ms", r->name,
		    r->hello != NULL ? "said hello" : "ran an empty program",
		    (unsigned long long)told.ms);
}
