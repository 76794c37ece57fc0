/*
 * The places in a web server's own files that hand requests to Tollbox, with
 * the settings that each gives along. Read from what the server itself makes of
 * its files: `nginx -T`, or `apache2ctl -t -D DUMP_CONFIG`.
 */
#ifndef PLACES_H
#define PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "web/site_params.h"

struct places_one {
	char *name; /* "nginx, run.example.com (/etc/nginx/…:3)" */
	/* Of the daemon, or NULL where the files do not tell. */
	char *socket;
	struct site_params params; /* TOLLBOX_*, as a request would have them */
	/* Of a parameter that no reader can know: "TOLLBOX_PUBLIC_URL is made
	 * of $host"; NULL: there is none. */
	char *unknown;
};

struct places {
	struct places_one *at;
	size_t n;
};

/* Add the places of text, the output of either command, to out (begin with
 * zeroes; places_free() in any case). ST_OK; ST_FORMAT: it is neither;
 * ST_NOMEM. */
enum status places_read(struct places *out, const char *text)
    __attribute__((warn_unused_result));

/* The same of the file called web ("-": standard input), or, where that is
 * NULL, of the web servers of this host, as far as they are installed and the
 * caller is root, without whom they do not tell. ST_OK, or ST_IO or ST_FORMAT
 * with f, ST_NOMEM. */
enum status places_load(struct places *out, const char *web, struct fault *f)
    __attribute__((warn_unused_result));

void places_free(struct places *p);

/* For the readers: is a parameter of that name a setting of a site, a wrong one
 * perhaps? TOLLBOX_METRICS, which opens a route, is none. */
bool places_is_setting(const char *name);

/* For the readers: a new, empty one, called name (copied), and, when it is
 * filled, take it out again if there is one like it. ST_OK, ST_NOMEM. */
enum status places_add(struct places_one **out, struct places *p,
    const char *name) __attribute__((warn_unused_result));
void places_drop_twin(struct places *p);

#endif
