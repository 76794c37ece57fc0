#include "box/bwrap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "box/root.h"

/* All arguments together; the caller's own text is never among them. */
#define ARGS_BYTES (256u << 10)

/* Each line holds because of the one named (sandbox-facts.md 5, 9). */
static const char *const walls[] = { "--unshare-user", "--unshare-pid",
	"--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
	/* Gone with whoever started it; no controlling terminal; our own PID
	 * 1 instead of bubblewrap's, which would turn signals into codes. */
	"--die-with-parent", "--new-session", "--as-pid-1",
	/* Nobody in particular, on a machine of no name. */
	"--hostname", "sandbox", "--uid", "1000", "--gid", "1000", "--cap-drop",
	"ALL" };

static const char *const environment[] = { "--clearenv", "--setenv", "PATH",
	"/usr/bin:/bin", "--setenv", "HOME", "/box", "--setenv", "LANG",
	"C.UTF-8", "--setenv", "TZ", "UTC", "--setenv", "TMPDIR", "/tmp" };

static const char *const system_files[] = { "--ro-bind", "/usr", "/usr",
	"--symlink", "usr/bin", "/bin", "--symlink", "usr/sbin", "/sbin",
	"--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	"--dir", "/etc", "--symlink", "/usr/share/zoneinfo/Etc/UTC",
	"/etc/localtime", "--ro-bind-try", "/etc/alternatives",
	"/etc/alternatives", "--ro-bind-try", "/etc/ld.so.cache",
	"/etc/ld.so.cache" };

/* /box and /tmp are the places where work_mount() mounts. */
static const char *const places[] = { "--proc", "/proc", "--dev", "/dev",
	"--dir", "/box", "--dir", "/tmp", "--chdir", "/box" };

/* Last, or they would be writable and unbounded (sandbox-facts.md 5). */
static const char *const remounts[] = { "--remount-ro", "/dev", "--remount-ro",
	"/proc", "--remount-ro", "/" };

#define PUT_ALL(out, list)                                                     \
	put_all((out), (list), sizeof(list) / sizeof(*(list)))

static const struct {
	const char *path;
	const char *text;
} etc[BWRAP_ETC_MAX] = {
	[BWRAP_ETC_PASSWD] = { "/etc/passwd",
	    "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
	    "sandbox:x:1000:1000:sandbox:/box:/bin/bash\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	[BWRAP_ETC_GROUP] = { "/etc/group",
	    "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n" },
	[BWRAP_ETC_HOSTS] = { "/etc/hosts",
	    "127.0.0.1\tlocalhost sandbox\n::1\tlocalhost\n" },
	[BWRAP_ETC_NSSWITCH] = { "/etc/nsswitch.conf",
	    "passwd: files\ngroup: files\nhosts: files dns\n" },
};

const char *
bwrap_etc_path(enum bwrap_etc e)
{
	return etc[e].path;
}

const char *
bwrap_etc_text(enum bwrap_etc e)
{
	return etc[e].text;
}

static void
put(struct buf *out, const char *word)
{
	buf_add(out, word, strlen(word) + 1);
}

static void
put_all(struct buf *out, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put(out, words[i]);
}

static void
put_number(struct buf *out, int n)
{
	buf_addf(out, "%d", n);
	buf_addc(out, '\0');
}

/* A word of runtime.command with every {entry} in it replaced. */
static void
put_command(struct buf *out, const char *word, const char *entry)
{
	static const char mark[] = "{entry}";
	const char *at = strstr(word, mark);

	while (at != NULL) {
		buf_add(out, word, (size_t)(at - word));
		buf_adds(out, entry);
		word = at + sizeof(mark) - 1;
		at = strstr(word, mark);
	}
	put(out, word);
}

/* "/", and what could name it in other words, would lay the whole host open:
 * only /name/name... passes. */
