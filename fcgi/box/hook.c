#include "box/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/io.h"
#include "box/job.h"

/* What may stand where the hook comes. */
#define BEFORE_BYTES 65536

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

/* Every file that hook_at matches; at least one. */
static int
matches(glob_t *out, const struct hook *h)
{
	switch (glob(h->runtime->hook_at, 0, NULL, out)) {
	case 0:
		return 0;
	case GLOB_NOMATCH:
		return ENOENT;
	default:
		return EIO;
	}
}

int
hook_lay(const struct hook *h, const char *scratch)
{
	glob_t at = { 0 };
	int error = matches(&at, h);

	for (size_t i = 0; error == 0 && i < at.gl_pathc; i++)
		error = lay_one(h, at.gl_pathv[i], scratch);
	globfree(&at);
	return error;
}

int
hook_lift(const struct hook *h)
{
	glob_t at = { 0 };
	int error = matches(&at, h);

	/* An interpreter may still hold it open. */
	for (size_t i = 0; error == 0 && i < at.gl_pathc; i++) {
		if (umount2(at.gl_pathv[i], MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
			error = errno;
	}
	globfree(&at);
	return error;
}
