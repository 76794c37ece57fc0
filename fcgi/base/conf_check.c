#include "base/conf_check.h"

#include <string.h>

#include "base/conf_assets.h"
#include "base/conf_form.h"
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
	for (size_t i = 0; i < c->n_facilitators; i++)
		if (c->facilitators[i].url == NULL)
			return fault_set(f, ST_FORMAT,
			    "[facilitator:%s] url is not set",
			    c->facilitators[i].name);
	for (size_t i = 0; i < c->n_tiers; i++)
		if (c->tiers[i].price_micros == 0)
			return fault_set(f, ST_FORMAT,
			    "[tier:%s] price is not set", c->tiers[i].name);
	for (size_t i = 0; i < c->n_runtimes; i++) {
		st = check_runtime(&c->runtimes[i], f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

/* Does text begin with the first len bytes of word, and end there? */
static bool
same(const char *text, const char *word, size_t len)
{
	return strlen(text) == len && strncmp(text, word, len) == 0;
}

static bool
known_tier(const struct conf *c, const char *word, size_t len)
{
	for (size_t i = 0; i < c->n_tiers; i++)
		if (same(c->tiers[i].name, word, len))
			return true;
	for (size_t i = 0;
	     c->tiers_dropped != NULL && c->tiers_dropped[i] != NULL; i++)
		if (same(c->tiers_dropped[i], word, len))
			return true;
	return false;
}

static bool
known_runtime(const struct conf *c, const char *word, size_t len)
{
	for (size_t i = 0; i < c->n_runtimes; i++)
		if (same(c->runtimes[i].name, word, len))
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

/* micros * 10^decimals / 10^6 must be whole: nothing is ever rounded. */
static bool
whole(uint64_t micros, uint64_t decimals)
{
	uint64_t unit = 1;

	for (uint64_t d = decimals; d < 6; d++)
		unit *= 10;
	return micros % unit == 0;
}

/* Is the tier sold at this site for the price of its own section? */
static bool
sold_as_is(const struct conf_site *s, const char *tier)
{
	bool offered = s->tiers == NULL;

	for (size_t i = 0; s->tiers != NULL && s->tiers[i] != NULL; i++)
		offered = offered || strcmp(s->tiers[i], tier) == 0;
	for (size_t i = 0; s->prices != NULL && s->prices[i] != NULL; i++)
		if (same(tier, s->prices[i], strcspn(s->prices[i], "=")))
			return false;
	return offered;
}

static enum status
check_prices(const struct conf *c, const struct conf_site *s, struct fault *f)
{
	for (size_t i = 0; i < c->n_tiers; i++)
		if (sold_as_is(s, c->tiers[i].name) &&
		    !whole(c->tiers[i].price_micros, s->asset_decimals))
			return fault_set(f, ST_FORMAT,
			    "[tier:%s] price is no whole number of the asset's "
			    "smallest units (asset_decimals, "
			    "TOLLBOX_ASSET_DECIMALS)",
			    c->tiers[i].name);
	for (size_t i = 0; s->prices != NULL && s->prices[i] != NULL; i++) {
		const char *price = strchr(s->prices[i], '=');
		uint64_t micros;

		if (price == NULL || conf_price(&micros, price + 1) != ST_OK)
			return fault_set(f, ST_FORMAT,
			    "[site] prices (TOLLBOX_PRICES): \"%s\" is no "
			    "TIER=PRICE",
			    s->prices[i]);
		if (!whole(micros, s->asset_decimals))
			return fault_set(f, ST_FORMAT,
			    "[site] prices (TOLLBOX_PRICES): \"%s\" is no "
			    "whole number of the asset's smallest units "
			    "(asset_decimals, TOLLBOX_ASSET_DECIMALS)",
			    s->prices[i]);
	}
	return ST_OK;
}

static enum status
check_asset(const struct conf_site *s, struct fault *f)
{
	const struct conf_assets_row *a;

	if (s->network == NULL)
		return ST_OK;
	if (strncmp(s->network, "eip155:", 7) == 0) {
		if (s->pay_to != NULL && !conf_form_evm_address(s->pay_to))
			return fault_set(f, ST_FORMAT,
			    "[site] pay_to (TOLLBOX_PAY_TO) must be 0x and 40 "
			    "hex digits on %s",
			    s->network);
		if (s->asset != NULL && !conf_form_evm_address(s->asset))
			return fault_set(f, ST_FORMAT,
			    "[site] asset (TOLLBOX_ASSET) must be 0x and 40 "
			    "hex digits on %s",
			    s->network);
	}
	if (s->asset == NULL)
		return ST_OK;
	a = conf_assets_find(s->network, s->asset);
	if (a == NULL)
		return ST_OK;
	if (s->asset_name != NULL && strcmp(s->asset_name, a->name) != 0)
		return fault_set(f, ST_FORMAT,
		    "[site] asset_name (TOLLBOX_ASSET_NAME) must be \"%s\" for "
		    "this asset on %s, not \"%s\": no signature would be right",
		    a->name, s->network, s->asset_name);
	if (s->asset_version != NULL &&
	    strcmp(s->asset_version, a->version) != 0)
		return fault_set(f, ST_FORMAT,
		    "[site] asset_version (TOLLBOX_ASSET_VERSION) must be "
		    "\"%s\" for this asset on %s, not \"%s\": no signature "
		    "would be right",
		    a->version, s->network, s->asset_version);
	if (s->asset_decimals != a->decimals)
		return fault_set(f, ST_FORMAT,
		    "[site] asset_decimals (TOLLBOX_ASSET_DECIMALS) must be "
		    "%u for this asset on %s",
		    a->decimals, s->network);
	return ST_OK;
}

enum status
conf_check_site(
    const struct conf *c, const struct conf_site *s, struct fault *f)
{
	enum status st;

	st = check_asset(s, f);
	if (st != ST_OK)
		return st;
	/* The default name is good without a section until something serves:
	 * conf_check_complete() asks for it. */
	if (conf_facilitator(c, s->facilitator) == NULL &&
	    (c->n_facilitators > 0 || strcmp(s->facilitator, "default") != 0))
		return fault_set(f, ST_FORMAT,
		    "[site] facilitator (TOLLBOX_FACILITATOR): there is no "
		    "[facilitator:%s]",
		    s->facilitator);
	st = check_list(c, s->prices, "prices (TOLLBOX_PRICES)", known_tier, f);
	if (st != ST_OK)
		return st;
	st = check_list(c, s->tiers, "tiers (TOLLBOX_TIERS)", known_tier, f);
	if (st != ST_OK)
		return st;
	st = check_list(c, s->routes, "routes (TOLLBOX_ROUTES)", NULL, f);
	if (st != ST_OK)
		return st;
	st = check_list(
	    c, s->runtimes, "runtimes (TOLLBOX_RUNTIMES)", known_runtime, f);
	if (st != ST_OK)
		return st;
	return check_prices(c, s, f);
}

enum status
conf_check_complete(const struct conf *c, struct fault *f)
{
	const struct {
		const char *key;
		const char *value;
	} needed[] = {
		{ "public_url", c->site.public_url },
		{ "network", c->site.network },
		{ "asset", c->site.asset },
		{ "asset_name", c->site.asset_name },
		{ "asset_version", c->site.asset_version },
		{ "pay_to", c->site.pay_to },
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (needed[i].value == NULL)
			return fault_set(f, ST_FORMAT,
			    "[site] %s (%s) is not set", needed[i].key,
			    conf_table_key(CONF_TABLE_SITE, needed[i].key)
				->env);
	if (conf_facilitator(c, c->site.facilitator) == NULL)
		return fault_set(f, ST_FORMAT,
		    "[facilitator:%s] url (TOLLBOX_FACILITATOR_URL) is not set",
		    c->site.facilitator);
	if (c->n_runtimes == 0)
		return fault_set(f, ST_FORMAT,
		    "[sandbox] runtimes_dir (TOLLBOX_RUNTIMES_DIR): no runtime "
		    "in %s",
		    c->runtimes_dir);
	return ST_OK;
}
