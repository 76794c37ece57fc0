/* nginx's part of places.h: the output of `nginx -T`, all files one after the
 * other. */
#ifndef PLACES_NGINX_H
#define PLACES_NGINX_H

#include <stdbool.h>

#include "places.h"

bool places_nginx_is(const char *text);

/* ST_OK, ST_NOMEM. nginx has judged the files, so they are not judged again;
 * what they leave to the request is told as unknown. */
enum status places_nginx_read(struct places *out, const char *text)
    __attribute__((warn_unused_result));

#endif
