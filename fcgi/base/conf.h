/*
 * The settings: one INI file (libinih; this is its only user), then the
 * TOLLBOX_* environment, then per location the fastcgi_param names that
 * api.md section 11 allows. One table in conf.c names every key with its
 * section, type, range, environment name and which process may know it; the
 * parser, the writer for the children and `tollbox config` all read it.
 *
 * Sections: [service] [site] [sandbox] [facilitator:NAME] [asset:NAME]
 * [chain:NAME] [tier:NAME] [dialect:NAME] [runtime:NAME]. Runtimes also come
 * from RUNTIMES_DIR/NAME/runtime.conf (the section's keys without a section
 * header), the main file on top. An unknown section or key, a key given twice,
 * or a bad value is an error with file and line.
 */
#ifndef CONF_H
#define CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/status.h"

/* Every maximum in one place. */
#define CONF_FILE_BYTES (256u << 10)
#define CONF_RUNTIMES 32
#define CONF_TIERS 16
#define CONF_FACILITATORS 16
#define CONF_ASSETS 16 /* CDP takes that many in one 402 */
#define CONF_CHAINS 16
#define CONF_DIALECTS 8	     /* with a flat price */
#define CONF_WORDS 64	     /* words of a list value */
#define CONF_NAME 32	     /* length of a section's NAME, [a-z0-9_-] */
#define CONF_DESCRIPTION 500 /* x402.md 7.11 */

struct conf_runtime {
	char *name;
	char *entry;	    /* "main.py" */
	char *entry_module; /* "main.mjs" for ES modules, or NULL */
	char **command;	    /* argv, NULL-terminated; "{entry}" is replaced */
	char **binds;	    /* further read-only paths of the host, or NULL */
	char **env;	    /* NAME=value set for this runtime, or NULL */
	char *rootfs;	    /* root file system of its own, or NULL: the
			     * host's /usr; binds are then looked for there */
	char *hello;	    /* program that prints "hello" and a line's end,
			     * for `tollbox check`; or NULL */
	char **env_refused; /* names or prefixes ending in '*' a job may not
			     * set, besides LD_* */
	uint64_t min_memory_bytes;
	uint64_t min_tasks;
	/* Warm start: what the interpreter runs before it opens the entry
	 * file, and waits in (sandbox-scripts/init_warm.c). */
	uint64_t pool;	   /* most idle sandboxes of each entry file */
	char *hook;	   /* file in its folder, or a path; NULL: cold only */
	char *hook_text;   /* what stands in it, base64; by conf_load() */
	char *hook_at;	   /* where the interpreter finds it; * as in a glob */
	char *hook_env;	   /* NAME=value that makes it look there, or NULL */
	char *gate;	   /* "fds" or "fifo": how it is held there */
	char **cold_files; /* a job that brings one of these starts cold */
	/* What the hook runs, just before the program, for a job that asks for
	 * more than output. */
	char *helper;	    /* file in its folder, or a path; or NULL */
	char *helper_text;  /* as hook_text */
	char **helper_does; /* of "evaluate", "figures" */
};

struct conf_tier {
	char *name;
	uint64_t price_micros; /* millionths of a dollar, 1000 = $0.001 */
	struct limits limits;
};

/* A dialect with one flat price. There are those that are shipped, and no
 * other. */
struct conf_dialect {
	char *name;
	const char *route;     /* "/api/code-run" */
	uint64_t price_micros; /* as a tier's; the rest is fixed */
	struct limits limits;  /* timeout_ms: the most */
};

enum conf_verify {
	CONF_VERIFY_LOCAL,
	CONF_VERIFY_FACILITATOR,
	CONF_VERIFY_BOTH,
	CONF_VERIFY_MAX
};

struct conf_facilitator {
	char *name;
	char *url;		/* no trailing slash */
	char *ca_file;		/* or NULL: the system's */
	char *auth_header_file; /* file whose one line is "Name: value", or
				 * NULL; read by super as root */
	char *auth_header;   /* that line, filled by conf_secrets(); secret */
	char *cdp_key_file;  /* JSON file of a CDP API key, or NULL; read so */
	char *cdp_key;	     /* its text in base64, likewise; secret */
	char *proxy;	     /* http://HOST:PORT, or NULL: none */
	char *fallback;	     /* NAME of the facilitator to take where this one
			      * cannot be had, or NULL */
	uint64_t timeout_ms; /* per call */
	uint64_t refresh_s;  /* between two looks at /supported */
	enum conf_verify verify;
};

