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

/* A location that says what it accepts in one form does not inherit the
 * other. */
struct form {
	bool accepts; /* it has a list */
	bool asset;   /* it has an asset of its own */
};

static bool
of_own_asset(const struct conf_table_key *k)
{
	static const char *const keys[] = { "network", "asset", "asset_name",
		"asset_version" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(k->key, keys[i]) == 0)
			return true;
	return false;
}

static struct form
form_of(const char *(*get)(void *ctx, const char *name), void *ctx)
{
	struct form form = { .accepts = get(ctx, "TOLLBOX_ACCEPTS") != NULL };

	for (size_t i = 0; i < conf_table_n; i++)
		if (conf_table_keys[i].section == CONF_TABLE_SITE &&
		    of_own_asset(&conf_table_keys[i]) &&
		    get(ctx, conf_table_keys[i].env) != NULL)
			form.asset = true;
	return form;
}

/* A location's own payee beside assets that have one of theirs: whoever wrote
 * it expects the money, and the assets' payee would get it. */
static enum status
check_payee(const struct conf_site *s, const struct conf *base, struct fault *f)
{
	for (size_t i = 0; s->accepts != NULL && s->accepts[i] != NULL; i++) {
		const struct conf_asset *a = conf_asset(base, s->accepts[i]);

		if (a != NULL && a->pay_to != NULL)
			return fault_set(f, ST_FORMAT,
			    "location: TOLLBOX_PAY_TO is set, but [asset:%s] "
			    "has a pay_to of its own",
			    a->name);
	}
	return ST_OK;
}

/* One setting: the location's, else the base's. */
static enum status
resolve(struct conf_site *out, const struct conf *base,
    const struct conf_table_key *k, struct form form,
    const char *(*get)(void *ctx, const char *name), void *ctx, struct fault *f)
{
	const char *value = NULL;
	struct fault why = { .st = ST_BUG };
	enum status st;

	if (k->flags & CONF_TABLE_LOCATION)
		value = get(ctx, k->env);
	if (value == NULL &&
	    ((form.accepts && of_own_asset(k)) ||
		(form.asset && strcmp(k->key, "accepts") == 0)))
		return ST_OK;
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
	struct form form = form_of(get, ctx);
	enum status st = ST_OK;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < conf_table_n && st == ST_OK; i++)
		if (conf_table_keys[i].section == CONF_TABLE_SITE)
			st = resolve(
			    out, base, &conf_table_keys[i], form, get, ctx, f);
	if (st == ST_OK && get(ctx, "TOLLBOX_PAY_TO") != NULL)
		st = check_payee(out, base, f);
	if (st == ST_OK)
		st = conf_check_site(base, out, f);
	if (st == ST_OK)
		st = conf_tiers_prune(out, base, f);
	if (st != ST_OK)
		conf_site_free(out);
	return st;
}
