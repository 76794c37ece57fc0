#include "base/conf_dialects.h"

#include <inttypes.h>
#include <string.h>

#include "base/conf_table.h"
#include "base/log.h"

/* 256 MiB, 1 MiB and 64 MiB for all of them, and the time. */
#define LIMITS(ms)                                                             \
	{                                                                      \
		(ms), 256u << 20, 1u << 20, 64u << 20                          \
	}

enum status
conf_dialects_ship(struct conf *c)
{
	static const struct {
		const char *name;
		const char *route;
		uint64_t price_micros;
		struct limits limits;
	} shipped[] = {
		{ "agent402", "/api/code-run", 20000, LIMITS(30000) },
		{ "x402engine", "/api/code/run", 5000, LIMITS(300000) },
		{ "pocket", "/v1/code", 5000, LIMITS(5000) },
	};

	for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
		size_t at;
		enum status st =
		    conf_table_add(&at, c, CONF_TABLE_DIALECT, shipped[i].name);

		if (st != ST_OK)
			return st;
		c->dialects[at].route = shipped[i].route;
		c->dialects[at].price_micros = shipped[i].price_micros;
		c->dialects[at].limits = shipped[i].limits;
	}
	return ST_OK;
}

enum status
conf_dialects_known(const struct conf *c, const char *name, struct fault *f)
{
	struct buf names;
	size_t i;

	if (conf_table_find(&i, c, CONF_TABLE_DIALECT, name) == ST_OK)
		return ST_OK;
	buf_init(&names, 256);
	for (i = 0; i < c->n_dialects; i++)
		buf_addf(
		    &names, "%s%s", i > 0 ? ", " : "", c->dialects[i].name);
	fault_set(f, ST_FORMAT,
	    "[dialect:%.60s] there is no such dialect with a price of its own: "
	    "%s",
	    name, buf_cstr(&names));
	buf_free(&names);
	return ST_FORMAT;
}

enum status
conf_dialects_check(const struct conf *c, struct fault *f)
{
	for (size_t i = 0; i < c->n_dialects; i++)
		if (conf_tier(c, c->dialects[i].name) != NULL)
			return fault_set(f, ST_FORMAT,
			    "[tier:%s] has the name of a dialect; give it "
			    "another one",
			    c->dialects[i].name);
	return ST_OK;
}

void
conf_dialects_note(const struct conf *c)
{
	for (size_t i = 0; i < c->n_dialects; i++)
		if (!conf_dialect_fits(c, &c->dialects[i]))
			log_warn("%s (%s) is not offered: a run can take more "
				 "memory than memory_bytes, %" PRIu64,
			    c->dialects[i].route, c->dialects[i].name,
			    c->memory_bytes);
}
