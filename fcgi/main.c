/* The tollbox command: options and commands. Only this file exits. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/log.h"
#include "base/status.h"
#include "check.h"
#include "config.h"
#include "drop.h"
#include "pay/keyring.h"
#include "pay/ledger.h"
#include "payments.h"
#include "role.h"
#include "super.h"
#include "verify.h"

#define CONF_PATH "/etc/tollbox/tollbox.conf"
#define EXIT_USAGE 2
#define EXIT_STILL_UNKNOWN 3

struct options {
	const char *path; /* of the settings, NULL: none */
	const char *state;
	const char *identity; /* of a payment */
	const char *web;      /* a web server's files, NULL: ask it */
	bool all;
	bool dry; /* -n */
};

static const char usage[] =
    "usage: tollbox COMMAND [-c FILE] [options]\n"
    "\n"
    "  serve [-n]           start the service; -n only checks the settings\n"
    "  check [--web FILE]   what on this host is missing, and the mend\n"
    "  config [--web FILE]  the settings in force and where each is from;\n"
    "                       FILE: what `nginx -T` or `apache2ctl -t -D\n"
    "                       DUMP_CONFIG` has written, instead of asking them\n"
    "  payments [--state S] the ledger's payments, newest first; S is one of\n"
    "                       claimed settling unknown failed settled (or owed)\n"
    "                       running done\n"
    "  reconcile [--all|ID] look after unknown settlements now; --all: those\n"
    "                       that were given up too\n"
    "  rotate-keys          new signing keys; old ones stay "
    "published\n" VERIFY_USAGE "  version\n"
    "  help\n"
    "\n"
    "The settings are read from " CONF_PATH " if that is\n"
    "there and no -c is given. The environment (TOLLBOX_*) wins over them.\n";

extern char **environ;

static int
bad_usage(const char *why, const char *what)
{
	fprintf(stderr, "tollbox: %s%s\n%s", why, what, usage);
	return EXIT_USAGE;
}

/* ST_OK, or the fault on stderr. */
static enum status
load(struct conf **c, const struct options *o)
{
	struct fault f = { .st = ST_OK };
	enum status st = conf_load(c, o->path, environ, &f);

	if (st != ST_OK)
		log_err("%s", f.message);
	return st;
}