/* One thing that a site may accept besides or instead of its simple form. */
struct conf_asset {
	char *name;    /* of the section */
	char *network; /* CAIP-2 */
	char *asset;
	char *asset_name;    /* EIP-712 domain; NULL where there is none */
	char *asset_version; /* likewise */
	uint64_t asset_decimals;
	char *pay_to;	   /* or NULL: the site's */
	char *facilitator; /* or NULL: the site's */
};

/* How to read a chain, to find out what became of a lost settlement. */
struct conf_chain {
	char *name;
	char *network; /* CAIP-2, or NULL: the site's */
	char *rpc_url; /* may hold a key: secret */
	char *ca_file; /* or NULL: the system's */
	uint64_t confirmations;
	uint64_t log_blocks; /* of one eth_getLogs */
};

/* What a location may set for itself. */
struct conf_site {
	char *name;	   /* service name for people */
	char *description; /* at most CONF_DESCRIPTION characters */
	char *contact;	   /* mail address or URL, for catalogues; or NULL */
	char *public_url;  /* no trailing slash; required by serve */
	char *pay_to;
	char *network; /* CAIP-2 */
	char *asset;
	char *asset_name;
	char *asset_version;
	uint64_t asset_decimals;
	char *facilitator; /* NAME of a facilitator section */
	char **accepts;	   /* NAMEs of asset sections in order of preference,
			    * or NULL: the one asset above */
	char **prices;	   /* "small=$0.002" words over the tiers' and
			    * dialects', or NULL */
	char **tiers;	   /* names offered, or NULL: all */
	char **routes;	   /* routes offered, or NULL: all */
	char **runtimes;   /* names offered, or NULL: all */
};

struct conf {
	/* [service] */
	char *name;		/* of cgroups and lock, [a-z0-9-] */
	char *listen;		/* unix socket path */
	char *listen_tcp;	/* "127.0.0.1:9000" or NULL */
	char *listen_tcp_peers; /* comma-separated addresses, needed for TCP */
	char *socket_group;	/* group of the unix socket (0660) */
	char *user;		/* of gate */
	char *run_user;		/* of boxer and sandboxes */
	char *state_dir;
	char *store; /* "sqlite:PATH" or NULL: sqlite:STATE_DIR/ledger.db */
	char *log_level;
	char *log;	       /* "text" or "json" */
	uint64_t max_runs;     /* 0 in the file: 2 x cores */
	uint64_t memory_bytes; /* 0 in the file: half of the host */
	uint64_t queue_ms;     /* longest wait for a run slot */
	uint64_t body_bytes;   /* request bodies held, all requests */
	uint64_t answer_bytes; /* budget of stored answers */
	uint64_t drain_ms;     /* longest wait for runs at SIGTERM */
	/* A secp256k1 key to sign offers with (EIP-712), or NULL: file, read
	 * by super as root, and what conf_secrets() found in it; secret. */
	char *offer_signing_key_file;
	char *offer_signing_key;
	/* Limits; 0: none. Rates are of a minute. */
	uint64_t payer_rate;	/* new paid runs of one payer */
	uint64_t payer_runs;	/* the same at a time */
	uint64_t address_rate;	/* requests of one address */
	uint64_t verify_rate;	/* its payments that are not verified here */
	uint64_t verify_calls;	/* calls of verify for such, at a time */
	char **trusted_proxies; /* whose X-Forwarded-For counts, or NULL */
	char **tiers_dropped;	/* names of tiers too large for memory_bytes,
				 * not in tiers below; NULL: none */
	/* Names of folders' runtimes whose program this host lacks, not in
	 * runtimes below; NULL: none. */
	char **runtimes_dropped;
	/* [sandbox] */
	char *bwrap; /* /usr/bin/bwrap */
	char *init;  /* the static sandbox-init */
	char *runtimes_dir;
	char *memory_limit;  /* "auto", "cgroup2", "cgroup1", "meter" */
	uint64_t cores;	     /* granted to a run */
	uint64_t pool_bytes; /* of memory for all idle sandboxes */

