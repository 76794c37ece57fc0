/* RFC 8785, the JSON Canonicalization Scheme. */
#ifndef JCS_H
#define JCS_H

#include <stdint.h>

#include "base/buf.h"

struct cJSON;

/* Append the canonical form of a tree from json_parse(). Names are sorted by
 * UTF-16 code units, numbers written as ECMAScript does. Errors stick in
 * out. */
void jcs_write(struct buf *out, const struct cJSON *v);

/* The same of an object without its member `name`, if it has that. */
void jcs_write_without(
    struct buf *out, const struct cJSON *obj, const char *name);

/* A double as ECMAScript's Number::toString writes it. d must be finite. */
void jcs_number(struct buf *out, double d);

/* SHA-256 of data as 64 lower-case hex digits and a NUL. Aborts nothing:
 * libcrypto cannot fail here for memory in range; on failure ST_BUG. */
enum status jcs_sha256(char out[65], const void *data, size_t len)
    __attribute__((warn_unused_result));

#endif
