#include "web/route.h"

#include <string.h>

#include "web/answer.h"
#include "web/dialect.h"
#include "web/dialects/pocket.h"
#include "web/discovery.h"
#include "web/health.h"
#include "web/mcp.h"
#include "web/metrics_page.h"
#include "web/quote.h"
#include "web/run.h"
#include "web/sites.h"

/* What sells or prices: d is the dialect, or NULL for a quote. A route that is
 * offered no more still serves what was sold there before, which the ledger
 * alone knows; a call of MCP does not show here. */
static void
sold(struct http_reply *a, struct context *g, const struct http_request *q,
    const struct dialect *d)
{
	OWN_SITE struct sites_loan loan = { .from = NULL };
	struct fault f = { .st = ST_SERVICE_INTERNAL_FAILURE };
	bool sound = sites_of(&loan, g->sites, q) == ST_OK &&
		     loan.site->broken.st == ST_OK;

	if (sound && d != NULL &&
	    (dialect_offered(d, loan.site) || d->rpc || run_repeats(q))) {
		if (d->rpc)
			mcp_answer(a, g, loan.site, d, q);
		else
			run_paid(a, g, loan.site, d, q);
		return;
	}
	if (sound && d == NULL && site_route(loan.site, q->path)) {
		quote_answer(a, g, loan.site, q);
		return;
	}
	if (sound)
		dialect_refuse(&f, q->path);
	answer_error_as(a, &f, d != NULL ? d->put_error : NULL);
}

static void
answer_paid(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	sold(a, g, q, dialect_of(q->path));
}

static void
answer_quote(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	sold(a, g, q, NULL);
}

static void
answer_health(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	(void)q;
	health_put(a, g);
}

static void
answer_version(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	(void)g;
	(void)q;
	health_version(a);
}

static const struct route {
	const char *path;
	const char *method; /* GET includes HEAD */
	void (*handle)(struct http_reply *a, struct context *g,
	    const struct http_request *q);
} routes[] = {
	{ "/quote", "POST", answer_quote },
	{ "/health", "GET", answer_health },
	{ "/version", "GET", answer_version },
	{ "/v1/health", "GET", pocket_read },
	{ "/v1/version", "GET", pocket_read },
	{ "/openapi.json", "GET", discovery_openapi },
	{ "/.well-known/x402", "GET", discovery_manifest },
	{ "/.well-known/x402.json", "GET", discovery_manifest },
	{ "/llms.txt", "GET", discovery_llms },
	{ "/metrics", "GET", metrics_page },
	{ "/.well-known/did.json", "GET", discovery_did },
	/* Where the public URL has a path, its DID resolves to PATH/did.json,
	 * of which the web server takes PATH away. */
	{ "/did.json", "GET", discovery_did },
	{ "/.well-known/jwks.json", "GET", discovery_jwks },
};

/* The route of every dialect. */
static const struct route paid = { NULL, "POST", answer_paid };

/* A preflight costs nothing and is answered on every route (x402.md 1.12). */
static void
preflight(struct http_reply *a, const char *allow)
{
	a->status = 204;
	http_header(a, "Access-Control-Allow-Methods", allow);
	http_header(a, "Access-Control-Allow-Headers",
	    "Content-Type, Content-Encoding, Accept, PAYMENT-SIGNATURE, "
	    "X-PAYMENT, Idempotency-Key, Request-Id, If-None-Match, "
	    "Access-Control-Expose-Headers, Authorization, "
	    "MCP-Protocol-Version, Mcp-Session-Id, Last-Event-ID");
	http_header(a, "Access-Control-Max-Age", "86400");
	http_header(a, "Allow", allow);
}

void
route_answer(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	const struct dialect *d = dialect_of(q->path);
	const struct route *r = d != NULL ? &paid : NULL;
	const char *allow;
	struct fault f;
	bool get;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(routes[i].path, q->path) == 0)
			r = &routes[i];
	if (r == NULL) {
		fault_set(
		    &f, ST_REQUEST_NOT_FOUND, "there is nothing at this path");
		answer_error(a, &f);
		return;
	}
	get = strcmp(r->method, "GET") == 0;
	allow = get ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
	if (strcmp(q->method, "OPTIONS") == 0) {
		preflight(a, allow);
		return;
	}
	if (strcmp(q->method, r->method) != 0 &&
	    !(get && strcmp(q->method, "HEAD") == 0)) {
		fault_set(&f, ST_REQUEST_BAD_METHOD,
		    "the method must be %s here", r->method);
		answer_error_as(a, &f, d != NULL ? d->put_error : NULL);
		http_header(a, "Allow", allow);
		return;
	}
	r->handle(a, g, q);
}

void
route_each(void (*fn)(const char *path))
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		fn(routes[i].path);
}