	struct conf_site site;
	struct conf_facilitator facilitators[CONF_FACILITATORS];
	size_t n_facilitators;
	struct conf_asset assets[CONF_ASSETS];
	size_t n_assets;
	struct conf_chain chains[CONF_CHAINS];
	size_t n_chains;
	struct conf_tier tiers[CONF_TIERS]; /* by price, ascending */
	size_t n_tiers;
	struct conf_dialect dialects[CONF_DIALECTS];
	size_t n_dialects;
	struct conf_runtime runtimes[CONF_RUNTIMES];
	size_t n_runtimes;

	struct conf_origins *origins; /* private: for conf_print() */
};

/* Who reads what the writer writes: the boxer never sees payment settings,
 * the gate never needs the sandbox's paths. */
enum conf_role {
	CONF_ALL,
	CONF_GATE,
	CONF_BOXER,
	CONF_ROLE_MAX
};

/* Load PATH (NULL: defaults only), the runtime folders and the environment
 * over it. ST_OK and *out for conf_free(); else f names file, line and key.
 * Fills in what "0 = from the host" means; checks every rule that needs no
 * host look-up (prices whole in the asset, tiers' names unique, description's
 * length, URL forms, that the network of an EVM asset parses, the names of
 * known assets). A tier larger than memory_bytes is taken out with a warning
 * in the log (api.md section 4). Not thread-safe, as libinih is not. */
enum status conf_load(struct conf **out, const char *path,
    char *const *environment, struct fault *f)
    __attribute__((warn_unused_result));

/* The same from text that conf_write() made: no environment, no folders, and
 * no rule but each value's own form (conf_load() has judged them). */
enum status conf_parse(struct conf **out, const char *text, struct fault *f)
    __attribute__((warn_unused_result));

/* Is everything set that serving needs (payment, facilitator, a runtime)?
 * ST_OK, or ST_FORMAT with f naming the key and its environment name. */
enum status conf_complete(const struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

/* Read the secret files that the settings name (mode must not let others
 * read). Needs the rights to do so. */
enum status conf_secrets(struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

/* Append the settings as INI text that conf_parse() reads, as far as role may
 * know them; secrets only for CONF_GATE. */
void conf_write(struct buf *out, const struct conf *c, enum conf_role role);

/* Append one line a setting, "section.key = value  # where from", secrets
 * left out: `tollbox config`. */
void conf_print(struct buf *out, const struct conf *c);

/* The same of the settings that a location's parameters have put into s; get as
 * in conf_site_resolve(). */
void conf_print_location(struct buf *out, const struct conf_site *s,
    const char *(*get)(void *ctx, const char *name), void *ctx);

void conf_free(struct conf *c); /* NULL is fine; secrets are wiped */

/* A copy of base with the location's parameters over it. get(ctx, name) gives
 * the value of a TOLLBOX_* parameter or NULL. Any TOLLBOX_* name that a
 * location may not set is the caller's to find with conf_site_param(). */
enum status conf_site_resolve(struct conf_site *out, const struct conf *base,
    const char *(*get)(void *ctx, const char *name), void *ctx, struct fault *f)
    __attribute__((warn_unused_result));
void conf_site_free(struct conf_site *s);

/* Is name ("TOLLBOX_PAY_TO") one that a location may set? */
bool conf_site_param(const char *name);

/* Look-ups; NULL if there is none of that name. Borrowed. */
const struct conf_runtime *conf_runtime(const struct conf *c, const char *name);
const struct conf_tier *conf_tier(const struct conf *c, const char *name);
const struct conf_facilitator *conf_facilitator(
    const struct conf *c, const char *name);
const struct conf_asset *conf_asset(const struct conf *c, const char *name);

/* Does the host's memory hold a run of it? Else it is not offered. Its limits
 * are never shrunk. */
bool conf_dialect_fits(const struct conf *c, const struct conf_dialect *d);

/* The network that a chain's section is about; NULL while neither it nor the
 * site names one. */
const char *conf_chain_network(
    const struct conf *c, const struct conf_chain *chain);

/* Is what is sent to url (http:// or https://) read by nobody on its way: by
 * TLS, or since it stays on this host? */
bool conf_private_url(const char *url);

/* "$0.001" or "0.001" to millionths. At most six decimals, positive, at most
 * $1,000,000. ST_OK or ST_FORMAT. */
enum status conf_price(uint64_t *micros, const char *text)
    __attribute__((warn_unused_result));

#endif
