#include "box/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/io.h"
#include "box/job.h"

/* What may stand where the hook comes. */
#define BEFORE_BYTES 65536
/* Parts of hook_at with a wildcard; each takes LIST_BYTES of the stack. */
#define DEPTH 16
#define LIST_BYTES 2048

enum status
hook_open(struct hook *out, const struct conf_runtime *runtime)
{
	const char *coded = runtime->hook_text;
	enum status st = ST_BUG;

	out->runtime = runtime;
	buf_init(&out->text, strlen(coded));
	st = hex_unbase64(&out->text, coded, strlen(coded));
	if (st == ST_OK && out->text.len == 0)
		st = ST_FORMAT;
	if (st != ST_OK)
		hook_free(out);
	return st;
}

void
hook_free(struct hook *h)
{
	buf_free(&h->text);
}

void
hook_order(struct wire_init_warm *out, const struct hook *h, const char *entry)
{
	const struct conf_runtime *r = h->runtime;
	bool fifo = r->gate != NULL && strcmp(r->gate, "fifo") == 0;

	memset(out, 0, sizeof(*out));
	out->type = WIRE_INIT_WARM;
	out->gate = fifo ? WIRE_GATE_FIFO : WIRE_GATE_FDS;
	out->value = job_offers(r, "evaluate");
	/* Both are short enough by their form (conf_form.h). */
	(void)snprintf(out->entry, sizeof(out->entry), "%s", entry);
	if (r->hook_env != NULL)
		(void)snprintf(out->env, sizeof(out->env), "%s", r->hook_env);
}

/* ---- inside ---- */

/* Append the file that stands at path, and the end of a line if it lacks
 * one. */
static int
add_before(int out, const char *path)
{
	char text[4096];
	size_t sum = 0;
	char last = '\n';
	ssize_t n;
	int in;

	in = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in < 0)
		return errno;
	for (;;) {
		n = read(in, text, sizeof(text));
		if (n <= 0)
			break;
		sum += (size_t)n;
		last = text[n - 1];
		if (sum > BEFORE_BYTES ||
		    io_write_all(out, text, (size_t)n) != ST_OK) {
			n = -1;
			errno = EFBIG;
			break;
		}
	}
	close(in);
	if (n < 0)
		return errno;
	if (last != '\n' && io_write_all(out, "\n", 1) != ST_OK)
		return EIO;
	return 0;
}

static int
lay_one(const struct hook *h, const char *path, const char *scratch)
{
	int fd, error;

	fd = open(scratch, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (fd < 0)
		return errno;
	error = add_before(fd, path);
	if (error == 0 && io_write_all(fd, h->text.data, h->text.len) != ST_OK)
		error = EIO;
	close(fd);
	/* The mount keeps it; its name goes. */
	if (error == 0 && mount(scratch, path, NULL, MS_BIND, NULL) < 0)
		error = errno;
	if (unlink(scratch) < 0 && error == 0)
		error = errno;
	return error;
}

static int
lift_one(const char *path)
{
	/* An interpreter may still hold it open. */
	return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? errno : 0;
}

/*
 * What hook_at matches. glob(3) would allocate, and the child has the boxer's
 * own memory: killed with the allocator's lock in hand, it would leave it
 * locked for good.
 */
struct search {
	const struct hook *hook;
	const char *scratch; /* NULL: to lift */
	size_t found;
	unsigned depth;
	char path[PATH_MAX];
};

/* The head of what getdents64(2) gives; the name follows. */
struct entry {
	uint64_t inode;
	int64_t next;
	uint16_t len;
	uint8_t type;
	char name[];
};

static int search(struct search *s, size_t len, const char *rest);

static int
on_match(struct search *s)
{
	if (faccessat(AT_FDCWD, s->path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	s->found++;
	return s->scratch == NULL ? lift_one(s->path)
				  : lay_one(s->hook, s->path, s->scratch);
}

/* One more part of the path, and what follows it. */
static int
descend(struct search *s, size_t len, const char *name, size_t name_len,
    const char *rest)
{
	if (len + 1 + name_len >= sizeof(s->path))
		return ENAMETOOLONG;
	s->path[len] = '/';
	memcpy(s->path + len + 1, name, name_len);
	return search(s, len + 1 + name_len, rest);
}

static int
look_in(struct search *s, size_t len, int dir, const char *pattern,
    const char *rest)
{
	_Alignas(struct entry) char list[LIST_BYTES];
	const struct entry *e;
	int error = 0;
	long n;

	for (;;) {
		n = syscall(SYS_getdents64, dir, list, sizeof(list));
		if (n <= 0)
			return n < 0 ? errno : 0;
		for (long at = 0; error == 0 && at < n; at += e->len) {
			e = (const struct entry *)(const void *)(list + at);
			if (fnmatch(pattern, e->name, FNM_PERIOD) == 0)
				error = descend(
				    s, len, e->name, strlen(e->name), rest);
		}
		if (error != 0)
			return error;
	}
}

/* len bytes of s->path are found; rest is what is to be matched below. */
static int
search(struct search *s, size_t len, const char *rest)
{
	const char *name = rest + strspn(rest, "/");
	size_t n = strcspn(name, "/");
	char pattern[NAME_MAX + 1];
	int dir, error;

	s->path[len] = '\0';
	if (n == 0)
		return on_match(s);
	if (strcspn(name, "*?[\\") >= n)
		return descend(s, len, name, n, name + n);
	if (n > NAME_MAX || s->depth == DEPTH)
		return ENAMETOOLONG;
	memcpy(pattern, name, n);
	pattern[n] = '\0';
	dir =
	    open(len == 0 ? "/" : s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return 0;
	s->depth++;
	error = look_in(s, len, dir, pattern, name + n);
	s->depth--;
	close(dir);
	return error;
}

/* Every file that hook_at matches; at least one. */
static int
search_all(const struct hook *h, const char *scratch)
{
	struct search s = { .hook = h, .scratch = scratch };
	int error = search(&s, 0, h->runtime->hook_at);

	return error == 0 && s.found == 0 ? ENOENT : error;
}

int
hook_lay(const struct hook *h, const char *scratch)
{
	return search_all(h, scratch);
}

int
hook_lift(const struct hook *h)
{
	return search_all(h, NULL);
}
