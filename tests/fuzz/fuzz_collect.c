/*
 * What a program leaves in its work folder, made of the input: links out of it,
 * FIFOs, sockets, devices, holes, deep folders, names of any bytes. The
 * collector runs over it as in the sandbox; its image must hold exactly the
 * files that were asked for, as the gate reads it (box/extras.c), and nothing
 * of what lies beside the folder.
 */
#include "fuzz.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "../../sandbox-scripts/init.h"
#include "base/utf8.h"
#include "base/wild.h"
#include "box/extras.h"
#include "scene.h"

#define DEPTH 24 /* a little deeper than is collected */
#define FILES 160
#define PATTERNS 4
#define PATH_BYTES ((size_t)(DEPTH + 1) * (LIMITS_NAME + 1))
#define SECONDS 5

struct file {
	char path[PATH_BYTES];
	size_t len;
	uint64_t size;
	uint8_t fill;
};

/* A folder being filled. */
struct tree {
	int open[DEPTH + 1];
	size_t len[DEPTH + 1]; /* of path, up to that folder */
	size_t depth;
	char path[PATH_BYTES];
	struct file *files; /* FILES of them; NULL: nobody wants to know */
	size_t n_files;
};

static struct scene *scene;
/* Finding the secret tells something: the input does not hold it itself. */
static bool may_tell;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

/* The collector's two folders are ours. */
int
__wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	if ((flags & O_CREAT) != 0) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (scene != NULL && strcmp(path, "/box") == 0)
		return openat(scene->top, "box", flags);
	if (scene != NULL && strcmp(path, WIRE_FIGURES) == 0)
		return openat(scene->top, "figures", flags);
	return __real_open(path, flags, mode);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	scene = scene_open();
	return 0;
}

/* ---- the tree ---- */

/* Any bytes that can be a name; long ones from few bytes, too. */
static size_t
read_name(char name[LIMITS_NAME + 1], struct input *in)
{
	const uint8_t *bytes;
	size_t len = input_byte(in), n;

	if (len == 0)
		len = 1;
	n = input_take(in, &bytes, len < 128 ? len : len - 128);
	if (len >= 128)
		len = LIMITS_NAME - (len - 128) % 4;
	memset(name, 'a', len);
	memcpy(name, bytes, n);
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '/' || name[i] == '\0')
			name[i] = '_';
	}
	name[len] = '\0';
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		name[0] = '_';
	return len;
}

