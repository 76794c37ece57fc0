/*
 * A dialect turns a body into the one internal job and the one internal result
 * into its answer (api.md section 8), and does nothing else: payment, receipts,
 * idempotency, codes and crash recovery are the same for all. Its route leads
 * to it, live, in a replay, and when an owed run starts again.
 */
#ifndef DIALECT_H
#define DIALECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "web/request.h"
#include "web/site.h"

struct result;

/* The part of an answer that a body has no room for. */
struct dialect_answer {
	struct buf *body;
	struct buf *receipt; /* its JSON, if the body does not hold it */
};

struct dialect {
	const char *name;
	const char *path; /* POST */
	const struct request_form *form;
	/* Append the answer of a run, whatever became of the program. ST_OK, or
	 * the status of a buf; ST_BUG when a digest could not be made. */
	enum status (*put)(struct dialect_answer *out, const struct result *r);
	/* Append the body of an error; NULL: as answer_error() writes it. f is
	 * fit to be told. */
	void (*put_error)(struct buf *out, const struct fault *f);
	bool receipt_in_body;
	bool own_extras; /* put reads the image of them (result_extras.h) */
	bool live;	 /* its answers can be had as they grow (stream.h) */
	bool rpc; /* it comes in the calls of MCP (mcp.h), not by itself */

	/* For documents; of an rpc one only the summary, since what it takes
	 * and gives is the first dialect's. JSON text, as member_schema_json()
	 * reads it, but for the summary, which is a sentence. */
	const char *summary;
	const char *answer_schema; /* JSON Schema of the answer; components of
				    * openapi.json may be meant */
	/* Of a body that any site takes; NULL: see put_example. */
	const char *body_example;
	/* Append one that site s takes. */
	void (*put_example)(struct buf *out, const struct site *s);
	const char *answer_example; /* what matters of one */
};

/* All there are, NULL behind the last one. */
extern const struct dialect *const dialects[];

/* The dialect of a route, or NULL. */
const struct dialect *dialect_of(const char *path);

/* Is its route offered at the site: by the settings, and as far as the host's
 * memory holds a run of a flat price? */
bool dialect_offered(const struct dialect *d, const struct site *s);
/* That it is not, as ST_REQUEST_NOT_FOUND, which it returns. */
enum status dialect_refuse(struct fault *f, const char *path);

/* The lowest and the highest price of its route, in millionths of a dollar, at
 * a site that offers it. */
void dialect_prices(uint64_t *least, uint64_t *most, const struct dialect *d,
    const struct site *s);

/* Append a body, JSON text, that the site takes. */
void dialect_put_example(
    struct buf *out, const struct dialect *d, const struct site *s);

#endif
