#include "places_nginx.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "places_lex.h"

#define HEAD "# configuration file "
#define DEPTH 32  /* of blocks and includes */
#define NESTING 8 /* of variables in variables */
#define VALUE_BYTES 8192
#define SOCKET_OF_SCRIPT "/run/tollbox/tollbox.sock" /* cgi/tollbox.cgi */

enum kind {
	KIND_OTHER,
	KIND_SERVER,
	KIND_LOCATION,
	KIND_IF
};

/* A `set` or a `fastcgi_param`. */
struct setting {
	struct setting *next; /* the one before it */
	char *name;
	char *value;
	bool unsure;   /* it stands in an `if` */
	bool optional; /* if_not_empty */
};

struct block {
	struct block *next; /* of all */
	struct block *up;
	enum kind kind;
	struct setting *sets;
	struct setting *params;
	char *pass;  /* fastcgi_pass, or NULL */
	char *label; /* of a server its first name, of a location its address */
	char *file;
	unsigned line;
};

struct reader {
	const char *text;
	struct places *out;
	struct block *blocks; /* as they stand in the files */
	struct block *last;
	char *folder; /* of the main file; includes are relative to it */
	enum status st;
};

bool
places_nginx_is(const char *text)
{
	return strncmp(text, HEAD, strlen(HEAD)) == 0;
}

static char *
copy(struct reader *r, const char *text)
{
	char *c = strdup(text);

	if (c == NULL)
		r->st = ST_NOMEM;
	return c;
}

static struct block *
block_new(struct reader *r, struct block *up, const char *file, unsigned line)
{
	struct block *b = calloc(1, sizeof(*b));

	if (b == NULL) {
		r->st = ST_NOMEM;
		return NULL;
	}
	b->up = up;
	b->line = line;
	b->file = copy(r, file);
	if (r->last != NULL)
		r->last->next = b;
	else
		r->blocks = b;
	r->last = b;
	return b;
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
blocks_free(struct block *b)
{
	while (b != NULL) {
		struct block *next = b->next;

		settings_free(b->sets);
		settings_free(b->params);
		free(b->pass);
		free(b->label);
		free(b->file);
		free(b);
		b = next;
	}
}

static void
setting_add(struct reader *r, struct setting **list, const char *name,
    const char *value, bool unsure, bool optional)
{
	struct setting *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		r->st = ST_NOMEM;
		return;
	}
	s->name = copy(r, name);
	s->value = copy(r, value);
	s->unsure = unsure;
	s->optional = optional;
	s->next = *list;
	*list = s;
}

static const struct setting *
find(const struct setting *list, const char *name, size_t len)
{
	for (; list != NULL; list = list->next)
		if (strlen(list->name) == len &&
		    memcmp(list->name, name, len) == 0)
			return list;
	return NULL;
}

static const struct block *
up_to(const struct block *b, enum kind kind)
{
	while (b != NULL && b->kind != kind)
		b = b->up;
	return b;
}

/* What a variable is set to for requests of block b: there, else in its
 * server. */
static const struct setting *
variable(const struct block *b, const char *name, size_t len)
{
	const struct setting *s = NULL;

	for (const struct block *at = b; at != NULL && s == NULL; at = at->up)
		if (at == b || at->kind == KIND_SERVER)
			s = find(at->sets, name, len);
	return s;
}

/* Append value with its variables put in. The name of one that only a request
 * can tell goes to *unknown ($ and all), if it is the first. */
static void
expand(struct reader *r, struct buf *out, const struct block *b,
    const char *value, char **unknown, int depth)
{
	while (*value != '\0') {
		size_t len = strcspn(value, "$");
		const struct setting *s;
		const char *name;
		bool braces;

		buf_add(out, value, len);
		value += len;
		if (*value == '\0')
			return;
		braces = value[1] == '{';
		name = value + (braces ? 2 : 1);
		len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		if (len == 0) {
			buf_addc(out, *value++);
			continue;
		}
		value = name + len + (braces && name[len] == '}' ? 1 : 0);
		s = variable(b, name, len);
		if (s != NULL && !s->unsure && depth < NESTING) {
			expand(r, out, b, s->value, unknown, depth + 1);
			continue;
		}
		if (*unknown == NULL &&
		    asprintf(unknown, "$%.*s", (int)len, name) < 0) {
			*unknown = NULL;
			r->st = ST_NOMEM;
		}
	}
}

