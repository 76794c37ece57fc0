#include "box/run_check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* All a job image can hold: a request's body and the records' heads. */
#define IMAGE_BYTES (LIMITS_BODY + (8u << 20))
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

bool
run_check_ask(const struct conf_runtime **runtime, const char **entry,
    const struct wire_reserve *ask, const struct conf *c)
{
	const struct limits *l = &ask->limits;
	const struct conf_runtime *r;

	if (ask->type != WIRE_RESERVE ||
	    memchr(ask->runtime, '\0', sizeof(ask->runtime)) == NULL ||
	    memchr(ask->entry, '\0', sizeof(ask->entry)) == NULL)
		return false;
	r = conf_runtime(c, ask->runtime);
	if (r == NULL)
		return false;
	if (strcmp(ask->entry, r->entry) == 0)
		*entry = r->entry;
	else if (r->entry_module != NULL &&
		 strcmp(ask->entry, r->entry_module) == 0)
		*entry = r->entry_module;
	else
		return false;
	*runtime = r;
	return l->timeout_ms > 0 && l->timeout_ms <= 86400000 &&
	       l->memory_bytes > 0 && l->memory_bytes <= UINT64_MAX / 4 &&
	       l->work_bytes > 0 && l->work_bytes <= UINT64_MAX / 4 &&
	       l->output_bytes <= UINT32_MAX;
}

bool
run_check_job(const struct wire_job *m, int fd)
{
	struct stat s;
	int seals;

	if (m->type != WIRE_JOB || m->image_len == 0 ||
	    m->image_len > IMAGE_BYTES || m->stdin_at > m->image_len ||
	    m->stdin_len > m->image_len - m->stdin_at)
		return false;
	seals = fcntl(fd, F_GET_SEALS);
	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &s) == 0 &&
	       s.st_size >= 0 && (uint64_t)s.st_size == m->image_len;
}
