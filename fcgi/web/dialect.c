#include "web/dialect.h"

#include <string.h>

#include "web/dialects/native.h"

const struct dialect *const dialects[] = {
	&native_dialect,
	NULL,
};

const struct dialect *
dialect_of(const char *path)
{
	for (size_t i = 0; dialects[i] != NULL; i++)
		if (strcmp(dialects[i]->path, path) == 0)
			return dialects[i];
	return NULL;
}

bool
dialect_offered(const struct dialect *d, const struct site *s)
{
	return site_route(s, d->path) && request_base(d->form, s) != NULL;
}
