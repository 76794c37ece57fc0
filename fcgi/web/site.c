#include "web/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "web/site_tiers.h"

struct facilitator *
site_facilitator(const struct site_common *c, const char *name)
{
	const struct conf_facilitator *f = conf_facilitator(c->conf, name);

	return f == NULL ? NULL : c->facilitators[f - c->conf->facilitators];
}

static enum status
find_facilitator(struct facilitator **out, const struct site_common *all,
    const char *name, struct fault *f)
{
	if (name == NULL)
		return fault_set(f, ST_FORMAT, "facilitator is not set");
	*out = site_facilitator(all, name);
	if (*out == NULL)
		return fault_set(f, ST_FORMAT,
		    "facilitator \"%s\": no section [facilitator:%s]", name,
		    name);
	return ST_OK;
}

/* One thing accepted; what its settings leave open is the site's. */
static enum status
add_accept(const struct site_common *all, struct site *s,
    const struct conf_asset *c, struct fault *f)
{
	struct accept *a = &s->accepts[s->n_accepts];
	struct conf_asset whole = *c;
	struct fault why = { .st = ST_BUG };
	const char *fallback;
	enum status st;

	if (whole.pay_to == NULL)
		whole.pay_to = s->conf.pay_to;
	if (whole.facilitator == NULL)
		whole.facilitator = s->conf.facilitator;
	st = accept_build(a, &whole, &why);
	if (st != ST_OK && c->name != NULL)
		return fault_set(f, st, "[asset:%s] %s", c->name, why.message);
	if (st != ST_OK)
		return fault_set(f, st, "%s", why.message);
	st = find_facilitator(&a->by, all, whole.facilitator, f);
	if (st != ST_OK)
		return st;
	fallback = facilitator_conf(a->by)->fallback;
	if (fallback != NULL)
		st = find_facilitator(&a->fallback, all, fallback, f);
	if (st == ST_OK)
		s->n_accepts++;
	return st;
}

static enum status
add_accepts(const struct site_common *all, struct site *s, struct fault *f)
{
	const struct conf_asset own = { .network = s->conf.network,
		.asset = s->conf.asset,
		.asset_name = s->conf.asset_name,
		.asset_version = s->conf.asset_version,
		.asset_decimals = s->conf.asset_decimals };
	enum status st = ST_OK;

	if (s->conf.accepts == NULL)
		return add_accept(all, s, &own, f);
	for (size_t i = 0; st == ST_OK && s->conf.accepts[i] != NULL; i++) {
		const struct conf_asset *c =
		    conf_asset(all->conf, s->conf.accepts[i]);

		if (c == NULL || s->n_accepts == ACCEPT_MAX)
			return fault_set(f, ST_FORMAT,
			    "accepts: no section [asset:%s]",
			    s->conf.accepts[i]);
		st = add_accept(all, s, c, f);
	}
	return st;
}

/* Who the site is when it signs. */
static enum status
name_issuer(struct site *s, const struct keyring *keys, struct fault *f)
{
	OWN_BUF struct buf did;

	buf_init(&did, sizeof(s->did) - 1);
	did_put(&did, s->conf.public_url);
	if (buf_status(&did) != ST_OK)
		return fault_set(f, buf_status(&did),
		    "public_url (TOLLBOX_PUBLIC_URL) is over-long");
	memcpy(s->did, buf_cstr(&did), did.len + 1);
	s->keys = keys;
	return ST_OK;
}

/* Finish a site whose conf is resolved. */
static enum status
build(const struct site_common *all, struct site *s, struct fault *f)
{
	enum status st;

	if (s->conf.public_url == NULL)
		return fault_set(
		    f, ST_FORMAT, "public_url (TOLLBOX_PUBLIC_URL) is not set");
	st = name_issuer(s, all->keys, f);
	if (st != ST_OK)
		return st;
	st = add_accepts(all, s, f);
	if (st != ST_OK)
		return st;
	return site_tiers_build(s, f);
}

void
site_make(struct site *out, const struct site_common *c,
    const char *(*get)(void *ctx, const char *name), void *ctx)
{
	enum status st;

	out->base = c->conf;
	out->made_at = (uint64_t)time(NULL);
	st = conf_site_resolve(&out->conf, c->conf, get, ctx, &out->broken);
	if (st == ST_OK)
		st = build(c, out, &out->broken);
	out->broken.st = st;
}

void
site_free(struct site *s)
{
	free(s->whole);
	conf_site_free(&s->conf);
}

const struct site_tier *
site_tier(const struct site *s, const struct limits *l)
{
	for (size_t i = 0; i < s->n_tiers; i++) {
		const struct limits *t = &s->tiers[i].limits;

		if (l->timeout_ms <= t->timeout_ms &&
		    l->memory_bytes <= t->memory_bytes &&
		    l->output_bytes <= t->output_bytes &&
		    l->work_bytes <= t->work_bytes)
			return &s->tiers[i];
	}
	return NULL;
}

const struct conf_runtime *
site_runtime(const struct site *s, const char *name)
{
	return site_tiers_word(s->conf.runtimes, name)
		   ? conf_runtime(s->base, name)
		   : NULL;
}

const struct site_tier *
site_flat(const struct site *s, const char *name)
{
	for (size_t i = 0; i < s->n_flat; i++)
		if (strcmp(s->flat[i].name, name) == 0)
			return &s->flat[i];
	return NULL;
}

bool
site_route(const struct site *s, const char *path)
{
	return site_tiers_word(s->conf.routes, path);
}

size_t
site_requirements(struct x402_requirement out[ACCEPT_MAX], const struct site *s,
    const struct site_tier *t)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_accepts; i++)
		if (accept_requirement(
			&out[n], &s->accepts[i], t->price_micros))
			n++;
	return n;
}

size_t
site_requirements_all(struct x402_requirement out[ACCEPT_MAX],
    const struct site *s, const struct site_tier *t)
{
	for (size_t i = 0; i < s->n_accepts; i++) {
		(void)accept_requirement(
		    &out[i], &s->accepts[i], t->price_micros);
		out[i].not_v1 = false;
		out[i].not_v2 = false;
	}
	return s->n_accepts;
}

void
site_resource(struct x402_resource *out, char *url, const struct site *s,
    const char *path)
{
	snprintf(url, SITE_URL, "%s%s", s->conf.public_url, path);
	out->url = url;
	out->description = s->conf.description;
	out->service_name = s->conf.name;
	out->output_schema = NULL;
}
