/* The JSON Schema of a body's members: for openapi.json, the bazaar extension
 * and MCP's tools. */
#ifndef MEMBER_SCHEMA_H
#define MEMBER_SCHEMA_H

#include "base/buf.h"
#include "web/request.h"

enum member_schema_detail {
	MEMBER_SCHEMA_WHOLE,   /* all that the table says */
	MEMBER_SCHEMA_PARTIAL, /* the same, with nothing required */
	MEMBER_SCHEMA_BRIEF    /* types and words: where each byte counts */
};

/* Append the object's schema (draft 2020-12, no $ref) for site s. Errors stick
 * in out. */
void member_schema_put(struct buf *out, const struct request_form *form,
    const struct site *s, enum member_schema_detail detail);

/* Append the object `bodyFields` of x402's version 1 (x402.md 5.1): each
 * member's type, whether it is required, what it is. */
void member_schema_put_fields(
    struct buf *out, const struct request_form *form, const struct site *s);

/* Append JSON text; one without any " may be written with ' in its place, for
 * reading's sake, and then holds no other '. */
void member_schema_json(struct buf *out, const char *text);

#endif
