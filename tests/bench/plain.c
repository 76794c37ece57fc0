#include "plain.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

#define WORDS 128

struct words {
	char *at[WORDS + 1];
	size_t n;
};

struct plain {
	char dir[32];
	char file[PATH_MAX];
	uid_t uid;
	gid_t gid;
	struct words bare;
	struct words wrapped;
	struct words env;
};

/* The user whose sandboxes Tollbox runs sets no more than these. */
static const char *const environment[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8",
	"TZ=UTC", "TMPDIR=/tmp" };

/* All that can be unshared, the system read-only, nothing of the host's but
 * that, gone with whoever started it. */
static const char *const walls[] = { "--unshare-all", "--die-with-parent",
	"--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr",
	"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
	"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	"--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
	"--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc",
	"/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--setenv", "HOME",
	"/box" };

/* ---- lists of words ---- */

static void
add(struct words *w, const char *word)
{
	if (w->n == WORDS)
		say_stop("too many words for a command");
	w->at[w->n] = strdup(word);
	if (w->at[w->n] == NULL)
		say_stop("no memory");
	w->n++;
}

static void
add_all(struct words *w, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(w, words[i]);
}

static void
words_free(struct words *w)
{
	while (w->n > 0)
		free(w->at[--w->n]);
}

/* The runtime's command with the entry file's name put in. */
static void
add_command(struct words *w, const struct conf_runtime *r, const char *entry)
{
	static const char mark[] = "{entry}";
	char word[PATH_MAX];
	const char *at;

	for (char **c = r->command; *c != NULL; c++) {
		at = strstr(*c, mark);
		if (at == NULL)
			(void)snprintf(word, sizeof(word), "%s", *c);
		else
			(void)snprintf(word, sizeof(word), "%.*s%s%s",
			    (int)(at - *c), *c, entry, at + sizeof(mark) - 1);
		add(w, word);
	}
}

static void
add_binds(struct words *w, const struct conf_runtime *r)
{
	glob_t found;

	for (char **b = r->binds; b != NULL && *b != NULL; b++) {
		if (glob(*b, 0, NULL, &found) != 0)
			continue;
		for (size_t i = 0; i < found.gl_pathc; i++) {
			add(w, "--ro-bind");
			add(w, found.gl_pathv[i]);
			add(w, found.gl_pathv[i]);
		}
		globfree(&found);
	}
}

/* ---- the folder ---- */

static void
write_entry(struct plain *p, const char *entry, const char *source)
{
	FILE *f;

	memcpy(p->dir, "/tmp/tollbox-bench.XXXXXX", 26);
	if (mkdtemp(p->dir) == NULL)
		say_stop("no folder can be made in /tmp");
	(void)snprintf(p->file, sizeof(p->file), "%s/%s", p->dir, entry);
	f = fopen(p->file, "w");
	if (f == NULL || fputs(source, f) == EOF || fclose(f) == EOF ||
	    chown(p->file, p->uid, p->gid) < 0 ||
	    chown(p->dir, p->uid, p->gid) < 0 || chmod(p->dir, 0755) < 0)
		say_stop("%s cannot be written", p->file);
}

struct plain *
plain_open(const struct conf_runtime *r, const char *entry, const char *source,
    const char *bwrap, uid_t uid, gid_t gid)
{
	struct plain *p = calloc(1, sizeof(*p));
	char home[64];

	if (p == NULL)
		say_stop("no memory");
	p->uid = uid;
	p->gid = gid;
	write_entry(p, entry, source);
	add_command(&p->bare, r, entry);
	add(&p->wrapped, bwrap);
	add_all(&p->wrapped, walls, sizeof(walls) / sizeof(walls[0]));
	add_binds(&p->wrapped, r);
	add(&p->wrapped, "--bind");
	add(&p->wrapped, p->dir);
	add(&p->wrapped, "/box");
	add(&p->wrapped, "--chdir");
	add(&p->wrapped, "/box");
	add_command(&p->wrapped, r, entry);
	add_all(
	    &p->env, environment, sizeof(environment) / sizeof(environment[0]));
	(void)snprintf(home, sizeof(home), "HOME=%s", p->dir);
	add(&p->env, home);
	for (char **e = r->env; e != NULL && *e != NULL; e++)
		add(&p->env, *e);
	return p;
}

void
plain_close(struct plain *p)
{
	if (p == NULL)
		return;
	(void)unlink(p->file);
	(void)rmdir(p->dir);
	words_free(&p->bare);
	words_free(&p->wrapped);
	words_free(&p->env);
	free(p);
}

/* ---- a run ---- */

static double
now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The kernel's own calls for the user: libc's would change every thread, and
 * here the child still shares our memory. */
static pid_t
start(const struct plain *p, char *const *argv, const int fds[3])
{
	pid_t pid = vfork();

	if (pid != 0)
		return pid;
	if (syscall(SYS_setgroups, 0, NULL) != 0 ||
	    syscall(SYS_setresgid, p->gid, p->gid, p->gid) != 0 ||
	    syscall(SYS_setresuid, p->uid, p->uid, p->uid) != 0 ||
	    chdir(p->dir) < 0 || dup2(fds[0], 0) < 0 || dup2(fds[1], 1) < 0 ||
	    dup2(fds[2], 2) < 0)
		_exit(126);
	(void)execve(argv[0], argv, p->env.at);
	_exit(127);
}

/* Read both to their ends; what does not fit is dropped. */
static void
read_all(struct plain_end *out, int out_fd, int err_fd)
{
	struct pollfd p[2] = { { .fd = out_fd, .events = POLLIN },
		{ .fd = err_fd, .events = POLLIN } };
	char *text[2] = { out->out, out->err }, block[4096];
	size_t len[2] = { 0, 0 }, keep;
	ssize_t n;

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		(void)poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			if (p[i].fd < 0 || p[i].revents == 0)
				continue;
			n = read(p[i].fd, block, sizeof(block));
			keep = n <= 0 ? 0 : (size_t)n;
			if (keep > sizeof(out->out) - 1 - len[i])
				keep = sizeof(out->out) - 1 - len[i];
			memcpy(text[i] + len[i], block, keep);
			len[i] += keep;
			if (n <= 0)
				p[i].fd = -1;
		}
	}
	out->out[len[0]] = '\0';
	out->err[len[1]] = '\0';
}

bool
plain_run(struct plain_end *out, const struct plain *p, bool wrapped)
{
	int in[2], o[2], e[2];
	struct rusage use = { 0 };
	double before = now_us();
	pid_t pid;

	memset(out, 0, sizeof(*out));
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(o, O_CLOEXEC) < 0 ||
	    pipe2(e, O_CLOEXEC) < 0)
		return false;
	pid = start(p, wrapped ? p->wrapped.at : p->bare.at,
	    (const int[3]){ in[0], o[1], e[1] });
	close(in[0]);
	close(in[1]);
	close(o[1]);
	close(e[1]);
	if (pid > 0) {
		read_all(out, o[0], e[0]);
		if (wait4(pid, &out->wait_status, 0, &use) != pid)
			pid = -1;
		out->us = now_us() - before;
	}
	close(o[0]);
	close(e[0]);
	out->cpu_us =
	    (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
	    (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
	return pid > 0;
}
