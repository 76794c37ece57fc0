/*
 * The members of a JSON object that a caller sends, as a table: what checks a
 * body is what the documents are written from (member_schema.h), so that the
 * two cannot differ (api.md section 2).
 */
#ifndef MEMBER_H
#define MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

struct cJSON;
struct request_work;
struct site;

/* The form of a text, for the documents and for the check. No text with a form
 * may hold a NUL. */
struct member_form {
	const char *pattern; /* ECMA-262, without look-around: others read it */
	bool (*ok)(const char *text); /* NULL: any text without NUL */
	const char *rule; /* what is said of one that is not: "holds a NUL" */
};

enum member_type {
	MEMBER_STRING,
	MEMBER_BOOLEAN,
	MEMBER_NUMBER,	/* any number from min to max, fractions too */
	MEMBER_STRINGS, /* an array of strings */
	MEMBER_TEXTS,	/* an object: name -> string */
	MEMBER_FILES,	/* an object: path -> string or {"base64": string} */
	MEMBER_OBJECT	/* an object with members of its own: see put_more */
};

struct member {
	const char *name;
	enum member_type type;
	bool required;
	bool in_points; /* of max */
	/* NUMBER: the lowest value. */
	uint64_t min;
	/* STRING: bytes of UTF-8, or code points if in_points; STRINGS: items;
	 * TEXTS, FILES: names; NUMBER: the highest value. 0: no limit. */
	uint64_t max;
	/* Of a STRING, of STRINGS' items, of the names of TEXTS and FILES. */
	const struct member_form *form;
	/* Of the values of TEXTS; of the base64 of FILES, whose values are
	 * take()'s to check. */
	const struct member_form *value_form;
	const char *fallback; /* JSON text of what is taken where it is missing;
			       * NULL: says nothing */
	const char *about;    /* a sentence for the documents */
	/* Append the values that it may have, JSON texts with commas; NULL:
	 * any. What take() refuses must be what is not among them. */
	void (*put_words)(struct buf *out, const struct site *s);
	/* Append further keywords of its schema, each with a comma before it;
	 * NULL: none. */
	void (*put_more)(struct buf *out, const struct site *s);
	/* Take a value that has passed all of the above. Any status; p->f then
	 * names the member at fault. */
	enum status (*take)(struct request_work *p, const struct cJSON *v);
};

/* Is v what m says, but for what take() looks at? ST_OK;
 * ST_REQUEST_MALFORMED (wrong type), ST_RUNTIME_LIMIT_OUT_OF_RANGE (a number)
 * or ST_SANDBOX_INVALID_REQUEST (against its rule), with f naming the member.
 */
enum status member_check(const struct member *m, const struct cJSON *v,
    struct fault *f) __attribute__((warn_unused_result));

/* "a string": what m must be, in words. */
const char *member_type_words(const struct member *m);

#endif
