#include "base/conf_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/conf_assets.h"
#include "base/conf_dialects.h"
#include "base/conf_form.h"
#include "base/conf_prices.h"
#include "base/conf_table.h"

static enum status
check_runtime(const struct conf_runtime *r, struct fault *f)
{
	bool entry = false;

	if (r->entry == NULL)
		return fault_set(
		    f, ST_FORMAT, "[runtime:%s] entry is not set", r->name);
	if (r->command == NULL)
		return fault_set(
		    f, ST_FORMAT, "[runtime:%s] command is not set", r->name);
	if (r->command[0][0] != '/')
		return fault_set(f, ST_FORMAT,
		    "[runtime:%s] command must begin with an absolute path",
		    r->name);
	for (size_t i = 0; r->command[i] != NULL; i++)
		entry = entry || strstr(r->command[i], "{entry}") != NULL;
	if (!entry)
		return fault_set(f, ST_FORMAT,
		    "[runtime:%s] command must hold {entry}", r->name);
	return ST_OK;
}

/* What a setting is called: [site]'s have names in the environment too. */
struct spot {
	const char *section; /* "[site]", "[asset:main]" */
	const char *pay_to, *asset, *name, *version, *decimals;
};

/* The token of an EVM network: addresses, and what is known of its domain. */
static enum status
check_token(const struct conf_asset *a, const struct spot *at, struct fault *f)
{
	const struct conf_assets_row *row;

	if (a->network == NULL)
		return ST_OK;
	if (strncmp(a->network, "eip155:", 7) == 0) {
		if (a->pay_to != NULL && !conf_form_evm_address(a->pay_to))
			return fault_set(f, ST_FORMAT,
			    "%s %s must be 0x and 40 hex digits on %s",
			    at->section, at->pay_to, a->network);
		if (a->asset != NULL && !conf_form_evm_address(a->asset))
			return fault_set(f, ST_FORMAT,
			    "%s %s must be 0x and 40 hex digits on %s",
			    at->section, at->asset, a->network);
	}
	if (a->asset == NULL)
		return ST_OK;
	row = conf_assets_find(a->network, a->asset);
	if (row == NULL)
		return ST_OK;
	if (a->asset_name != NULL && strcmp(a->asset_name, row->name) != 0)
		return fault_set(f, ST_FORMAT,
		    "%s %s must be \"%s\" for this asset on %s, not \"%s\": "
		    "no signature would be right",
		    at->section, at->name, row->name, a->network,
		    a->asset_name);
	if (a->asset_version != NULL &&
	    strcmp(a->asset_version, row->version) != 0)
		return fault_set(f, ST_FORMAT,
		    "%s %s must be \"%s\" for this asset on %s, not \"%s\": "
		    "no signature would be right",
		    at->section, at->version, row->version, a->network,
		    a->asset_version);
	if (a->asset_decimals != row->decimals)
		return fault_set(f, ST_FORMAT,
		    "%s %s must be %u for this asset on %s", at->section,
		    at->decimals, row->decimals, a->network);
	return ST_OK;
}

static enum status
check_asset_section(
    const struct conf *c, const struct conf_asset *a, struct fault *f)
{
	char section[CONF_NAME + 16];
	struct spot at = { section, "pay_to", "asset", "asset_name",
		"asset_version", "asset_decimals" };

	snprintf(section, sizeof(section), "[asset:%s]", a->name);
	if (a->network == NULL || a->asset == NULL)
		return fault_set(f, ST_FORMAT, "%s %s is not set", section,
		    a->network == NULL ? "network" : "asset");
	if (strncmp(a->network, "eip155:", 7) == 0 &&
	    (a->asset_name == NULL || a->asset_version == NULL))
		return fault_set(f, ST_FORMAT, "%s %s is not set", section,
		    a->asset_name == NULL ? "asset_name" : "asset_version");
	if (a->facilitator != NULL &&
	    conf_facilitator(c, a->facilitator) == NULL)
		return fault_set(f, ST_FORMAT,
		    "%s facilitator: there is no [facilitator:%s]", section,
		    a->facilitator);
	return check_token(a, &at, f);
}

