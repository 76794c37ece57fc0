#include "payments.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "drop.h"
#include "web/reconcile.h"
#include "web/sites.h"

#define URL_BYTES 8192
#define WHEN 32
#define LOOK_EVERY_MS 100
/* The service may be in the middle of a call, and then has one for each row. */
#define WAIT_MS 300000

static enum status
store_url(struct buf *url, const struct conf *c)
{
	buf_init(url, URL_BYTES);
	if (c->store != NULL)
		buf_adds(url, c->store);
	else
		buf_addf(url, "sqlite:%s/ledger.db", c->state_dir);
	return buf_status(url);
}

/* ---- the list ---- */

static void
put_time(char out[WHEN], uint64_t at)
{
	time_t t = (time_t)at;
	struct tm tm;

	out[0] = '\0';
	if (gmtime_r(&t, &tm) != NULL)
		strftime(out, WHEN, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* "42s", "3h": how long ago, to one unit. */
static void
put_age(char out[WHEN], uint64_t then, uint64_t now)
{
	static const struct {
		uint64_t seconds;
		const char *unit;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "m" }, { 1, "s" } };
	uint64_t age = now > then ? now - then : 0;
	size_t i = 0;

	while (units[i].seconds > 1 && age < 2 * units[i].seconds)
		i++;
	snprintf(
	    out, WHEN, "%" PRIu64 "%s", age / units[i].seconds, units[i].unit);
}

static void
put_next(char out[WHEN], const struct ledger_row *row, uint64_t now)
{
	if (row->state != LEDGER_UNKNOWN)
		snprintf(out, WHEN, "-");
	else if (row->next_try == LEDGER_NEVER)
		snprintf(out, WHEN, "never");
	else if (row->next_try <= now)
		snprintf(out, WHEN, "now");
	else
		snprintf(out, WHEN, "in %" PRIu64 "s", row->next_try - now);
}

static bool
print_payment(void *ctx, const char *identity, const struct ledger_row *row)
{
	uint64_t now = (uint64_t)time(NULL);
	char when[WHEN], age[WHEN], next[WHEN];

	(void)ctx;
	put_time(when, row->created);
	put_age(age, row->created, now);
	put_next(next, row, now);
	printf("%s  %s  %s  %s  %s  %s  %s  %s  %s  %s\n", identity,
	    row->payer[0] != '\0' ? row->payer : "-", row->pay_to, row->amount,
	    ledger_state_name(row->state), when,
	    row->transaction != NULL ? row->transaction : "-", age, next,
	    row->reason != NULL ? row->reason : "-");
	return ferror(stdout) == 0;
}

enum status
payments_list(const struct conf *c, enum ledger_state state)
{
	struct ledger *l = NULL;
	OWN_BUF struct buf url;
	enum status st;

	st = store_url(&url, c);
	if (st == ST_OK)
		st = drop_to_user(c->user);
	if (st == ST_OK)
		st = ledger_open_reader(&l, buf_cstr(&url));
	if (st != ST_OK)
		return st;
	puts("IDENTITY  PAYER  RECIPIENT  AMOUNT  STATE  CREATED  "
	     "TRANSACTION  AGE  NEXT TRY  EVIDENCE");
	st = ledger_list(l, state, print_payment, NULL);
	ledger_close(l);
	return st;
}

/* ---- which ones ---- */

struct chosen {
	const char *identity; /* or NULL */
	bool all;
	char **names;
	size_t n;
	enum status st;
};

static void
chosen_free(struct chosen *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->names[i]);
	free(w->names);
}

static bool
choose_one(void *ctx, const char *identity, const struct ledger_row *row)
{
	struct chosen *w = ctx;
	char **more;

	if (w->identity != NULL ? strcmp(w->identity, identity) != 0
				: row->next_try == LEDGER_NEVER && !w->all)
		return true;
	more = realloc(w->names, (w->n + 1) * sizeof(*more));
	if (more != NULL)
		w->names = more;
	if (more == NULL || (more[w->n] = strdup(identity)) == NULL) {
		w->st = ST_NOMEM;
		return false;
	}
	w->n++;
	return true;
}

/* What is neither unknown nor there is a mistake of the caller's. */
static enum status
choose(struct chosen *w, struct ledger *l)
{
	struct ledger_row row;
	enum status st = ledger_list(l, LEDGER_UNKNOWN, choose_one, w);

	if (st == ST_OK)
		st = w->st;
	if (st != ST_OK || w->n > 0 || w->identity == NULL)
		return st;
	st = ledger_look(l, w->identity, &row);
	if (st == ST_NOT_FOUND)
		log_err("there is no payment %s", w->identity);
	if (st != ST_OK)
		return st;
	log_err("%s is not unknown but %s", w->identity,
	    ledger_state_name(row.state));
	ledger_row_free(&row);
	return ST_CONFLICT;
}

