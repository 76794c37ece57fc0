/*
 * How this works. When no process of the run is left, what the job asked for
 * beside its output goes into one image: the value that a helper wrote, the
 * files that match, the figures that were drawn.
 *
 * What lies in the work folder is the program's: links, FIFOs, devices, holes,
 * names of any bytes, trees of any depth. So every open goes one name or one
 * path down from a folder that is open, following nothing and waiting for
 * nobody; only what the descriptor says is a regular file is read, as far as
 * it is long and the budget goes; depth, entries and time have an end. Nobody
 * is left who could change anything meanwhile.
 */
#include "init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/wild.h"

/* wire_path_ok() bounds it: depth times name and a '/' each. */
#define PATH_BYTES (LIMITS_PATH_DEPTH * (LIMITS_NAME + 1ul))

/* The work tree cannot hold more (inodes); this is for one that does. */
#define ENTRIES_MOST ((size_t)4 * LIMITS_INODES)
#define WALK_US 1000000ull

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* The image while it is written. A record that cannot be finished is taken
 * back. */
struct extras {
	int fd;
	uint64_t len;
	uint64_t left; /* of the budget for files */
};

/* The first paths in order, sorted; only as many as are handed back. */
struct finds {
	char paths[LIMITS_OUTPUTS][PATH_BYTES + 1];
	size_t order[LIMITS_OUTPUTS]; /* indices of paths */
	size_t n;
};

struct walk {
	const struct init_image *job; /* holds the patterns */
	struct finds *finds;
	uint64_t until_us;
	size_t entries;
	size_t depth; /* folders that are open */
	DIR *open[LIMITS_PATH_DEPTH];
	size_t len[LIMITS_PATH_DEPTH]; /* of path, up to that folder */
	char path[PATH_BYTES + 1];
};

static int
open_below(int folder, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY |
			 O_CLOEXEC | flags,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

/* ---- writing the image ---- */

static bool
append(struct extras *x, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n;

	while (len > 0) {
		n = write(x->fd, at, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
		x->len += (uint64_t)n;
	}
	return true;
}

/* Exactly len bytes of the file fd, from its offset on. */
static bool
append_file(struct extras *x, int fd, uint64_t len)
{
	char block[65536];
	ssize_t n;

	while (len > 0) {
		n = read(fd, block, len < sizeof(block) ? len : sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !append(x, block, (size_t)n))
			return false;
		len -= (uint64_t)n;
	}
	return true;
}

static void
put_head(uint8_t head[WIRE_RECORD_HEAD], enum wire_kind kind, const char *path,
    uint64_t len)
{
	wire_put_head(head, kind, strlen(path), len);
}

/* One record out of the rest of fd, or nothing of it. */
static bool
put_file(struct extras *x, enum wire_kind kind, const char *path, int fd,
    uint64_t len)
{
	uint8_t head[WIRE_RECORD_HEAD];
	uint64_t before = x->len;

	put_head(head, kind, path, len);
	if (append(x, head, sizeof(head)) && append(x, path, strlen(path)) &&
	    append_file(x, fd, len))
		return true;
	if (ftruncate(x->fd, (off_t)before) == 0 &&
	    lseek(x->fd, (off_t)before, SEEK_SET) >= 0)
		x->len = before;
	return false;
}

static void
put_omitted(struct extras *x, const char *path, uint64_t size)
{
	uint8_t head[WIRE_RECORD_HEAD];

	put_head(head, WIRE_OMITTED, path, sizeof(size));
	if (append(x, head, sizeof(head)) && append(x, path, strlen(path)))
		append(x, &size, sizeof(size));
}

/* ---- the value ---- */

/* A helper writes a letter, which tells the form, and the text. Whatever else
 * the program made of it is its own value. */
static void
put_value(struct extras *x, int fd, uint64_t most, bool tell)
{
	enum wire_kind kind;
	struct stat s;
	uint64_t len;
	char form;

	if (fd < 0 || fstat(fd, &s) < 0 || s.st_size < 1 ||
	    pread(fd, &form, 1, 0) != 1 || lseek(fd, 1, SEEK_SET) != 1)
		return;
	kind = form == 'j'	     ? WIRE_VALUE_JSON
	       : form == 'e' && tell ? WIRE_THROWN
				     : WIRE_VALUE_REPR;
	len = (uint64_t)s.st_size - 1;
	put_file(x, kind, "", fd, len < most ? len : most);
}

/* ---- finding files ---- */

static void
keep(struct finds *f, const char *path)
{
	size_t at = f->n, slot = f->n;

	while (at > 0 && strcmp(path, f->paths[f->order[at - 1]]) < 0)
		at--;
	if (at == LIMITS_OUTPUTS)
		return;
	if (f->n == LIMITS_OUTPUTS)
		slot = f->order[--f->n];
	memmove(f->order + at + 1, f->order + at,
	    (f->n - at) * sizeof(f->order[0]));
	f->order[at] = slot;
	f->n++;
	memcpy(f->paths[slot], path, strlen(path) + 1);
}

static bool
late(struct walk *w)
{
	return init_now_us() > w->until_us;
}

static bool
wanted(struct walk *w, const char *path, size_t len)
{
	struct wire_record r;
	size_t at = 0;

	while (wire_next(&r, w->job->at, w->job->len, &at) == 1) {
		if (r.kind != WIRE_OUTPUT)
			continue;
		if (wild_match((const char *)r.data, r.data_len, path, len))
			return true;
		if (late(w))
			return false;
	}
	return false;
}

/* Go down into the folder that path names, as name in the one on top. */
static void
enter(struct walk *w, const char *name, size_t len)
{
	int fd;

	if (w->depth == LIMITS_PATH_DEPTH)
		return;
	fd = open_below(dirfd(w->open[w->depth - 1]), name, O_DIRECTORY);
	if (fd < 0)
		return;
	w->open[w->depth] = fdopendir(fd);
	if (w->open[w->depth] == NULL) {
		close(fd);
		return;
	}
	w->path[len] = '/';
	w->len[w->depth++] = len + 1;
}

static void
visit(struct walk *w, const struct dirent *e)
{
	size_t before = w->len[w->depth - 1], n = strlen(e->d_name);
	size_t len = before + n;

	if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
	    n > LIMITS_NAME || len > PATH_BYTES - 1 ||
	    !utf8_valid(e->d_name, n))
		return;
	memcpy(w->path + before, e->d_name, n + 1);
	if (e->d_type == DT_DIR)
		enter(w, e->d_name, len);
	else if (e->d_type == DT_REG && wanted(w, w->path, len))
		keep(w->finds, w->path);
}

/* root is taken. */
static void
walk(struct walk *w, int root)
{
	const struct dirent *e;

	w->open[0] = fdopendir(root);
	if (w->open[0] == NULL) {
		close(root);
		return;
	}
	w->depth = 1;
	while (w->depth > 0) {
		e = NULL;
		if (w->entries++ < ENTRIES_MOST && !late(w))
			e = readdir(w->open[w->depth - 1]);
		if (e != NULL)
			visit(w, e);
		else
			closedir(w->open[--w->depth]);
	}
}

/* ---- handing over ---- */

static void
give(struct extras *x, enum wire_kind kind, int root, const char *path)
{
	int fd = open_below(root, path, 0);
	struct stat s;

	if (fd < 0)
		return;
	if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size >= 0) {
		/* A hole counts as what it reads as. */
		if ((uint64_t)s.st_size > x->left && kind == WIRE_GIVEN)
			put_omitted(x, path, (uint64_t)s.st_size);
		else if ((uint64_t)s.st_size <= x->left &&
			 put_file(x, kind, path, fd, (uint64_t)s.st_size))
			x->left -= (uint64_t)s.st_size;
	}
	close(fd);
}

