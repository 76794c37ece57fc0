/*
 * Orders of the boxer to sandbox-init, over the real socket: a message of any
 * bytes with anything attached, and the job image with it, as init.c takes
 * them: received, mapped, its files written. What comes out is exactly the
 * image's files and nothing beside /box, or a trouble that can be told.
 */
#include "fuzz.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox-scripts/init.h"
#include "scene.h"

#define SOUND (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)
#define IMAGE_BYTES (64u << 10)
/* More files than that are not written in a target's time. */
#define RECORDS 64
#define PATH_BYTES (LIMITS_PATH_DEPTH * (LIMITS_NAME + 1) + 1)
#define MADE "main.x" /* as a warm start makes it */

enum attached {
	ATTACHED_SOUND,
	ATTACHED_NONE,
	ATTACHED_UNSEALED,
	ATTACHED_GROWS,
	ATTACHED_PIPE,
	ATTACHED_TWO,
	ATTACHED_FOLDER,
	ATTACHED_SOCKET
};

static struct scene *scene;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	scene = scene_open();
	return 0;
}

/* ---- what is sent ---- */

/* Records from a short form, which is found sooner than heads of 13 bytes. */
static size_t
make_records(uint8_t *out, struct input *in)
{
	const uint8_t *path, *data;
	size_t len = 0, n_path, n_data;
	uint8_t kind;

	for (size_t i = 0; i < RECORDS && in->left > 0; i++) {
		kind = input_byte(in);
		n_path = input_byte(in);
		n_data = input_byte(in);
		n_path = input_take(in, &path, n_path);
		n_data = input_take(in, &data, n_data);
		/* One bit makes a file of all that is none. */
		wire_put_head(out + len,
		    kind >= 128 ? WIRE_FILE : (enum wire_kind)kind, n_path,
		    n_data);
		memcpy(out + len + WIRE_RECORD_HEAD, path, n_path);
		memcpy(out + len + WIRE_RECORD_HEAD + n_path, data, n_data);
		len += WIRE_RECORD_HEAD + n_path + n_data;
	}
	return len;
}

static size_t
make_image(uint8_t *out, struct input *in, bool raw)
{
	const uint8_t *all;
	size_t n;

	if (!raw)
		return make_records(out, in);
	n = input_take(in, &all, IMAGE_BYTES);
	memcpy(out, all, n);
	return n;
}

static int
make_attached(enum attached what, const uint8_t *image, size_t len)
{
	int p[2];

	switch (what) {
	case ATTACHED_NONE:
		return -1;
	case ATTACHED_UNSEALED:
		return scene_memfd(image, len, 0);
	case ATTACHED_GROWS:
		return scene_memfd(image, len, F_SEAL_WRITE | F_SEAL_SHRINK);
	case ATTACHED_PIPE:
		must(pipe2(p, O_CLOEXEC) == 0);
		close(p[1]);
		return p[0];
	case ATTACHED_FOLDER:
		return fcntl(scene->box, F_DUPFD_CLOEXEC, 0);
	case ATTACHED_SOCKET:
		return fcntl(scene->peer, F_DUPFD_CLOEXEC, 0);
	case ATTACHED_SOUND:
	case ATTACHED_TWO:
		break;
	}
	return scene_memfd(image, len, SOUND);
}

static void
order(const void *m, size_t len, int fd, size_t times)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { .bytes = { 0 } };
	const union {
		const void *in;
		void *out;
	} base = { .in = m };
	const int fds[2] = { fd, fd };
	struct iovec iov = { .iov_base = base.out, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(times * sizeof(int));
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(times * sizeof(int));
		memcpy(CMSG_DATA(head), fds, times * sizeof(int));
	}
	must(sendmsg(scene->peer, &msg, MSG_NOSIGNAL) == (ssize_t)len);
}

/* A job, a warm start, or any bytes; up to one byte too long. */
static size_t
make_message(union init_order *m, struct input *in, uint64_t image_len)
{
	uint8_t form = input_byte(in);
	size_t len = input_byte(in);

	input_fill(in, m, sizeof(*m));
	switch (form & 7) {
	case 0:
		return len < sizeof(*m) ? len : sizeof(*m);
	case 1:
		m->type = WIRE_INIT_WARM;
		return sizeof(m->warm);
	case 2:
		m->type = WIRE_INIT_JOB;
		return sizeof(m->job);
	default:
		m->type = WIRE_INIT_JOB;
		m->job.image_len = image_len;
		return sizeof(m->job);
	}
}

