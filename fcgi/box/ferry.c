#include "box/ferry.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"

#define FEED_BYTES 65536
#define STACK_BYTES (64u << 10)
/* Should a pipe not tell its size. */
#define LEAST_SLOTS 16

struct ferry {
	pthread_mutex_t lock; /* of what follows; held for moments only */
	size_t first;	      /* pieces that wait */
	size_t n;
	bool starved;  /* the thread waits for room */
	bool moving;   /* it has the pipes in hand */
	bool recalled; /* it shall not take them up again */
	bool ours;     /* the pipes are the loop's again */
	bool left;     /* by the loop: news is no more */
	int users;     /* of this memory */

	/* Of whoever has the pipes. */
	int in;
	int out[2];
	int turn; /* whose of out is first */
	int image;
	uint64_t at; /* stdin inside the image */
	uint64_t end;
	int slots[2]; /* that may still hold something; -1: not asked */

	int wake; /* eventfd: the thread shall look */
	int news;
	struct wire_chunk piece[FERRY_PIECES];
	uint8_t feed[FEED_BYTES];
};

static void
drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
drop_pipes(struct ferry *f)
{
	drop(&f->in);
	drop(&f->out[0]);
	drop(&f->out[1]);
	drop(&f->image);
}

static void
signal_to(int eventfd)
{
	/* It can only be full, and then there is news enough. */
	(void)eventfd_write(eventfd, 1);
}

/* One user less. */
static void
let_go(struct ferry *f)
{
	bool last;

	pthread_mutex_lock(&f->lock);
	last = --f->users == 0;
	pthread_mutex_unlock(&f->lock);
	if (!last)
		return;
	drop(&f->wake);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* ---- the pipes, for whoever has them ---- */

/* Write one piece of stdin. False: no more of it is to come. */
static bool
feed(struct ferry *f)
{
	size_t want = FEED_BYTES;
	ssize_t n;

	if (want > f->end - f->at)
		want = (size_t)(f->end - f->at);
	n = want == 0 ? 0 : pread(f->image, f->feed, want, (off_t)f->at);
	if (n < 0)
		log_err("read stdin out of a job: %s", strerror(errno));
	if (n > 0) {
		n = write(f->in, f->feed, (size_t)n);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
	}
	/* All written, or the program closed its end: both are its right. */
	if (n > 0)
		f->at += (uint64_t)n;
	if (n > 0 && f->at < f->end)
		return true;
	drop(&f->in);
	return false;
}

/* Read once into c. False: nothing there, or the end. */
static bool
fetch(struct ferry *f, int which, struct wire_chunk *c)
{
	ssize_t n = read(f->out[which], c->data, sizeof(c->data));

	if (n > 0) {
		c->type = WIRE_CHUNK;
		c->stream = (uint32_t)which + 1;
		c->len = (uint32_t)n;
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n < 0)
		log_err("read a program's output: %s", strerror(errno));
	drop(&f->out[which]);
	return false;
}

/* ---- the thread ---- */

enum {
	WAKE,
	IN,
	OUT,
	ERR,
	WATCHED
};

/* What to wait for; false: nothing any more. */
static bool
look_out(struct ferry *f, struct pollfd p[WATCHED])
{
	bool go, room;

	pthread_mutex_lock(&f->lock);
	go = !f->recalled && !f->left;
	room = f->n < FERRY_PIECES;
	f->starved = !room;
	if (go) {
		p[WAKE] = (struct pollfd){ .fd = f->wake, .events = POLLIN };
		p[IN] = (struct pollfd){ .fd = f->in, .events = POLLOUT };
		p[OUT] = (struct pollfd){ .fd = room ? f->out[0] : -1,
			.events = POLLIN };
		p[ERR] = (struct pollfd){ .fd = room ? f->out[1] : -1,
			.events = POLLIN };
	}
	pthread_mutex_unlock(&f->lock);
	return go;
}

/* Take the pipes in hand. */
static bool
take_up(struct ferry *f, size_t *at, size_t *room)
{
	bool go;

	pthread_mutex_lock(&f->lock);
	go = !f->recalled && !f->left;
	f->moving = go;
	*at = f->first + f->n;
	*room = FERRY_PIECES - f->n;
	pthread_mutex_unlock(&f->lock);
	return go;
}

static void
put_down(struct ferry *f, size_t more)
{
	pthread_mutex_lock(&f->lock);
	f->moving = false;
	f->n += more;
	if (!f->left && (more > 0 || f->recalled))
		signal_to(f->news);
	pthread_mutex_unlock(&f->lock);
}

static bool
move(struct ferry *f, const struct pollfd p[WATCHED])
{
	size_t at, room, more = 0;

	if (!take_up(f, &at, &room))
		return false;
	if (p[IN].revents != 0 && !feed(f))
		drop(&f->image);
	for (int i = 0; i < 2; i++) {
		int which = (f->turn + i) % 2;

		if (p[OUT + which].revents != 0 && more < room &&
		    fetch(f, which, &f->piece[(at + more) % FERRY_PIECES]))
			more++;
	}
	f->turn = !f->turn;
	put_down(f, more);
	return true;
}

static void *
work(void *arg)
{
	struct ferry *f = arg;
	struct pollfd p[WATCHED];
	eventfd_t unused;
	bool mine;

	while (look_out(f, p)) {
		if (poll(p, WATCHED, -1) < 0)
			continue;
		if (p[WAKE].revents != 0)
			(void)eventfd_read(f->wake, &unused);
		if (!move(f, p))
			break;
	}
	pthread_mutex_lock(&f->lock);
	/* Recalled, but left meanwhile? Then nobody else closes them. */
	f->ours = f->ours || !f->left;
	mine = !f->ours;
	pthread_mutex_unlock(&f->lock);
	if (mine)
		drop_pipes(f);
	let_go(f);
	return NULL;
}

/* ---- the loop ---- */

/* Signals are the loop's, and what is started has the loop for a parent. */
static enum status
start_thread(struct ferry *f)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	error = pthread_attr_init(&attr);
	if (error != 0)
		return ST_NOMEM;
	sigfillset(&all);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, work, f);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	if (error != 0) {
		log_err("thread for a run's pipes: %s", strerror(error));
		return ST_IO;
	}
	return ST_OK;
}

