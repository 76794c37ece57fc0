/* `tollbox check`: what on this host is missing or weak. */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

struct conf;

/* One line on stdout, "ok    WHAT: ..." or "FAIL  WHAT: ..."; *all becomes
 * false with the second. */
void check_say(bool *all, bool ok, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Judge the settings (file at path, or NULL; environment over it), the users,
 * the host, the sites in the web server's files (web as in places_load()) and
 * the facilitators, one line on stdout for each thing, a wrong one with its
 * mend. True if all holds. */
bool check_all(const char *path, const char *web, char *const *environment);

/* `tollbox serve -n`: would a start take the settings c? Complete, the site's
 * addresses and prices right and, where root asks, the secret files as they
 * must be; those are then in c. Asks nobody, makes nothing. Else the log says
 * what is wrong. */
bool check_dry(struct conf *c);

#endif
