#include "places_apache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"

#define HEAD "# In file: "
#define DEPTH 32
#define WORDS 4
#define WORD_BYTES 4096

struct setting {
	struct setting *next; /* the one before it */
	char *name;
	char *value;
	bool unsure; /* only a request can tell */
};

/* A section of the files, while it is open. */
struct section {
	struct setting *set;
	char *name;    /* of the host */
	char *where;   /* "FILE:LINE" */
	char *socket;  /* of a daemon that it passes requests to */
	bool host;     /* <VirtualHost>, or no section at all */
	size_t number; /* of the host */
};

/* All that a host says by itself, wherever in it. */
struct host {
	struct setting *set;
	char *name;
	char *socket;
};

/* The text is read twice: what stands last in a host holds for the parts of it
 * that came before. */
struct reader {
	struct places *out; /* NULL the first time */
	struct host *hosts;
	size_t n_hosts, at_host;
	struct section open[DEPTH];
	size_t n;
	char *file;
	unsigned line;
	char word[WORDS][WORD_BYTES];
	enum status st;
};

bool
places_apache_is(const char *text)
{
	return strncmp(text, HEAD, strlen(HEAD)) == 0;
}

static void
replace(struct reader *r, char **at, const char *text, size_t len)
{
	free(*at);
	*at = strndup(text, len);
	if (*at == NULL)
		r->st = ST_NOMEM;
}

static void
settings_free(struct setting *s)
{
	while (s != NULL) {
		struct setting *next = s->next;

		free(s->name);
		free(s->value);
		free(s);
		s = next;
	}
}

static void
section_free(struct section *s)
{
	settings_free(s->set);
	free(s->name);
	free(s->where);
	free(s->socket);
	memset(s, 0, sizeof(*s));
}

/* The settings of an open section. */
static struct setting *
set_of(const struct reader *r, const struct section *s)
{
	return s->host && r->out != NULL ? r->hosts[s->number].set : s->set;
}

/* A line's words, in quotes or not; what is over WORDS or over-long is left
 * out. */
static void
split(struct reader *r, const char *line, size_t len)
{
	size_t i = 0;

	for (size_t w = 0; w < WORDS; w++) {
		size_t n = 0;
		char quote = '\0';

		while (i < len && (line[i] == ' ' || line[i] == '\t'))
			i++;
		if (i < len && (line[i] == '"' || line[i] == '\''))
			quote = line[i++];
		for (; i < len; i++) {
			if (quote != '\0' ? line[i] == quote
					  : line[i] == ' ' || line[i] == '\t')
				break;
			if (quote != '\0' && line[i] == '\\' && i + 1 < len &&
			    line[i + 1] == quote)
				i++;
			if (n + 1 < WORD_BYTES)
				r->word[w][n++] = line[i];
		}
		if (i < len && quote != '\0')
			i++;
		r->word[w][n] = '\0';
	}
}

static void
set(struct reader *r, const char *name, const char *value, bool unsure)
{
	struct section *s = &r->open[r->n - 1];
	struct setting *new;

	if (!places_is_setting(name) || (s->host && r->out != NULL))
		return;
	new = calloc(1, sizeof(*new));
	if (new == NULL) {
		r->st = ST_NOMEM;
		return;
	}
	new->next = s->set;
	new->unsure = unsure;
	s->set = new;
	replace(r, &new->name, name, strlen(name));
	replace(r, &new->value, value, strlen(value));
}

static bool
is(const char *a, const char *b)
{
	return strcasecmp(a, b) == 0;
}

/* The path of "unix:PATH|fcgi://…". */
static void
pass(struct reader *r, const char *to)
{
	const char *unix_at = strstr(to, "unix:");
	const char *bar = strstr(to, "|fcgi://");

	if (unix_at == NULL || bar == NULL || bar < unix_at)
		return;
	unix_at += strlen("unix:");
	replace(r, &r->open[r->n - 1].socket, unix_at, (size_t)(bar - unix_at));
}

static void
directive(struct reader *r)
{
	char(*w)[WORD_BYTES] = r->word;
	struct section *s = &r->open[r->n - 1];

	if (is(w[0], "SetEnv"))
		set(r, w[1], w[2], false);
	else if (is(w[0], "PassEnv"))
		set(r, w[1], "", true);
	else if (is(w[0], "ProxyFCGISetEnvIf"))
		set(r, w[2], w[3],
		    strcmp(w[1], "true") != 0 || strstr(w[3], "%{") != NULL);
	else if (is(w[0], "ServerName"))
		replace(r, &s->name, w[1], strlen(w[1]));
	else if (is(w[0], "ProxyPass") || is(w[0], "ProxyPassMatch") ||
		 is(w[0], "SetHandler")) {
		pass(r, w[1]);
		pass(r, w[2]);
	}
	if (is(w[0], "SetEnv") && strcmp(w[1], "CGI_TOLLBOX_SOCKET") == 0)
		replace(r, &s->socket, w[2], strlen(w[2]));
}

static const struct setting *
setting_of(const struct setting *at, const char *name)
{
	while (at != NULL && strcmp(at->name, name) != 0)
		at = at->next;
	return at;
}

