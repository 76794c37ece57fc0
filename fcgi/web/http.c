#include "web/http.h"

#include <ctype.h>
#include <errno.h>
#include <fcgiapp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/log.h"
#include "base/point.h"
#include "web/http_head.h"
#include "web/outlet.h"

/* The last bytes of a request are libfcgi's to write, which waits without end
 * if nobody says how long. */
#define SEND_WAIT_S 10

struct http_conn {
	FCGX_Request fcgi;
	struct outlet out;
	bool live; /* the answer has begun */
	int sent;  /* the last answer's status */
};

enum status
http_init(void)
{
	return FCGX_Init() == 0 ? ST_OK : ST_IO;
}

enum status
http_open(struct http_conn **out, int listen_fd)
{
	struct http_conn *c = calloc(1, sizeof(*c));

	*out = NULL;
	if (c == NULL)
		return ST_NOMEM;
	if (FCGX_InitRequest(&c->fcgi, listen_fd, FCGI_FAIL_ACCEPT_ON_INTR) !=
	    0) {
		free(c);
		return ST_IO;
	}
	*out = c;
	return ST_OK;
}

void
http_close(struct http_conn *c)
{
	if (c == NULL)
		return;
	FCGX_Free(&c->fcgi, 1);
	free(c);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* text up to one of the bytes in stop, its percent escapes decoded exactly
 * once. False: over-long, ill-formed, or it holds a NUL. */
static bool
decode(char *out, size_t cap, const char *text, const char *stop)
{
	const char *end = text + strcspn(text, stop);
	size_t n = 0;

	for (const char *p = text; p < end; p++) {
		char c = *p;

		if (c == '%') {
			int hi = hex_digit(p[1]);
			int lo = hi < 0 ? -1 : hex_digit(p[2]);

			if (lo < 0 || (hi == 0 && lo == 0))
				return false;
			c = (char)(hi << 4 | lo);
			p += 2;
		}
		if (n + 1 == cap)
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

/* The path as the client sent it. Not the web server's normalised one:
 * "//execute" must be unknown here, however lenient the server is (x402.md
 * 7.10). Over-long or ill-formed ones become "". */
static void
path_decode(char *out, size_t cap, const char *uri)
{
	if (!decode(out, cap, uri, "?"))
		out[0] = '\0';
}

enum status
http_query(
    char *out, size_t cap, const struct http_request *q, const char *name)
{
	size_t n = strlen(name);
	const char *at = q->query;

	while (strncmp(at, name, n) != 0 || at[n] != '=') {
		at = strchr(at, '&');
		if (at == NULL)
			return ST_NOT_FOUND;
		at++;
	}
	return decode(out, cap, at + n + 1, "&") ? ST_OK : ST_FORMAT;
}

/* The web server's id, if it is harmless to echo; else a fresh one. Apache's
 * have an @ in the place of base64url's _. */
static void
request_id(char out[65], const char *given)
{
	uint8_t raw[16];
	size_t n = given == NULL ? 0 : strlen(given);
	bool ok = n >= 8 && n <= 64;

	for (size_t i = 0; ok && i < n; i++) {
		ok = isalnum((unsigned char)given[i]) || given[i] == '-' ||
		     given[i] == '_' || given[i] == '@';
		out[i] = given[i] == '@' ? '_' : given[i];
	}
	if (ok) {
		out[n] = '\0';
		return;
	}
	if (RAND_bytes(raw, sizeof(raw)) != 1)
		memset(raw, 0, sizeof(raw));
	hex_encode(out, raw, sizeof(raw));
}

const char *
http_param(const struct http_request *q, const char *name)
{
	return FCGX_GetParam(name, q->conn->fcgi.envp);
}

void
http_params(const struct http_request *q, const char *prefix,
    void (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
	size_t n = strlen(prefix);
	char name[128];

	for (char **e = q->conn->fcgi.envp; e != NULL && *e != NULL; e++) {
		const char *eq = strchr(*e, '=');

		if (eq == NULL || strncmp(*e, prefix, n) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(eq - *e), *e);
		fn(ctx, name, eq + 1);
	}
}

static void
length_parse(struct http_request *q, const char *text)
{
	char *end = NULL;
	unsigned long long v;

	q->length_known = false;
	q->length = 0;
	if (text == NULL || !isdigit((unsigned char)text[0]))
		return;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno != 0 || *end != '\0')
		return;
	q->length_known = true;
	q->length = v;
}

static const char *
param_or(const struct http_request *q, const char *name, const char *fallback)
{
	const char *v = http_param(q, name);

	return v == NULL ? fallback : v;
}

/* Absent and empty headers are the same to us: FastCGI servers pass "". */
static const char *
header(const struct http_request *q, const char *name)
{
	const char *v = http_param(q, name);

	return v == NULL || v[0] == '\0' ? NULL : v;
}

/* Web servers differ on a header sent twice: some join the values, some pass
 * the parameter twice, of which a look-up sees one. */
static void
count_header(void *ctx, const char *name, const char *value)
{
	int *n = ctx;

	(void)name;
	(void)value;
	(*n)++;
}

static void
append(void *ctx, const char *name, const char *value)
{
	struct buf *out = ctx;

	(void)name;
	if (out->len > 0)
		buf_addc(out, ',');
	buf_adds(out, value);
}

void
http_joined(const struct http_request *q, const char *name, struct buf *out)
{
	char prefix[128];

	snprintf(prefix, sizeof(prefix), "%s=", name);
	http_params(q, prefix, append, out);
}

static bool
repeated(const struct http_request *q, const char *name)
{
	int n = 0;

	http_params(q, name, count_header, &n);
	return n > 1;
}

enum status
http_accept(
    struct http_conn *c, struct http_request *out, const volatile bool *stop)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	const struct timeval wait = { .tv_sec = SEND_WAIT_S };
	struct http_request *q = out;
	const char *id;

	memset(q, 0, sizeof(*q));
	for (;;) {
		int r;

		if (*stop)
			return ST_CLOSED;
		r = FCGX_Accept_r(&c->fcgi);
		if (r == 0)
			break;
		/* A peer that hung up while being accepted ends in an error
		 * too; only our own stop ends the loop. */
		if (*stop)
			return ST_CLOSED;
		if (r == -EBADF || r == -EINVAL || r == -ENOTSOCK)
			return ST_IO;
		/* Out of descriptors or memory: it may pass, and asking at
		 * once again would burn a core. */
		if (r != -EINTR && r != -ECONNABORTED)
			nanosleep(&pause, NULL);
	}
	/* A connection kept for the next request would hold its thread until
	 * that comes, whatever the web server asks for. */
	c->fcgi.keepConnection = 0;
	if (setsockopt(c->fcgi.ipcFd, SOL_SOCKET, SO_SNDTIMEO, &wait,
		sizeof(wait)) < 0)
		log_warn("SO_SNDTIMEO: %s", strerror(errno));
	q->conn = c;
	c->sent = 0;
	q->method = param_or(q, "REQUEST_METHOD", "");
	path_decode(q->path, sizeof(q->path), param_or(q, "REQUEST_URI", ""));
	q->query = param_or(q, "QUERY_STRING", "");
	q->content_encoding = header(q, "HTTP_CONTENT_ENCODING");
	q->accept = header(q, "HTTP_ACCEPT");
	q->payment_signature = header(q, "HTTP_PAYMENT_SIGNATURE");
	q->x_payment = header(q, "HTTP_X_PAYMENT");
	q->payment_repeated = repeated(q, "HTTP_PAYMENT_SIGNATURE=") ||
			      repeated(q, "HTTP_X_PAYMENT=");
	q->payment_place = NULL;
	q->key_place = NULL;
	q->idempotency_key = http_param(q, "HTTP_IDEMPOTENCY_KEY");
	q->key_repeated = repeated(q, "HTTP_IDEMPOTENCY_KEY=");
	q->remote_addr = param_or(q, "REMOTE_ADDR", "");
	id = http_param(q, "REQUEST_ID");
	request_id(q->id, id != NULL ? id : http_param(q, "UNIQUE_ID"));
	length_parse(q, http_param(q, "CONTENT_LENGTH"));
	return ST_OK;
}

enum status
http_body(const struct http_request *q, struct buf *out)
{
	char block[16384];

	for (;;) {
		int n =
		    FCGX_GetStr(block, (int)sizeof(block), q->conn->fcgi.in);

		if (n <= 0)
			break;
		buf_add(out, block, (size_t)n);
		if (buf_status(out) != ST_OK)
			return buf_status(out);
	}
	/* A body cut on its way must not be run: it is not what was paid for.
	 */
	if (q->length_known && out->len != q->length)
		return ST_CLOSED;
	return ST_OK;
}

void
http_reply_init(struct http_reply *a, size_t max)
{
	a->status = 500;
	a->told = ST_OK;
	a->noted = false;
	buf_init(&a->headers, HTTP_HEADERS_BYTES);
	buf_init(&a->body, max);
}

void
http_reply_free(struct http_reply *a)
{
	buf_free(&a->headers);
	buf_free(&a->body);
}

void
http_reply_close(struct http_reply *a)
{
	if (buf_status(&a->headers) == ST_OK && buf_status(&a->body) == ST_OK)
		return;
	buf_clear(&a->headers);
	buf_free(&a->body);
	buf_init(&a->body, 512);
	a->status = 500;
	a->told = ST_SERVICE_INTERNAL_FAILURE;
	http_header(a, "Content-Type", "application/json");
	buf_adds(&a->body,
	    "{\"error\":{\"code\":\"SERVICE_INTERNAL_FAILURE\",\"message\":"
	    "\"the answer could not be built\",\"billable\":false,"
	    "\"category\":\"internal_failure\"}}");
}

void
http_header(struct http_reply *a, const char *name, const char *value)
{
	buf_adds(&a->headers, name);
	buf_adds(&a->headers, ": ");
	buf_adds(&a->headers, value);
	buf_adds(&a->headers, "\r\n");
}

static void
begin(const struct http_request *q, int status, const struct buf *headers)
{
	struct http_conn *c = q->conn;
	OWN_BUF struct buf head;

	outlet_open(&c->out, c->fcgi.ipcFd, (uint16_t)c->fcgi.requestId);
	c->live = true;
	c->sent = status;
	buf_init(&head, HTTP_HEADERS_BYTES + 1024);
	http_head_put(&head, q, status, buf_cstr(headers), headers->len);
	buf_adds(&head, "\r\n");
	if (buf_status(headers) == ST_OK && buf_status(&head) == ST_OK)
		outlet_put(&c->out, head.data, head.len);
	else
		c->out.gone = true;
}

struct outlet *
http_live(const struct http_request *q, const struct http_reply *head)
{
	begin(q, head->status, &head->headers);
	return &q->conn->out;
}

struct outlet *
http_outlet(const struct http_request *q)
{
	return q->conn->live ? &q->conn->out : NULL;
}

static void
send_whole(struct http_request *q, struct http_reply *a)
{
	bool empty = a->status == 204 || a->status == 304;
	bool bodyless = empty || strcmp(q->method, "HEAD") == 0;
	char len[32];

	http_reply_close(a);
	snprintf(len, sizeof(len), "%zu", a->body.len);
	if (!empty)
		http_header(a, "Content-Length", len);
	begin(q, a->status, &a->headers);
	outlet_send(&q->conn->out, buf_cstr(&a->body),
	    bodyless ? 0 : a->body.len, io_now_ms() + OUTLET_DRAIN_MS);
}

int
http_sent(const struct http_request *q)
{
	return q->conn->sent;
}

bool
http_send(struct http_request *q, struct http_reply *a)
{
	struct http_conn *c = q->conn;
	bool whole;

	POINT("answer.before");
	if (!c->live)
		send_whole(q, a);
	whole = outlet_push(&c->out);
	/* What was not sent by now is not sent any more, and half a record must
	 * not be followed by libfcgi's last ones. */
	if (!whole)
		shutdown(c->fcgi.ipcFd, SHUT_RDWR);
	outlet_free(&c->out);
	c->live = false;
	FCGX_Finish_r(&c->fcgi);
	POINT("answer.after");
	return whole;
}
