#include "check.h"

#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/status.h"
#include "box/host.h"
#include "check_state.h"
#include "pay/chain.h"
#include "pay/facilitator.h"
#include "pay/x402.h"
#include "places.h"
#include "web/sites.h"

#define SCHEME "exact"
#define CHAIN_WAIT_MS 10000

void
check_say(bool *all, bool ok, const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("%-4s  %s: ", ok ? "ok" : "FAIL", what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	*all = *all && ok;
}

static void
host_line(void *ctx, const struct host_line *line)
{
	check_say(ctx, line->ok, line->what, "%s", line->text);
}

static void
check_settings(bool *all, struct conf *c)
{
	struct fault f = { .st = ST_OK };

	if (conf_complete(c, &f) == ST_OK)
		check_say(all, true, "settings", "complete");
	else
		check_say(all, false, "settings", "%s", f.message);
	if (geteuid() != 0)
		check_say(all, false, "rights",
		    "not all can be looked at — run the check as root");
	else if (conf_secrets(c, &f) != ST_OK)
		check_say(all, false, "secret files", "%s", f.message);
}

/* What is shipped and cannot be sold here: no fault, and yet nothing that one
 * should find out from callers. */
static void
check_dropped(bool *all, const struct conf *c)
{
	for (size_t i = 0;
	     c->tiers_dropped != NULL && c->tiers_dropped[i] != NULL; i++)
		check_say(all, true, "tier",
		    "%s: is not sold, since a run of it can take more than "
		    "memory_bytes",
		    c->tiers_dropped[i]);
	for (size_t i = 0;
	     c->runtimes_dropped != NULL && c->runtimes_dropped[i] != NULL; i++)
		check_say(all, true, "runtime",
		    "%s: is not sold, since its program is not on this host",
		    c->runtimes_dropped[i]);
}

static void
check_user(bool *all, const char *what, const char *name)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		check_say(all, false, what,
		    "there is no %s — useradd --system --no-create-home "
		    "--shell /usr/sbin/nologin %s",
		    name, name);
	else if (pw->pw_uid == 0 || pw->pw_gid == 0)
		check_say(
		    all, false, what, "%s is root — make one of its own", name);
	else
		check_say(all, true, what, "%s, uid %u, gid %u", name,
		    pw->pw_uid, pw->pw_gid);
}

static void
check_users(bool *all, const struct conf *c)
{
	const struct group *gr = getgrnam(c->socket_group);

	/* The host's lines tell of run_user. */
	check_user(all, "user of payments", c->user);
	if (gr == NULL)
		check_say(all, false, "socket group",
		    "there is no %s — install the web server, or set "
		    "socket_group to its group",
		    c->socket_group);
	else
		check_say(all, true, "socket group", "%s, gid %u",
		    c->socket_group, gr->gr_gid);
}

/* One thing accepted, and one facilitator that is to settle it. */
static void
check_offer(bool *all, struct facilitator *fc, const struct accept *a)
{
	const struct conf_facilitator *conf = facilitator_conf(fc);
	const char *v1 = x402_v1_name(a->network);

	if (!facilitator_offers(fc, 2, SCHEME, a->network, NULL))
		check_say(all, false, "facilitator",
		    "%s offers no x402 v2 %s on %s — choose another network "
		    "or facilitator",
		    conf->url, SCHEME, a->network);
	else
		check_say(all, true, "facilitator",
		    "%s offers x402 v2 %s on %s", conf->url, SCHEME,
		    a->network);
	/* Old clients: only where the network had a name in v1, and one that
	 * goes without still sells. */
	if (v1 == NULL)
		return;
	if (facilitator_offers(fc, 1, SCHEME, v1, NULL))
		check_say(all, true, "facilitator",
		    "%s offers x402 v1 %s on %s", conf->url, SCHEME, v1);
	else
		check_say(all, true, "facilitator",
		    "%s offers no x402 v1 %s on %s: clients of version 1 "
		    "cannot pay",
		    conf->url, SCHEME, v1);
}

static void
check_facilitator(bool *all, struct facilitator *fc, const struct site *s)
{
	struct fault why = { .st = ST_OK };

	if (facilitator_refresh(fc, &why) != ST_OK) {
		check_say(all, false, "facilitator",
		    "%s cannot be asked: %s — is the url right, can this host "
		    "reach it?",
		    facilitator_conf(fc)->url, why.message);
		return;
	}
	for (size_t i = 0; i < s->n_accepts; i++)
		if (s->accepts[i].by == fc || s->accepts[i].fallback == fc)
			check_offer(all, fc, &s->accepts[i]);
}

/* Every facilitator that the site goes by and that was not asked yet. */
static void
check_facilitators(bool *all, const struct conf *c, struct sites *sites,
    const struct site *s, bool asked[CONF_FACILITATORS])
{
	for (size_t i = 0; i < c->n_facilitators; i++) {
		struct facilitator *fc =
		    sites_facilitator(sites, c->facilitators[i].name);
		bool used = false;

		for (size_t k = 0; k < s->n_accepts; k++)
			used = used || s->accepts[k].by == fc ||
			       s->accepts[k].fallback == fc;
		if (used && !asked[i])
			check_facilitator(all, fc, s);
		asked[i] = asked[i] || used;
	}
}

