/* Reading a request's body within the budget of all bodies together, and its
 * digest. */
#ifndef INTAKE_H
#define INTAKE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "web/context.h"
#include "web/http.h"

struct intake {
	struct context *g;
	struct buf body;
	uint64_t charged; /* bytes taken from the budget */
	char digest[65];  /* requestDigest of api.md section 6 */
};

/* Start empty; intake_free() is due whatever intake_read() says. */
void intake_init(struct intake *in, struct context *g);
void intake_free(struct intake *in);

/* The form of q's Idempotency-Key, if it has one. ST_OK, else f. */
enum status intake_key(const struct http_request *q, struct fault *f)
    __attribute__((warn_unused_result));

/* Step 1 of api.md section 1: encoding (415), size (413), the form of
 * Idempotency-Key (400); then the body. f names the fault. */
enum status intake_read(struct intake *in, const struct http_request *q,
    struct fault *f) __attribute__((warn_unused_result));

#endif
