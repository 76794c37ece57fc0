#include "places.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"
#include "capture.h"
#include "places_apache.h"
#include "places_nginx.h"

#define TEXT_BYTES (16u << 20)
#define WAIT_MS 20000

static void
one_free(struct places_one *p)
{
	free(p->name);
	free(p->socket);
	free(p->unknown);
	site_params_free(&p->params);
}

void
places_free(struct places *p)
{
	for (size_t i = 0; i < p->n; i++)
		one_free(&p->at[i]);
	free(p->at);
	*p = (struct places){ .n = 0 };
}

enum status
places_add(struct places_one **out, struct places *p, const char *name)
{
	struct places_one *at = realloc(p->at, (p->n + 1) * sizeof(*at));
	char *copy;

	*out = NULL;
	if (at == NULL)
		return ST_NOMEM;
	p->at = at;
	copy = strdup(name);
	if (copy == NULL)
		return ST_NOMEM;
	at[p->n] = (struct places_one){ .name = copy };
	site_params_init(&at[p->n].params);
	*out = &at[p->n++];
	return ST_OK;
}

bool
places_is_setting(const char *name)
{
	return strncmp(name, "TOLLBOX_", 8) == 0 &&
	       strcmp(name, "TOLLBOX_METRICS") != 0;
}

static bool
same_text(const char *a, const char *b)
{
	return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

static bool
same(const struct places_one *a, const struct places_one *b)
{
	const struct buf *x = &a->params.text, *y = &b->params.text;

	return same_text(a->name, b->name) && same_text(a->socket, b->socket) &&
	       same_text(a->unknown, b->unknown) && x->len == y->len &&
	       memcmp(buf_cstr(x), buf_cstr(y), x->len) == 0;
}

void
places_drop_twin(struct places *p)
{
	for (size_t i = 0; i + 1 < p->n; i++) {
		if (!same(&p->at[i], &p->at[p->n - 1]))
			continue;
		one_free(&p->at[--p->n]);
		return;
	}
}

enum status
places_read(struct places *out, const char *text)
{
	if (places_nginx_is(text))
		return places_nginx_read(out, text);
	if (places_apache_is(text))
		return places_apache_read(out, text);
	return ST_FORMAT;
}

/* One server's command, if the server is here and has files. */
static enum status
ask(struct places *out, const char *program, const char *file,
    char *const *argv, struct fault *f)
{
	OWN_FREE char *text = NULL;
	enum status st;

	if (access(program, X_OK) != 0 || access(file, F_OK) != 0)
		return ST_OK;
	st = capture_output(&text, program, argv, TEXT_BYTES, WAIT_MS);
	if (st == ST_OK)
		st = places_read(out, text);
	if (st == ST_NOMEM)
		return st;
	if (st != ST_OK)
		return fault_set(f, ST_IO,
		    "%s %s fails, so what it serves is not known — see what "
		    "it says with -t",
		    program, argv[1]);
	return ST_OK;
}

static enum status
ask_all(struct places *out, struct fault *f)
{
	static char nginx[] = "nginx", dump[] = "-T";
	static char apache[] = "apache2ctl", test[] = "-t", define[] = "-D",
		    config[] = "DUMP_CONFIG", before[] = "-C";
	/* The module that writes the dump need not be enabled. */
	static char module[] =
	    "LoadModule info_module /usr/lib/apache2/modules/mod_info.so";
	char *const of_nginx[] = { nginx, dump, NULL };
	char *const of_apache[] = { apache, test, define, config, before,
		module, NULL };
	enum status st =
	    ask(out, "/usr/sbin/nginx", "/etc/nginx/nginx.conf", of_nginx, f);

	if (st != ST_OK)
		return st;
	return ask(out, "/usr/sbin/apache2ctl", "/etc/apache2/apache2.conf",
	    of_apache, f);
}

static enum status
read_given(struct places *out, const char *web, struct fault *f)
{
	OWN_FREE char *text = NULL;
	enum status st;

	if (strcmp(web, "-") == 0)
		st = io_read_file(STDIN_FILENO, TEXT_BYTES, &text, NULL);
	else
		st = io_read_path(web, TEXT_BYTES, &text, NULL);
	if (st != ST_OK)
		return fault_set(
		    f, st, "%s: cannot be read (%s)", web, status_name(st));
	st = places_read(out, text);
	if (st == ST_FORMAT)
		return fault_set(f, st,
		    "%s is the output of neither `nginx -T` nor `apache2ctl "
		    "-t -D DUMP_CONFIG`",
		    web);
	return st;
}

enum status
places_load(struct places *out, const char *web, struct fault *f)
{
	if (web != NULL)
		return read_given(out, web, f);
	return geteuid() == 0 ? ask_all(out, f) : ST_OK;
}
