#include "base/conf_table.h"

#include <string.h>

#include "base/conf_form.h"

/* Everyone who loops over the names relies on this. */
_Static_assert(offsetof(struct conf_facilitator, name) == 0 &&
		   offsetof(struct conf_asset, name) == 0 &&
		   offsetof(struct conf_chain, name) == 0 &&
		   offsetof(struct conf_tier, name) == 0 &&
		   offsetof(struct conf_dialect, name) == 0 &&
		   offsetof(struct conf_runtime, name) == 0,
    "a named section's struct begins with its name");
_Static_assert(CONF_RUNTIMES <= CONF_TABLE_INSTANCES_MAX, "origins' room");
_Static_assert(CONF_TIERS <= CONF_TABLE_INSTANCES_MAX, "origins' room");
_Static_assert(CONF_FACILITATORS <= CONF_TABLE_INSTANCES_MAX, "origins' room");
_Static_assert(CONF_ASSETS <= CONF_TABLE_INSTANCES_MAX, "origins' room");
_Static_assert(CONF_CHAINS <= CONF_TABLE_INSTANCES_MAX, "origins' room");

#define GATE CONF_TABLE_GATE
#define BOXER CONF_TABLE_BOXER
#define BOTH (CONF_TABLE_GATE | CONF_TABLE_BOXER)
#define LOCATION (CONF_TABLE_GATE | CONF_TABLE_LOCATION)
#define MIB UINT64_C(1048576)
#define GIB UINT64_C(1073741824)
#define SERVICE(m) offsetof(struct conf, m)
#define SITE(m) offsetof(struct conf_site, m)
#define FACILITATOR(m) offsetof(struct conf_facilitator, m)
#define ASSET(m) offsetof(struct conf_asset, m)
#define CHAIN(m) offsetof(struct conf_chain, m)
#define TIER(m) offsetof(struct conf_tier, m)
#define DIALECT(m) offsetof(struct conf_dialect, m)
#define RUNTIME(m) offsetof(struct conf_runtime, m)

