/*
 * HTTP to one facilitator: a pool of connections, caps, redirects by hand, and
 * the one thing that money hangs on: whether anything of a request can have
 * left this machine. The only user of libcurl. Thread-safe.
 */
#ifndef FACILITATOR_HTTP_H
#define FACILITATOR_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/status.h"

struct facilitator_http;

/* c must outlive it. ST_OK, ST_FORMAT (an auth header that is no header line),
 * ST_NOMEM. */
enum status facilitator_http_open(struct facilitator_http **out,
    const struct conf_facilitator *c) __attribute__((warn_unused_result));
void facilitator_http_close(struct facilitator_http *h); /* NULL is fine */

struct facilitator_http_request {
	const char *path; /* behind the base URL: "/settle" */
	const char *body; /* NULL: GET */
	size_t len;
	bool once;	     /* must never go out twice by curl's own doing */
	int64_t deadline_ms; /* io_now_ms() */
};

struct facilitator_http_reply {
	long http;	 /* 0 if no status line came */
	char type[128];	 /* Content-Type, "" if none */
	struct buf body; /* capped at FACILITATOR_ANSWER_BYTES */
	bool sent;	 /* something of the request may have been sent */
};

/* Empty, for facilitator_http_reply_free(). */
void facilitator_http_reply_init(struct facilitator_http_reply *r);
void facilitator_http_reply_free(struct facilitator_http_reply *r);

/* Send q and read the whole answer into *r (inited). ST_OK: it is whole;
 * ST_IO: it is not, the reason was logged and r->sent tells; ST_NOMEM: nothing
 * was sent. */
enum status facilitator_http_ask(struct facilitator_http *h,
    const struct facilitator_http_request *q, struct facilitator_http_reply *r)
    __attribute__((warn_unused_result));

#endif
