/*
 * Reading a payment's members. As with a buf the first error sticks: a caller
 * reads on and looks at st once. Each refusal is ST_PAYMENT_MALFORMED and
 * names the member by its path ("payload.authorization." + "value"). null
 * counts as absent.
 */
#ifndef READER_H
#define READER_H

#include "base/json.h"
#include "base/status.h"
#include "pay/u256.h"

struct reader {
	enum status st;	 /* ST_OK to begin with */
	struct fault *f; /* may be NULL */
};

/* "PATH NAME WHY" as the fault, unless there is one already. */
void reader_refuse(
    struct reader *r, const char *path, const char *name, const char *why);

/* The member or NULL; obj may be NULL. */
const struct cJSON *reader_may(const struct cJSON *obj, const char *name);
/* As reader_may, of whatever type; NULL is refused. */
const struct cJSON *reader_need(struct reader *r, const struct cJSON *obj,
    const char *path, const char *name);
/* An object; anything else is refused and gives NULL. */
const struct cJSON *reader_may_object(struct reader *r, const struct cJSON *obj,
    const char *path, const char *name);
const struct cJSON *reader_need_object(struct reader *r,
    const struct cJSON *obj, const char *path, const char *name);

/* A string without NUL, borrowed from the tree; NULL if refused. */
const char *reader_string(struct reader *r, const struct cJSON *obj,
    const char *path, const char *name);
/* Copies, free(3) them. NULL after any error. */
char *reader_copy(struct reader *r, const char *s);
char *reader_copy_string(struct reader *r, const struct cJSON *obj,
    const char *path, const char *name);
char *reader_may_copy_string(struct reader *r, const struct cJSON *obj,
    const char *path, const char *name);

/* A string that u256_parse() takes. */
void reader_decimal(struct reader *r, struct u256 *out, const struct cJSON *obj,
    const char *path, const char *name);

/* Refuse a member that differs from name in letter case only: facilitators
 * written in Go take either for the other, the later one winning, and would
 * settle what was not looked at here. */
void reader_no_twin(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name);

#endif
