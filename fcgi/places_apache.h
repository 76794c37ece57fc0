/* Apache's part of places.h: the output of `apache2ctl -t -D DUMP_CONFIG`, with
 * all includes and definitions done. */
#ifndef PLACES_APACHE_H
#define PLACES_APACHE_H

#include <stdbool.h>

#include "places.h"

bool places_apache_is(const char *text);

/* ST_OK, ST_NOMEM. */
enum status places_apache_read(struct places *out, const char *text)
    __attribute__((warn_unused_result));

#endif
