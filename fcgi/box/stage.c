#include "box/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "box/filter.h"
#include "box/root.h"

#define ARGS_BYTES (256u << 10)

struct stage {
	const struct conf *conf;
	int filter;
	int etc[BWRAP_ETC_MAX];
	/* Of each runtime, the paths that its patterns match here; a pattern
	 * that matches nothing is no bind. */
	glob_t binds[CONF_RUNTIMES];
	bool globbed[CONF_RUNTIMES];
	struct root roots[CONF_RUNTIMES]; /* of those with a rootfs */
};

/* A descriptor that holds data, sealed and at offset 0, or -1. */
static int
memory_file(const char *name, const void *data, size_t len)
{
	OWN_FD int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0) {
		log_err("memfd_create %s: %s", name, strerror(errno));
		return -1;
	}
	if (io_write_all(fd, data, len) != ST_OK)
		return -1;
	if (lseek(fd, 0, SEEK_SET) != 0 ||
	    fcntl(fd, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		log_err("memfd %s: %s", name, strerror(errno));
		return -1;
	}
	return own_steal_fd(&fd);
}

static enum status
expand(glob_t *out, const struct conf_runtime *r)
{
	const char *rootfs = r->rootfs != NULL ? r->rootfs : "";
	int flags = GLOB_NOSORT, rc;

	for (char **b = r->binds; b != NULL && *b != NULL; b++) {
		OWN_FREE char *pattern = NULL;

		if (asprintf(&pattern, "%s%s", rootfs, *b) < 0) {
			pattern = NULL;
			return ST_NOMEM;
		}
		rc = glob(pattern, flags, NULL, out);
		flags |= GLOB_APPEND;
		if (rc != 0 && rc != GLOB_NOMATCH) {
			log_err(
			    "runtime %s: cannot look for %s", r->name, pattern);
			return rc == GLOB_NOSPACE ? ST_NOMEM : ST_IO;
		}
	}
	return ST_OK;
}

enum status
stage_open(struct stage **out, const struct conf *c)
{
	struct stage *s = calloc(1, sizeof(*s));
	enum status st = ST_BUG;
	const char *text;

	*out = NULL;
	if (s == NULL)
		return ST_NOMEM;
	s->conf = c;
	for (int e = 0; e < BWRAP_ETC_MAX; e++)
		s->etc[e] = -1;
	st = filter_make(&s->filter);
	for (int e = 0; st == ST_OK && e < BWRAP_ETC_MAX; e++) {
		text = bwrap_etc_text((enum bwrap_etc)e);
		s->etc[e] = memory_file("etc", text, strlen(text));
		if (s->etc[e] < 0)
			st = ST_IO;
	}
	for (size_t i = 0; st == ST_OK && i < c->n_runtimes; i++) {
		st = expand(&s->binds[i], &c->runtimes[i]);
		s->globbed[i] = true;
		if (st == ST_OK && c->runtimes[i].rootfs != NULL)
			st = root_look(&s->roots[i], c->runtimes[i].rootfs);
	}
	if (st != ST_OK) {
		stage_close(s);
		return st;
	}
	*out = s;
	return ST_OK;
}

static void
drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
stage_close(struct stage *s)
{
	if (s == NULL)
		return;
	drop(&s->filter);
	for (size_t e = 0; e < BWRAP_ETC_MAX; e++)
		drop(&s->etc[e]);
	for (size_t i = 0; i < CONF_RUNTIMES; i++) {
		if (s->globbed[i])
			globfree(&s->binds[i]);
		root_free(&s->roots[i]);
	}
	free(s);
}

/* A file description of its own at a high number, or -1. */
static int
reopen_high(int fd)
{
	int fresh = filter_reopen(fd);

	if (fresh < 0) {
		log_err("reopen descriptor %d: %s", fd, strerror(errno));
		return -1;
	}
	return io_move_high(fresh);
}

enum status
stage_dress(struct bwrap_policy *p, const struct stage *s)
{
	struct buf args;
	enum status st = ST_BUG;
	size_t which = (size_t)(p->runtime - s->conf->runtimes);

	p->binds = s->binds[which].gl_pathv;
	p->root = p->runtime->rootfs != NULL ? &s->roots[which] : NULL;
	p->args = -1;
	p->filter = reopen_high(s->filter);
	st = p->filter < 0 ? ST_IO : ST_OK;
	for (size_t e = 0; e < BWRAP_ETC_MAX; e++) {
		p->etc[e] = st == ST_OK ? reopen_high(s->etc[e]) : -1;
		if (p->etc[e] < 0)
			st = ST_IO;
	}
	buf_init(&args, ARGS_BYTES);
	/* The arguments do not hold the number of their own descriptor, but
	 * are made after all others are known; a stand-in lets them pass. */
	if (st == ST_OK) {
		p->args = BWRAP_FD_MIN;
		st = bwrap_args(&args, p);
		p->args = -1;
	}
	if (st == ST_OK) {
		p->args = memory_file("args", args.data, args.len);
		if (p->args >= 0)
			p->args = io_move_high(p->args);
		st = p->args < 0 ? ST_IO : ST_OK;
	}
	buf_free(&args);
	if (st != ST_OK)
		stage_undress(p);
	return st;
}

void
stage_undress(struct bwrap_policy *p)
{
	drop(&p->filter);
	drop(&p->args);
	for (size_t e = 0; e < BWRAP_ETC_MAX; e++)
		drop(&p->etc[e]);
}
