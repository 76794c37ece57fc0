/*
 * What came back beside the output: the extras image of wire.h, made by
 * sandbox-init, which shares its uid with the program. Hostile until it was
 * read by this. Pure.
 */
#ifndef EXTRAS_H
#define EXTRAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/status.h"

/* The last expression's value. */
enum extras_value {
	EXTRAS_VALUE_NONE,
	EXTRAS_VALUE_JSON, /* what should be JSON: still to be parsed */
	EXTRAS_VALUE_REPR, /* bytes that should be UTF-8 */
	/* No value, but what ended the program: such bytes too, name, message
	 * and traceback with a NUL between, as far as they are there. */
	EXTRAS_VALUE_THROWN,
	EXTRAS_VALUE_MAX
};

/* Points into the image. */
struct extras_file {
	const char *path; /* not terminated; well-formed UTF-8 */
	size_t path_len;
	const uint8_t *data; /* NULL: too large, omitted */
	uint64_t size;
};

struct extras {
	enum extras_value value;
	const char *text; /* of the value */
	size_t text_len;
	/* Sorted by path, no two the same; wire_path_ok() holds. */
	struct extras_file files[LIMITS_OUTPUTS];
	size_t n_files;
	/* PNG images, their names in order. */
	struct extras_file figures[LIMITS_OUTPUTS];
	size_t n_figures;
};

/* Read and check an image of a job that asked for flags (WIRE_JOB_*) within
 * output_bytes: kinds, numbers, paths, order, sizes. ST_OK; ST_FORMAT, and *out
 * is empty. */
enum status extras_read(struct extras *out, const uint8_t *image, size_t len,
    uint32_t flags, uint64_t output_bytes) __attribute__((warn_unused_result));

/* Bytes that such an image has at most. */
uint64_t extras_most(uint64_t output_bytes);

#endif