/* ---- what came of it ---- */

static void
check_trouble(const struct init_trouble *t)
{
	struct wire_init_failed m;
	ssize_t n;

	must(t->step != NULL && t->error != 0);
	init_control_tell_failed(t);
	do {
		n = recv(scene->peer, &m, sizeof(m), 0);
	} while (n == (ssize_t)sizeof(m) && m.type != WIRE_INIT_FAILED);
	must(n == (ssize_t)sizeof(m) && m.error == t->error);
	must(memchr(m.step, '\0', sizeof(m.step)) != NULL);
	must(strncmp(m.step, t->step, sizeof(m.step) - 1) == 0);
}

/* It is there, with this content. */
static void
check_file(const struct wire_record *r)
{
	char path[PATH_BYTES];
	struct stat s;
	uint8_t *data;
	int fd;

	must(r->path_len < sizeof(path));
	memcpy(path, r->path, r->path_len);
	path[r->path_len] = '\0';
	fd = openat(
	    scene->box, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	must(fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode));
	must((size_t)s.st_size == r->data_len);
	data = malloc(r->data_len + 1);
	must(data != NULL);
	must(read(fd, data, r->data_len + 1) == (ssize_t)r->data_len);
	must(memcmp(data, r->data, r->data_len) == 0);
	free(data);
	close(fd);
}

/* Regular files below folder; nothing else may be there but folders. */
static size_t
count_files(int folder)
{
	DIR *d = scene_list(folder);
	struct stat s;
	size_t n = 0;
	int sub;

	for (const char *name = scene_next(d); name != NULL;
	     name = scene_next(d)) {
		must(fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) == 0);
		must(S_ISREG(s.st_mode) || S_ISDIR(s.st_mode));
		if (S_ISREG(s.st_mode)) {
			n++;
			continue;
		}
		sub = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(sub >= 0);
		n += count_files(sub);
		close(sub);
	}
	closedir(d);
	return n;
}

static void
check_files(const struct init_image *image, bool made)
{
	struct wire_record r;
	size_t at = 0, files = 0;
	bool over_made = false;

	while (wire_next(&r, image->at, image->len, &at) == 1) {
		if (r.kind != WIRE_FILE)
			continue;
		check_file(&r);
		files++;
		over_made =
		    over_made || (r.path_len == strlen(MADE) &&
				     memcmp(r.path, MADE, r.path_len) == 0);
	}
	must(at == image->len && files > 0);
	must(count_files(scene->box) == files + (made && !over_made));
}

/* As the first half of init.c does it. */
static void
take_order(bool made)
{
	union init_order m;
	struct init_trouble t = { .step = NULL };
	struct init_image image = { .at = NULL };
	int fd = -1;

	if (!init_control_receive(&m, &fd, &t)) {
		check_trouble(&t);
	} else if (m.type == WIRE_INIT_WARM) {
		must(fd < 0);
	} else if (!init_control_map(&image, fd, m.job.image_len, &t)) {
		check_trouble(&t);
	} else {
		fd = -1;
		must(image.len == m.job.image_len);
		if (init_files_write(&image, made ? MADE : NULL, &t))
			check_files(&image, made);
		else
			check_trouble(&t);
		must(munmap((void *)(uintptr_t)image.at, image.len) == 0);
	}
	if (fd >= 0)
		close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t image[IMAGE_BYTES];
	struct input in = { data, size };
	uint8_t how = input_byte(&in);
	enum attached what = (enum attached)(how & 7);
	bool raw = (how & 8) != 0, made = (how & 16) != 0;
	union {
		union init_order order;
		uint8_t bytes[sizeof(union init_order) + 1];
	} m = { .bytes = { 0 } };
	struct input head = in;
	size_t fds = fuzz_fds(), image_len, len;
	int fd, home;

	/* The image is what follows the message; its length goes into it. */
	(void)make_message(&m.order, &in, 0);
	image_len = make_image(image, &in, raw);
	len = make_message(&m.order, &head, image_len);
	fd = make_attached(what, image, image_len);
	order(&m, len, fd, what == ATTACHED_TWO ? 2 : 1);
	if (fd >= 0)
		close(fd);
	if (made)
		close(openat(scene->box, MADE, O_CREAT | O_CLOEXEC, 0644));
	home = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	must(home >= 0 && fchdir(scene->box) == 0);
	take_order(made);
	must(fchdir(home) == 0);
	close(home);
	scene_clear(scene);
	must(fuzz_fds() == fds);
	return 0;
}
