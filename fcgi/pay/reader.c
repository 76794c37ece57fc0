#include "pay/reader.h"

#include <string.h>
#include <strings.h>

void
reader_refuse(
    struct reader *r, const char *path, const char *name, const char *why)
{
	if (r->st == ST_OK)
		r->st = fault_set(
		    r->f, ST_PAYMENT_MALFORMED, "%s%s %s", path, name, why);
}

const struct cJSON *
reader_may(const struct cJSON *obj, const char *name)
{
	const struct cJSON *v = obj == NULL ? NULL : json_get(obj, name);

	return v == NULL || json_is_null(v) ? NULL : v;
}

const struct cJSON *
reader_need(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name)
{
	const struct cJSON *v = reader_may(obj, name);

	if (v == NULL)
		reader_refuse(r, path, name, "is missing in the payment");
	return v;
}

const struct cJSON *
reader_may_object(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name)
{
	const struct cJSON *v = reader_may(obj, name);

	if (v == NULL || json_is_object(v))
		return v;
	reader_refuse(r, path, name, "must be an object");
	return NULL;
}

const struct cJSON *
reader_need_object(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name)
{
	if (reader_need(r, obj, path, name) == NULL)
		return NULL;
	return reader_may_object(r, obj, path, name);
}

const char *
reader_string(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name)
{
	const struct cJSON *v = reader_need(r, obj, path, name);

	if (v == NULL)
		return NULL;
	if (json_is_number(v))
		reader_refuse(
		    r, path, name, "must be a string, not a JSON number");
	else if (json_string(v) == NULL)
		reader_refuse(r, path, name, "must be a string");
	return json_string(v);
}

char *
reader_copy(struct reader *r, const char *s)
{
	char *own = r->st == ST_OK ? strdup(s) : NULL;

	if (r->st == ST_OK && own == NULL)
		r->st = ST_NOMEM;
	return own;
}

char *
reader_copy_string(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name)
{
	const char *s = reader_string(r, obj, path, name);

	return s == NULL ? NULL : reader_copy(r, s);
}

char *
reader_may_copy_string(struct reader *r, const struct cJSON *obj,
    const char *path, const char *name)
{
	if (reader_may(obj, name) == NULL)
		return NULL;
	return reader_copy_string(r, obj, path, name);
}

void
reader_decimal(struct reader *r, struct u256 *out, const struct cJSON *obj,
    const char *path, const char *name)
{
	const char *s = reader_string(r, obj, path, name);

	if (s != NULL && u256_parse(out, s) != ST_OK)
		reader_refuse(r, path, name,
		    "must be decimal digits without leading zeros, below "
		    "2^256");
}

void
reader_no_twin(struct reader *r, const struct cJSON *obj, const char *path,
    const char *name)
{
	const struct cJSON *m = obj == NULL ? NULL : json_first(obj);

	for (; m != NULL; m = json_next(m)) {
		if (strcmp(json_name(m), name) != 0 &&
		    strcasecmp(json_name(m), name) == 0)
			reader_refuse(r, path, name,
			    "must be spelled in just this letter case");
	}
}