/* key, section, type, place, flags, environment, shipped, least, most, form */
const struct conf_table_key conf_table_keys[] = {
	{ "name", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(name), BOTH,
	    "TOLLBOX_NAME", "tollbox", 0, 0, conf_form_label },
	{ "listen", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(listen), 0,
	    "TOLLBOX_LISTEN", "/run/tollbox/tollbox.sock", 0, 0,
	    conf_form_socket },
	{ "listen_tcp", CONF_TABLE_SERVICE, CONF_TABLE_TEXT,
	    SERVICE(listen_tcp), 0, "TOLLBOX_LISTEN_TCP", NULL, 0, 0,
	    conf_form_address_port },
	{ "listen_tcp_peers", CONF_TABLE_SERVICE, CONF_TABLE_TEXT,
	    SERVICE(listen_tcp_peers), 0, "TOLLBOX_LISTEN_TCP_PEERS", NULL, 0,
	    0, conf_form_addresses },
	{ "socket_group", CONF_TABLE_SERVICE, CONF_TABLE_TEXT,
	    SERVICE(socket_group), 0, "TOLLBOX_SOCKET_GROUP", "www-data", 0, 0,
	    conf_form_account },
	{ "user", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(user), 0,
	    "TOLLBOX_USER", "tollbox", 0, 0, conf_form_account },
	{ "run_user", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(run_user),
	    BOXER, "TOLLBOX_RUN_USER", "tollbox-run", 0, 0, conf_form_account },
	{ "state_dir", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(state_dir),
	    GATE, "TOLLBOX_STATE_DIR", "/var/lib/tollbox", 0, 0,
	    conf_form_path },
	{ "store", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(store), GATE,
	    "TOLLBOX_STORE", NULL, 0, 0, conf_form_store },
	{ "log_level", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(log_level),
	    BOTH, "TOLLBOX_LOG_LEVEL", "info", 0, 0, conf_form_log_level },
	{ "log", CONF_TABLE_SERVICE, CONF_TABLE_TEXT, SERVICE(log), BOTH,
	    "TOLLBOX_LOG", "text", 0, 0, conf_form_log },
	{ "max_runs", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER, SERVICE(max_runs),
	    BOTH | CONF_TABLE_AUTO, "TOLLBOX_MAX_RUNS", "0", 1, 1024, NULL },
	{ "memory_bytes", CONF_TABLE_SERVICE, CONF_TABLE_BYTES,
	    SERVICE(memory_bytes), BOTH | CONF_TABLE_AUTO,
	    "TOLLBOX_MEMORY_BYTES", "0", 64 * MIB, 65536 * GIB, NULL },
	{ "queue_ms", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER, SERVICE(queue_ms),
	    BOTH, "TOLLBOX_QUEUE_MS", "10000", 0, 600000, NULL },
	{ "body_bytes", CONF_TABLE_SERVICE, CONF_TABLE_BYTES,
	    SERVICE(body_bytes), GATE, "TOLLBOX_BODY_BYTES", "256M",
	    LIMITS_BODY, 1024 * GIB, NULL },
	{ "answer_bytes", CONF_TABLE_SERVICE, CONF_TABLE_BYTES,
	    SERVICE(answer_bytes), GATE, "TOLLBOX_ANSWER_BYTES", "1G", 64 * MIB,
	    65536 * GIB, NULL },
	{ "drain_ms", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER, SERVICE(drain_ms),
	    BOTH, "TOLLBOX_DRAIN_MS", "330000", 0, 3600000, NULL },
	{ "offer_signing_key_file", CONF_TABLE_SERVICE, CONF_TABLE_TEXT,
	    SERVICE(offer_signing_key_file), 0,
	    "TOLLBOX_OFFER_SIGNING_KEY_FILE", NULL, 0, 0, conf_form_path },
	{ "offer_signing_key", CONF_TABLE_SERVICE, CONF_TABLE_TEXT,
	    SERVICE(offer_signing_key),
	    GATE | CONF_TABLE_SECRET | CONF_TABLE_INTERNAL, NULL, NULL, 0, 0,
	    conf_form_evm_key },
	{ "payer_rate", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER,
	    SERVICE(payer_rate), GATE, "TOLLBOX_PAYER_RATE", "600", 0, 1000000,
	    NULL },
	{ "payer_runs", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER,
	    SERVICE(payer_runs), GATE, "TOLLBOX_PAYER_RUNS", "64", 0, 1024,
	    NULL },
	{ "address_rate", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER,
	    SERVICE(address_rate), GATE, "TOLLBOX_ADDRESS_RATE", "1200", 0,
	    1000000, NULL },
	{ "verify_rate", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER,
	    SERVICE(verify_rate), GATE, "TOLLBOX_VERIFY_RATE", "120", 0,
	    1000000, NULL },
	{ "verify_calls", CONF_TABLE_SERVICE, CONF_TABLE_NUMBER,
	    SERVICE(verify_calls), GATE, "TOLLBOX_VERIFY_CALLS", "8", 0, 1024,
	    NULL },
	{ "trusted_proxies", CONF_TABLE_SERVICE, CONF_TABLE_WORDS,
	    SERVICE(trusted_proxies), GATE, "TOLLBOX_TRUSTED_PROXIES", NULL, 0,
	    0, conf_form_cidr },
	{ "tiers_dropped", CONF_TABLE_SERVICE, CONF_TABLE_WORDS,
	    SERVICE(tiers_dropped), GATE | CONF_TABLE_INTERNAL, NULL, NULL, 0,
	    0, conf_form_name },
	{ "runtimes_dropped", CONF_TABLE_SERVICE, CONF_TABLE_WORDS,
	    SERVICE(runtimes_dropped), CONF_TABLE_INTERNAL, NULL, NULL, 0, 0,
	    conf_form_name },

	{ "name", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(name), GATE,
	    "TOLLBOX_SITE_NAME", "Tollbox", 0, 0, conf_form_service_name },
	{ "description", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(description),
	    GATE | CONF_TABLE_EMPTY, "TOLLBOX_DESCRIPTION",
	    "Run code in a sandbox", 0, 0, conf_form_description },
	{ "contact", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(contact), GATE,
	    "TOLLBOX_CONTACT", NULL, 0, 0, conf_form_contact },
	{ "public_url", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(public_url),
	    LOCATION, "TOLLBOX_PUBLIC_URL", NULL, 0, 0, conf_form_url },
	{ "pay_to", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(pay_to), LOCATION,
	    "TOLLBOX_PAY_TO", NULL, 0, 0, conf_form_address },
	{ "network", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(network), LOCATION,
	    "TOLLBOX_NETWORK", NULL, 0, 0, conf_form_network },
	{ "asset", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(asset), LOCATION,
	    "TOLLBOX_ASSET", NULL, 0, 0, conf_form_address },
	{ "asset_name", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(asset_name),
	    LOCATION, "TOLLBOX_ASSET_NAME", NULL, 0, 0, conf_form_asset_text },
	{ "asset_version", CONF_TABLE_SITE, CONF_TABLE_TEXT,
	    SITE(asset_version), LOCATION, "TOLLBOX_ASSET_VERSION", NULL, 0, 0,
	    conf_form_asset_text },
	{ "asset_decimals", CONF_TABLE_SITE, CONF_TABLE_NUMBER,
	    SITE(asset_decimals), LOCATION, "TOLLBOX_ASSET_DECIMALS", "6", 0,
	    60, NULL },
	{ "facilitator", CONF_TABLE_SITE, CONF_TABLE_TEXT, SITE(facilitator),
	    LOCATION, "TOLLBOX_FACILITATOR", "default", 0, 0, conf_form_name },
	{ "accepts", CONF_TABLE_SITE, CONF_TABLE_WORDS, SITE(accepts), LOCATION,
	    "TOLLBOX_ACCEPTS", NULL, 0, 0, conf_form_name },
	{ "prices", CONF_TABLE_SITE, CONF_TABLE_WORDS, SITE(prices), LOCATION,
	    "TOLLBOX_PRICES", NULL, 0, 0, conf_form_name_price },
	{ "tiers", CONF_TABLE_SITE, CONF_TABLE_WORDS, SITE(tiers), LOCATION,
	    "TOLLBOX_TIERS", NULL, 0, 0, conf_form_name },
	{ "routes", CONF_TABLE_SITE, CONF_TABLE_WORDS, SITE(routes), LOCATION,
	    "TOLLBOX_ROUTES", NULL, 0, 0, conf_form_route },
	{ "runtimes", CONF_TABLE_SITE, CONF_TABLE_WORDS, SITE(runtimes),
	    LOCATION, "TOLLBOX_RUNTIMES", NULL, 0, 0, conf_form_name },

	{ "bwrap", CONF_TABLE_SANDBOX, CONF_TABLE_TEXT, SERVICE(bwrap), BOXER,
	    "TOLLBOX_BWRAP", "/usr/bin/bwrap", 0, 0, conf_form_path },
	{ "init", CONF_TABLE_SANDBOX, CONF_TABLE_TEXT, SERVICE(init), BOXER,
	    "TOLLBOX_INIT", "/usr/lib/tollbox/sandbox-init", 0, 0,
	    conf_form_path },
	{ "runtimes_dir", CONF_TABLE_SANDBOX, CONF_TABLE_TEXT,
	    SERVICE(runtimes_dir), BOXER, "TOLLBOX_RUNTIMES_DIR",
	    "/usr/lib/tollbox/runtimes", 0, 0, conf_form_path },
	{ "memory_limit", CONF_TABLE_SANDBOX, CONF_TABLE_TEXT,
	    SERVICE(memory_limit), BOXER, "TOLLBOX_MEMORY_LIMIT", "auto", 0, 0,
	    conf_form_memory_limit },
	{ "cores", CONF_TABLE_SANDBOX, CONF_TABLE_NUMBER, SERVICE(cores), BOXER,
	    "TOLLBOX_CORES", "1", 1, 64, NULL },
	{ "pool_bytes", CONF_TABLE_SANDBOX, CONF_TABLE_BYTES,
	    SERVICE(pool_bytes), BOXER, "TOLLBOX_POOL_BYTES", "512M", 0,
	    1024 * GIB, NULL },

	{ "url", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT, FACILITATOR(url),
	    GATE, NULL, NULL, 0, 0, conf_form_url },
	{ "ca_file", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT,
	    FACILITATOR(ca_file), GATE, NULL, NULL, 0, 0, conf_form_path },
	{ "auth_header_file", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT,
	    FACILITATOR(auth_header_file), 0, NULL, NULL, 0, 0,
	    conf_form_path },
	{ "auth_header", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT,
	    FACILITATOR(auth_header),
	    GATE | CONF_TABLE_SECRET | CONF_TABLE_INTERNAL, NULL, NULL, 0, 0,
	    conf_form_header },
	{ "cdp_key_file", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT,
	    FACILITATOR(cdp_key_file), 0, NULL, NULL, 0, 0, conf_form_path },
	{ "cdp_key", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT,
	    FACILITATOR(cdp_key),
	    GATE | CONF_TABLE_SECRET | CONF_TABLE_INTERNAL, NULL, NULL, 0, 0,
	    NULL },
	{ "proxy", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT, FACILITATOR(proxy),
	    GATE, NULL, NULL, 0, 0, conf_form_proxy },
	{ "fallback", CONF_TABLE_FACILITATOR, CONF_TABLE_TEXT,
	    FACILITATOR(fallback), GATE, NULL, NULL, 0, 0, conf_form_name },
	{ "refresh_s", CONF_TABLE_FACILITATOR, CONF_TABLE_NUMBER,
	    FACILITATOR(refresh_s), GATE, NULL, "3600", 1, 86400, NULL },
	{ "timeout_ms", CONF_TABLE_FACILITATOR, CONF_TABLE_NUMBER,
	    FACILITATOR(timeout_ms), GATE, NULL, "90000", 100, 600000, NULL },
	{ "verify", CONF_TABLE_FACILITATOR, CONF_TABLE_VERIFY,
	    FACILITATOR(verify), GATE, NULL, "local", 0, 0, NULL },

	{ "network", CONF_TABLE_ASSET, CONF_TABLE_TEXT, ASSET(network), GATE,
	    NULL, NULL, 0, 0, conf_form_network },
	{ "asset", CONF_TABLE_ASSET, CONF_TABLE_TEXT, ASSET(asset), GATE, NULL,
	    NULL, 0, 0, conf_form_holder },
	{ "asset_name", CONF_TABLE_ASSET, CONF_TABLE_TEXT, ASSET(asset_name),
	    GATE, NULL, NULL, 0, 0, conf_form_asset_text },
	{ "asset_version", CONF_TABLE_ASSET, CONF_TABLE_TEXT,
	    ASSET(asset_version), GATE, NULL, NULL, 0, 0,
	    conf_form_asset_text },
	{ "asset_decimals", CONF_TABLE_ASSET, CONF_TABLE_NUMBER,
	    ASSET(asset_decimals), GATE, NULL, "6", 0, 60, NULL },
	{ "pay_to", CONF_TABLE_ASSET, CONF_TABLE_TEXT, ASSET(pay_to), GATE,
	    NULL, NULL, 0, 0, conf_form_holder },
	{ "facilitator", CONF_TABLE_ASSET, CONF_TABLE_TEXT, ASSET(facilitator),
	    GATE, NULL, NULL, 0, 0, conf_form_name },
	{ "network", CONF_TABLE_CHAIN, CONF_TABLE_TEXT, CHAIN(network), GATE,
	    NULL, NULL, 0, 0, conf_form_network },
	{ "rpc_url", CONF_TABLE_CHAIN, CONF_TABLE_TEXT, CHAIN(rpc_url),
	    GATE | CONF_TABLE_SECRET, NULL, NULL, 0, 0, conf_form_rpc_url },
	{ "ca_file", CONF_TABLE_CHAIN, CONF_TABLE_TEXT, CHAIN(ca_file), GATE,
	    NULL, NULL, 0, 0, conf_form_path },
	{ "confirmations", CONF_TABLE_CHAIN, CONF_TABLE_NUMBER,
	    CHAIN(confirmations), GATE, NULL, "3", 1, 100, NULL },
	{ "log_blocks", CONF_TABLE_CHAIN, CONF_TABLE_NUMBER, CHAIN(log_blocks),
	    GATE, NULL, "1000", 1, 100000, NULL },

	{ "price", CONF_TABLE_TIER, CONF_TABLE_PRICE, TIER(price_micros), GATE,
	    NULL, NULL, 0, 0, NULL },
	{ "timeout_ms", CONF_TABLE_TIER, CONF_TABLE_NUMBER,
	    TIER(limits.timeout_ms), GATE, NULL, "10000", 100, 300000, NULL },
	{ "memory_bytes", CONF_TABLE_TIER, CONF_TABLE_BYTES,
	    TIER(limits.memory_bytes), GATE, NULL, "256M", 32 * MIB, 2 * GIB,
	    NULL },
	{ "output_bytes", CONF_TABLE_TIER, CONF_TABLE_BYTES,
	    TIER(limits.output_bytes), GATE, NULL, "1M", 1024, 16 * MIB, NULL },
	{ "work_bytes", CONF_TABLE_TIER, CONF_TABLE_BYTES,
	    TIER(limits.work_bytes), GATE, NULL, "64M", MIB, GIB, NULL },

	{ "price", CONF_TABLE_DIALECT, CONF_TABLE_PRICE, DIALECT(price_micros),
	    GATE, NULL, NULL, 0, 0, NULL },

	{ "entry", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(entry), BOTH,
	    NULL, NULL, 0, 0, conf_form_entry },
	{ "entry_module", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT,
	    RUNTIME(entry_module), BOTH, NULL, NULL, 0, 0, conf_form_entry },
	{ "command", CONF_TABLE_RUNTIME, CONF_TABLE_WORDS, RUNTIME(command),
	    BOXER, NULL, NULL, 0, 0, NULL },
	{ "binds", CONF_TABLE_RUNTIME, CONF_TABLE_WORDS, RUNTIME(binds), BOXER,
	    NULL, NULL, 0, 0, conf_form_path },
	{ "env", CONF_TABLE_RUNTIME, CONF_TABLE_WORDS, RUNTIME(env), BOXER,
	    NULL, NULL, 0, 0, conf_form_assignment },
	{ "rootfs", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(rootfs), BOXER,
	    NULL, NULL, 0, 0, conf_form_rootfs },
	{ "hello", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(hello), 0, NULL,
	    NULL, 0, 0, NULL },
	{ "env_refused", CONF_TABLE_RUNTIME, CONF_TABLE_WORDS,
	    RUNTIME(env_refused), BOTH, NULL, NULL, 0, 0,
	    conf_form_variable_pattern },
	{ "min_memory", CONF_TABLE_RUNTIME, CONF_TABLE_BYTES,
	    RUNTIME(min_memory_bytes), BOTH, NULL, "32M", 32 * MIB, 2 * GIB,
	    NULL },
	{ "min_tasks", CONF_TABLE_RUNTIME, CONF_TABLE_NUMBER,
	    RUNTIME(min_tasks), BOTH, NULL, "1", 1, LIMITS_TASKS, NULL },
	{ "pool", CONF_TABLE_RUNTIME, CONF_TABLE_NUMBER, RUNTIME(pool), BOXER,
	    NULL, "2", 0, 64, NULL },
	{ "hook", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(hook), 0, NULL,
	    NULL, 0, 0, conf_form_file },
	{ "hook_text", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(hook_text),
	    BOXER | CONF_TABLE_INTERNAL, NULL, NULL, 0, 0, NULL },
	{ "hook_at", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(hook_at),
	    BOXER, NULL, NULL, 0, 0, conf_form_path },
	{ "hook_env", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(hook_env),
	    BOXER, NULL, NULL, 0, 0, conf_form_hook_env },
	{ "gate", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(gate), BOXER,
	    NULL, "fds", 0, 0, conf_form_gate },
	{ "cold_files", CONF_TABLE_RUNTIME, CONF_TABLE_WORDS,
	    RUNTIME(cold_files), BOTH, NULL, NULL, 0, 0, conf_form_file },
	{ "helper", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT, RUNTIME(helper), 0,
	    NULL, NULL, 0, 0, conf_form_file },
	{ "helper_text", CONF_TABLE_RUNTIME, CONF_TABLE_TEXT,
	    RUNTIME(helper_text), GATE | CONF_TABLE_INTERNAL, NULL, NULL, 0, 0,
	    NULL },
	{ "helper_does", CONF_TABLE_RUNTIME, CONF_TABLE_WORDS,
	    RUNTIME(helper_does), BOTH, NULL, NULL, 0, 0, conf_form_helper },
};

