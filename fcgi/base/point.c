#include "base/point.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Longer than any test takes to see that it is asked. */
#define ASK_ROUNDS 20000
#define ASK_PAUSE_NS 250000

static struct point_page *page;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
open_page(void)
{
	const char *path = getenv(POINT_VARIABLE);
	void *at = MAP_FAILED;
	int fd = -1;

	if (path != NULL)
		fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		at = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
		close(fd);
	}
	if (at != MAP_FAILED)
		page = at;
}

static struct point_page *
get_page(void)
{
	(void)pthread_once(&once, open_page);
	return page;
}

void
point_pass(const char *name)
{
	const struct timespec pause = { .tv_nsec = ASK_PAUSE_NS };
	struct point_page *p = get_page();

	if (p == NULL || atomic_load(&p->state) != POINT_ARMED ||
	    strncmp(p->name, name, POINT_NAME) != 0)
		return;
	/* Of all threads and processes, one sees the last. */
	if (atomic_fetch_sub(&p->left, 1) != 1)
		return;
	if (p->self != 0) {
		atomic_store(&p->state, POINT_FIRED);
		kill(getpid(), SIGKILL);
	}
	atomic_store(&p->state, POINT_ASKED);
	for (int i = 0; i < ASK_ROUNDS; i++) {
		if (atomic_load(&p->state) != POINT_ASKED)
			return;
		nanosleep(&pause, NULL);
	}
}

/* The linker's names for the wall clock, as --wrap=time makes them. */
time_t __real_time(time_t *out);
time_t __wrap_time(time_t *out);

time_t
__wrap_time(time_t *out)
{
	const struct point_page *p = get_page();
	time_t now = __real_time(NULL);

	if (p != NULL)
		now += (time_t)atomic_load(&p->clock_s);
	if (out != NULL)
		*out = now;
	return now;
}
