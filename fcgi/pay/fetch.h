/*
 * HTTP to one server that we ask (a facilitator, a chain's RPC): a pool of
 * connections, caps, redirects by hand, and the one thing that money hangs on:
 * whether anything of a request can have left this machine. With its
 * fetch_*.c the only user of libcurl. Thread-safe.
 */
#ifndef FETCH_H
#define FETCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

#define FETCH_NOTE 512

struct fetch;

/* Borrowed; the texts must outlive the struct fetch. */
struct fetch_server {
	const char *who;     /* for the log, which never shows the url: it may
			      * hold a key */
	const char *url;     /* requests add their path */
	const char *ca_file; /* instead of the system's, or NULL */
	const char *header;  /* a secret line for the url's own origin alone,
			      * or NULL */
	const char *proxy;   /* http://HOST:PORT, or NULL: none, whatever the
			      * environment says */
	/* Or NULL: appends a bearer token that is good for one call (method,
	 * host and path of its URL), likewise for that origin alone. */
	enum status (*token)(
	    struct buf *out, void *ctx, const char *method, const char *place);
	void *token_ctx;
};

/* ST_OK, ST_FORMAT (the secret header is no header line), ST_NOMEM. */
enum status fetch_open(struct fetch **out, const struct fetch_server *s)
    __attribute__((warn_unused_result));
void fetch_close(struct fetch *h); /* NULL is fine */

struct fetch_request {
	const char *what; /* for the log: "/settle" */
	const char *path; /* behind the url; may be "" */
	const char *body; /* JSON; NULL: GET */
	size_t len;
	const char *note;    /* a header of the answer to bring, or NULL */
	bool once;	     /* must never go out twice by curl's own doing */
	int64_t deadline_ms; /* io_now_ms() */
	const _Atomic bool *stop; /* NULL, or: given up once it is true */
	bool quiet;		  /* no failure is logged: r->why has it */
};

struct fetch_reply {
	long http;	       /* 0 if no status line came */
	char type[128];	       /* Content-Type, "" if none */
	char note[FETCH_NOTE]; /* the header asked for, cut; "" if none */
	struct buf body;
	bool sent;     /* something of the request may have been sent */
	char why[256]; /* where there is no whole answer: the reason in plain
			* words; may name the host */
};

/* Empty, for fetch_reply_free(). An answer of more than max bytes is none. */
void fetch_reply_init(struct fetch_reply *r, size_t max);
void fetch_reply_free(struct fetch_reply *r);

/* Send q and read the whole answer into *r (inited). ST_OK: it is whole;
 * ST_IO: it is not, the reason was logged and r->sent tells; ST_NOMEM, ST_BUG:
 * nothing was sent. */
enum status fetch_ask(struct fetch *h, const struct fetch_request *q,
    struct fetch_reply *r) __attribute__((warn_unused_result));

#endif
