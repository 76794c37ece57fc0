#include "web/site.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "pay/price.h"

#define SITES_MAX 256 /* locations are written by the operator: few */
#define KEY_BYTES (64u << 10)

struct entry {
	char *key; /* the TOLLBOX_* parameters it was made from */
	size_t key_len;
	struct site site;
};

struct sites {
	const struct conf *conf;
	const struct keyring *keys;
	pthread_mutex_t lock;
	struct entry *entries[SITES_MAX]; /* fixed addresses: they are lent */
	size_t n;
	struct facilitator *facilitators[CONF_FACILITATORS];
	bool watched;
};

struct facilitator *
sites_facilitator(struct sites *s, const char *name)
{
	const struct conf_facilitator *c = conf_facilitator(s->conf, name);

	return c == NULL ? NULL : s->facilitators[c - s->conf->facilitators];
}

static bool
word_in(char *const *words, const char *name)
{
	if (words == NULL)
		return true;
	for (size_t i = 0; words[i] != NULL; i++)
		if (strcmp(words[i], name) == 0)
			return true;
	return false;
}

/* The location's own price for a tier, if it has one. */
static enum status
own_price(uint64_t *micros, const struct conf_site *c, const char *tier,
    struct fault *f)
{
	size_t n = strlen(tier);

	for (size_t i = 0; c->prices != NULL && c->prices[i] != NULL; i++) {
		const char *w = c->prices[i];

		if (strncmp(w, tier, n) != 0 || w[n] != '=')
			continue;
		if (conf_price(micros, w + n + 1) != ST_OK)
			return fault_set(
			    f, ST_FORMAT, "prices: \"%s\" holds no price", w);
		return ST_OK;
	}
	return ST_OK;
}

/* Nothing is rounded, in no asset. */
static enum status
check_price(const struct site *s, const struct site_tier *t, struct fault *f)
{
	struct u256 amount;

	for (size_t i = 0; i < s->n_accepts; i++)
		if (price_atomic(&amount, t->price_micros,
			s->accepts[i].decimals) != ST_OK)
			return fault_set(f, ST_FORMAT,
			    "tier %s: its price is no whole number of atomic "
			    "units with %u decimals",
			    t->name, s->accepts[i].decimals);
	return ST_OK;
}

static enum status
add_tier(struct site *s, const struct conf_tier *t, struct fault *f)
{
	struct site_tier *n = &s->tiers[s->n_tiers];
	size_t at = s->n_tiers;
	enum status st;

	n->name = t->name;
	n->price_micros = t->price_micros;
	n->limits = t->limits;
	st = own_price(&n->price_micros, &s->conf, t->name, f);
	if (st == ST_OK)
		st = check_price(s, n, f);
	if (st != ST_OK)
		return st;
	if (t->limits.timeout_ms > s->max.timeout_ms)
		s->max.timeout_ms = t->limits.timeout_ms;
	if (t->limits.memory_bytes > s->max.memory_bytes)
		s->max.memory_bytes = t->limits.memory_bytes;
	if (t->limits.output_bytes > s->max.output_bytes)
		s->max.output_bytes = t->limits.output_bytes;
	if (t->limits.work_bytes > s->max.work_bytes)
		s->max.work_bytes = t->limits.work_bytes;
	s->n_tiers++;
	/* Keep them by price: own prices may have changed the order. */
	while (at > 0 &&
	       s->tiers[at - 1].price_micros > s->tiers[at].price_micros) {
		struct site_tier swap = s->tiers[at];

		s->tiers[at] = s->tiers[at - 1];
		s->tiers[at - 1] = swap;
		at--;
	}
	return ST_OK;
}

static enum status
find_facilitator(struct facilitator **out, struct sites *all, const char *name,
    struct fault *f)
{
	if (name == NULL)
		return fault_set(f, ST_FORMAT, "facilitator is not set");
	*out = sites_facilitator(all, name);
	if (*out == NULL)
		return fault_set(f, ST_FORMAT,
		    "facilitator \"%s\": no section [facilitator:%s]", name,
		    name);
	return ST_OK;
}

/* One thing accepted; what its settings leave open is the site's. */
static enum status
add_accept(struct sites *all, struct site *s, const struct conf_asset *c,
    struct fault *f)
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
add_accepts(struct sites *all, struct site *s, struct fault *f)
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

/* What was paid when more was offered here is served all the same. A tier that
 * could not be offered here is no reason to offer none. */
static void
build_whole(struct site *s)
{
	const struct conf *c = s->base;
	struct site *w = s->conf.tiers == NULL ? NULL : malloc(sizeof(*w));

	if (w == NULL)
		return;
	*w = *s;
	w->n_tiers = 0;
	for (size_t i = 0; i < c->n_tiers; i++)
		(void)add_tier(w, &c->tiers[i], NULL);
	s->whole = w;
}

/* Finish a site whose conf is resolved. */
static enum status
build(struct sites *all, struct site *s, struct fault *f)
{
	const struct conf *c = all->conf;
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
	for (size_t i = 0; i < c->n_tiers; i++) {
		if (!word_in(s->conf.tiers, c->tiers[i].name))
			continue;
		st = add_tier(s, &c->tiers[i], f);
		if (st != ST_OK)
			return st;
	}
	if (s->n_tiers == 0)
		return fault_set(f, ST_FORMAT, "no tier is offered");
	build_whole(s);
	return ST_OK;
}

struct collect {
	struct buf key;
	bool unknown;
	char name[128];
};

