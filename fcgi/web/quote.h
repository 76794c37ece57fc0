/* POST /quote: what the paid route that ?route= names, else /execute, would ask
 * or refuse for this body (api.md section 5). Free. */
#ifndef QUOTE_H
#define QUOTE_H

#include "web/context.h"
#include "web/http.h"
#include "web/site.h"

void quote_answer(struct http_reply *a, struct context *g, const struct site *s,
    const struct http_request *q);

#endif
