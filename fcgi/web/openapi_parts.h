/* Parts of openapi.json that are the same at every site. Errors stick in
 * out. */
#ifndef OPENAPI_PARTS_H
#define OPENAPI_PARTS_H

#include <stdbool.h>

#include "base/buf.h"
#include "web/site.h"

/* Append the media types of a live answer to a `content` that holds others. */
void openapi_parts_put_live(struct buf *out);
/* Append to a paid route's `responses` what is no answer of a run; own_body:
 * its errors have the dialect's own form. */
void openapi_parts_put_refusals(struct buf *out, bool own_body);
/* Append the answer of /quote, and to its `responses` its refusals. */
void openapi_parts_put_quote(struct buf *out);
void openapi_parts_put_free_refusals(struct buf *out);
/* Append to the operation of MCP its `requestBody` and `responses`. */
void openapi_parts_put_rpc(struct buf *out);
/* Append to `paths` the free reads that site s has. */
void openapi_parts_put_free(struct buf *out, const struct site *s);
/* Append the value of `components`. */
void openapi_parts_put_components(struct buf *out);

#endif
