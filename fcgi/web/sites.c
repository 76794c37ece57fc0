#include "web/sites.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "web/metrics_money.h"

#define SITES_MAX 256 /* kept while nobody uses them */
#define PLACE_BYTES 512
/* What is wrong is told once a site. Where sites come without end, so that the
 * same one is made again and again, the log must not fill up. */
#define COMPLAINTS SITES_MAX
#define COMPLAIN_EVERY_MS 60000

struct sites_entry {
	struct sites_entry *next;
	struct site_params params; /* that it was made from */
	size_t users;
	struct site site;
};

struct sites {
	struct site_common common;
	pthread_mutex_t lock;
	struct sites_entry *first; /* the one used last */
	size_t n;
	bool watched;
	bool crowded; /* there were too many: the log has told */
	size_t complaints;
	int64_t complained_ms;
};

struct facilitator *
sites_facilitator(struct sites *s, const char *name)
{
	return site_facilitator(&s->common, name);
}

static void
entry_free(struct sites_entry *e)
{
	site_free(&e->site);
	site_params_free(&e->params);
	free(e);
}

/* Take the entry of these parameters out of the list; NULL if there is none.
 * The lock is held, as in all that follows. */
static struct sites_entry *
take_out(struct sites *s, const struct site_params *p)
{
	for (struct sites_entry **at = &s->first; *at != NULL;
	     at = &(*at)->next) {
		struct sites_entry *e = *at;

		if (e->params.text.len != p->text.len ||
		    memcmp(buf_cstr(&e->params.text), buf_cstr(&p->text),
			p->text.len) != 0)
			continue;
		*at = e->next;
		s->n--;
		return e;
	}
	return NULL;
}

static void
put_first(struct sites *s, struct sites_entry *e)
{
	e->next = s->first;
	s->first = e;
	s->n++;
}

/* While there are too many, the one that nobody uses and that was used before
 * all others goes. */
static void
make_room(struct sites *s)
{
	struct sites_entry **idle = NULL;
	struct sites_entry *gone;

	if (s->n <= SITES_MAX)
		return;
	for (struct sites_entry **at = &s->first; *at != NULL;
	     at = &(*at)->next)
		if ((*at)->users == 0)
			idle = at;
	if (idle == NULL)
		return;
	gone = *idle;
	*idle = gone->next;
	s->n--;
	entry_free(gone);
	if (!s->crowded)
		log_warn("over %d different sets of TOLLBOX_* parameters have "
			 "come: a location makes them of the request; write "
			 "constants there",
		    SITES_MAX);
	s->crowded = true;
}

static bool
may_complain(struct sites *s)
{
	int64_t now = io_now_ms();

	if (s->complaints >= COMPLAINTS &&
	    now - s->complained_ms < COMPLAIN_EVERY_MS)
		return false;
	s->complaints++;
	s->complained_ms = now;
	return true;
}

/* What of its money the site cannot take. */
static void
log_lacks(struct sites *s, const struct site *site)
{
	char lack[256];

	for (size_t i = 0; i < site->n_accepts; i++) {
		const struct accept *a = &site->accepts[i];

		accept_lack(lack, a);
		if (lack[0] != '\0' && may_complain(s))
			log_err("%s takes no payment in %s on %s: %s",
			    site->conf.public_url,
			    a->name != NULL ? a->name : a->asset, a->network,
			    lack);
	}
}

static void
complain(struct sites *s, const struct site *site, const char *place)
{
	if (site->broken.st == ST_OK) {
		metrics_money_site(site);
		if (s->watched)
			log_lacks(s, site);
		return;
	}
	if (place == NULL)
		log_err("the settings are wrong: %s", site->broken.message);
	else if (may_complain(s))
		log_err("the settings of a location are wrong (%s): %s", place,
		    site->broken.message);
}

/* A site of these parameters, not in the list yet. */
static enum status
entry_make(
    struct sites_entry **out, struct sites *s, const struct site_params *p)
{
	struct sites_entry *e = calloc(1, sizeof(*e));
	struct fault *f;