enum status
ferry_start(struct ferry *f, int *news)
{
	enum status st = ST_IO;

	*news = -1;
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->wake < 0 || f->news < 0) {
		log_err("eventfd: %s", strerror(errno));
	} else {
		f->ours = false;
		f->users = 2;
		st = start_thread(f);
	}
	if (st == ST_OK) {
		*news = f->news;
		return ST_OK;
	}
	f->ours = true;
	f->users = 1;
	drop(&f->wake);
	drop(&f->news);
	return st;
}

/* No memset: most of it is room. */
static struct ferry *
make(const int pipes[3])
{
	struct ferry *f = malloc(sizeof(*f));

	if (f == NULL)
		return NULL;
	memset(f, 0, offsetof(struct ferry, piece));
	f->ours = true;
	f->users = 1;
	f->in = pipes[0];
	f->out[0] = pipes[1];
	f->out[1] = pipes[2];
	f->slots[0] = f->slots[1] = -1;
	f->image = f->wake = f->news = -1;
	(void)pthread_mutex_init(&f->lock, NULL);
	return f;
}

enum status
ferry_open(struct ferry **out, const int pipes[3], int image, uint64_t at,
    uint64_t len)
{
	struct ferry *f = make(pipes);

	*out = NULL;
	if (f == NULL) {
		for (int i = 0; i < 3; i++)
			close(pipes[i]);
		return ST_NOMEM;
	}
	f->image = image;
	f->at = at;
	f->end = at + len;
	/* A short stdin is there, with its end, before the program asks for
	 * it. Nobody can hold the pipe's lock yet. */
	f->image = feed(f) ? fcntl(image, F_DUPFD_CLOEXEC, 0) : -1;
	if (f->in >= 0 && f->image < 0) {
		log_err("stdin of a job: %s", strerror(errno));
		ferry_leave(f);
		return ST_IO;
	}
	*out = f;
	return ST_OK;
}

int
ferry_output(const struct ferry *f, int which)
{
	return f->out[which];
}

bool
ferry_feeds(const struct ferry *f)
{
	return f->ours && f->in >= 0;
}

struct wire_chunk *
ferry_front(struct ferry *f)
{
	struct wire_chunk *c;

	pthread_mutex_lock(&f->lock);
	c = f->n > 0 ? &f->piece[f->first] : NULL;
	pthread_mutex_unlock(&f->lock);
	return c;
}

void
ferry_pop(struct ferry *f)
{
	pthread_mutex_lock(&f->lock);
	f->first = (f->first + 1) % FERRY_PIECES;
	f->n--;
	if (f->starved)
		signal_to(f->wake);
	f->starved = false;
	pthread_mutex_unlock(&f->lock);
}

bool
ferry_recall(struct ferry *f)
{
	bool ours;

	pthread_mutex_lock(&f->lock);
	f->recalled = true;
	f->ours = f->ours || !f->moving;
	ours = f->ours;
	pthread_mutex_unlock(&f->lock);
	return ours;
}

/* Reads that empty it, and one that finds nothing: each takes one slot at
 * least, in packet mode no more, and a pipe has a slot for each page of its
 * size. More come only where something still writes, against all that is
 * known; that must end, too. */
static bool
may_read(struct ferry *f, int which)
{
	int size;

	if (f->out[which] < 0)
		return false;
	if (f->slots[which] < 0) {
		size = fcntl(f->out[which], F_GETPIPE_SZ);
		f->slots[which] = (int)(size / sysconf(_SC_PAGESIZE)) + 1;
		if (f->slots[which] < LEAST_SLOTS)
			f->slots[which] = LEAST_SLOTS;
	}
	if (f->slots[which]-- > 0)
		return true;
	log_err("a program that is gone still writes");
	drop(&f->out[which]);
	return false;
}

bool
ferry_fill(struct ferry *f)
{
	size_t n = 0;

	for (int i = 0; i < 2; i++) {
		while (n < FERRY_PIECES && may_read(f, i) &&
		       fetch(f, i, &f->piece[n]))
			n++;
	}
	pthread_mutex_lock(&f->lock);
	f->first = 0;
	f->n = n;
	pthread_mutex_unlock(&f->lock);
	return n > 0;
}

void
ferry_leave(struct ferry *f)
{
	bool ours;

	if (f == NULL)
		return;
	pthread_mutex_lock(&f->lock);
	f->left = true;
	ours = f->ours;
	if (f->users > 1)
		signal_to(f->wake);
	pthread_mutex_unlock(&f->lock);
	if (ours)
		drop_pipes(f);
	let_go(f);
}
