/*
 * Rules that tie several settings together. Private to conf*.c.
 */
#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#include <stdbool.h>

#include "base/conf.h"

/* Everything but the site. ST_OK, or ST_FORMAT with f. */
enum status conf_check_service(const struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

/* One site's settings against each other and against c's sections. */
enum status conf_check_site(const struct conf *c, const struct conf_site *s,
    struct fault *f) __attribute__((warn_unused_result));

/* Is everything there that serving needs? */
enum status conf_check_complete(const struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

#endif