/* nginx: a block with parameters of its own inherits none. */
static const struct setting *
params_of(const struct block *b)
{
	while (b != NULL && b->params == NULL)
		b = b->up;
	return b == NULL ? NULL : b->params;
}

static bool
is_tollbox(const struct setting *params)
{
	for (; params != NULL; params = params->next)
		if (places_is_setting(params->name))
			return true;
	return false;
}

/* The parameters are listed from the last on; a request has them from the
 * first. */
static void
add_params(struct reader *r, struct places_one *p, const struct block *b,
    const struct setting *s)
{
	OWN_BUF struct buf value;
	OWN_FREE char *unknown = NULL;

	buf_init(&value, VALUE_BYTES);
	if (s == NULL)
		return;
	add_params(r, p, b, s->next);
	if (!places_is_setting(s->name))
		return;
	expand(r, &value, b, s->value, &unknown, 0);
	if (unknown != NULL && p->unknown == NULL &&
	    asprintf(&p->unknown, "%s is made of %s", s->name, unknown) < 0) {
		p->unknown = NULL;
		r->st = ST_NOMEM;
	}
	if (s->optional && value.len == 0)
		return;
	site_params_add(&p->params, s->name, buf_cstr(&value));
}

/* A parameter's value, NULL where it is empty or not known. Free it. */
static char *
param_value(struct reader *r, const struct block *b, const char *text)
{
	OWN_BUF struct buf value;
	OWN_FREE char *unknown = NULL;

	buf_init(&value, VALUE_BYTES);
	if (text == NULL)
		return NULL;
	expand(r, &value, b, text, &unknown, 0);
	return unknown != NULL || value.len == 0 ? NULL
						 : copy(r, buf_cstr(&value));
}

static char *
param_named(struct reader *r, const struct block *b, const char *name)
{
	const struct setting *s = find(params_of(b), name, strlen(name));

	return s == NULL ? NULL : param_value(r, b, s->value);
}

/* Which daemon's socket the block's requests go to, through fcgiwrap or not. */
static char *
socket_of(struct reader *r, const struct block *b)
{
	OWN_FREE char *script = param_named(r, b, "SCRIPT_FILENAME");
	OWN_FREE char *pass = param_value(r, b, b->pass);
	char *socket;

	if (script != NULL) {
		socket = param_named(r, b, "CGI_TOLLBOX_SOCKET");
		return socket != NULL ? socket : copy(r, SOCKET_OF_SCRIPT);
	}
	if (pass == NULL || strncmp(pass, "unix:", 5) != 0)
		return NULL;
	return copy(r, pass + 5);
}

/* A block that hands requests on. */
static void
tell(struct reader *r, const struct block *b)
{
	const struct block *server = up_to(b, KIND_SERVER);
	const struct setting *params = params_of(b);
	struct places_one *p = NULL;
	OWN_FREE char *name = NULL;

	if (server == NULL || !is_tollbox(params))
		return;
	if (asprintf(&name, "nginx, %s (%s:%u)",
		server->label != NULL ? server->label : "no server_name",
		server->file, server->line) < 0) {
		name = NULL;
		r->st = ST_NOMEM;
		return;
	}
	r->st = places_add(&p, r->out, name);
	if (r->st != ST_OK)
		return;
	p->socket = socket_of(r, b);
	add_params(r, p, b, params);
	places_drop_twin(r->out);
}

static void walk_file(struct reader *r, struct block *b, const char *file,
    const char *text, size_t len, int depth);

/* The text of the dump's next file from *at on; *file is free()d and given. */
static bool
next_file(struct reader *r, const char **at, char **file, const char **text,
    size_t *len)
{
	const char *end, *next;

	free(*file);
	*file = NULL;
	if (*at == NULL || **at == '\0')
		return false;
	*at += strlen(HEAD);
	end = strchr(*at, '\n');
	if (end == NULL)
		return false;
	*file = strndup(*at, (size_t)(end - *at));
	if (*file == NULL) {
		r->st = ST_NOMEM;
		return false;
	}
	(*file)[strcspn(*file, ":\r")] = '\0';
	*text = end + 1;
	next = strstr(end, "\n" HEAD);
	*at = next == NULL ? NULL : next + 1;
	*len = *at == NULL ? strlen(*text) : (size_t)(*at - *text);
	return true;
}

