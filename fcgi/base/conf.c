#include "base/conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/conf_assets.h"
#include "base/conf_check.h"
#include "base/conf_dialects.h"
#include "base/conf_hook.h"
#include "base/conf_load.h"
#include "base/conf_table.h"
#include "base/conf_tiers.h"
#include "base/conf_value.h"
#include "base/own.h"

#define MICROS UINT64_C(1000000)
#define PRICE_MAX (UINT64_C(1000000) * MICROS)

static void
free_fields(struct conf *c, enum conf_table_section s, size_t i)
{
	void *section = conf_table_struct(c, s, i);

	for (size_t k = 0; k < conf_table_n; k++)
		if (conf_table_keys[k].section == s)
			conf_value_free(section, &conf_table_keys[k]);
	if (s >= CONF_TABLE_FACILITATOR) {
		free(*(char **)section);
		*(char **)section = NULL;
	}
}

void
conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	for (int s = 0; s < CONF_TABLE_SECTION_MAX; s++) {
		enum conf_table_section section = (enum conf_table_section)s;

		for (size_t i = 0; i < conf_table_count(c, section); i++)
			free_fields(c, section, i);
	}
	free(c->origins);
	free(c);
}

static void
free_conf(struct conf **c)
{
	conf_free(*c);
}

#define OWN_CONF __attribute__((cleanup(free_conf)))

static enum status
new_conf(struct conf **out)
{
	struct conf *c = calloc(1, sizeof(*c));
	enum status st = ST_NOMEM;

	if (c == NULL)
		return ST_NOMEM;
	c->origins = calloc(1, sizeof(*c->origins));
	if (c->origins != NULL)
		st = conf_load_shipped(c);
	if (st == ST_OK)
		st = conf_dialects_ship(c);
	if (st == ST_OK)
		*out = c;
	else
		conf_free(c);
	return st;
}

enum status
conf_load(struct conf **out, const char *path, char *const *environment,
    struct fault *f)
{
	OWN_CONF struct conf *c = NULL;
	enum status st;

	*out = NULL;
	st = new_conf(&c);
	if (st == ST_OK)
		st = conf_tiers_ship(c);
	if (st == ST_OK && path != NULL)
		st = conf_load_file(c, path, f);
	if (st == ST_OK)
		st = conf_load_environment(c, environment, f);
	if (st == ST_OK)
		st = conf_load_folders(c, f);
	if (st == ST_OK)
		st = conf_hook_load(c, f);
	if (st == ST_OK)
		st = conf_assets_fill(c);
	if (st == ST_OK) {
		conf_load_host(c);
		conf_tiers_sort(c);
		st = conf_check_service(c, f);
	}
	if (st == ST_OK)
		st = conf_check_site(c, &c->site, f);
	if (st == ST_OK)
		st = conf_tiers_drop(c, f);
	if (st == ST_OK)
		st = conf_tiers_prune(&c->site, c, f);
	if (st == ST_NOMEM)
		return fault_set(f, st, "%s", status_name(st));
	if (st != ST_OK)
		return st;
	conf_dialects_note(c);
	*out = OWN_STEAL(c);
	return ST_OK;
}

enum status
conf_parse(struct conf **out, const char *text, struct fault *f)
{
	OWN_CONF struct conf *c = NULL;
	enum status st;

	*out = NULL;
	st = new_conf(&c);
	if (st != ST_OK)
		return fault_set(f, st, "%s", status_name(st));
	st = conf_load_text(c, text, f);
	if (st == ST_OK)
		*out = OWN_STEAL(c);
	return st;
}

enum status
conf_complete(const struct conf *c, struct fault *f)
{
	return conf_check_complete(c, f);
}

const struct conf_runtime *
conf_runtime(const struct conf *c, const char *name)
{
	size_t i;

	return conf_table_find(&i, c, CONF_TABLE_RUNTIME, name) == ST_OK
		   ? &c->runtimes[i]
		   : NULL;
}

const struct conf_tier *
conf_tier(const struct conf *c, const char *name)
{
	size_t i;

	return conf_table_find(&i, c, CONF_TABLE_TIER, name) == ST_OK
		   ? &c->tiers[i]
		   : NULL;
}

const char *
conf_chain_network(const struct conf *c, const struct conf_chain *chain)
{
	return chain->network != NULL ? chain->network : c->site.network;
}