static int
serve(const struct options *o)
{
	struct conf *c = NULL;
	enum status st;

	log_open("super", LOG_LEVEL_INFO);
	st = load(&c, o);
	if (st != ST_OK)
		return EXIT_FAILURE;
	role_log("super", c);
	if (!o->dry) {
		st = super_serve(c, o->path, environ);
		c = NULL;
	} else {
		st = check_dry(c) ? ST_OK : ST_FORMAT;
		if (st == ST_OK)
			puts("the settings are fine");
	}
	conf_free(c);
	return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
check(const struct options *o)
{
	log_open("check", LOG_LEVEL_ERR);
	return check_all(o->path, o->web, environ) ? EXIT_SUCCESS
						   : EXIT_FAILURE;
}

static int
config(const struct options *o)
{
	struct conf *c = NULL;
	enum status st;

	log_open("config", LOG_LEVEL_ERR);
	if (load(&c, o) != ST_OK)
		return EXIT_FAILURE;
	st = config_print(c, o->web);
	conf_free(c);
	return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool
state_of(enum ledger_state *out, const char *name)
{
	if (strcmp(name, "owed") == 0) {
		*out = LEDGER_SETTLED;
		return true;
	}
	for (int s = LEDGER_CLAIMED; s < LEDGER_STATE_MAX; s++)
		if (strcmp(ledger_state_name((enum ledger_state)s), name) ==
		    0) {
			*out = (enum ledger_state)s;
			return true;
		}
	return false;
}

static int
payments(const struct options *o)
{
	enum ledger_state state = 0; /* all */
	struct conf *c = NULL;
	enum status st;

	if (o->state != NULL && !state_of(&state, o->state))
		return bad_usage("there is no state ", o->state);
	log_open("payments", LOG_LEVEL_ERR);
	st = load(&c, o);
	if (st == ST_OK)
		st = payments_list(c, state);
	conf_free(c);
	return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* 3: all was looked at, and some are unknown still. */
static int
reconcile(const struct options *o)
{
	struct conf *c = NULL;
	enum status st;

	if (o->all && o->identity != NULL)
		return bad_usage("--all, or one payment: ", o->identity);
	log_open("reconcile", LOG_LEVEL_WARN);
	st = load(&c, o);
	if (st == ST_OK)
		st = payments_reconcile(c, o->identity, o->all);
	conf_free(c);
	if (st == ST_UNKNOWN)
		return EXIT_STILL_UNKNOWN;
	return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
rotate_keys(const struct options *o)
{
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };
	enum status st;

	log_open("rotate-keys", LOG_LEVEL_ERR);
	st = load(&c, o);
	if (st == ST_OK)
		st = drop_to_user(c->user);
	if (st == ST_OK) {
		st = keyring_rotate(c->state_dir, &f);
		if (st == ST_OK)
			puts("there are new signing keys; the service takes "
			     "them at its next start");
		else
			log_err("%s", f.message);
	}
	conf_free(c);
	return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
version(const struct options *o)
{
	(void)o;
	puts("tollbox " TOLLBOX_VERSION " (" TOLLBOX_COMMIT ")");
	return EXIT_SUCCESS;
}

static int
help(const struct options *o)
{
	(void)o;
	fputs(usage, stdout);
	return EXIT_SUCCESS;
}

/* The options by their letters; OPT_ALL goes with a payment's identity. */
#define OPT_NONE '\0'
#define OPT_DRY 'n'
#define OPT_STATE 's'
#define OPT_ALL 'a'
#define OPT_WEB 'w'

static const struct command {
	const char *name;
	int (*run)(const struct options *o);
	char takes; /* what it takes besides -c: OPT_… or nothing */
} commands[] = {
	{ "serve", serve, OPT_DRY },
	{ "check", check, OPT_WEB },
	{ "config", config, OPT_WEB },
	{ "payments", payments, OPT_STATE },
	{ "reconcile", reconcile, OPT_ALL },
	{ "rotate-keys", rotate_keys, OPT_NONE },
	{ "version", version, OPT_NONE },
	{ "help", help, OPT_NONE },
	{ "--version", version, OPT_NONE },
	{ "--help", help, OPT_NONE },
};

/* -1: go on; else the exit status. */
static int
parse_options(
    struct options *o, const struct command *cmd, int argc, char **argv)
{
	static const struct option names[] = { { "config", required_argument,
						   NULL, 'c' },
		{ "state", required_argument, NULL, OPT_STATE },
		{ "all", no_argument, NULL, OPT_ALL },
		{ "web", required_argument, NULL, OPT_WEB },
		{ NULL, 0, NULL, 0 } };
	int opt;

	opterr = 0;
	optind = 2;
	for (opt = getopt_long(argc, argv, "c:n", names, NULL); opt != -1;
	     opt = getopt_long(argc, argv, "c:n", names, NULL)) {
		if (opt != 'c' && opt != cmd->takes)
			return bad_usage("wrong option for ", cmd->name);
		if (opt == 'c')
			o->path = optarg;
		else if (opt == OPT_DRY)
			o->dry = true;
		else if (opt == OPT_STATE)
			o->state = optarg;
		else if (opt == OPT_WEB)
			o->web = optarg;
		else
			o->all = true;
	}
	if (cmd->takes == OPT_ALL && optind < argc)
		o->identity = argv[optind++];
	if (optind != argc)
		return bad_usage("one argument too many: ", argv[optind]);
	if (o->path == NULL && access(CONF_PATH, F_OK) == 0)
		o->path = CONF_PATH;
	return -1;
}

static int
run(int argc, char **argv)
{
	struct options o = { .path = NULL };
	const struct command *cmd = NULL;
	int rc;

	if (argc < 2)
		return bad_usage("no command", "");
	if (strcmp(argv[1], ROLE_GATE) == 0 || strcmp(argv[1], ROLE_BOXER) == 0)
		return role_run(argc, argv) == ST_OK ? EXIT_SUCCESS
						     : EXIT_FAILURE;
	/* It needs no settings, and is for callers as well. */
	if (strcmp(argv[1], "verify-receipt") == 0)
		return verify_command(argc, argv);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, argv[1]) == 0)
			cmd = &commands[i];
	if (cmd == NULL)
		return bad_usage("unknown command ", argv[1]);
	rc = parse_options(&o, cmd, argc, argv);
	if (rc >= 0)
		return rc;
	rc = cmd->run(&o);
	if (fflush(stdout) != 0 && rc == EXIT_SUCCESS) {
		fprintf(stderr, "tollbox: stdout: %s\n", strerror(errno));
		rc = EXIT_FAILURE;
	}
	return rc;
}

/* Whatever started us: what is opened later must not get a number that the log
 * is written to, and children must be there to be waited for. */
static bool
start_clean(void)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return false;
	return sigaction(SIGCHLD, &usual, NULL) == 0;
}

int
main(int argc, char **argv)
{
	if (!start_clean())
		return EXIT_FAILURE;
	return run(argc, argv);
}