	*out = NULL;
	if (e == NULL)
		return ST_NOMEM;
	site_params_init(&e->params);
	buf_add(&e->params.text, p->text.data, p->text.len);
	f = &e->site.broken;
	if (site_params_judge(&e->params, f) == ST_OK)
		site_make(&e->site, &s->common, site_params_get, &e->params);
	/* That may pass: it must not be remembered. */
	if (f->st == ST_NOMEM || buf_status(&e->params.text) != ST_OK) {
		entry_free(e);
		return ST_NOMEM;
	}
	*out = e;
	return ST_OK;
}

enum status
sites_with(struct sites_loan *out, struct sites *s, const struct site_params *p,
    const char *place)
{
	struct sites_entry *e;
	enum status st = buf_status(&p->text);

	*out = (struct sites_loan){ .from = NULL };
	if (st != ST_OK)
		return st;
	pthread_mutex_lock(&s->lock);
	e = take_out(s, p);
	if (e == NULL) {
		st = entry_make(&e, s, p);
		if (st == ST_OK)
			complain(s, &e->site, place);
	}
	if (st == ST_OK) {
		put_first(s, e);
		e->users++;
		make_room(s);
		*out = (struct sites_loan){
			.site = &e->site, .from = s, .entry = e
		};
	}
	pthread_mutex_unlock(&s->lock);
	return st;
}

void
sites_return(struct sites_loan *l)
{
	if (l->from == NULL)
		return;
	pthread_mutex_lock(&l->from->lock);
	l->entry->users--;
	make_room(l->from);
	pthread_mutex_unlock(&l->from->lock);
	*l = (struct sites_loan){ .from = NULL };
}

static void
collect(void *ctx, const char *name, const char *value)
{
	site_params_add(ctx, name, value);
}

/* What the operator knows the location by. With some web servers the name is
 * the client's own word; the log escapes what it is given. */
static void
put_place(char out[PLACE_BYTES], const struct http_request *q)
{
	const char *name = http_param(q, "SERVER_NAME");
	const char *port = http_param(q, "SERVER_PORT");

	snprintf(out, PLACE_BYTES, "server %.200s, port %.8s, %.200s",
	    name != NULL ? name : "?", port != NULL ? port : "?", q->path);
}

enum status
sites_of(struct sites_loan *out, struct sites *s, const struct http_request *q)
{
	struct site_params p;
	char place[PLACE_BYTES];
	enum status st;

	site_params_init(&p);
	http_params(q, "TOLLBOX_", collect, &p);
	put_place(place, q);
	st = sites_with(out, s, &p, place);
	site_params_free(&p);
	return st;
}

enum status
sites_default(const struct site **out, struct sites *s)
{
	struct sites_loan loan;
	struct site_params none;
	enum status st;

	site_params_init(&none);
	/* Never given back: a site of no parameters is always there. */
	st = sites_with(&loan, s, &none, NULL);
	*out = loan.site;
	site_params_free(&none);
	return st;
}

enum status
sites_open(struct sites **out, const struct conf *c, const struct keyring *keys)
{
	struct sites *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (s == NULL)
		return ST_NOMEM;
	s->common.conf = c;
	s->common.keys = keys;
	pthread_mutex_init(&s->lock, NULL);
	for (size_t i = 0; i < c->n_facilitators; i++) {
		enum status st = facilitator_open(
		    &s->common.facilitators[i], &c->facilitators[i]);

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
	size_t n = all->common.conf->n_facilitators;

	for (size_t i = 0; i < n; i++) {
		enum status st = facilitator_watch(all->common.facilitators[i]);

		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; i < n; i++)
		facilitator_await(all->common.facilitators[i], deadline);
	pthread_mutex_lock(&all->lock);
	log_lacks(all, s);
	all->watched = true;
	pthread_mutex_unlock(&all->lock);
	return ST_OK;
}

void
sites_close(struct sites *s)
{
	if (s == NULL)
		return;
	for (struct sites_entry *e = s->first; e != NULL;) {
		struct sites_entry *next = e->next;

		entry_free(e);
		e = next;
	}
	for (size_t i = 0; i < CONF_FACILITATORS; i++)
		facilitator_close(s->common.facilitators[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
