#include "base/conf.h"

#include <string.h>

#include "base/conf_check.h"
#include "base/conf_table.h"
#include "base/conf_tiers.h"
#include "base/conf_value.h"

bool
conf_site_param(const char *name)
{
	const struct conf_table_key *k = conf_table_env(name);

	return k != NULL && (k->flags & CONF_TABLE_LOCATION) != 0;
}

void
conf_site_free(struct conf_site *s)
{
	for (size_t i = 0; i < conf_table_n; i++)
		if (conf_table_keys[i].section == CONF_TABLE_SITE)
			conf_value_free(s, &conf_table_keys[i]);
}

/* One setting: the location's, else the base's. */
static enum status
resolve(struct conf_site *out, const struct conf *base,
    const struct conf_table_key *k,
    const char *(*get)(void *ctx, const char *name), void *ctx, struct fault *f)
{
	const char *value = NULL;
	struct fault why = { .st = ST_BUG };
	enum status st;

	if (k->flags & CONF_TABLE_LOCATION)
		value = get(ctx, k->env);
	if (value == NULL)
		return conf_value_copy(out, &base->site, k);
	st = conf_value_set(out, k, value, &why);
	if (st == ST_FORMAT)
		return fault_set(f, st, "location: %s %s", k->env, why.message);
	return st;
}

enum status
conf_site_resolve(struct conf_site *out, const struct conf *base,
    const char *(*get)(void *ctx, const char *name), void *ctx, struct fault *f)
{
	enum status st = ST_OK;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < conf_table_n && st == ST_OK; i++)
		if (conf_table_keys[i].section == CONF_TABLE_SITE)
			st = resolve(
			    out, base, &conf_table_keys[i], get, ctx, f);
	if (st == ST_OK)
		st = conf_check_site(base, out, f);
	if (st == ST_OK)
		st = conf_tiers_prune(out, base, f);
	if (st != ST_OK)
		conf_site_free(out);
	return st;
}