static enum status
check_facilitator(
    const struct conf *c, const struct conf_facilitator *n, struct fault *f)
{
	if (n->url == NULL)
		return fault_set(
		    f, ST_FORMAT, "[facilitator:%s] url is not set", n->name);
	if (n->auth_header_file != NULL && n->cdp_key_file != NULL)
		return fault_set(f, ST_FORMAT,
		    "[facilitator:%s] has both auth_header_file and "
		    "cdp_key_file: one of them",
		    n->name);
	if ((n->auth_header_file != NULL || n->cdp_key_file != NULL) &&
	    !conf_private_url(n->url))
		return fault_set(f, ST_FORMAT,
		    "[facilitator:%s] url must be https:// where there is an "
		    "auth_header_file or a cdp_key_file: the secret would be "
		    "sent in clear",
		    n->name);
	if (n->fallback != NULL &&
	    (strcmp(n->fallback, n->name) == 0 ||
		conf_facilitator(c, n->fallback) == NULL))
		return fault_set(f, ST_FORMAT,
		    "[facilitator:%s] fallback: there is no other "
		    "[facilitator:%s]",
		    n->name, n->fallback);
	return ST_OK;
}

/* A network is read in one way; without one of its own it is the site's. */
static enum status
check_chain(const struct conf *c, size_t i, struct fault *f)
{
	const struct conf_chain *n = &c->chains[i];
	const char *network = conf_chain_network(c, n);

	if (n->rpc_url == NULL)
		return fault_set(
		    f, ST_FORMAT, "[chain:%s] rpc_url is not set", n->name);
	if (network != NULL && strncmp(network, "eip155:", 7) != 0)
		return fault_set(f, ST_FORMAT,
		    "[chain:%s] network: only EVM networks (eip155:…) can be "
		    "read",
		    n->name);
	for (size_t j = 0; j < i && network != NULL; j++) {
		const char *other = conf_chain_network(c, &c->chains[j]);

		if (other != NULL && strcmp(other, network) == 0)
			return fault_set(f, ST_FORMAT,
			    "[chain:%s] network: [chain:%s] is %s too", n->name,
			    c->chains[j].name, network);
	}
	return ST_OK;
}