static void
include(struct reader *r, struct block *b, const char *pattern, int depth)
{
	OWN_FREE char *whole = NULL;
	OWN_FREE char *file = NULL;
	const char *at = r->text, *text;
	size_t len;

	if (asprintf(&whole, "%s%s", pattern[0] == '/' ? "" : r->folder,
		pattern) < 0) {
		whole = NULL;
		r->st = ST_NOMEM;
		return;
	}
	while (next_file(r, &at, &file, &text, &len))
		if (fnmatch(whole, file, FNM_PATHNAME | FNM_PERIOD) == 0)
			walk_file(r, b, file, text, len, depth + 1);
}

static void
set_once(struct reader *r, char **text, const char *value)
{
	if (*text == NULL)
		*text = copy(r, value);
}

static void
directive(
    struct reader *r, struct block *b, const struct places_lex *l, int depth)
{
	const char *name = places_lex_word(l, 0);
	const char *first = places_lex_word(l, 1);

	if (strcmp(name, "set") == 0 && first[0] == '$') {
		bool unsure = b->kind == KIND_IF;
		struct block *to = b;

		while (to->kind == KIND_IF && to->up != NULL)
			to = to->up;
		setting_add(r, &to->sets, first + 1, places_lex_word(l, 2),
		    unsure, false);
	} else if (strcmp(name, "fastcgi_param") == 0) {
		setting_add(r, &b->params, first, places_lex_word(l, 2), false,
		    strcmp(places_lex_word(l, 3), "if_not_empty") == 0);
	} else if (strcmp(name, "fastcgi_pass") == 0) {
		set_once(r, &b->pass, first);
	} else if (strcmp(name, "server_name") == 0 && b->kind == KIND_SERVER) {
		set_once(r, &b->label, first);
	} else if (strcmp(name, "include") == 0) {
		include(r, b, first, depth);
	}
}

static enum kind
kind_of(const char *name)
{
	if (strcmp(name, "server") == 0)
		return KIND_SERVER;
	if (strcmp(name, "location") == 0)
		return KIND_LOCATION;
	return strcmp(name, "if") == 0 ? KIND_IF : KIND_OTHER;
}

static void
walk(struct reader *r, struct block *b, struct places_lex *l, const char *file,
    int depth)
{
	while (r->st == ST_OK && places_lex_next(l) && l->closing != '}') {
		struct block *inner;

		if (l->closing == ';') {
			directive(r, b, l, depth);
			continue;
		}
		inner = block_new(r, b, file, l->at);
		if (inner == NULL || depth >= DEPTH) {
			r->st = r->st == ST_OK ? ST_FORMAT : r->st;
			return;
		}
		inner->kind = kind_of(places_lex_word(l, 0));
		walk(r, inner, l, file, depth + 1);
	}
}

static void
walk_file(struct reader *r, struct block *b, const char *file, const char *text,
    size_t len, int depth)
{
	struct places_lex l;

	if (depth >= DEPTH) {
		r->st = ST_FORMAT;
		return;
	}
	places_lex_init(&l, text, len);
	walk(r, b, &l, file, depth);
	places_lex_free(&l);
}

enum status
places_nginx_read(struct places *out, const char *text)
{
	struct reader r = { .text = text, .out = out, .st = ST_OK };
	OWN_FREE char *file = NULL;
	const char *at = text, *main_text = NULL;
	struct block *top;
	size_t len = 0;
	char *slash;

	if (!next_file(&r, &at, &file, &main_text, &len))
		return r.st == ST_OK ? ST_FORMAT : r.st;
	r.folder = copy(&r, file);
	slash = r.folder == NULL ? NULL : strrchr(r.folder, '/');
	if (slash != NULL)
		slash[1] = '\0';
	top = block_new(&r, NULL, file, 1);
	if (r.st == ST_OK && top != NULL)
		walk_file(&r, top, file, main_text, len, 0);
	for (top = r.blocks; top != NULL && r.st == ST_OK; top = top->next)
		if (top->pass != NULL)
			tell(&r, top);
	blocks_free(r.blocks);
	free(r.folder);
	return r.st;
}