const struct conf_facilitator *
conf_facilitator(const struct conf *c, const char *name)
{
	size_t i;

	return conf_table_find(&i, c, CONF_TABLE_FACILITATOR, name) == ST_OK
		   ? &c->facilitators[i]
		   : NULL;
}

const struct conf_asset *
conf_asset(const struct conf *c, const char *name)
{
	size_t i;

	return conf_table_find(&i, c, CONF_TABLE_ASSET, name) == ST_OK
		   ? &c->assets[i]
		   : NULL;
}

bool
conf_dialect_fits(const struct conf *c, const struct conf_dialect *d)
{
	/* As conf_tiers_drop() counts, and the boxer when it admits a run. */
	return d->limits.memory_bytes + d->limits.work_bytes +
		   LIMITS_EXTRA_BYTES <=
	       c->memory_bytes;
}

enum status
conf_price(uint64_t *micros, const char *text)
{
	uint64_t v = 0;
	size_t digits = 0;
	size_t decimals = 0;

	if (*text == '$')
		text++;
	for (; *text >= '0' && *text <= '9'; text++, digits++) {
		v = v * 10 + (uint64_t)(*text - '0');
		if (v > PRICE_MAX / MICROS)
			return ST_FORMAT;
	}
	if (digits == 0)
		return ST_FORMAT;
	if (*text == '.') {
		text++;
		for (; *text >= '0' && *text <= '9'; text++, decimals++) {
			if (decimals == 6)
				return ST_FORMAT;
			v = v * 10 + (uint64_t)(*text - '0');
		}
		if (decimals == 0)
			return ST_FORMAT;
	}
	for (; decimals < 6; decimals++)
		v *= 10;
	if (*text != '\0' || v == 0 || v > PRICE_MAX)
		return ST_FORMAT;
	*micros = v;
	return ST_OK;
}

static bool
may_know(const struct conf_table_key *k, enum conf_role role)
{
	switch (role) {
	case CONF_ALL:
		return (k->flags & CONF_TABLE_SECRET) == 0;
	case CONF_GATE:
		return (k->flags & CONF_TABLE_GATE) != 0;
	case CONF_BOXER:
		return (k->flags & CONF_TABLE_BOXER) != 0;
	case CONF_ROLE_MAX:
		break;
	}
	return false;
}

/* Does role know anything of the section? */
static bool
may_know_section(enum conf_table_section s, enum conf_role role)
{
	for (size_t k = 0; k < conf_table_n; k++)
		if (conf_table_keys[k].section == s &&
		    may_know(&conf_table_keys[k], role))
			return true;
	return false;
}

static void
write_section(struct buf *out, const struct conf *c, enum conf_role role,
    enum conf_table_section s, size_t i)
{
	const void *section = conf_table_struct_const(c, s, i);
	const char *name = conf_table_name(c, s, i);

	buf_addf(out, "[%s%s%s]\n", conf_table_section_name(s),
	    name != NULL ? ":" : "", name != NULL ? name : "");
	for (size_t n = 0; n < conf_table_n; n++) {
		const struct conf_table_key *k = &conf_table_keys[n];

		if (k->section != s || !may_know(k, role) ||
		    !conf_value_there(section, k))
			continue;
		buf_addf(out, "%s = ", k->key);
		conf_value_put(out, section, k);
		buf_addc(out, '\n');
	}
}

void
conf_write(struct buf *out, const struct conf *c, enum conf_role role)
{
	for (int n = 0; n < CONF_TABLE_SECTION_MAX; n++) {
		enum conf_table_section s = (enum conf_table_section)n;

		if (!may_know_section(s, role))
			continue;
		for (size_t i = 0; i < conf_table_count(c, s); i++)
			write_section(out, c, role, s, i);
	}
}

bool
conf_private_url(const char *url)
{
	const char *host = url + strlen("http://");
	size_t len;

	if (strncmp(url, "https://", 8) == 0)
		return true;
	len = strcspn(host, ":/");
	if (strncmp(host, "127.", 4) == 0)
		return strspn(host, "0123456789.") == len;
	return (len == 9 && strncmp(host, "localhost", len) == 0) ||
	       strcmp(host, "[::1]") == 0 || strncmp(host, "[::1]:", 6) == 0 ||
	       strncmp(host, "[::1]/", 6) == 0;
}
