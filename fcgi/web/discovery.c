#include "web/discovery.h"

#include "pay/did_document.h"
#include "web/answer.h"
#include "web/sites.h"

/* A new key is in use as soon as it is published, so nobody should hold an old
 * list for long. */
#define CACHE "public, max-age=300"

/* What is published is the site's own: another public URL is another issuer,
 * though the keys are shared. */
static void
publish(struct http_reply *a, struct context *g, const struct http_request *q,
    void (*put)(struct buf *out, const char *did, const struct keyring *keys))
{
	OWN_SITE struct sites_loan loan = { .from = NULL };
	struct fault f = { .st = ST_SERVICE_INTERNAL_FAILURE };

	if (sites_of(&loan, g->sites, q) != ST_OK ||
	    loan.site->broken.st != ST_OK) {
		answer_error(a, &f);
		return;
	}
	a->status = 200;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", CACHE);
	put(&a->body, loan.site->did, loan.site->keys);
}

void
discovery_did(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, did_document_put);
}

void
discovery_jwks(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, did_document_put_jwks);
}
