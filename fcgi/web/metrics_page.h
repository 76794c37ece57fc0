/* GET /metrics (api.md section 1): Prometheus' text format 0.0.4. */
#ifndef METRICS_PAGE_H
#define METRICS_PAGE_H

#include "web/context.h"
#include "web/http.h"

/* Only where the web server asked for it by TOLLBOX_METRICS = on, which no
 * client can set, and the request came through no further proxy, for which a
 * stranger would be a neighbour. Else there is nothing at this path. */
void metrics_page(
    struct http_reply *a, struct context *g, const struct http_request *q);

#endif
