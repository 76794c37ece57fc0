/* From method and path to the one who answers (api.md section 1). */
#ifndef ROUTE_H
#define ROUTE_H

#include "web/context.h"
#include "web/http.h"

/* Fills *a, whatever q is; never fails. */
void route_answer(
    struct http_reply *a, struct context *g, const struct http_request *q);

/* Call fn for the path of every route but the dialects'. */
void route_each(void (*fn)(const char *path));

#endif