const size_t conf_table_n =
    sizeof(conf_table_keys) / sizeof(conf_table_keys[0]);
_Static_assert(
    sizeof(conf_table_keys) / sizeof(conf_table_keys[0]) <= CONF_TABLE_KEYS_MAX,
    "origins have room for every key");

static const char *const section_names[CONF_TABLE_SECTION_MAX] = {
	[CONF_TABLE_SERVICE] = "service",
	[CONF_TABLE_SITE] = "site",
	[CONF_TABLE_SANDBOX] = "sandbox",
	[CONF_TABLE_FACILITATOR] = "facilitator",
	[CONF_TABLE_ASSET] = "asset",
	[CONF_TABLE_CHAIN] = "chain",
	[CONF_TABLE_TIER] = "tier",
	[CONF_TABLE_DIALECT] = "dialect",
	[CONF_TABLE_RUNTIME] = "runtime",
};

const char *
conf_table_section_name(enum conf_table_section s)
{
	return section_names[s];
}

bool
conf_table_section(
    enum conf_table_section *out, const char **name, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t len = colon != NULL ? (size_t)(colon - text) : strlen(text);

	for (int s = 0; s < CONF_TABLE_SECTION_MAX; s++) {
		bool named = s >= CONF_TABLE_FACILITATOR;

		if (strlen(section_names[s]) != len ||
		    strncmp(section_names[s], text, len) != 0 ||
		    named != (colon != NULL))
			continue;
		*out = (enum conf_table_section)s;
		*name = named ? colon + 1 : NULL;
		return true;
	}
	return false;
}

