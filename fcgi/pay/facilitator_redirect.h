/* Where a facilitator may send a request on to. Pure. */
#ifndef FACILITATOR_REDIRECT_H
#define FACILITATOR_REDIRECT_H

#include <stdbool.h>

/* May a request that was meant for the URL `from` go on to `to`? Only to https,
 * or to http where `from` is http on the same host; never with a user name in
 * it. Sets *away (never clears it) where it leads to another origin, which
 * must not see the facilitator's secret. */
bool facilitator_redirect_ok(const char *from, const char *to, bool *away);

#endif