static void
add_param(struct reader *r, struct places_one *p, const struct setting *s)
{
	site_params_add(&p->params, s->name, s->value);
	if (!s->unsure || p->unknown != NULL)
		return;
	if (asprintf(&p->unknown,
		"%s is made of the request or the environment", s->name) < 0) {
		p->unknown = NULL;
		r->st = ST_NOMEM;
	}
}

/* The settings of the open sections: an inner one wins, and a later one. */
static void
add_params(struct reader *r, struct places_one *p)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct setting *all = set_of(r, &r->open[i]);

		for (const struct setting *s = all; s != NULL; s = s->next) {
			bool wins = setting_of(all, s->name) == s;

			for (size_t k = i + 1; k < r->n && wins; k++)
				wins = setting_of(set_of(r, &r->open[k]),
					   s->name) == NULL;
			if (wins)
				add_param(r, p, s);
		}
	}
}

/* A section ends: a host that passes requests on is a place, and a part of one
 * that has settings of its own is another. */
static void
tell(struct reader *r, const struct section *s)
{
	const struct section *at = s;
	const struct host *host;
	struct places_one *p = NULL;
	OWN_FREE char *name = NULL;

	while (!at->host)
		at--;
	host = &r->hosts[at->number];
	if (host->socket == NULL || (!s->host && s->set == NULL))
		return;
	if (asprintf(&name, "Apache, %s (%s)",
		host->name != NULL ? host->name : "no ServerName",
		at->where) < 0) {
		name = NULL;
		r->st = ST_NOMEM;
		return;
	}
	r->st = places_add(&p, r->out, name);
	if (r->st != ST_OK)
		return;
	replace(r, &p->socket, host->socket, strlen(host->socket));
	add_params(r, p);
	places_drop_twin(r->out);
}

/* The first time: what the section said is its host's. */
static void
keep(struct reader *r, struct section *s)
{
	const struct section *at = s;
	struct host *host;

	while (!at->host)
		at--;
	host = &r->hosts[at->number];
	if (host->socket == NULL) {
		host->socket = s->socket;
		s->socket = NULL;
	}
	if (!s->host)
		return;
	host->set = s->set;
	host->name = s->name;
	s->set = NULL;
	s->name = NULL;
}

static void
close_section(struct reader *r)
{
	struct section *s = &r->open[r->n - 1];

	if (r->out != NULL)
		tell(r, s);
	else
		keep(r, s);
	section_free(s);
	r->n--;
}

/* The next host: the server itself, or a <VirtualHost>. */
static void
open_host(struct reader *r, struct section *s)
{
	struct host *more;

	s->host = true;
	s->number = r->at_host++;
	if (asprintf(&s->where, "%s:%u", r->file, r->line) < 0) {
		s->where = NULL;
		r->st = ST_NOMEM;
	}
	if (s->number < r->n_hosts)
		return;
	more = realloc(r->hosts, (r->n_hosts + 1) * sizeof(*more));
	if (more == NULL) {
		r->st = ST_NOMEM;
		s->host = s->number == 0; /* what is open keeps its bottom */
		return;
	}
	memset(&more[r->n_hosts++], 0, sizeof(*more));
	r->hosts = more;
}

static void
open_section(struct reader *r)
{
	struct section *s = &r->open[r->n];

	if (r->n == DEPTH) {
		r->st = ST_FORMAT;
		return;
	}
	r->n++;
	if (strncasecmp(r->word[0], "<VirtualHost", 12) == 0)
		open_host(r, s);
}

static void
take_line(struct reader *r, const char *line, size_t len)
{
	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (len >= strlen(HEAD) && strncmp(line, HEAD, strlen(HEAD)) == 0) {
		replace(r, &r->file, line + strlen(HEAD), len - strlen(HEAD));
		return;
	}
	if (len > 0 && line[0] == '#') {
		r->line = (unsigned)strtoul(line + 1, NULL, 10);
		return;
	}
	split(r, line, len);
	if (strncmp(r->word[0], "</", 2) == 0) {
		if (r->n > 1)
			close_section(r);
	} else if (r->word[0][0] == '<') {
		open_section(r);
	} else {
		directive(r);
	}
}

static void
read_once(struct reader *r, const char *text)
{
	r->at_host = 0;
	r->line = 0;
	replace(r, &r->file, "", 0);
	r->n = 1;
	if (r->st == ST_OK)
		open_host(r, &r->open[0]);
	while (*text != '\0' && r->st == ST_OK) {
		size_t len = strcspn(text, "\n");

		take_line(r, text, len);
		text += len + (text[len] == '\n' ? 1 : 0);
	}
	while (r->n > 0 && r->st == ST_OK)
		close_section(r);
	while (r->n > 0)
		section_free(&r->open[--r->n]);
}

enum status
places_apache_read(struct places *out, const char *text)
{
	struct reader *r = calloc(1, sizeof(*r));
	enum status st;

	if (r == NULL)
		return ST_NOMEM;
	read_once(r, text);
	r->out = out;
	if (r->st == ST_OK)
		read_once(r, text);
	for (size_t i = 0; i < r->n_hosts; i++) {
		settings_free(r->hosts[i].set);
		free(r->hosts[i].name);
		free(r->hosts[i].socket);
	}
	free(r->hosts);
	free(r->file);
	st = r->st;
	free(r);
	return st;
}
