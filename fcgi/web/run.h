/*
 * The way of one paid run, in the order of checks of api.md section 1. The
 * only file that knows both the payment and the sandbox, as values.
 */
#ifndef RUN_H
#define RUN_H

#include "web/context.h"
#include "web/http.h"
#include "web/site.h"

struct dialect;

/* POST on the route of dialect d, which site s offers. Fills *a; never fails.
 */
void run_paid(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q);

#endif
