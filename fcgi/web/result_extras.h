/*
 * The members `result` and `outputs` of an answer (api.md section 3): out of
 * what the sandbox gave, which is not to be trusted, into JSON in its canonical
 * form, so that the same text stands in the answer and is digested.
 */
#ifndef RESULT_EXTRAS_H
#define RESULT_EXTRAS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "box/job.h"

struct result_extras {
	struct buf value;   /* null, {"json":...} or {"repr":...} */
	struct buf outputs; /* an array */
	/* Or, for a dialect that has forms of its own: the image, sound. */
	struct buf image;
};

struct extras_file; /* box/extras.h */

/* Nothing came back yet: null and []. */
void result_extras_init(struct result_extras *x, const struct job *j);
void result_extras_free(struct result_extras *x); /* zeroed is fine */

/* Take the extras image of job j, whose output was printed bytes long. ST_OK;
 * ST_FORMAT: it is broken, and x is left as it was; or a status of a buf. */
enum status result_extras_read(struct result_extras *x, const struct job *j,
    uint64_t printed, const uint8_t *image, size_t len)
    __attribute__((warn_unused_result));

/* Keep a copy of the image instead, once it was found sound: extras_read() of
 * it is ST_OK. The same statuses. */
enum status result_extras_keep(struct result_extras *x, const struct job *j,
    const uint8_t *image, size_t len) __attribute__((warn_unused_result));

/* The media type that a file's name tells. */
const char *result_extras_type(const struct extras_file *f);

/* Bytes that both need at most. */
size_t result_extras_most(const struct job *j);

#endif
