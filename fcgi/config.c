#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "places.h"

#define PRINT_BYTES (4u << 20)

/* What a place gives along. Judging it is for `tollbox check`. */
static void
put_place(struct buf *out, const struct conf *c, struct places_one *p)
{
	struct conf_site s;
	struct fault f = { .st = ST_OK };
	enum status st;

	if (p->socket != NULL && strcmp(p->socket, c->listen) != 0)
		return;
	buf_addf(out, "\n# %s\n", p->name);
	if (p->unknown == NULL && p->params.text.len == 0)
		buf_adds(out, "# sets nothing itself\n");
	if (p->unknown != NULL) {
		buf_addf(out, "# wrong: %s\n", p->unknown);
		return;
	}
	st = site_params_judge(&p->params, &f);
	if (st == ST_OK)
		st = conf_site_resolve(&s, c, site_params_get, &p->params, &f);
	if (st != ST_OK) {
		buf_addf(out, "# wrong: %s\n", f.message);
		return;
	}
	conf_print_location(out, &s, site_params_get, &p->params);
	conf_site_free(&s);
}

enum status
config_print(const struct conf *c, const char *web)
{
	OWN_BUF struct buf b;
	struct places places = { .n = 0 };
	struct fault f = { .st = ST_OK };
	enum status st;

	buf_init(&b, PRINT_BYTES);
	conf_print(&b, c);
	st = places_load(&places, web, &f);
	if (st != ST_OK && web != NULL)
		log_err("%s", f.message);
	else if (st != ST_OK)
		buf_addf(&b, "\n# %s\n", f.message);
	for (size_t i = 0; i < places.n; i++)
		put_place(&b, c, &places.at[i]);
	places_free(&places);
	fputs(buf_cstr(&b), stdout);
	return st == ST_OK || web == NULL ? buf_status(&b) : st;
}
