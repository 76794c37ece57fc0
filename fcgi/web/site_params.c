#include "web/site_params.h"

#include <stdbool.h>
#include <string.h>

#include "base/conf.h"

#define TEXT_BYTES (64u << 10)

void
site_params_init(struct site_params *p)
{
	buf_init(&p->text, TEXT_BYTES);
}

void
site_params_free(struct site_params *p)
{
	buf_free(&p->text);
}

void
site_params_add(struct site_params *p, const char *name, const char *value)
{
	buf_add(&p->text, name, strlen(name) + 1);
	buf_add(&p->text, value, strlen(value) + 1);
}

/* One parameter of the text, from *at on, which moves behind it. False at the
 * end. */
static bool
next(const struct site_params *p, size_t *at, const char **name,
    const char **value)
{
	const char *text = buf_cstr(&p->text);

	if (buf_status(&p->text) != ST_OK || *at >= p->text.len)
		return false;
	*name = text + *at;
	*value = *name + strlen(*name) + 1;
	*at = (size_t)(*value - text) + strlen(*value) + 1;
	return true;
}

const char *
site_params_get(void *ctx, const char *name)
{
	const struct site_params *p = ctx;
	const char *n, *value;

	for (size_t at = 0; next(p, &at, &n, &value);)
		if (strcmp(n, name) == 0)
			return value;
	return NULL;
}

static bool
given_before(const struct site_params *p, size_t end, const char *name)
{
	const char *n, *value;

	for (size_t at = 0; at < end && next(p, &at, &n, &value);)
		if (at < end && strcmp(n, name) == 0)
			return true;
	return false;
}

enum status
site_params_judge(const struct site_params *p, struct fault *f)
{
	const char *name, *value;

	for (size_t at = 0; next(p, &at, &name, &value);) {
		if (!conf_site_param(name))
			return fault_set(f, ST_FORMAT,
			    "%.64s cannot be set by a location (or is no "
			    "setting)",
			    name);
		/* Which of the two counts would be the web server's secret. */
		if (given_before(p, at, name))
			return fault_set(
			    f, ST_FORMAT, "%s is given twice", name);
	}
	return ST_OK;
}