/* A place in a web server's files. */
static void
check_place(bool *all, const struct conf *c, struct sites *sites,
    const struct places_one *p, bool asked[CONF_FACILITATORS])
{
	OWN_SITE struct sites_loan loan = { .from = NULL };

	if (p->socket != NULL && strcmp(p->socket, c->listen) != 0) {
		check_say(all, true, "site", "%s: is another daemon's, at %s",
		    p->name, p->socket);
		return;
	}
	if (p->unknown != NULL) {
		check_say(all, false, "site", "%s: %s — write constants",
		    p->name, p->unknown);
		return;
	}
	if (sites_with(&loan, sites, &p->params, p->name) != ST_OK) {
		check_say(all, false, "site", "%s: its settings are too long",
		    p->name);
		return;
	}
	if (loan.site->broken.st != ST_OK) {
		check_say(all, false, "site", "%s: %s", p->name,
		    loan.site->broken.message);
		return;
	}
	check_say(all, true, "site", "%s: %s, paid to %s on %s", p->name,
	    loan.site->conf.public_url, loan.site->accepts[0].pay_to,
	    loan.site->accepts[0].network);
	if (!conf_private_url(loan.site->conf.public_url))
		check_say(all, true, "site",
		    "%s: is not https: who reads a payment on its way can "
		    "fetch its answer, and receipts' keys cannot be looked up",
		    p->name);
	check_facilitators(all, c, sites, loan.site, asked);
}

static void
check_places(bool *all, const struct conf *c, struct sites *sites,
    const char *web, bool asked[CONF_FACILITATORS])
{
	struct places places = { .n = 0 };
	struct fault f = { .st = ST_OK };

	if (places_load(&places, web, &f) != ST_OK)
		check_say(all, false, "web server", "%s", f.message);
	else if (places.n == 0 && (web != NULL || geteuid() == 0))
		check_say(all, true, "site",
		    "none yet in the files of nginx and Apache — include "
		    "tollbox.conf in a server block or virtual host");
	for (size_t i = 0; i < places.n; i++)
		check_place(all, c, sites, &places.at[i], asked);
	places_free(&places);
}

/* What is sold: at the site of the bare settings, and at those of the web
 * server's files. */
static void
check_sites(bool *all, const struct conf *c, const char *web)
{
	bool asked[CONF_FACILITATORS] = { false };
	const struct site *s = NULL;
	struct sites *sites = NULL;
	struct fault f;

	/* The settings' line has said what is missing. */
	if (conf_complete(c, &f) != ST_OK)
		return;
	if (sites_open(&sites, c, NULL) != ST_OK ||
	    sites_default(&s, sites) != ST_OK) {
		check_say(all, false, "facilitator",
		    "its settings cannot be used (see above)");
	} else {
		if (s->broken.st != ST_OK)
			check_say(all, false, "site", "%s", s->broken.message);
		else
			check_facilitators(all, c, sites, s, asked);
		check_places(all, c, sites, web, asked);
	}
	sites_close(sites);
}

/* Without one it is nothing amiss: lost settlements are then asked for at the
 * facilitator alone. */
static void
check_chains(bool *all, const struct conf *c)
{
	for (size_t i = 0; i < c->n_chains; i++) {
		const struct conf_chain *n = &c->chains[i];
		const char *network = conf_chain_network(c, n);
		struct chain *chain = NULL;
		enum status st;

		if (network == NULL)
			continue;
		st = chain_open(
		    &chain, &(struct chain_setting){ .network = network,
				.rpc_url = n->rpc_url,
				.ca_file = n->ca_file,
				.confirmations = n->confirmations,
				.log_blocks = n->log_blocks });
		if (st == ST_OK)
			st = chain_check(chain, io_now_ms() + CHAIN_WAIT_MS);
		chain_close(chain);
		if (st == ST_CONFLICT)
			check_say(all, false, "chain",
			    "[chain:%s] rpc_url is another network's, not %s",
			    n->name, network);
		else if (st != ST_OK)
			check_say(all, false, "chain",
			    "[chain:%s] the RPC of %s cannot be asked (%s) — "
			    "is the URL right, can this host reach it?",
			    n->name, network, status_name(st));
		else
			check_say(
			    all, true, "chain", "%s can be read", network);
	}
}

bool
check_dry(struct conf *c)
{
	struct fault f = { .st = ST_OK };
	const struct site *s = NULL;
	struct sites *sites = NULL;
	enum status st = conf_complete(c, &f);

	if (st == ST_OK && geteuid() == 0)
		st = conf_secrets(c, &f);
	if (st != ST_OK) {
		log_err("%s", f.message);
		return false;
	}
	/* What is wrong with the site it logs by itself. */
	st = sites_open(&sites, c, NULL);
	if (st == ST_OK)
		st = sites_default(&s, sites);
	if (st == ST_OK)
		st = s->broken.st;
	sites_close(sites);
	return st == ST_OK;
}

bool
check_all(const char *path, const char *web, char *const *environment)
{
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };
	bool all = true;

	if (conf_load(&c, path, environment, &f) != ST_OK) {
		check_say(&all, false, "settings", "%s", f.message);
		return false;
	}
	check_settings(&all, c);
	check_users(&all, c);
	check_state(&all, c);
	/* Its lines have been counted one by one. */
	if (!host_check(c, host_line, &all))
		all = false;
	check_dropped(&all, c);
	check_sites(&all, c, web);
	check_chains(&all, c);
	conf_free(c);
	return all;
}
