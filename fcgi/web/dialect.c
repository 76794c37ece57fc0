#include "web/dialect.h"

#include <string.h>

#include "web/dialects/agent402.h"
#include "web/dialects/mcp.h"
#include "web/dialects/native.h"
#include "web/dialects/pocket.h"
#include "web/dialects/x402engine.h"
#include "web/member_schema.h"

const struct dialect *const dialects[] = {
	&native_dialect,
	&agent402_dialect,
	&x402engine_dialect,
	&pocket_dialect,
	&mcp_dialect,
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

enum status
dialect_refuse(struct fault *f, const char *path)
{
	return fault_set(
	    f, ST_REQUEST_NOT_FOUND, "%s is not offered at this site", path);
}

void
dialect_prices(uint64_t *least, uint64_t *most, const struct dialect *d,
    const struct site *s)
{
	*least = request_base(d->form, s)->price_micros;
	*most = d->form->flat == NULL ? s->tiers[s->n_tiers - 1].price_micros
				      : *least;
}

void
dialect_put_example(
    struct buf *out, const struct dialect *d, const struct site *s)
{
	if (d->rpc)
		d = dialects[0];
	if (d->put_example != NULL)
		d->put_example(out, s);
	else
		member_schema_json(out, d->body_example);
}
