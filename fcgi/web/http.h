/*
 * One HTTP request and its answer over FastCGI. The only user of libfcgi.
 * Everything in a request is borrowed from libfcgi and dies at the end of the
 * handler.
 */
#ifndef HTTP_H
#define HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

struct http_conn; /* one thread's connection state */

struct http_request {
	struct http_conn *conn;
	const char *method;
	char path[256];	   /* decoded once, without query; "" if over-long */
	const char *query; /* "" if none */
	const char *content_encoding; /* the rest NULL if absent */
	const char *accept;
	const char *payment_signature;
	const char *x_payment;
	bool payment_repeated; /* a payment header came more than once */
	/* What messages call the place of the payment and of the key where they
	 * did not come as headers; else NULL. */
	const char *payment_place;
	const char *key_place;
	const char *idempotency_key;
	bool key_repeated; /* it came more than once */
	const char *remote_addr;
	char id[65]; /* REQUEST_ID, else UNIQUE_ID (Apache), else made here */
	bool length_known;
	uint64_t length; /* of the body, if known */
};

#define HTTP_HEADERS_BYTES (96u << 10)

struct http_reply {
	int status;
	enum status told;   /* ST_OK: no refusal; for the counters */
	bool noted;	    /* the log has its line */
	struct buf headers; /* "Name: value\r\n" lines */
	struct buf body;
};

/* Listen descriptors are super's; each thread opens its own conn. */
enum status http_open(struct http_conn **out, int listen_fd)
    __attribute__((warn_unused_result));
void http_close(struct http_conn *c);

/* Once a process, before threads. */
enum status http_init(void) __attribute__((warn_unused_result));

/* Wait for the next request. ST_OK; ST_CLOSED when *stop became true (a signal
 * interrupts the wait); ST_IO. */
enum status http_accept(struct http_conn *c, struct http_request *out,
    const volatile bool *stop) __attribute__((warn_unused_result));

/* A FastCGI parameter by name, or NULL. */
const char *http_param(const struct http_request *q, const char *name);
/* Append all values of a header that is a list, by its parameter's name, in
 * their order with commas between: of several lines with it some web servers
 * make one parameter, some make several. */
void http_joined(
    const struct http_request *q, const char *name, struct buf *out);
/* Call fn for every parameter whose name starts with prefix. */
void http_params(const struct http_request *q, const char *prefix,
    void (*fn)(void *ctx, const char *name, const char *value), void *ctx);

/* The first value of that name in the query, decoded. ST_OK; ST_NOT_FOUND: out
 * is untouched; ST_FORMAT: ill-formed, or over cap - 1 bytes. */
enum status http_query(char *out, size_t cap, const struct http_request *q,
    const char *name) __attribute__((warn_unused_result));

/* Read the body into out (its max is the limit). ST_OK; ST_TOO_BIG; ST_CLOSED
 * when it ended before its stated length; ST_NOMEM. */
enum status http_body(const struct http_request *q, struct buf *out)
    __attribute__((warn_unused_result));

/* A reply with room for a body of at most max bytes. */
void http_reply_init(struct http_reply *a, size_t max);
void http_reply_free(struct http_reply *a);

/* The answer is whole: what overflowed its buffers becomes a plain 500. */
void http_reply_close(struct http_reply *a);

/* Add a header. Values are ours or checked: no line ends. */
void http_header(struct http_reply *a, const char *name, const char *value);

/* Send the answer with the headers that every answer carries (Request-Id,
 * CORS) and end the request. The body is left out for HEAD, 204 and 304. Closes
 * the reply. False if the web server is gone, or took nothing for outlet.h's
 * times; nothing else follows from that.
 */
bool http_send(struct http_request *q, struct http_reply *a);

/* The status that was sent; 0 before that. */
int http_sent(const struct http_request *q);

struct outlet;

/* Begin a live answer: head's status and headers, its body left out. What goes
 * into the outlet (borrowed) from now on is the answer; http_send() then only
 * ends the request, whatever reply it is given. */
struct outlet *http_live(
    const struct http_request *q, const struct http_reply *head);
/* The outlet of a live answer that has begun, or NULL. */
struct outlet *http_outlet(const struct http_request *q);

#endif
