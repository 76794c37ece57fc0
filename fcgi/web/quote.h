/* POST /quote: what the paid route that ?route= names, else /execute, would ask
 * or refuse for this body (api.md section 5). Free. */
#ifndef QUOTE_H
#define QUOTE_H

#include "web/context.h"
#include "web/dialect.h"
#include "web/http.h"
#include "web/site.h"

void quote_answer(struct http_reply *a, struct context *g, const struct site *s,
    const struct http_request *q);

/* The same for a body in hand, at the route of dialect d: the call of an agent
 * (mcp.h). Counted as a request of q's address. */
void quote_put(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q,
    const struct buf *body);

#endif
