/*
 * The way of one paid run, in the order of checks of api.md section 1. The
 * only file that knows both the payment and the sandbox, as values.
 */
#ifndef RUN_H
#define RUN_H

#include <stdbool.h>

#include "web/context.h"
#include "web/http.h"
#include "web/site.h"

struct dialect;
struct intake;

/* Can it be about a payment that came before? It brings one, or a key. */
bool run_repeats(const struct http_request *q);

/* POST on the route of dialect d. Where site s does not offer it, only what was
 * paid there before is served, and all else is a 404. Fills *a; never fails. */
void run_paid(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q);

/* A paid call that came in a frame of its own (mcp.h). Borrowed. */
struct run_call {
	struct intake *in; /* read already, with body and digest; left empty */
	const char
	    *progress; /* JSON text of who is told of progress, or NULL */
};

/* The same for a call: q has its payment, key and address. Where the answer has
 * begun as a stream (http_outlet()), its end is the caller's to tell. */
void run_paid_call(struct http_reply *a, struct context *g,
    const struct site *s, const struct dialect *d, const struct http_request *q,
    const struct run_call *call);

#endif