static void
print_found(const char *identity, const struct ledger_row *row)
{
	printf("%s  %s  %s  %s\n", identity, ledger_state_name(row->state),
	    row->transaction != NULL ? row->transaction : "-",
	    row->reason != NULL ? row->reason : "-");
	fflush(stdout);
}

/* ---- by the running service ---- */

/* Wait until the service has looked at one that was recalled. */
static enum status
await(struct ledger *l, const char *identity, int64_t deadline_ms)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };

	for (;;) {
		struct ledger_row row;
		enum status st = ledger_look(l, identity, &row);

		if (st != ST_OK)
			return st;
		if ((row.state != LEDGER_UNKNOWN || row.next_try != 0) &&
		    row.state != LEDGER_SETTLING) {
			print_found(identity, &row);
			st = row.state == LEDGER_UNKNOWN ? ST_UNKNOWN : ST_OK;
			ledger_row_free(&row);
			return st;
		}
		ledger_row_free(&row);
		if (io_now_ms() >= deadline_ms) {
			log_err("%s: the service has not looked at it yet; "
				"`tollbox payments` will tell",
			    identity);
			return ST_UNKNOWN;
		}
		nanosleep(&pause, NULL);
	}
}

static enum status
by_service(const char *url, struct chosen *w)
{
	int64_t deadline = io_now_ms() + WAIT_MS;
	struct ledger *l = NULL;
	enum status all = ST_OK;
	enum status st = ledger_open_beside(&l, url);

	if (st == ST_OK)
		st = choose(w, l);
	if (st == ST_OK && w->n > 0)
		st = ledger_recall(l, w->identity, w->all);
	for (size_t i = 0; i < w->n && st == ST_OK; i++) {
		st = await(l, w->names[i], deadline);
		if (st == ST_UNKNOWN)
			all = ST_UNKNOWN;
		if (st == ST_UNKNOWN || st == ST_NOT_FOUND)
			st = ST_OK;
	}
	ledger_close(l);
	return st == ST_OK ? all : st;
}

/* ---- without it ---- */

static enum status
mend(struct reconcile *r, struct ledger *l, const char *identity)
{
	struct reconcile_found found = { .transaction = NULL };
	struct ledger_row row;
	enum status st = ledger_look(l, identity, &row);

	if (st != ST_OK)
		return st;
	st = reconcile_row(r, identity, &row, &found);
	free(found.transaction);
	ledger_row_free(&row);
	if (st == ST_OK)
		st = ledger_look(l, identity, &row);
	if (st != ST_OK)
		return st;
	print_found(identity, &row);
	st = row.state == LEDGER_UNKNOWN ? ST_UNKNOWN : ST_OK;
	ledger_row_free(&row);
	return st;
}

static enum status
by_hand(const struct conf *c, const char *url, struct chosen *w)
{
	struct ledger *l = NULL;
	struct sites *s = NULL;
	struct reconcile *r = NULL;
	enum status all = ST_OK;
	enum status st = ledger_open(&l, url);

	if (st == ST_OK)
		st = choose(w, l);
	if (st == ST_OK)
		st = sites_open(&s, c, NULL);
	if (st == ST_OK)
		st = reconcile_open(&r, c, l, s);
	for (size_t i = 0; i < w->n && st == ST_OK; i++) {
		st = mend(r, l, w->names[i]);
		if (st == ST_UNKNOWN) {
			all = ST_UNKNOWN;
			st = ST_OK;
		}
	}
	reconcile_close(r);
	sites_close(s);
	ledger_close(l);
	return st == ST_OK ? all : st;
}

/* The facilitators' secrets, which root alone may read. */
static enum status
read_secrets(struct conf *c)
{
	struct fault f = { .st = ST_OK };
	enum status st = conf_secrets(c, &f);

	if (st != ST_OK)
		log_err("%s", f.message);
	return st;
}

enum status
payments_reconcile(struct conf *c, const char *identity, bool all)
{
	struct chosen w = { .identity = identity, .all = all, .st = ST_OK };
	OWN_BUF struct buf url;
	bool held = false;
	enum status st = store_url(&url, c);

	if (st == ST_OK)
		st = ledger_held(&held, buf_cstr(&url));
	if (st == ST_OK && !held)
		st = read_secrets(c);
	if (st == ST_OK)
		st = drop_to_user(c->user);
	if (st == ST_OK)
		st = held ? by_service(buf_cstr(&url), &w)
			  : by_hand(c, buf_cstr(&url), &w);
	if (st == ST_OK && w.n == 0)
		puts("no settlement is unknown");
	chosen_free(&w);
	return st;
}
