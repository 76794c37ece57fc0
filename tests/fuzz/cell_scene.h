/*
 * In place of a sandbox, for fuzz_cell.c: the functions of box/hull.h, with a
 * socket pair for sandbox-init and a pipe for PID 1. Waiting takes no time: the
 * clock is set forward instead, so that every deadline is reached.
 */
#ifndef CELL_SCENE_H
#define CELL_SCENE_H

#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "box/cell.h"
#include "box/hook.h"
#include "fuzz.h"

#define MONITOR 4242

/* What this sandbox does, as far as the input says. */
enum whim {
	WHIM_GROUP = 1,	   /* it has a cgroup */
	WHIM_DEAF = 2,	   /* it does not die when it is killed, at first */
	WHIM_ALONE = 4,	   /* nothing of the program runs */
	WHIM_TASKS = 8,	   /* the group cannot be removed yet */
	WHIM_NO_INIT = 16, /* these fail: */
	WHIM_NO_FURNISH = 32,
	WHIM_NO_LIFT = 64,
	WHIM_NO_LIMIT = 128
};

static struct {
	struct cell *cell;
	int64_t now_us;
	int64_t opened_us;
	int init; /* its end of the control socket; -1: closed */
	int life; /* open while PID 1 lives */
	bool reaped;
	unsigned whims;
	struct hull_use use;
	unsigned ready, started, ended; /* times that the owner heard it */
	bool loaded;
} w;

/* ---- in place of the clock, epoll's patience, and the log ---- */

int64_t __wrap_io_now_us(void);
int __real_epoll_wait(int fd, struct epoll_event *events, int n, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int n, int ms);
void __wrap_log_write(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

int64_t
__wrap_io_now_us(void)
{
	return w.now_us;
}

int
__wrap_epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	int got = __real_epoll_wait(fd, events, n, 0);

	if (got == 0 && ms > 0)
		w.now_us += (int64_t)ms * 1000;
	return got;
}

void
__wrap_log_write(enum log_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	(void)level;
	va_start(ap, fmt);
	must(vsnprintf(text, sizeof(text), fmt, ap) > 0);
	va_end(ap);
}

/* ---- in place of a sandbox ---- */

static bool
whim(enum whim which)
{
	return (w.whims & which) != 0;
}

static void
end_of(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The kernel closes what it held. */
static void
die(void)
{
	end_of(&w.init);
	end_of(&w.life);
}

enum status
hull_start(struct hull *h, int *control, int pipes[3], struct hull_host *host,
    const struct conf_runtime *runtime, const char *entry,
    const struct limits *limits)
{
	int s[2];

	(void)host;
	(void)runtime;
	(void)entry;
	memset(h, 0, sizeof(*h));
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) == 0);
	*control = s[0];
	w.init = s[1];
	pipes[0] = pipes[1] = pipes[2] = -1;
	h->limits = *limits;
	h->monitor = h->status = h->log = -1;
	h->monitor_pid = MONITOR;
	/* Nobody looks into it. */
	if (whim(WHIM_GROUP)) {
		h->group = (struct cgroup *)&w;
		h->memory_wall = limits->memory_bytes + limits->work_bytes;
	}
	return ST_OK;
}

int
hull_hold_init(struct hull *h)
{
	int p[2];

	if (whim(WHIM_NO_INIT))
		return -1;
	must(pipe2(p, O_CLOEXEC) == 0);
	w.life = p[1];
	h->init_pid = MONITOR + 1;
	return p[0];
}

enum status
hull_furnish(struct hull *h, int init, const struct hook *hook)
{
	(void)h;
	(void)hook;
	must(init >= 0);
	return whim(WHIM_NO_FURNISH) ? ST_IO : ST_OK;
}

enum status
hull_lift(const struct hull *h, int init, const struct hook *hook)
{
	(void)h;
	must(init >= 0 && hook != NULL);
	return whim(WHIM_NO_LIFT) ? ST_IO : ST_OK;
}

enum status
hull_limit(struct hull *h, int init, const struct limits *limits)
{
	(void)init;
	h->limits = *limits;
	return whim(WHIM_NO_LIMIT) ? ST_IO : ST_OK;
}

void
hull_weigh(const struct hull *h, unsigned percent)
{
	(void)h;
	(void)percent;
}

enum status
hull_use(struct hull_use *out, const struct hull *h, int init)
{
	(void)h;
	*out = w.use;
	if (init < 0)
		out->memory = 0;
	return ST_OK;
}

bool
hull_cpu_us(uint64_t *out, const struct hull *h)
{
	if (h->group == NULL)
		return false;
	*out = w.use.cpu_us;
	return true;
}

bool
hull_counters(struct hull_use *out, const struct hull *h)
{
	memset(out, 0, sizeof(*out));
	if (h->group == NULL)
		return false;
	*out = w.use;
	out->memory = 0;
	return true;
}

bool
hull_alone(const struct hull *h, bool first)
{
	(void)first;
	return h->group != NULL && h->monitor_pid != 0 && whim(WHIM_ALONE);
}

void
hull_kill(const struct hull *h, int init)
{
	(void)h;
	(void)init;
	if (!whim(WHIM_DEAF))
		die();
}

bool
hull_reaped(struct hull *h, pid_t pid)
{
	if (h->monitor_pid != pid)
		return false;
	h->monitor_pid = 0;
	return true;
}

void
hull_tell(const struct hull *h)
{
	(void)h;
}

bool
hull_remove(struct hull *h)
{
	if (h->group != NULL && whim(WHIM_TASKS))
		return false;
	h->group = NULL;
	return true;
}

void
hull_close(struct hull *h)
{
	(void)h;
}

/* No file has to be read for it. */
void
hook_order(struct wire_init_warm *out, const struct hook *h, const char *entry)
{
	(void)h;
	memset(out, 0, sizeof(*out));
	out->type = WIRE_INIT_WARM;
	(void)snprintf(out->entry, sizeof(out->entry), "%s", entry);
}

#endif