const struct conf_table_key *
conf_table_key(enum conf_table_section s, const char *key)
{
	for (size_t i = 0; i < conf_table_n; i++)
		if (conf_table_keys[i].section == s &&
		    strcmp(conf_table_keys[i].key, key) == 0)
			return &conf_table_keys[i];
	return NULL;
}

const struct conf_table_key *
conf_table_env(const char *env)
{
	for (size_t i = 0; i < conf_table_n; i++)
		if (conf_table_keys[i].env != NULL &&
		    strcmp(conf_table_keys[i].env, env) == 0)
			return &conf_table_keys[i];
	return NULL;
}

size_t
conf_table_count(const struct conf *c, enum conf_table_section s)
{
	switch (s) {
	case CONF_TABLE_SERVICE:
	case CONF_TABLE_SITE:
	case CONF_TABLE_SANDBOX:
		return 1;
	case CONF_TABLE_FACILITATOR:
		return c->n_facilitators;
	case CONF_TABLE_ASSET:
		return c->n_assets;
	case CONF_TABLE_CHAIN:
		return c->n_chains;
	case CONF_TABLE_TIER:
		return c->n_tiers;
	case CONF_TABLE_DIALECT:
		return c->n_dialects;
	case CONF_TABLE_RUNTIME:
		return c->n_runtimes;
	case CONF_TABLE_SECTION_MAX:
		break;
	}
	return 0;
}

