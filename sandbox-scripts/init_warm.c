/*
 * How this works. An interpreter that is started ahead of its job runs, before
 * it opens the entry file, a hook of ours: one byte written says that it
 * waits, one byte read lets it go on. Two pipes at fixed numbers carry the
 * bytes; the hook closes both. An interpreter that cannot close a bare number
 * (R) opens two FIFOs instead, which are gone once it holds them.
 *
 * The hook's file is mounted from outside and gone again before the job
 * (fcgi/box/work.c). The variable that made the interpreter look there is
 * deleted by the hook, and here wiped from where /proc/self/environ finds it.
 */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* More than the environment of any runtime before its job. */
#define ENVIRONMENT_BYTES 65536

static void
close_two(int a, int b)
{
	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
}

/* ---- the gate ---- */

static bool
open_pipes(struct init_warm *w, struct init_program *p, struct init_trouble *t)
{
	int ready[2] = { -1, -1 }, go[2] = { -1, -1 };

	if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0) {
		init_trouble(t, "gate", errno);
		close_two(ready[0], ready[1]);
		return false;
	}
	w->ready = ready[0];
	p->ready = ready[1];
	w->go = go[1];
	p->go = go[0];
	return true;
}

/* Held for both directions: no open of it waits for the other side. */
static int
make_fifo(const char *path)
{
	if (mkfifo(path, 0600) < 0)
		return -1;
	return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

static bool
open_fifos(struct init_warm *w, struct init_trouble *t)
{
	int entry;

	w->ready = make_fifo(WIRE_GATE_FIFO_READY);
	w->go = make_fifo(WIRE_GATE_FIFO_GO);
	if (w->ready < 0 || w->go < 0)
		return init_trouble(t, "gate", errno);
	/* It is opened before any hook runs, and read after. */
	entry = open(w->order.entry,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (entry < 0)
		return init_trouble(t, "entry file", errno);
	close(entry);
	return true;
}

bool
init_warm_start(struct init_warm *w, const struct wire_init_warm *order,
    char *const *command, struct init_trouble *t)
{
	struct init_program p = {
		.command = command, .go = -1, .ready = -1, .value = -1
	};
	const struct init_image none = { NULL, 0 };
	uint64_t unused;
	bool ok;

	w->order = *order;
	w->ready = w->go = w->value = -1;
	if (memchr(order->entry, '\0', sizeof(order->entry)) == NULL ||
	    memchr(order->env, '\0', sizeof(order->env)) == NULL ||
	    !wire_path_ok(order->entry, strlen(order->entry)))
		return init_trouble(t, "message", EBADMSG);
	if (order->env[0] != '\0')
		p.extra = w->order.env;
	ok = order->gate == WIRE_GATE_FIFO ? open_fifos(w, t)
					   : open_pipes(w, &p, t);
	if (ok && order->value == 1) {
		w->value = p.value = memfd_create("value", MFD_CLOEXEC);
		ok = w->value >= 0 || init_trouble(t, "value", errno);
	}
	if (ok)
		w->pid = init_start(&p, &none, &unused, t);
	close_two(p.go, p.ready);
	return ok && w->pid > 0;
}

/* ---- arrived ---- */

struct range {
	uintptr_t at;
	size_t len;
};

/* Where the environment lies that the program was started with: the last two
 * but one fields of its stat, counted behind its name, which may hold
 * anything. */
static bool
environment_of(struct range *out, pid_t pid)
{
	char path[32], text[1024], *p;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 50; field++) {
		p = strchr(p, ' ');
		if (p != NULL)
			p++;
	}
	if (p == NULL)
		return false;
	out->at = strtoul(p, &p, 10);
	out->len = strtoul(p, NULL, 10) - out->at;
	return out->at > 0 && out->len > 0 && out->len <= ENVIRONMENT_BYTES;
}

/* Read or write the memory of the program. */
static bool
transfer(pid_t pid, char *ours, struct range theirs, bool write)
{
	struct iovec here = { .iov_base = ours, .iov_len = theirs.len };
	struct iovec there = { .iov_len = theirs.len };
	ssize_t n;

	memcpy(&there.iov_base, &theirs.at, sizeof(theirs.at));
	n = write ? process_vm_writev(pid, &here, 1, &there, 1, 0)
		  : process_vm_readv(pid, &here, 1, &there, 1, 0);
	return n == (ssize_t)theirs.len;
}

/* Overwrite the variable with zeros. It stands at the end, where they are
 * taken for nothing. That it fails, where the kernel lets nobody look into
 * another process, is no harm: the program then sees what it was started by. */
static void
wipe(pid_t pid, const char *variable)
{
	static char text[ENVIRONMENT_BYTES];
	size_t len = strlen(variable) + 1;
	struct range all;
	char *at;

	if (!environment_of(&all, pid) || !transfer(pid, text, all, false))
		return;
	at = memmem(text, all.len, variable, len);
	if (at == NULL || (at > text && at[-1] != '\0'))
		return;
	memset(at, 0, len);
	(void)transfer(
	    pid, at, (struct range){ all.at + (size_t)(at - text), len }, true);
}

bool
init_warm_arrived(struct init_warm *w, struct init_trouble *t)
{
	char byte;

	if (read(w->ready, &byte, 1) != 1)
		return init_trouble(t, "gate", EPIPE);
	close(w->ready);
	w->ready = -1;
	if (w->order.gate == WIRE_GATE_FIFO &&
	    (unlink(WIRE_GATE_FIFO_READY) < 0 || unlink(WIRE_GATE_FIFO_GO) < 0))
		return init_trouble(t, "gate", errno);
	if (w->order.env[0] != '\0')
		wipe(w->pid, w->order.env);
	w->cpu_us = init_end_cpu_us(w->pid);
	return true;
}

/* ---- letting go ---- */

/* Write all of it. If nobody reads it the interpreter is gone, and its end is
 * what will be reported. */
static void
tell(const struct init_warm *w, const void *data, size_t len)
{
	const char *at = data;
	ssize_t n = 0;

	while (len > 0 && (n >= 0 || errno == EINTR)) {
		n = write(w->go, at, len);
		if (n <= 0)
			continue;
		at += n;
		len -= (size_t)n;
	}
}

static void
tell_number(const struct init_warm *w, uint64_t n)
{
	char text[24];

	/* With the NUL behind it. */
	tell(w, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, n) + 1);
}