static void
enter(struct tree *t, const char *name, size_t len)
{
	size_t at = t->len[t->depth];
	int fd;

	if (t->depth == DEPTH)
		return;
	(void)mkdirat(t->open[t->depth], name, 0755);
	fd = openat(t->open[t->depth], name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	memcpy(t->path + at, name, len);
	t->path[at + len] = '/';
	t->depth++;
	t->open[t->depth] = fd;
	t->len[t->depth] = at + len + 1;
}

static void
leave(struct tree *t)
{
	if (t->depth > 0)
		close(t->open[t->depth--]);
}

/* Of size bytes, holed where there are more than fit the input's byte. */
static void
put(struct tree *t, const char *name, size_t len, uint64_t size, bool hole)
{
	size_t at = t->len[t->depth];
	uint8_t block[256];
	struct file *f;
	int fd = openat(t->open[t->depth], name,
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	memset(block, 'A' + (int)(t->n_files % 26), sizeof(block));
	if (hole)
		must(ftruncate(fd, (off_t)size) == 0);
	else
		must(write(fd, block, size) == (ssize_t)size);
	close(fd);
	if (t->files == NULL)
		return;
	must(t->n_files < FILES);
	f = &t->files[t->n_files++];
	memcpy(f->path, t->path, at);
	memcpy(f->path + at, name, len + 1);
	f->len = at + len;
	f->size = size;
	f->fill = hole ? 0 : block[0];
}

static void
put_link(struct tree *t, const char *name, uint8_t to)
{
	static const char *const target[] = { "..", ".", "/",
		"../outside/secret", "../../outside/secret", "../outside",
		"/etc/passwd", "/proc/self/environ", "/dev/zero",
		"/proc/self/fd/0" };
	char path[256];

	if (to % 12 < 10) {
		(void)!symlinkat(target[to % 12], t->open[t->depth], name);
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/outside%s", scene->path,
	    to % 12 == 10 ? "" : "/secret");
	(void)!symlinkat(path, t->open[t->depth], name);
}

/* Where not allowed, they are not there. */
static void
put_special(struct tree *t, const char *name, uint8_t kind)
{
	static const mode_t mode[] = { S_IFIFO, S_IFSOCK, S_IFCHR };

	(void)mknodat(
	    t->open[t->depth], name, mode[kind % 3] | 0666, makedev(1, 5));
}

static void
grow(struct tree *t, struct input *in)
{
	char name[LIMITS_NAME + 1];
	uint8_t op = input_byte(in);
	size_t len;

	if ((op & 7) == 7) {
		leave(t);
		return;
	}
	len = read_name(name, in);
	switch (op & 7) {
	case 0:
	case 1:
		put(t, name, len, input_byte(in), false);
		break;
	case 2:
		put(t, name, len, UINT64_C(1) << (op >> 3), true);
		break;
	case 3:
		put_link(t, name, input_byte(in));
		break;
	case 4:
		put_special(t, name, op >> 3);
		break;
	case 5: /* many levels of one name */
		for (int i = op >> 3; i >= 0; i--)
			enter(t, name, len);
		break;
	default:
		enter(t, name, len);
		break;
	}
}

/* Up to an op that says so, or FILES of them. */
static void
make_tree(struct tree *t, int root, struct file *files, struct input *in)
{
	memset(t, 0, sizeof(*t));
	t->files = files;
	t->open[0] = fcntl(root, F_DUPFD_CLOEXEC, 0);
	must(t->open[0] >= 0);
	for (size_t i = 0; i < FILES && in->left > 0 && in->at[0] != 0xff; i++)
		grow(t, in);
	(void)input_byte(in);
	while (t->depth > 0)
		leave(t);
	close(t->open[0]);
}

/* ---- what is asked for ---- */

static size_t
make_patterns(uint8_t *out, struct input *in)
{
	const uint8_t *text;
	size_t len = 0, n;

	for (int i = 0; i < PATTERNS; i++) {
		n = input_take(in, &text, input_byte(in));
		/* The gate lets no others through. */
		if (!wire_path_ok((const char *)text, n))
			continue;
		wire_put_head(out + len, WIRE_OUTPUT, 0, n);
		memcpy(out + len + WIRE_RECORD_HEAD, text, n);
		len += WIRE_RECORD_HEAD + n;
	}
	return len;
}

static bool
asked_for(const struct init_image *job, const struct file *f)
{
	struct wire_record r;
	size_t at = 0;

	if (!wire_path_ok(f->path, f->len) || !utf8_valid(f->path, f->len))
		return false;
	while (wire_next(&r, job->at, job->len, &at) == 1) {
		if (wild_match(
			(const char *)r.data, r.data_len, f->path, f->len))
			return true;
	}
	return false;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(
	    ((const struct file *)a)->path, ((const struct file *)b)->path);
}

/* ---- what came of it ---- */

static void
check_content(
    const struct extras_file *got, const struct file *f, uint64_t left)
{
	must(
	    got->path_len == f->len && memcmp(got->path, f->path, f->len) == 0);
	must(got->size == f->size);
	must((got->data == NULL) == (f->size > left));
	for (uint64_t k = 0; got->data != NULL && k < got->size; k++)
		must(got->data[k] == f->fill);
}

/* All files that match, the first ones by path, each once. */
static void
check_all(const struct extras *x, struct file *files, size_t n, uint64_t left,
    const struct init_image *job)
{
	size_t got = 0;

	qsort(files, n, sizeof(files[0]), by_path);
	for (size_t i = 0; i < n && got < LIMITS_OUTPUTS; i++) {
		if (!asked_for(job, &files[i]))
			continue;
		must(got < x->n_files);
		check_content(&x->files[got], &files[i], left);
		if (x->files[got++].data != NULL)
			left -= files[i].size;
	}
	must(got == x->n_files);
}

/* The time was over before the walk was: some of them. */
static void
check_some(const struct extras *x, struct file *files, size_t n,
    const struct init_image *job)
{
	struct file *f;
	struct file key;

	qsort(files, n, sizeof(files[0]), by_path);
	for (size_t i = 0; i < x->n_files; i++) {
		memcpy(key.path, x->files[i].path, x->files[i].path_len);
		key.path[x->files[i].path_len] = '\0';
		f = bsearch(&key, files, n, sizeof(files[0]), by_path);
		must(f != NULL && asked_for(job, f));
		must(f->size == x->files[i].size);
	}
}

static bool
has_secret(const uint8_t *at, size_t len)
{
	return memmem(at, len, SCENE_SECRET, strlen(SCENE_SECRET)) != NULL;
}

static void
check_image(const uint8_t *at, size_t len, const struct wire_init_job *asked,
    const struct init_image *job, struct tree *box, bool in_time)
{
	struct extras x;

	must(len <= extras_most(asked->limits.output_bytes));
	must(!may_tell || !has_secret(at, len));
	must(extras_read(&x, at, len, asked->flags,
		 asked->limits.output_bytes) == ST_OK);
	if ((asked->flags & WIRE_JOB_OUTPUTS) == 0)
		must(x.n_files == 0);
	else if (in_time)
		check_all(&x, box->files, box->n_files,
		    asked->limits.output_bytes, job);
	else
		check_some(&x, box->files, box->n_files, job);
}

/* The message and the image that the boxer gets. */
static int
receive(uint64_t *len)
{
	struct wire_init_extras m;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = &m, .iov_len = sizeof(m) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct stat s;
	int fd;

	must(recvmsg(scene->peer, &msg, MSG_CMSG_CLOEXEC) == sizeof(m));
	must(m.type == WIRE_INIT_EXTRAS && CMSG_FIRSTHDR(&msg) != NULL);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	must(fstat(fd, &s) == 0 && (uint64_t)s.st_size == m.len);
	must((fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE) != 0);
	*len = m.len;
	return fd;
}

static void
check_what_came(const struct wire_init_job *asked, const struct init_image *job,
    struct tree *box, bool in_time)
{
	uint64_t len;
	int fd = receive(&len);
	void *at;

	if (len > 0) {
		at = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
		must(at != MAP_FAILED);
		check_image(at, len, asked, job, box, in_time);
		must(munmap(at, len) == 0);
	}
	close(fd);
}

/* What a helper, or the program in its place, wrote. */
static int
make_value(struct input *in)
{
	const uint8_t *text;
	uint8_t form = input_byte(in);
	size_t n = input_take(in, &text, input_byte(in));
	int fd;

	if ((form & 3) == 0)
		return -1;
	fd = scene_memfd(text, n, 0);
	if ((form & 3) == 1)
		must(ftruncate(fd, (off_t)(UINT64_C(1) << (form >> 3))) == 0);
	return fd;
}

static void
collect(
    const struct wire_init_job *asked, const struct init_image *job, int value)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	init_collect(asked, job, value);
	clock_gettime(CLOCK_MONOTONIC, &to);
	must(to.tv_sec - from.tv_sec <= SECONDS);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t steps[] = { 0, 0, 0, 30000 };
	static uint8_t patterns[PATTERNS * (WIRE_RECORD_HEAD + 255)];
	static struct file files[FILES];
	static struct tree box, figures;
	struct input in = { data, size };
	uint8_t how = input_byte(&in);
	struct wire_init_job asked = { .flags = how & 7u,
		.limits.output_bytes = UINT64_C(1) << (how >> 4) };
	struct init_image job = { .at = patterns };
	size_t fds = fuzz_fds();
	int value;

	may_tell = !has_secret(data, size);
	scene->step = steps[input_byte(&in) & 3];
	job.len = make_patterns(patterns, &in);
	value = make_value(&in);
	make_tree(&box, scene->box, files, &in);
	make_tree(&figures, scene->figures, NULL, &in);
	collect(&asked, &job, value);
	check_what_came(&asked, &job, &box, scene->step == 0);
	if (value >= 0)
		close(value);
	scene_clear(scene);
	must(fuzz_fds() == fds);
	return 0;
}
