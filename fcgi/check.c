#include "check.h"

#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/status.h"
#include "box/host.h"
#include "pay/facilitator.h"
#include "pay/x402.h"

#define SCHEME "exact"

static void say(bool *all, bool ok, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* "ok    user namespaces: ..." */
static void
say(bool *all, bool ok, const char *what, const char *fmt, ...)
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
	say(ctx, line->ok, line->what, "%s", line->text);
}

static void
check_settings(bool *all, struct conf *c)
{
	struct fault f = { .st = ST_OK };

	if (conf_complete(c, &f) == ST_OK)
		say(all, true, "settings", "complete");
	else
		say(all, false, "settings", "%s", f.message);
	if (geteuid() != 0)
		say(all, false, "rights",
		    "not all can be looked at — run the check as root");
	else if (conf_secrets(c, &f) != ST_OK)
		say(all, false, "secret files", "%s", f.message);
}

static void
check_user(bool *all, const char *what, const char *name)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		say(all, false, what,
		    "there is no %s — useradd --system --no-create-home "
		    "--shell /usr/sbin/nologin %s",
		    name, name);
	else if (pw->pw_uid == 0 || pw->pw_gid == 0)
		say(all, false, what, "%s is root — make one of its own", name);
	else
		say(all, true, what, "%s, uid %u, gid %u", name, pw->pw_uid,
		    pw->pw_gid);
}

static void
check_users(bool *all, const struct conf *c)
{
	const struct group *gr = getgrnam(c->socket_group);

	check_user(all, "user of payments", c->user);
	check_user(all, "user of programs", c->run_user);
	if (gr == NULL)
		say(all, false, "socket group",
		    "there is no %s — install the web server, or set "
		    "socket_group to its group",
		    c->socket_group);
	else
		say(all, true, "socket group", "%s, gid %u", c->socket_group,
		    gr->gr_gid);
}

/* False if it could not be asked. */
static bool
check_offer(bool *all, struct facilitator *fc,
    const struct conf_facilitator *conf, int version, const char *network)
{
	bool offered = false;
	enum status st =
	    facilitator_supported(fc, version, SCHEME, network, &offered);

	if (st != ST_OK)
		say(all, false, "facilitator",
		    "%s cannot be asked (%s) — is the URL right, can this "
		    "host reach it?",
		    conf->url, status_name(st));
	else if (!offered)
		say(all, false, "facilitator",
		    "%s offers no x402 v%d %s on %s — choose another network "
		    "or facilitator",
		    conf->url, version, SCHEME, network);
	else
		say(all, true, "facilitator", "%s offers x402 v%d %s on %s",
		    conf->url, version, SCHEME, network);
	return st == ST_OK;
}

/* Without a URL or a network there is nothing to ask; the settings' line has
 * said so. */
static void
check_facilitator(bool *all, const struct conf *c)
{
	const struct conf_facilitator *conf =
	    conf_facilitator(c, c->site.facilitator);
	const char *network = c->site.network;
	struct facilitator *fc = NULL;

	if (conf == NULL || network == NULL)
		return;
	if (facilitator_open(&fc, conf) != ST_OK) {
		say(all, false, "facilitator", "%s cannot be used", conf->url);
		return;
	}
	/* Old clients: only where the network had a name in v1. */
	if (check_offer(all, fc, conf, 2, network) &&
	    x402_v1_name(network) != NULL)
		check_offer(all, fc, conf, 1, x402_v1_name(network));
	facilitator_close(fc);
}

bool
check_all(const char *path, char *const *environment)
{
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };
	bool all = true;

	if (conf_load(&c, path, environment, &f) != ST_OK) {
		say(&all, false, "settings", "%s", f.message);
		return false;
	}
	check_settings(&all, c);
	check_users(&all, c);
	/* Its lines have been counted one by one. */
	if (!host_check(c, host_line, &all))
		all = false;
	check_facilitator(&all, c);
	conf_free(c);
	return all;
}
