#include "web/member.h"

#include <string.h>

#include "base/jcs.h"
#include "base/json.h"
#include "base/utf8.h"

#define SHOWN 120 /* bytes of a text at fault */

const char *
member_type_words(const struct member *m)
{
	static const char *const words[] = {
		[MEMBER_STRING] = "a string",
		[MEMBER_BOOLEAN] = "true or false",
		[MEMBER_NUMBER] = "a number",
		[MEMBER_STRINGS] = "an array of strings",
		[MEMBER_TEXTS] = "an object of strings",
		[MEMBER_FILES] = "an object",
		[MEMBER_OBJECT] = "an object",
	};

	return words[m->type];
}

static bool
type_fits(const struct member *m, const struct cJSON *v)
{
	switch (m->type) {
	case MEMBER_STRING:
		return json_is_string(v);
	case MEMBER_BOOLEAN:
		return json_is_bool(v);
	case MEMBER_NUMBER:
		return json_is_number(v);
	case MEMBER_STRINGS:
		return json_is_array(v);
	case MEMBER_TEXTS:
	case MEMBER_FILES:
	case MEMBER_OBJECT:
		return json_is_object(v);
	}
	return false;
}

static enum status
wrong_type(const struct member *m, struct fault *f)
{
	return fault_set(f, ST_REQUEST_MALFORMED, "%s must be %s", m->name,
	    member_type_words(m));
}

/* text NULL: it holds a NUL. */
static enum status
check_form(const struct member *m, const struct member_form *form,
    const char *text, struct fault *f)
{
	if (form == NULL ||
	    (text != NULL && (form->ok == NULL || form->ok(text))))
		return ST_OK;
	return fault_set(f, ST_SANDBOX_INVALID_REQUEST, "%s: \"%.*s\" %s",
	    m->name, SHOWN, text == NULL ? "" : text, form->rule);
}

/* "1 MiB (1048576 bytes)" */
static enum status
too_long(const struct member *m, struct fault *f)
{
	unsigned long long max = m->max;
	struct buf size;

	buf_init(&size, 64);
	if (m->in_points)
		buf_addf(&size, "%llu characters", max);
	else if (max % (1u << 20) == 0)
		buf_addf(&size, "%llu MiB (%llu bytes)", max >> 20, max);
	else
		buf_addf(&size, "%llu bytes", max);
	fault_set(f, ST_SANDBOX_INVALID_REQUEST, "%s is over %s", m->name,
	    buf_cstr(&size));
	buf_free(&size);
	return ST_SANDBOX_INVALID_REQUEST;
}

static enum status
check_string(const struct member *m, const struct cJSON *v, struct fault *f)
{
	size_t n = m->in_points ? json_points(v) : json_length(v);

	if (m->max != 0 && n > m->max)
		return too_long(m, f);
	return check_form(m, m->form, json_string(v), f);
}

/* A number with a range is a limit. */
static enum status
check_number(const struct member *m, const struct cJSON *v, struct fault *f)
{
	double d = 0;
	struct buf shown;

	if (json_double(&d, v) == ST_OK && d >= (double)m->min &&
	    d <= (double)m->max)
		return ST_OK;
	buf_init(&shown, 64);
	jcs_write(&shown, v);
	fault_set(f, ST_RUNTIME_LIMIT_OUT_OF_RANGE,
	    "%s is %s; it must be a number from %llu to %llu", m->name,
	    buf_cstr(&shown), (unsigned long long)m->min,
	    (unsigned long long)m->max);
	buf_free(&shown);
	return ST_RUNTIME_LIMIT_OUT_OF_RANGE;
}

static enum status
check_items(const struct member *m, const struct cJSON *v, struct fault *f)
{
	for (v = json_first(v); v != NULL; v = json_next(v)) {
		enum status st = ST_BUG;

		if (!json_is_string(v))
			return wrong_type(m, f);
		st = check_form(m, m->form, json_string(v), f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

/* The names of a map, and what the type says of its values. */
static enum status
check_entries(const struct member *m, const struct cJSON *v, struct fault *f)
{
	for (v = json_first(v); v != NULL; v = json_next(v)) {
		const char *name = json_name(v);
		enum status st = ST_BUG;

		/* A NUL in a name shows as a byte that is no UTF-8. */
		if (!utf8_valid(name, strlen(name)))
			name = NULL;
		st = check_form(m, m->form, name, f);
		if (st != ST_OK)
			return st;
		if (m->type == MEMBER_FILES)
			continue; /* its values are take()'s */
		if (!json_is_string(v))
			return fault_set(f, ST_REQUEST_MALFORMED,
			    "%s: %.100s must be a string", m->name, name);
		st = check_form(m, m->value_form, json_string(v), f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

static enum status
check_count(const struct member *m, const struct cJSON *v, struct fault *f)
{
	static const char *const things[] = {
		[MEMBER_STRINGS] = "strings",
		[MEMBER_TEXTS] = "names",
		[MEMBER_FILES] = "files",
	};

	if (m->max == 0 || json_count(v) <= m->max)
		return ST_OK;
	return fault_set(f, ST_SANDBOX_INVALID_REQUEST,
	    "%s holds more than %llu %s", m->name, (unsigned long long)m->max,
	    things[m->type]);
}

enum status
member_check(const struct member *m, const struct cJSON *v, struct fault *f)
{
	enum status st = ST_BUG;

	if (!type_fits(m, v))
		return wrong_type(m, f);
	switch (m->type) {
	case MEMBER_STRING:
		return check_string(m, v, f);
	case MEMBER_NUMBER:
		return check_number(m, v, f);
	case MEMBER_STRINGS:
		st = check_count(m, v, f);
		return st == ST_OK ? check_items(m, v, f) : st;
	case MEMBER_TEXTS:
	case MEMBER_FILES:
		st = check_count(m, v, f);
		return st == ST_OK ? check_entries(m, v, f) : st;
	case MEMBER_BOOLEAN:
	case MEMBER_OBJECT:
		return ST_OK;
	}
	return st;
}