/* 256 KiB each: too much for a stack. */
static struct finds found;

static void
put_files(struct extras *x, enum wire_kind kind, const char *folder,
    const struct init_image *job)
{
	struct walk w = { .job = job, .finds = &found };
	int root, top;

	found.n = 0;
	w.until_us = init_now_us() + WALK_US;
	root = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	top = root < 0 ? -1 : open_below(root, ".", O_DIRECTORY);
	if (top >= 0)
		walk(&w, top);
	for (size_t i = 0; i < found.n; i++)
		give(x, kind, root, found.paths[found.order[i]]);
	if (root >= 0)
		close(root);
}

/* Every PNG in the folder that figures are drawn to. */
static void
put_figures(struct extras *x)
{
	static const char all[] = "*.png";
	uint8_t pattern[WIRE_RECORD_HEAD + sizeof(all) - 1];
	const struct init_image image = { pattern, sizeof(pattern) };

	wire_put_head(pattern, WIRE_OUTPUT, 0, sizeof(all) - 1);
	memcpy(pattern + WIRE_RECORD_HEAD, all, sizeof(all) - 1);
	put_files(x, WIRE_FIGURE, WIRE_FIGURES, &image);
}

bool
init_collect_prepare(uint32_t flags, struct init_trouble *t)
{
	if ((flags & WIRE_JOB_FIGURES) != 0 && mkdir(WIRE_FIGURES, 0700) < 0)
		return init_trouble(t, "figures", errno);
	return true;
}

void
init_collect(
    const struct wire_init_job *asked, const struct init_image *job, int value)
{
	struct wire_init_extras m = { .type = WIRE_INIT_EXTRAS };
	uint64_t most = asked->limits.output_bytes;
	struct extras x = { .left = most };

	x.fd = memfd_create("extras", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (x.fd < 0)
		return;
	if ((asked->flags & WIRE_JOB_EVALUATE) != 0)
		put_value(&x, value, most, (asked->flags & WIRE_JOB_TELL) != 0);
	if ((asked->flags & WIRE_JOB_OUTPUTS) != 0)
		put_files(&x, WIRE_GIVEN, "/box", job);
	if ((asked->flags & WIRE_JOB_FIGURES) != 0)
		put_figures(&x);
	m.len = x.len;
	if (fcntl(x.fd, F_ADD_SEALS, SEALS) == 0)
		init_control_hand(&m, sizeof(m), x.fd);
	close(x.fd);
}