static void
collect_param(void *ctx, const char *name, const char *value)
{
	struct collect *k = ctx;

	if (!conf_site_param(name) && !k->unknown) {
		k->unknown = true;
		snprintf(k->name, sizeof(k->name), "%s", name);
	}
	buf_adds(&k->key, name);
	buf_addc(&k->key, '\0');
	buf_adds(&k->key, value);
	buf_addc(&k->key, '\0');
}

static const char *
get_param(void *ctx, const char *name)
{
	/* An empty value stays one, and is an error: a web server's variable
	 * that came out empty must not send the money to the default payee. */
	return http_param(ctx, name);
}

static const char *
get_none(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return NULL;
}

static void
log_lacks(const struct site *s)
{
	char lack[256];

	for (size_t i = 0; i < s->n_accepts; i++) {
		const struct accept *a = &s->accepts[i];

		accept_lack(lack, a);
		if (lack[0] != '\0')
			log_err("%s takes no payment in %s on %s: %s",
			    s->conf.public_url,
			    a->name != NULL ? a->name : a->asset, a->network,
			    lack);
	}
}

/* Make and remember a site. The lock is held. */
static enum status
site_add(struct entry **out, struct sites *s, const struct buf *key,
    const char *unknown, const char *(*get)(void *, const char *), void *ctx)
{
	struct entry *e;
	struct fault *f;
	enum status st;

	if (s->n == SITES_MAX)
		return ST_TOO_BIG;
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return ST_NOMEM;
	e->key = malloc(key->len + 1);
	if (e->key == NULL) {
		free(e);
		return ST_NOMEM;
	}
	if (key->len > 0)
		memcpy(e->key, key->data, key->len);
	e->key[key->len] = '\0';
	e->key_len = key->len;
	e->site.base = s->conf;
	f = &e->site.broken;
	if (unknown != NULL)
		st = fault_set(f, ST_FORMAT,
		    "%s cannot be set by a location (or is no setting)",
		    unknown);
	else
		st = conf_site_resolve(&e->site.conf, s->conf, get, ctx, f);
	if (st == ST_OK)
		st = build(s, &e->site, f);
	if (st != ST_OK) {
		e->site.broken.st = st;
		log_err("%s settings are wrong: %s",
		    key->len > 0 ? "a location's" : "the",
		    e->site.broken.message);
	}
	if (st == ST_OK && s->watched)
		log_lacks(&e->site);
	s->entries[s->n++] = e;
	*out = e;
	return ST_OK;
}

enum status
sites_of(const struct site **out, struct sites *s, const struct http_request *q)
{
	struct collect k = { .unknown = false };
	struct entry *found = NULL;
	struct http_request lent = *q;
	enum status st;

	*out = NULL;
	buf_init(&k.key, KEY_BYTES);
	http_params(q, "TOLLBOX_", collect_param, &k);
	st = buf_status(&k.key);
	if (st != ST_OK)
		goto out;
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n && found == NULL; i++) {
		struct entry *e = s->entries[i];

		if (e->key_len == k.key.len &&
		    memcmp(e->key, buf_cstr(&k.key), k.key.len) == 0)
			found = e;
	}
	st = ST_OK;
	if (found == NULL)
		st = site_add(&found, s, &k.key, k.unknown ? k.name : NULL,
		    get_param, &lent);
	pthread_mutex_unlock(&s->lock);
	if (st == ST_OK)
		*out = &found->site;
out:
	buf_free(&k.key);
	return st;
}

enum status
sites_default(const struct site **out, struct sites *s)
{
	struct entry *e = NULL;
	struct buf key;
	enum status st;

	*out = NULL;
	buf_init(&key, 1);
	pthread_mutex_lock(&s->lock);
	st = site_add(&e, s, &key, NULL, get_none, NULL);
	pthread_mutex_unlock(&s->lock);
	if (st == ST_OK)
		*out = &e->site;
	return st;
}

enum status
sites_open(struct sites **out, const struct conf *c, const struct keyring *keys)
{
	struct sites *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return ST_NOMEM;
	s->conf = c;
	s->keys = keys;
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < c->n_facilitators; i++) {
		enum status st =
		    facilitator_open(&s->facilitators[i], &c->facilitators[i]);

		if (st != ST_OK) {
			sites_close(s);
			return st;
		}
	}
	*out = s;
	return ST_OK;
}

enum status
sites_watch(struct sites *all, const struct site *s, uint64_t wait_ms)
{
	int64_t deadline = io_now_ms() + (int64_t)wait_ms;

	for (size_t i = 0; i < all->conf->n_facilitators; i++) {
		enum status st = facilitator_watch(all->facilitators[i]);

		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; i < all->conf->n_facilitators; i++)
		facilitator_await(all->facilitators[i], deadline);
	log_lacks(s);
	pthread_mutex_lock(&all->lock);
	all->watched = true;
	pthread_mutex_unlock(&all->lock);
	return ST_OK;
}

void
sites_close(struct sites *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->entries[i]->site.whole);
		conf_site_free(&s->entries[i]->site.conf);
		free(s->entries[i]->key);
		free(s->entries[i]);
	}
	for (size_t i = 0; i < CONF_FACILITATORS; i++)
		facilitator_close(s->facilitators[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
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
	return word_in(s->conf.runtimes, name) ? conf_runtime(s->base, name)
					       : NULL;
}

bool
site_route(const struct site *s, const char *path)
{
	return word_in(s->conf.routes, path);
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
}
