#include "web/discovery.h"

#include <stdio.h>
#include <string.h>

#include "base/jcs.h"
#include "pay/did_document.h"
#include "web/answer.h"
#include "web/guide.h"
#include "web/manifest.h"
#include "web/openapi.h"
#include "web/sites.h"

/* A new key is in use as soon as it is published, and a new price is asked for
 * at once, so nobody should hold an old document for long. */
#define CACHE "public, max-age=300"

#define ETAG_BYTES 64

/* The strong validator of the body. */
static bool
etag_of(char out[ETAG_BYTES], const struct buf *body)
{
	char digest[65];

	if (jcs_sha256(digest, buf_cstr(body), body->len) != ST_OK)
		return false;
	snprintf(out, ETAG_BYTES, "\"%.32s\"", digest);
	return true;
}

/* Does the caller hold it already? Its list may have weak ones; ours is not
 * part of another's text, since it stands in quotes. */
static bool
held(const struct http_request *q, const char *etag)
{
	const char *list = http_param(q, "HTTP_IF_NONE_MATCH");

	return list != NULL &&
	       (strcmp(list, "*") == 0 || strstr(list, etag) != NULL);
}

/* What is published is the site's own: another public URL is another issuer
 * and another seller, though keys and process are shared. */
static void
publish(struct http_reply *a, struct context *g, const struct http_request *q,
    const char *media, void (*put)(struct buf *out, const struct site *s))
{
	OWN_SITE struct sites_loan loan = { .from = NULL };
	struct fault f = { .st = ST_SERVICE_INTERNAL_FAILURE };
	char etag[ETAG_BYTES];

	if (sites_of(&loan, g->sites, q) != ST_OK ||
	    loan.site->broken.st != ST_OK) {
		answer_error(a, &f);
		return;
	}
	put(&a->body, loan.site);
	if (buf_status(&a->body) != ST_OK || !etag_of(etag, &a->body)) {
		answer_error(a, &f);
		return;
	}
	a->status = held(q, etag) ? 304 : 200;
	http_header(a, "Content-Type", media);
	http_header(a, "Cache-Control", CACHE);
	http_header(a, "ETag", etag);
}

static void
put_did(struct buf *out, const struct site *s)
{
	did_document_put(out, s->did, s->keys);
}

static void
put_jwks(struct buf *out, const struct site *s)
{
	did_document_put_jwks(out, s->did, s->keys);
}

void
discovery_did(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, "application/json", put_did);
}

void
discovery_jwks(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, "application/json", put_jwks);
}

void
discovery_openapi(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, "application/json", openapi_put);
}

void
discovery_manifest(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, "application/json", manifest_put);
}

void
discovery_llms(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	publish(a, g, q, "text/markdown; charset=utf-8", guide_put);
}
