/*
 * Strict JSON in (on cJSON, of which json.c is the only user) and a small
 * writer out.
 *
 * cJSON by itself accepts ill-formed UTF-8, control bytes, numbers such as 01,
 * duplicate names, and loses all behind a \u0000. json_parse() checks the
 * grammar of RFC 8259 first, and carries NUL through (see json_bytes()).
 */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

struct cJSON;

struct json_caps {
	size_t depth;  /* nesting, 1 = a bare value */
	size_t values; /* values in all, object members counted */
};

/* Parse exactly one JSON text of len bytes. Refused (ST_FORMAT, with the
 * reason and place in f, bytes counted from 0): anything outside RFC 8259,
 * ill-formed UTF-8, lone surrogate escapes, a duplicate name in any object,
 * over the caps, a number of more than 63 characters or beyond a double's
 * range. Else ST_OK and a tree for json_free(), or ST_NOMEM. f may be NULL;
 * f->st is left to the caller. *out is NULL unless ST_OK. */
enum status json_parse(struct cJSON **out, const char *text, size_t len,
    const struct json_caps *caps, struct fault *f)
    __attribute__((warn_unused_result));
void json_free(struct cJSON *v); /* NULL is fine */
static inline void
json_free_ptr(struct cJSON **v)
{
	json_free(*v);
}
/* Free at the end of the scope, as base/own.h does. */
#define OWN_JSON __attribute__((cleanup(json_free_ptr)))

bool json_is_object(const struct cJSON *v);
bool json_is_array(const struct cJSON *v);
bool json_is_string(const struct cJSON *v);
bool json_is_number(const struct cJSON *v);
bool json_is_bool(const struct cJSON *v);
bool json_is_true(const struct cJSON *v);
bool json_is_null(const struct cJSON *v);

/* Member of an object (case-sensitive), or NULL. */
const struct cJSON *json_get(const struct cJSON *obj, const char *name);
/* First child of an object or array, next sibling, its name (in an object; a
 * NUL in a name shows as byte 0xff, which no valid name holds). */
const struct cJSON *json_first(const struct cJSON *v);
const struct cJSON *json_next(const struct cJSON *v);
const char *json_name(const struct cJSON *v);
size_t json_count(const struct cJSON *v);

/* A string value without NUL, or NULL if v is no string or holds one.
 * Borrowed from the tree. */
const char *json_string(const struct cJSON *v);

/* A string value's bytes, NULs included: a fresh block of *len bytes plus a
 * NUL (free it). ST_OK, ST_FORMAT (no string), ST_NOMEM. */
enum status json_bytes(char **out, size_t *len, const struct cJSON *v)
    __attribute__((warn_unused_result));

/* Of a string value: bytes of UTF-8, code points; NULs count. 0 if v is no
 * string. */
size_t json_length(const struct cJSON *v);
size_t json_points(const struct cJSON *v);

/* A number that is a whole one in 0..2^53 in any spelling (1e4, 10000.0).
 * ST_OK or ST_FORMAT. */
enum status json_uint(uint64_t *out, const struct cJSON *v)
    __attribute__((warn_unused_result));

/* Any number as a double (finite). ST_OK or ST_FORMAT. */
enum status json_double(double *out, const struct cJSON *v)
    __attribute__((warn_unused_result));

/* ---- writing: straight into a buf, commas by json_sep ---- */

/* A quoted string, escaped as JCS (RFC 8785) and JSON.stringify do; s must be
 * well-formed UTF-8, may hold NUL. */
void json_put_bytes(struct buf *out, const void *s, size_t len);
void json_put_string(struct buf *out, const char *s);
/* As json_put_string with all beyond ASCII as \uXXXX (x402.md 1.10: v1
 * headers are read as Latin-1 by released clients). */
void json_put_ascii(struct buf *out, const char *s);
/* A value of tenths/10 as JCS writes it: 12, 12.3. */
void json_put_tenths(struct buf *out, uint64_t tenths);
/* Append a comma unless out is empty or ends in '{', '[' or ':'. */
void json_sep(struct buf *out);
/* json_sep, the quoted name and a colon. */
void json_key(struct buf *out, const char *name);
/* A member with its comma: json_key(), then the value. */
void json_member_string(struct buf *out, const char *name, const char *s);
void json_member_uint(struct buf *out, const char *name, uint64_t n);

#endif
