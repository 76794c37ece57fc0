/* POST /v1/code: the dialect of pocket (api.md section 8). */
#ifndef POCKET_H
#define POCKET_H

#include "web/context.h"
#include "web/dialect.h"
#include "web/http.h"

extern const struct dialect pocket_dialect;

/* Its two free reads, GET /v1/health and GET /v1/version: 404 where it is not
 * offered. */
void pocket_read(
    struct http_reply *a, struct context *g, const struct http_request *q);

#endif
