/*
 * The headers of one request, and whoever the server wants us to be in them: a
 * line from a file, or a token made for this call. Private to fetch.c.
 */
#ifndef FETCH_HEADERS_H
#define FETCH_HEADERS_H

#include <stdbool.h>

#include "base/status.h"
#include "pay/fetch.h"

struct curl_slist;

/* Is it one header line that can be sent as it is? */
bool fetch_headers_line(const char *s);

/* Headers for one call to url, for fetch_headers_wipe() even after a failure.
 * away: to another origin, which gets no secret. ST_OK, ST_BUG, ST_NOMEM. */
enum status fetch_headers_make(struct curl_slist **out,
    const struct fetch_server *s, const char *method, const char *url,
    bool away) __attribute__((warn_unused_result));
void fetch_headers_wipe(struct curl_slist *list);

#endif
