/*
 * What the tests of base/json.c share: to take a text, and to see one refused.
 */
#ifndef JSON_FIXTURE_H
#define JSON_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static const struct json_caps caps = { 64, 100000 };

/* Parse out of a block of exactly len bytes, so that AddressSanitizer sees a
 * read beyond its end. */
static __attribute__((unused)) enum status
parse_with(struct cJSON **out, const char *text, size_t len,
    const struct json_caps *with, struct fault *f)
{
	char *exact = malloc(len > 0 ? len : 1);
	enum status st;

	memcpy(exact, text, len);
	st = json_parse(out, exact, len, with, f);
	free(exact);
	return st;
}

static __attribute__((unused)) struct cJSON *
good(const char *text)
{
	struct cJSON *v = NULL;
	struct fault f = { 0 };

	if (parse_with(&v, text, strlen(text), &caps, &f) != ST_OK)
		fail_msg("%s: %s", text, f.message);
	assert_non_null(v);
	return v;
}

static __attribute__((unused)) void
refused_n(const char *text, size_t len, const char *message)
{
	struct cJSON *v;
	struct fault f = { .st = ST_REFUSED };

	memset(&v, 0x55, sizeof(v)); /* not NULL already */
	if (parse_with(&v, text, len, &caps, &f) != ST_FORMAT)
		fail_msg("%s was not refused", text);
	assert_null(v);
	assert_int_equal(f.st, ST_REFUSED);
	assert_string_equal(f.message, message);
	assert_int_equal(parse_with(&v, text, len, &caps, NULL), ST_FORMAT);
}

static __attribute__((unused)) void
refused(const char *text, const char *message)
{
	refused_n(text, strlen(text), message);
}

#endif
