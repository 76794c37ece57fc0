/* GET /health and GET /version (api.md section 1). */
#ifndef HEALTH_H
#define HEALTH_H

#include "web/context.h"
#include "web/http.h"

void health_put(struct http_reply *a, struct context *g);
void health_version(struct http_reply *a);

/* The same in the pocket dialect: {status} and {version}. */
void health_put_short(struct http_reply *a, struct context *g);
void health_version_short(struct http_reply *a);

#endif