enum status
conf_check_service(const struct conf *c, struct fault *f)
{
	enum status st;

	if (c->listen_tcp != NULL && c->listen_tcp_peers == NULL)
		return fault_set(f, ST_FORMAT,
		    "[service] listen_tcp needs listen_tcp_peers "
		    "(TOLLBOX_LISTEN_TCP_PEERS): who may connect");
	if (strcmp(c->user, c->run_user) == 0)
		return fault_set(f, ST_FORMAT,
		    "[service] user and run_user must be two: programs run as "
		    "run_user, payments and keys are user's");
	for (size_t i = 0; i < c->n_facilitators; i++) {
		st = check_facilitator(c, &c->facilitators[i], f);
		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; i < c->n_assets; i++) {
		st = check_asset_section(c, &c->assets[i], f);
		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; i < c->n_chains; i++) {
		st = check_chain(c, i, f);
		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; i < c->n_tiers; i++)
		if (c->tiers[i].price_micros == 0)
			return fault_set(f, ST_FORMAT,
			    "[tier:%s] price is not set", c->tiers[i].name);
	st = conf_dialects_check(c, f);
	if (st != ST_OK)
		return st;
	for (size_t i = 0; i < c->n_runtimes; i++) {
		st = check_runtime(&c->runtimes[i], f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

static bool
known_runtime(const struct conf *c, const char *word, size_t len)
{
	for (size_t i = 0; i < c->n_runtimes; i++)
		if (conf_prices_same(c->runtimes[i].name, word, len))
			return true;
	return false;
}

/* The list's words, up to a '=', must be known (if known is asked) and each
 * there once. key is for f: "tiers (TOLLBOX_TIERS)". */
static enum status
check_list(const struct conf *c, char *const *words, const char *key,
    bool (*known)(const struct conf *c, const char *word, size_t len),
    struct fault *f)
{
	for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
		size_t len = strcspn(words[i], "=");

		if (known != NULL && !known(c, words[i], len))
			return fault_set(f, ST_FORMAT,
			    "[site] %s: there is no \"%.*s\"", key, (int)len,
			    words[i]);
		for (size_t j = 0; j < i; j++)
			if (strcspn(words[j], "=") == len &&
			    strncmp(words[i], words[j], len) == 0)
				return fault_set(f, ST_FORMAT,
				    "[site] %s: \"%.*s\" is there twice", key,
				    (int)len, words[i]);
	}
	return ST_OK;
}

static bool
known_asset(const struct conf *c, const char *word, size_t len)
{
	for (size_t i = 0; i < c->n_assets; i++)
		if (conf_prices_same(c->assets[i].name, word, len))
			return true;
	return false;
}

/* Two of one token would be one offer twice. */
static enum status
check_twins(const struct conf *c, char *const *accepts, struct fault *f)
{
	for (size_t i = 0; accepts[i] != NULL; i++)
		for (size_t j = 0; j < i; j++) {
			const struct conf_asset *a = conf_asset(c, accepts[i]);
			const struct conf_asset *b = conf_asset(c, accepts[j]);

			if (a != NULL && b != NULL &&
			    strcmp(a->network, b->network) == 0 &&
			    strcasecmp(a->asset, b->asset) == 0)
				return fault_set(f, ST_FORMAT,
				    "[site] accepts (TOLLBOX_ACCEPTS): \"%s\" "
				    "and \"%s\" are one token",
				    accepts[j], accepts[i]);
		}
	return ST_OK;
}

static enum status
check_accepts(const struct conf *c, const struct conf_site *s, struct fault *f)
{
	enum status st = check_list(
	    c, s->accepts, "accepts (TOLLBOX_ACCEPTS)", known_asset, f);

	if (st != ST_OK)
		return st;
	if (s->network != NULL || s->asset != NULL || s->asset_name != NULL ||
	    s->asset_version != NULL)
		return fault_set(f, ST_FORMAT,
		    "[site] has both accepts (TOLLBOX_ACCEPTS) and an asset of "
		    "its own (network, asset, asset_name, asset_version): one "
		    "of the two");
	st = check_twins(c, s->accepts, f);
	for (size_t i = 0; st == ST_OK && s->accepts[i] != NULL; i++) {
		const struct conf_asset *a = conf_asset(c, s->accepts[i]);
		char key[CONF_NAME + 32];

		if (a == NULL)
			return ST_BUG;
		snprintf(
		    key, sizeof(key), "asset_decimals of [asset:%s]", a->name);
		st = conf_prices_check(c, s, a->asset_decimals, key, f);
	}
	return st;
}

/* The simple form: one asset. */
static enum status
check_own_asset(
    const struct conf *c, const struct conf_site *s, struct fault *f)
{
	static const struct spot at = { "[site]", "pay_to (TOLLBOX_PAY_TO)",
		"asset (TOLLBOX_ASSET)", "asset_name (TOLLBOX_ASSET_NAME)",
		"asset_version (TOLLBOX_ASSET_VERSION)",
		"asset_decimals (TOLLBOX_ASSET_DECIMALS)" };
	struct conf_asset a = { .network = s->network,
		.asset = s->asset,
		.asset_name = s->asset_name,
		.asset_version = s->asset_version,
		.asset_decimals = s->asset_decimals,
		.pay_to = s->pay_to };
	enum status st = check_token(&a, &at, f);

	if (st != ST_OK)
		return st;
	return conf_prices_check(c, s, s->asset_decimals,
	    "asset_decimals, TOLLBOX_ASSET_DECIMALS", f);
}

/* Does anything that is accepted go by the site's own facilitator? */
static bool
needs_facilitator(const struct conf *c, const struct conf_site *s)
{
	for (size_t i = 0; s->accepts != NULL && s->accepts[i] != NULL; i++) {
		const struct conf_asset *a = conf_asset(c, s->accepts[i]);

		if (a != NULL && a->facilitator == NULL)
			return true;
	}
	return s->accepts == NULL;
}

enum status
conf_check_site(
    const struct conf *c, const struct conf_site *s, struct fault *f)
{
	enum status st;

	/* The default name is good without a section until something serves:
	 * conf_check_complete() asks for it. */
	if (needs_facilitator(c, s) &&
	    conf_facilitator(c, s->facilitator) == NULL &&
	    (c->n_facilitators > 0 || strcmp(s->facilitator, "default") != 0))
		return fault_set(f, ST_FORMAT,
		    "[site] facilitator (TOLLBOX_FACILITATOR): there is no "
		    "[facilitator:%s]",
		    s->facilitator);
	st = check_list(
	    c, s->prices, "prices (TOLLBOX_PRICES)", conf_prices_known, f);
	if (st != ST_OK)
		return st;
	st = check_list(
	    c, s->tiers, "tiers (TOLLBOX_TIERS)", conf_prices_tier, f);
	if (st != ST_OK)
		return st;
	st = check_list(c, s->routes, "routes (TOLLBOX_ROUTES)", NULL, f);
	if (st != ST_OK)
		return st;
	st = check_list(
	    c, s->runtimes, "runtimes (TOLLBOX_RUNTIMES)", known_runtime, f);
	if (st != ST_OK)
		return st;
	return s->accepts != NULL ? check_accepts(c, s, f)
				  : check_own_asset(c, s, f);
}

/* What is not set, all of it, so that nobody has to mend one after the other.
 */
struct lack {
	size_t n;
	char text[320];
};

static void lacks(struct lack *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
lacks(struct lack *l, const char *fmt, ...)
{
	size_t at = strlen(l->text);
	va_list ap;

	va_start(ap, fmt);
	if (l->n++ > 0 && at + 2 < sizeof(l->text)) {
		memcpy(l->text + at, ", ", 3);
		at += 2;
	}
	(void)vsnprintf(l->text + at, sizeof(l->text) - at, fmt, ap);
	va_end(ap);
}

static void
lacks_key(struct lack *l, const void *value, const char *key)
{
	if (value == NULL)
		lacks(l, "[site] %s (%s)", key,
		    conf_table_key(CONF_TABLE_SITE, key)->env);
}

/* Where does the money of each accepted asset go, and who settles it? */
static void
complete_accepts(
    struct lack *l, const struct conf *c, const struct conf_site *s)
{
	for (size_t i = 0; s->accepts[i] != NULL; i++) {
		const struct conf_asset *a = conf_asset(c, s->accepts[i]);

		if (a == NULL)
			continue; /* conf_check_site() has refused it */
		if (a->pay_to == NULL && s->pay_to == NULL)
			lacks(l, "[asset:%s] pay_to", a->name);
		if (a->facilitator == NULL &&
		    conf_facilitator(c, s->facilitator) == NULL)
			lacks(l, "[asset:%s] facilitator", a->name);
	}
}

static void
complete_own_asset(
    struct lack *l, const struct conf *c, const struct conf_site *s)
{
	/* Only a typed signature is over them. */
	bool typed =
	    s->network == NULL || strncmp(s->network, "eip155:", 7) == 0;

	lacks_key(l, s->network, "network");
	lacks_key(l, s->asset, "asset");
	if (typed)
		lacks_key(l, s->asset_name, "asset_name");
	if (typed)
		lacks_key(l, s->asset_version, "asset_version");
	lacks_key(l, s->pay_to, "pay_to");
	if (conf_facilitator(c, s->facilitator) == NULL)
		lacks(l, "[facilitator:%s] url (TOLLBOX_FACILITATOR_URL)",
		    s->facilitator);
}

enum status
conf_check_complete(const struct conf *c, struct fault *f)
{
	struct lack l = { .n = 0 };

	lacks_key(&l, c->site.public_url, "public_url");
	if (c->site.accepts != NULL)
		complete_accepts(&l, c, &c->site);
	else
		complete_own_asset(&l, c, &c->site);
	if (l.n > 0)
		return fault_set(f, ST_FORMAT, "%s %s not set", l.text,
		    l.n == 1 ? "is" : "are");
	if (c->n_runtimes == 0)
		return fault_set(f, ST_FORMAT,
		    "[sandbox] runtimes_dir (TOLLBOX_RUNTIMES_DIR): no runtime "
		    "in %s",
		    c->runtimes_dir);
	return ST_OK;
}