const void *
conf_table_struct_const(
    const struct conf *c, enum conf_table_section s, size_t i)
{
	switch (s) {
	case CONF_TABLE_SITE:
		return &c->site;
	case CONF_TABLE_FACILITATOR:
		return &c->facilitators[i];
	case CONF_TABLE_ASSET:
		return &c->assets[i];
	case CONF_TABLE_CHAIN:
		return &c->chains[i];
	case CONF_TABLE_TIER:
		return &c->tiers[i];
	case CONF_TABLE_DIALECT:
		return &c->dialects[i];
	case CONF_TABLE_RUNTIME:
		return &c->runtimes[i];
	case CONF_TABLE_SERVICE:
	case CONF_TABLE_SANDBOX:
	case CONF_TABLE_SECTION_MAX:
		break;
	}
	return c;
}

void *
conf_table_struct(struct conf *c, enum conf_table_section s, size_t i)
{
	const char *at = conf_table_struct_const(c, s, i);

	return (char *)c + (at - (const char *)c);
}

const char *
conf_table_name(const struct conf *c, enum conf_table_section s, size_t i)
{
	if (s < CONF_TABLE_FACILITATOR)
		return NULL;
	return *(char *const *)conf_table_struct_const(c, s, i);
}

enum status
conf_table_find(size_t *i, const struct conf *c, enum conf_table_section s,
    const char *name)
{
	for (size_t n = 0; n < conf_table_count(c, s); n++) {
		const char *have = conf_table_name(c, s, n);

		if (have != NULL && strcmp(have, name) == 0) {
			*i = n;
			return ST_OK;
		}
	}
	return ST_NOT_FOUND;
}

