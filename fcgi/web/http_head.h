/* The beginning of every answer. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include <stddef.h>

#include "base/buf.h"
#include "web/http.h"

/* Append the status line and the headers that every answer to q has
 * (Request-Id, CORS), then the given lines. */
void http_head_put(struct buf *out, const struct http_request *q, int status,
    const char *headers, size_t len);

#endif
