/* A job: what is to run and within which limits. A value made by a dialect,
 * handed through web/run.c to the box. */
#ifndef JOB_H
#define JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/conf.h"
#include "base/limits.h"
#include "base/status.h"

struct job_file {
	char *path; /* relative to /box; wire_path_ok() holds */
	char *data; /* len bytes and a NUL */
	size_t len;
};

/* Owned by whoever holds the struct: job_free(). */
struct job {
	const struct conf_runtime *runtime; /* borrowed from conf */
	const char *entry; /* runtime->entry or entry_module, borrowed */
	char *source;
	size_t source_len;
	struct job_file *files; /* beside the entry file */
	size_t n_files;
	const char *folder; /* an empty one, or NULL; borrowed */
	char **args;
	size_t n_args;
	char **env; /* NAME=value */
	size_t n_env;
	char *stdin_data;
	size_t stdin_len;
	char **outputs; /* patterns of files to hand back; wire_path_ok() */
	size_t n_outputs;
	/* Asked for; the runtime can do it (job_offers()). */
	bool evaluate; /* hand back the value of the last expression */
	bool tell;     /* that as text, or what was thrown; with evaluate */
	bool figures;  /* and what was drawn */
	bool wants_outputs;
	struct limits limits;
	bool stranger; /* see struct wire_reserve */
};

void job_free(struct job *j); /* a zeroed struct is fine */

/* Does the runtime's helper do "evaluate" or "figures"? */
bool job_offers(const struct conf_runtime *r, const char *what);

/* What is asked for beside the output, as WIRE_JOB_*; 0: nothing. */
uint32_t job_flags(const struct job *j);
/* Does the helper run, which needs the interpreter at its gate? */
bool job_hooked(const struct job *j);

/* The job image of wire.h in a sealed memfd (close-on-exec, the caller's).
 * *len is its size, *stdin_at where stdin's bytes start. ST_OK, ST_IO,
 * ST_FORMAT (the runtime's helper is none). */
enum status job_image(int *fd, uint64_t *len, uint64_t *stdin_at,
    const struct job *j) __attribute__((warn_unused_result));

#endif
