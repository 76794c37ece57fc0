/* The member `files` of a request (api.md section 2). */
#include "web/request_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"

/* A file's content: a string, or {"base64": "..."}. */
static enum status
read_content(
    struct request_work *p, struct job_file *file, const struct cJSON *v)
{
	const struct cJSON *b64;
	const char *text;
	struct buf raw;
	enum status st;

	if (json_is_string(v))
		return json_bytes(&file->data, &file->len, v);
	b64 = json_get(v, "base64");
	if (!json_is_object(v) || json_count(v) != 1 || b64 == NULL)
		return fault_set(p->f, ST_REQUEST_MALFORMED,
		    "files: \"%.120s\" must be a string or {\"base64\": "
		    "string}",
		    file->path);
	if (!json_is_string(b64))
		return fault_set(p->f, ST_REQUEST_MALFORMED,
		    "files: base64 of \"%.120s\" must be a string", file->path);
	text = json_string(b64);
	buf_init(&raw, LIMITS_FILES_BYTES + 1);
	st = text == NULL ? ST_FORMAT : hex_unbase64(&raw, text, strlen(text));
	if (st == ST_FORMAT)
		st = fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
		    "files: base64 of \"%.120s\" is not valid base64",
		    file->path);
	else if (st == ST_TOO_BIG)
		st = request_invalid(
		    p, "files", "are over 16 MiB (16777216 bytes) in all");
	if (st == ST_OK) {
		buf_addc(&raw, '\0');
		file->data = buf_take(&raw, &file->len);
		if (file->data == NULL)
			st = ST_NOMEM;
		else
			file->len--;
	}
	buf_free(&raw);
	return st;
}

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct job_file *)a)->path,
	    ((const struct job_file *)b)->path);
}

/* Two paths where one is the other's folder cannot both be written. Sorting
 * with '/' before all else would be needed for neighbours only, so look up
 * each parent instead: at most 16 a path. */
static enum status
check_folders(struct request_work *p)
{
	struct job *j = p->job;

	qsort(j->files, j->n_files, sizeof(j->files[0]), by_path);
	for (size_t i = 0; i < j->n_files; i++) {
		char parent[LIMITS_PATH_DEPTH * (LIMITS_NAME + 1)];
		struct job_file key = { .path = parent };

		snprintf(parent, sizeof(parent), "%s", j->files[i].path);
		for (char *slash = strrchr(parent, '/'); slash != NULL;
		     slash = strrchr(parent, '/')) {
			*slash = '\0';
			if (bsearch(&key, j->files, j->n_files,
				sizeof(j->files[0]), by_path) != NULL)
				return fault_set(p->f,
				    ST_SANDBOX_INVALID_REQUEST,
				    "files: \"%.120s\" is a file and the "
				    "folder of \"%.120s\"",
				    parent, j->files[i].path);
		}
	}
	return ST_OK;
}

enum status
request_files_read(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;
	size_t total = 0;

	j->files = calloc(json_count(v) + 1, sizeof(j->files[0]));
	if (j->files == NULL)
		return ST_NOMEM;
	for (v = json_first(v); v != NULL; v = json_next(v)) {
		struct job_file *file = &j->files[j->n_files];
		enum status st;

		file->path = strdup(json_name(v));
		if (file->path == NULL)
			return ST_NOMEM;
		j->n_files++;
		st = read_content(p, file, v);
		if (st != ST_OK)
			return st;
		total += file->len;
		if (total > LIMITS_FILES_BYTES)
			return request_invalid(p, "files",
			    "are over 16 MiB (16777216 bytes) in all");
	}
	return check_folders(p);
}
