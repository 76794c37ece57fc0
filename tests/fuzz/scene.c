#include "scene.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../sandbox-scripts/init.h"
#include "fuzz.h"

static struct scene scene;

/* ---- what init.c has for the other parts ---- */

bool
init_trouble(struct init_trouble *t, const char *step, int error)
{
	t->step = step;
	t->error = error;
	return false;
}

uint64_t
init_now_us(void)
{
	scene.now += scene.step;
	return scene.now;
}

/* ---- folders ---- */

DIR *
scene_list(int folder)
{
	int fd = openat(
	    folder, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	must(d != NULL);
	return d;
}

const char *
scene_next(DIR *d)
{
	const struct dirent *e = readdir(d);

	while (e != NULL &&
	       (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0))
		e = readdir(d);
	return e == NULL ? NULL : e->d_name;
}

size_t
scene_entries(int folder)
{
	DIR *d = scene_list(folder);
	size_t n = 0;

	while (scene_next(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* Targets make no trees that are too deep for this. */
static void
empty(int folder)
{
	DIR *d = scene_list(folder);
	int sub;

	for (const char *name = scene_next(d); name != NULL;
	     name = scene_next(d)) {
		if (unlinkat(folder, name, 0) == 0)
			continue;
		must(errno == EISDIR);
		sub = openat(folder, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		must(sub >= 0);
		empty(sub);
		close(sub);
		must(unlinkat(folder, name, AT_REMOVEDIR) == 0);
	}
	closedir(d);
}

static int
make_folder(int where, const char *name)
{
	int fd;

	must(mkdirat(where, name, 0755) == 0);
	fd = openat(where, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static void
make_secret(void)
{
	int outside = make_folder(scene.top, "outside");
	int fd =
	    openat(outside, "secret", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	must(write(fd, SCENE_SECRET, strlen(SCENE_SECRET)) > 0);
	close(fd);
	close(outside);
}

static void
leave(void)
{
	empty(scene.top);
	(void)rmdir(scene.path);
	free(scene.path);
}

/* ---- the scene ---- */

static void
make_control(void)
{
	int s[2];

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) == 0);
	/* Out of the way of its number. */
	scene.peer = fcntl(s[0], F_DUPFD_CLOEXEC, 16);
	must(scene.peer >= 0 && dup2(s[1], INIT_CONTROL) == INIT_CONTROL);
	if (s[0] != INIT_CONTROL)
		close(s[0]);
	if (s[1] != INIT_CONTROL)
		close(s[1]);
	must(fcntl(scene.peer, F_SETFL, O_NONBLOCK) == 0);
}

struct scene *
scene_open(void)
{
	const char *tmp = getenv("TMPDIR");

	if (scene.path != NULL)
		return &scene;
	make_control();
	must(asprintf(&scene.path, "%s/tollbox-fuzz.XXXXXX",
		 tmp != NULL ? tmp : "/tmp") > 0);
	must(mkdtemp(scene.path) != NULL);
	scene.top =
	    open(scene.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	must(scene.top >= 0);
	scene.box = make_folder(scene.top, "box");
	scene.figures = make_folder(scene.top, "figures");
	make_secret();
	scene.now = 1;
	must(atexit(leave) == 0);
	return &scene;
}

void
scene_clear(struct scene *s)
{
	char unread[512];

	empty(s->box);
	empty(s->figures);
	while (recv(s->peer, unread, sizeof(unread), 0) > 0)
		continue;
	must(scene_entries(s->top) == 3);
}

int
scene_memfd(const void *data, size_t len, int seals)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	must(fd >= 0 && write(fd, data, len) == (ssize_t)len);
	must(fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}
