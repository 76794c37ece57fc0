#include "box/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "base/wire.h"

static void
free_list(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i]);
	free(list);
}

void
job_free(struct job *j)
{
	for (size_t i = 0; i < j->n_files; i++) {
		free(j->files[i].path);
		free(j->files[i].data);
	}
	free(j->files);
	free_list(j->args, j->n_args);
	free_list(j->env, j->n_env);
	free_list(j->outputs, j->n_outputs);
	free(j->source);
	free(j->stdin_data);
	*j = (struct job){ 0 };
}

bool
job_offers(const struct conf_runtime *r, const char *what)
{
	for (char **w = r->helper_does; w != NULL && *w != NULL; w++) {
		if (strcmp(*w, what) == 0)
			return true;
	}
	return false;
}

uint32_t
job_flags(const struct job *j)
{
	return (j->evaluate ? WIRE_JOB_EVALUATE : 0) |
	       (j->wants_outputs ? WIRE_JOB_OUTPUTS : 0) |
	       (j->figures ? WIRE_JOB_FIGURES : 0) |
	       (j->evaluate && j->tell ? WIRE_JOB_TELL : 0);
}

bool
job_hooked(const struct job *j)
{
	return j->evaluate || j->figures;
}

/* An image while it is written: the first failure sticks. */
struct image {
	int fd;
	uint64_t len;
	enum status st;
};

static void
append(struct image *im, const void *data, size_t len)
{
	if (im->st != ST_OK || len == 0)
		return;
	im->st = io_write_all(im->fd, data, len);
	im->len += len;
}

static void
put_record(struct image *im, enum wire_kind kind, const char *path,
    const char *data, size_t len)
{
	uint8_t head[WIRE_RECORD_HEAD];
	size_t path_len = path == NULL ? 0 : strlen(path);

	wire_put_head(head, kind, path_len, len);
	append(im, head, sizeof(head));
	append(im, path, path_len);
	append(im, data, len);
}

static void
put_helper(struct image *im, const struct conf_runtime *r)
{
	const char *coded = r->helper_text != NULL ? r->helper_text : "";
	OWN_BUF struct buf text;
	enum status st = ST_BUG;

	buf_init(&text, strlen(coded));
	st = hex_unbase64(&text, coded, strlen(coded));
	if (st == ST_OK && text.len == 0)
		st = ST_FORMAT;
	if (st == ST_OK)
		put_record(im, WIRE_HELPER, NULL, buf_cstr(&text), text.len);
	else if (im->st == ST_OK)
		im->st = st;
}

/* The order is the image's (wire.h): init writes the entry file first, so that
 * a file of the same name is refused and not the other way round. */
static void
put_job(struct image *im, const struct job *j)
{
	put_record(im, WIRE_FILE, j->entry, j->source, j->source_len);
	for (size_t i = 0; i < j->n_files; i++)
		put_record(im, WIRE_FILE, j->files[i].path, j->files[i].data,
		    j->files[i].len);
	if (j->folder != NULL)
		put_record(im, WIRE_FOLDER, j->folder, NULL, 0);
	for (size_t i = 0; i < j->n_args; i++)
		put_record(im, WIRE_ARG, NULL, j->args[i], strlen(j->args[i]));
	for (size_t i = 0; i < j->n_env; i++)
		put_record(im, WIRE_ENV, NULL, j->env[i], strlen(j->env[i]));
	for (size_t i = 0; i < j->n_outputs; i++)
		put_record(im, WIRE_OUTPUT, NULL, j->outputs[i],
		    strlen(j->outputs[i]));
	if (job_hooked(j))
		put_helper(im, j->runtime);
	if (j->stdin_len > 0)
		put_record(im, WIRE_STDIN, NULL, j->stdin_data, j->stdin_len);
}

enum status
job_image(int *fd, uint64_t *len, uint64_t *stdin_at, const struct job *j)
{
	OWN_FD int mem = memfd_create("job", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct image im = { .fd = mem, .st = ST_OK };

	*fd = -1;
	if (mem < 0) {
		log_err("memfd_create: %s", strerror(errno));
		return ST_IO;
	}
	put_job(&im, j);
	if (im.st != ST_OK)
		return im.st == ST_FORMAT ? ST_FORMAT : ST_IO;
	if (fcntl(mem, F_ADD_SEALS,
		F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		log_err("seal the job image: %s", strerror(errno));
		return ST_IO;
	}
	*len = im.len;
	*stdin_at = im.len - j->stdin_len;
	*fd = own_steal_fd(&mem);
	return ST_OK;
}
