/* Where a server may send a request on to. Pure. */
#ifndef FETCH_REDIRECT_H
#define FETCH_REDIRECT_H

#include <stdbool.h>

/* May a request that was meant for the URL `from` go on to `to`? Only to https,
 * or to http where `from` is http on the same host; never with a user name in
 * it. Sets *away (never clears it) where it leads to another origin, which
 * must not see the secret header. */
bool fetch_redirect_ok(const char *from, const char *to, bool *away);

#endif