/* Every record of one kind; gives their number. out: write them, too. */
static size_t
tell_all(const struct init_warm *w, const struct init_image *image,
    enum wire_kind kind, bool out)
{
	struct wire_record r;
	size_t at = 0, n = 0;

	while (wire_next(&r, image->at, image->len, &at) == 1) {
		if (r.kind != kind)
			continue;
		n++;
		if (out) {
			tell(w, r.data, r.data_len);
			tell(w, "", 1);
		}
	}
	return n;
}

/* The interpreter reads as this writes: it may be more than a pipe holds. */
static void
tell_helper(const struct init_warm *w, const struct init_image *image,
    const struct wire_init_job *job)
{
	static const char byte = WIRE_GATE_HELP;

	tell(w, &byte, 1);
	tell_all(w, image, WIRE_HELPER, true);
	tell_number(w, job->limits.output_bytes);
	tell_number(w, job->flags);
	tell_number(w, tell_all(w, image, WIRE_ARG, false));
	tell_all(w, image, WIRE_ARG, true);
	tell_all(w, image, WIRE_ENV, true);
}

uint64_t
init_warm_release(struct init_warm *w, const struct init_image *image,
    const struct wire_init_job *job)
{
	uint64_t now = init_now_us();

	if (tell_all(w, image, WIRE_HELPER, false) > 0)
		tell_helper(w, image, job);
	else
		tell(w, "", 1);
	close(w->go);
	w->go = -1;
	return now;
}