/* The counter of a named section, and how far it may go. */
static size_t *
counter(struct conf *c, enum conf_table_section s, size_t *max)
{
	switch (s) {
	case CONF_TABLE_FACILITATOR:
		*max = CONF_FACILITATORS;
		return &c->n_facilitators;
	case CONF_TABLE_ASSET:
		*max = CONF_ASSETS;
		return &c->n_assets;
	case CONF_TABLE_CHAIN:
		*max = CONF_CHAINS;
		return &c->n_chains;
	case CONF_TABLE_TIER:
		*max = CONF_TIERS;
		return &c->n_tiers;
	case CONF_TABLE_DIALECT:
		*max = CONF_DIALECTS;
		return &c->n_dialects;
	case CONF_TABLE_RUNTIME:
		*max = CONF_RUNTIMES;
		return &c->n_runtimes;
	case CONF_TABLE_SERVICE:
	case CONF_TABLE_SITE:
	case CONF_TABLE_SANDBOX:
	case CONF_TABLE_SECTION_MAX:
		break;
	}
	return NULL;
}

enum status
conf_table_add(
    size_t *i, struct conf *c, enum conf_table_section s, const char *name)
{
	size_t max = 0;
	size_t *n = counter(c, s, &max);
	char *copy;

	if (n == NULL)
		return ST_BUG;
	if (*n == max)
		return ST_TOO_BIG;
	copy = strdup(name);
	if (copy == NULL)
		return ST_NOMEM;
	*i = (*n)++;
	*(char **)conf_table_struct(c, s, *i) = copy;
	return ST_OK;
}

void
conf_table_swap_tiers(struct conf *c, size_t i, size_t j)
{
	struct conf_tier tier = c->tiers[i];

	c->tiers[i] = c->tiers[j];
	c->tiers[j] = tier;
	for (size_t k = 0; k < conf_table_n; k++) {
		struct conf_table_origin o = c->origins->at[k][i];

		if (conf_table_keys[k].section != CONF_TABLE_TIER)
			continue;
		c->origins->at[k][i] = c->origins->at[k][j];
		c->origins->at[k][j] = o;
	}
}