static bool
plain_path(const char *path)
{
	size_t n;

	if (*path != '/')
		return false;
	while (*path == '/') {
		path++;
		n = strcspn(path, "/");
		if (n == 0 || (n == 1 && path[0] == '.') ||
		    (n == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += n;
	}
	return true;
}

static bool
fds_high(const struct bwrap_policy *p)
{
	int fds[BWRAP_FDS];
	size_t n = bwrap_fds(fds, p);

	for (size_t i = 0; i < n; i++) {
		if (fds[i] < BWRAP_FD_MIN)
			return false;
	}
	return true;
}

size_t
bwrap_fds(int out[BWRAP_FDS], const struct bwrap_policy *p)
{
	size_t n = 0;

	out[n++] = p->init;
	out[n++] = p->control;
	out[n++] = p->in;
	out[n++] = p->out;
	out[n++] = p->err;
	out[n++] = p->filter;
	out[n++] = p->args;
	if (p->status >= 0)
		out[n++] = p->status;
	for (size_t i = 0; i < BWRAP_ETC_MAX; i++)
		out[n++] = p->etc[i];
	return n;
}

static enum status
put_environment(struct buf *out, const struct bwrap_policy *p)
{
	const char *equals;

	PUT_ALL(out, environment);
	for (char **e = p->runtime->env; e != NULL && *e != NULL; e++) {
		equals = strchr(*e, '=');
		if (equals == NULL || equals == *e)
			return ST_FORMAT;
		put(out, "--setenv");
		buf_add(out, *e, (size_t)(equals - *e));
		buf_addc(out, '\0');
		put(out, equals + 1);
	}
	return ST_OK;
}

static void
put_two(struct buf *out, const char *a, const char *b)
{
	buf_adds(out, a);
	put(out, b);
}

/* The runtime's own root file system in place of the host's. */
static void
put_root(struct buf *out, const char *path, const struct root *root)
{
	for (size_t i = 0; i < ROOT_TOPS; i++) {
		if (root->link[i] == NULL)
			continue;
		if (root->link[i][0] != '\0') {
			put(out, "--symlink");
			put(out, root->link[i]);
		} else {
			put(out, "--ro-bind");
			put_two(out, path, root_tops[i]);
		}
		put(out, root_tops[i]);
	}
}

static void
put_etc(struct buf *out, const struct bwrap_policy *p)
{
	for (size_t i = 0; i < BWRAP_ETC_MAX; i++) {
		if (p->root != NULL) {
			/* Laid over what its read-only /etc has there. */
			put(out, "--ro-bind-data");
		} else {
			/* Copies on the root's own tmpfs: no mount each, and
			 * no path of the host in the program's mount table
			 * (sandbox-faults.md 46). */
			put(out, "--perms");
			put(out, "0444");
			put(out, "--file");
		}
		put_number(out, p->etc[i]);
		put(out, etc[i].path);
	}
}

static enum status
put_files(struct buf *out, const struct bwrap_policy *p)
{
	const char *rootfs = p->root != NULL ? p->runtime->rootfs : "";
	size_t skip = strlen(rootfs);

	if (p->root == NULL)
		PUT_ALL(out, system_files);
	else if (plain_path(rootfs))
		put_root(out, rootfs, p->root);
	else
		return ST_FORMAT;
	put_etc(out, p);
	for (char *const *b = p->binds; b != NULL && *b != NULL; b++) {
		if (strncmp(*b, rootfs, skip) != 0 || !plain_path(*b + skip))
			return ST_FORMAT;
		put(out, "--ro-bind");
		put(out, *b);
		put(out, *b + skip);
	}
	return ST_OK;
}

enum status
bwrap_args(struct buf *out, const struct bwrap_policy *p)
{
	enum status st = ST_BUG;

	if (!fds_high(p))
		return ST_FORMAT;
	PUT_ALL(out, walls);
	if ((p->leave_out & BWRAP_LAYER_USERNS) == 0)
		put(out, "--disable-userns");
	if (p->status >= 0) {
		put(out, "--json-status-fd");
		put_number(out, p->status);
	}
	st = put_environment(out, p);
	if (st == ST_OK)
		st = put_files(out, p);
	if (st != ST_OK)
		return st;
	PUT_ALL(out, places);
	if ((p->leave_out & BWRAP_LAYER_REMOUNT) == 0)
		PUT_ALL(out, remounts);
	return buf_status(out);
}

/* What follows `bwrap`: only this shows in the sandbox as /proc/1/cmdline, and
 * only from /proc/self on (sandbox-faults.md 46). */
static void
put_argv(struct buf *out, const struct bwrap_policy *p)
{
	const int fds[] = { p->control, p->in, p->out, p->err };

	put(out, p->bwrap);
	put(out, "--args");
	put_number(out, p->args);
	put(out, "--");
	buf_addf(out, "/proc/self/fd/%d", p->init);
	buf_addc(out, '\0');
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		put_number(out, fds[i]);
	if ((p->leave_out & BWRAP_LAYER_FILTER) != 0)
		put(out, "-");
	else
		put_number(out, p->filter);
	for (char **w = p->runtime->command; *w != NULL; w++)
		put_command(out, *w, p->entry);
}

enum status
bwrap_argv(char ***out, const struct bwrap_policy *p)
{
	struct buf words;
	enum status st = ST_BUG;
	size_t n = 0;
	char **argv, *text;

	*out = NULL;
	if (!fds_high(p) || p->runtime->command[0] == NULL)
		return ST_FORMAT;
	buf_init(&words, ARGS_BYTES);
	put_argv(&words, p);
	st = buf_status(&words);
	if (st != ST_OK)
		goto out;
	for (size_t i = 0; i < words.len; i++)
		n += words.data[i] == '\0';
	argv = malloc((n + 1) * sizeof(*argv) + words.len);
	if (argv == NULL) {
		st = ST_NOMEM;
		goto out;
	}
	text = (char *)(argv + n + 1);
	memcpy(text, words.data, words.len);
	for (size_t i = 0; i < n; i++) {
		argv[i] = text;
		text += strlen(text) + 1;
	}
	argv[n] = NULL;
	*out = argv;
out:
	buf_free(&words);
	return st;
}
