/* The tollbox command: options and commands. Only this file exits. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/status.h"
#include "check.h"
#include "drop.h"
#include "pay/keyring.h"
#include "pay/ledger.h"
#include "role.h"
#include "super.h"
#include "verify.h"

#define CONF_PATH "/etc/tollbox/tollbox.conf"
#define PRINT_BYTES (1u << 20)
#define EXIT_USAGE 2

struct options {
	const char *path; /* of the settings, NULL: none */
	const char *state;
	bool dry; /* -n */
};

static const char usage[] =
    "usage: tollbox COMMAND [-c FILE] [options]\n"
    "\n"
    "  serve [-n]           start the service; -n only checks the settings\n"
    "  check                what on this host is missing, and the mend\n"
    "  config               the settings in force and where each is from\n"
    "  payments [--state S] the ledger's payments, newest first; S is one of\n"
    "                       claimed settling unknown failed settled (or owed)\n"
    "                       running done\n"
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
	struct fault f = { .st = ST_OK };
	enum status st;

	log_open("super", LOG_LEVEL_INFO);
	st = load(&c, o);
	if (st != ST_OK)
		return EXIT_FAILURE;
	log_open("super", role_log_level(c));
	if (!o->dry) {
		st = super_serve(c);
	} else {
		st = conf_complete(c, &f);
		if (st == ST_OK)
			puts("the settings are fine");
		else
			log_err("%s", f.message);
	}
	conf_free(c);
	return st == ST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
check(const struct options *o)
{
	log_open("check", LOG_LEVEL_ERR);
	return check_all(o->path, environ) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int
config(const struct options *o)
{
	struct conf *c = NULL;
	struct buf b;
	enum status st;

	log_open("config", LOG_LEVEL_ERR);
	if (load(&c, o) != ST_OK)
		return EXIT_FAILURE;
	buf_init(&b, PRINT_BYTES);
	conf_print(&b, c);
	fputs(buf_cstr(&b), stdout);
	st = buf_status(&b);
	buf_free(&b);
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

static bool
print_payment(void *ctx, const char *identity, const struct ledger_row *row)
{
	char when[32] = "";
	time_t t = (time_t)row->created;
	struct tm tm;

	(void)ctx;
	if (gmtime_r(&t, &tm) != NULL)
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("%s  %s  %s  %s  %s  %s  %s\n", identity,
	    row->payer[0] != '\0' ? row->payer : "-", row->pay_to, row->amount,
	    ledger_state_name(row->state), when,
	    row->transaction != NULL ? row->transaction : "-");
	return ferror(stdout) == 0;
}

/* The ledger and the keys are the service user's: what root would make beside
 * them, the service could not open. */
static enum status
become_user(const struct conf *c)
{
	const struct passwd *pw;

	if (geteuid() != 0)
		return ST_OK;
	pw = getpwnam(c->user);
	if (pw == NULL) {
		log_err("there is no user %s", c->user);
		return ST_NOT_FOUND;
	}
	return drop_privileges(pw->pw_uid, pw->pw_gid);
}

static enum status
list_payments(const struct conf *c, enum ledger_state state)
{
	struct ledger *l = NULL;
	struct buf url;
	enum status st;

	st = become_user(c);
	if (st != ST_OK)
		return st;
	buf_init(&url, 8192);
	if (c->store != NULL)
		buf_adds(&url, c->store);
	else
		buf_addf(&url, "sqlite:%s/ledger.db", c->state_dir);
	st = buf_status(&url);
	if (st == ST_OK)
		st = ledger_open_reader(&l, buf_cstr(&url));
	buf_free(&url);
	if (st != ST_OK)
		return st;
	puts("IDENTITY  PAYER  RECIPIENT  AMOUNT  STATE  CREATED  "
	     "TRANSACTION");
	st = ledger_list(l, state, print_payment, NULL);
	ledger_close(l);
	return st;
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
		st = list_payments(c, state);
	conf_free(c);
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
		st = become_user(c);
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

static const struct command {
	const char *name;
	int (*run)(const struct options *o);
	bool dry;   /* takes -n */
	bool state; /* takes --state */
} commands[] = {
	{ "serve", serve, true, false },
	{ "check", check, false, false },
	{ "config", config, false, false },
	{ "payments", payments, false, true },
	{ "rotate-keys", rotate_keys, false, false },
	{ "version", version, false, false },
	{ "help", help, false, false },
	{ "--version", version, false, false },
	{ "--help", help, false, false },
};

/* -1: go on; else the exit status. */
static int
parse_options(
    struct options *o, const struct command *cmd, int argc, char **argv)
{
	static const struct option names[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "state", required_argument, NULL, 's' }, { NULL, 0, NULL, 0 }
	};
	int opt;

	opterr = 0;
	optind = 2;
	for (opt = getopt_long(argc, argv, "c:n", names, NULL); opt != -1;
	     opt = getopt_long(argc, argv, "c:n", names, NULL)) {
		if (opt == 'c')
			o->path = optarg;
		else if (opt == 'n' && cmd->dry)
			o->dry = true;
		else if (opt == 's' && cmd->state)
			o->state = optarg;
		else
			return bad_usage("wrong option for ", cmd->name);
	}
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
