/*
 * Why a settle goes out at most once here: when a kept connection turns out to
 * be dead before a byte of the answer came, curl sends the request again on a
 * new one by itself and tells nobody. The chain would take that (a nonce is
 * used once), but a facilitator's second answer may well be "nonce already
 * used", which reads like a refusal of what was paid. So a request marked
 * `once` always opens a connection of its own; curl repeats nothing on those.
 * The price is one more handshake a settlement, which takes seconds anyway.
 * verify and supported change nothing and use kept connections. HTTP/1.1 only:
 * with 2 a refused stream is repeated too, and nothing here would share a
 * connection.
 */
#include "pay/fetch.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/point.h"
#include "pay/fetch_headers.h"
#include "pay/fetch_redirect.h"

#define KEEP 32		 /* idle handles, each with its connection */
#define HOPS 3		 /* redirects followed for one request */
#define CONNECT_MS 10000 /* look-up, connect and handshake */
#define URL_BYTES 8192
#define HEADER_BYTES 65536 /* of an answer, all lines */

struct fetch {
	struct fetch_server server;
	pthread_mutex_t lock;
	CURL *idle[KEEP];
	size_t n_idle;
};

/* What the callbacks of one transfer write to. */
struct transfer {
	struct fetch_reply *reply;
	const _Atomic bool *stop;
	struct curl_slist *headers;
	size_t header_bytes;
	char error[CURL_ERROR_SIZE];
};

/* ---- open and close ---- */

enum status
fetch_open(struct fetch **out, const struct fetch_server *s)
{
	struct fetch *h = NULL;

	*out = NULL;
	if (s->header != NULL && !fetch_headers_line(s->header)) {
		log_err("%s: the secret header must be one line "
			"\"Name: value\"",
		    s->who);
		return ST_FORMAT;
	}
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return ST_NOMEM;
	h->server = *s;
	if (pthread_mutex_init(&h->lock, NULL) != 0) {
		free(h);
		return ST_NOMEM;
	}
	/* Counted by curl: each open has its close. */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		pthread_mutex_destroy(&h->lock);
		free(h);
		return ST_NOMEM;
	}
	*out = h;
	return ST_OK;
}

void
fetch_close(struct fetch *h)
{
	size_t i;

	if (h == NULL)
		return;
	for (i = 0; i < h->n_idle; i++)
		curl_easy_cleanup(h->idle[i]);
	curl_global_cleanup();
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void
fetch_reply_init(struct fetch_reply *r, size_t max)
{
	memset(r, 0, sizeof(*r));
	buf_init(&r->body, max);
}

void
fetch_reply_free(struct fetch_reply *r)
{
	buf_free(&r->body);
}

/* ---- the pool ---- */

static CURL *
take(struct fetch *h)
{
	CURL *easy = NULL;

	pthread_mutex_lock(&h->lock);
	if (h->n_idle > 0)
		easy = h->idle[--h->n_idle];
	pthread_mutex_unlock(&h->lock);
	return easy != NULL ? easy : curl_easy_init();
}

static void
give_back(struct fetch *h, CURL *easy)
{
	pthread_mutex_lock(&h->lock);
	if (h->n_idle < KEEP) {
		h->idle[h->n_idle++] = easy;
		easy = NULL;
	}
	pthread_mutex_unlock(&h->lock);
	if (easy != NULL)
		curl_easy_cleanup(easy);
}

/* ---- one transfer ---- */

static size_t
on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;

	buf_add(&t->reply->body, data, size * n);
	/* Anything but what was given makes curl stop. */
	return buf_status(&t->reply->body) == ST_OK ? size * n : 0;
}

static size_t
on_header(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;

	(void)data;
	POINT("call.answering");
	t->header_bytes += size * n;
	return t->header_bytes <= HEADER_BYTES ? size * n : 0;
}

/* Called at least once a second: a stop need not wait for a deadline. */
static int
on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct transfer *t = ctx;

	(void)a;
	(void)b;
	(void)c;
	(void)d;
	return t->stop != NULL && atomic_load(t->stop);
}

/* Options whose failure is remembered, so that a request never goes out with
 * half of its settings. */
struct setup {
	CURL *easy;
	CURLcode rc;
};

static void
set_number(struct setup *s, CURLoption o, long v)
{
	if (s->rc == CURLE_OK)
		s->rc = curl_easy_setopt(s->easy, o, v);
}

static void
set_pointer(struct setup *s, CURLoption o, const void *v)
{
	if (s->rc == CURLE_OK)
		s->rc = curl_easy_setopt(s->easy, o, v);
}

static void
set_security(struct setup *s, const char *ca_file, const char *proxy)
{
	set_pointer(s, CURLOPT_PROTOCOLS_STR, "http,https");
	set_number(s, CURLOPT_FOLLOWLOCATION, 0);
	set_number(s, CURLOPT_NETRC, CURL_NETRC_IGNORED);
	/* The environment's proxies are not for this; nobody asked them. */
	if (proxy != NULL)
		set_pointer(s, CURLOPT_PROXY, proxy);
	set_pointer(s, CURLOPT_NOPROXY, proxy != NULL ? "" : "*");
	set_number(s, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1);
	set_number(s, CURLOPT_SSL_VERIFYPEER, 1);
	set_number(s, CURLOPT_SSL_VERIFYHOST, 2);
	set_number(s, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
	if (ca_file != NULL) {
		set_pointer(s, CURLOPT_CAINFO, ca_file);
		/* Instead of the system's, not besides. */
		set_pointer(s, CURLOPT_CAPATH, NULL);
	}
}

static CURLcode
set_all(CURL *easy, const struct fetch *h, const char *url,
    const struct fetch_request *q, int64_t left_ms, struct transfer *t)
{
	struct setup s = { .easy = easy, .rc = CURLE_OK };

	curl_easy_reset(easy); /* keeps the connection */
	set_pointer(&s, CURLOPT_URL, url);
	set_number(&s, CURLOPT_NOSIGNAL, 1);
	set_number(&s, CURLOPT_TIMEOUT_MS, (long)left_ms);
	set_number(&s, CURLOPT_CONNECTTIMEOUT_MS,
	    left_ms < CONNECT_MS ? (long)left_ms : CONNECT_MS);
	set_number(&s, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	set_number(&s, CURLOPT_TCP_KEEPALIVE, 1);
	set_number(&s, CURLOPT_MAXCONNECTS, 1);
	set_number(&s, CURLOPT_FRESH_CONNECT, q->once ? 1 : 0);
	set_pointer(&s, CURLOPT_USERAGENT, "tollbox");
	set_pointer(&s, CURLOPT_HTTPHEADER, t->headers);
	set_pointer(&s, CURLOPT_ERRORBUFFER, t->error);
	set_security(&s, h->server.ca_file, h->server.proxy);
	if (q->body != NULL) {
		set_number(&s, CURLOPT_POST, 1);
		set_pointer(&s, CURLOPT_POSTFIELDS, q->body);
		if (s.rc == CURLE_OK)
			s.rc = curl_easy_setopt(easy,
			    CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
	} else {
		set_number(&s, CURLOPT_HTTPGET, 1);
	}
	if (s.rc == CURLE_OK)
		s.rc = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	if (s.rc == CURLE_OK)
		s.rc =
		    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	if (s.rc == CURLE_OK)
		s.rc = curl_easy_setopt(
		    easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	set_pointer(&s, CURLOPT_WRITEDATA, t);
	set_pointer(&s, CURLOPT_HEADERDATA, t);
	set_pointer(&s, CURLOPT_XFERINFODATA, t);
	set_number(&s, CURLOPT_NOPROGRESS, t->stop == NULL ? 1 : 0);
	return s.rc;
}

/* Did the TLS handshake with the server itself never end? Then nothing of a
 * request over https can have left, whatever was said to a proxy. Only on a
 * connection of its own: a kept one has its handshake behind it. */
static bool
before_tls(CURL *easy, const char *url, bool once)
{
	curl_off_t done = 1;

	return once && strncmp(url, "https:", 6) == 0 &&
	       curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &done) ==
		   CURLE_OK &&
	       done == 0;
}

/* Failures before the request: name, connection, handshake. The counters have
 * to agree, for curl gives some of these codes for later trouble too. */
static bool
before_request(CURL *easy, CURLcode rc)
{
	curl_off_t pretransfer = 1;
	long size = 1;

	if (curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &size) != CURLE_OK ||
	    curl_easy_getinfo(
		easy, CURLINFO_PRETRANSFER_TIME_T, &pretransfer) != CURLE_OK ||
	    size != 0 || pretransfer != 0)
		return false;
	return rc == CURLE_COULDNT_RESOLVE_HOST ||
	       rc == CURLE_COULDNT_RESOLVE_PROXY ||
	       rc == CURLE_COULDNT_CONNECT || rc == CURLE_OPERATION_TIMEDOUT ||
	       rc == CURLE_SSL_CONNECT_ERROR ||
	       rc == CURLE_PEER_FAILED_VERIFICATION ||
	       rc == CURLE_SSL_CACERT_BADFILE || rc == CURLE_SSL_CERTPROBLEM ||
	       rc == CURLE_SSL_CIPHER || rc == CURLE_SSL_INVALIDCERTSTATUS ||
	       rc == CURLE_SSL_ISSUER_ERROR ||
	       rc == CURLE_UNSUPPORTED_PROTOCOL || rc == CURLE_URL_MALFORMAT;
}

/* The failure in words for an operator. */
static void
explain(char out[256], CURLcode rc, const char *detail, const char *proxy)
{
	const char *words = curl_easy_strerror(rc);

	/* Of curl's hundred codes, those that an operator meets. */
	if (rc == CURLE_COULDNT_RESOLVE_HOST)
		words = "its name cannot be resolved (DNS)";
	else if (rc == CURLE_COULDNT_RESOLVE_PROXY)
		words = "the proxy's name cannot be resolved (DNS)";
	else if (rc == CURLE_COULDNT_CONNECT)
		words = proxy == NULL ? "no connection"
				      : "no connection by way of the proxy";
	else if (rc == CURLE_PEER_FAILED_VERIFICATION)
		words = "its TLS certificate is not accepted";
	else if (rc == CURLE_SSL_CONNECT_ERROR)
		words = "the TLS handshake failed";
	else if (rc == CURLE_SSL_CACERT_BADFILE)
		words = "ca_file cannot be read";
	else if (rc == CURLE_OPERATION_TIMEDOUT)
		words = "no answer in time";
	snprintf(out, 256, "%s%s%.180s", words, detail[0] != '\0' ? ": " : "",
	    detail);
}

/* What is wanted of the headers. */
static void
read_headers(CURL *easy, const struct fetch_request *q, struct fetch_reply *r)
{
	struct curl_header *found = NULL;

	if (curl_easy_header(
		easy, "Content-Type", 0, CURLH_HEADER, -1, &found) == CURLHE_OK)
		snprintf(r->type, sizeof(r->type), "%s", found->value);
	if (q->note != NULL && curl_easy_header(easy, q->note, 0, CURLH_HEADER,
				   -1, &found) == CURLHE_OK)
		snprintf(r->note, sizeof(r->note), "%s", found->value);
}

/* Make ready; ST_OK, or nothing is to be sent. */
static enum status
prepare(struct fetch *h, CURL *easy, const char *url,
    const struct fetch_request *q, bool away, int64_t left_ms,
    struct transfer *t)
{
	enum status st = fetch_headers_make(&t->headers, &h->server,
	    q->body == NULL ? "GET" : "POST", url, away);

	if (st == ST_OK && set_all(easy, h, url, q, left_ms, t) != CURLE_OK)
		st = ST_NOMEM;
	if (st != ST_OK) {
		snprintf(t->reply->why, sizeof(t->reply->why),
		    "the request could not be made");
		log_err("%s: %s", h->server.who, t->reply->why);
	}
	return st;
}

static enum status
transfer(struct fetch *h, CURL *easy, const char *url,
    const struct fetch_request *q, bool away, struct fetch_reply *r)
{
	struct transfer t = { .reply = r, .stop = q->stop };
	int64_t left = q->deadline_ms - io_now_ms();
	CURLcode rc;
	enum status st;

	buf_clear(&r->body);
	r->http = 0;
	r->type[0] = '\0';
	r->note[0] = '\0';
	if (left <= 0) {
		snprintf(r->why, sizeof(r->why), "no time is left");
		log_warn("%s: %s: %s", h->server.who, q->what, r->why);
		return ST_IO;
	}
	st = prepare(h, easy, url, q, away, left, &t);
	if (st != ST_OK) {
		fetch_headers_wipe(t.headers);
		return st;
	}
	rc = curl_easy_perform(easy);
	fetch_headers_wipe(t.headers);
	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &r->http);
	if (rc != CURLE_OK && before_tls(easy, url, q->once))
		r->http = 0; /* a proxy's */
	else if (r->http != 0 || rc == CURLE_OK || !before_request(easy, rc))
		r->sent = true;
	if (rc == CURLE_OK) {
		read_headers(easy, q, r);
		return ST_OK;
	}
	explain(r->why, rc, t.error, h->server.proxy);
	if (!q->quiet)
		log_warn("%s: %s: %s (curl %d, HTTP %ld, %s)", h->server.who,
		    q->what, curl_easy_strerror(rc), (int)rc, r->http,
		    r->sent ? "sent" : "not sent");
	return ST_IO;
}

/* ---- redirects ---- */

/* The URL that the answer just read sends us on to, or NULL. Borrowed; dead
 * at the handle's next use. */
static const char *
redirected(CURL *easy, const struct fetch_reply *r)
{
	char *to = NULL;

	if (r->http != 307 && r->http != 308)
		return NULL;
	if (curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &to) != CURLE_OK)
		return NULL;
	return to;
}

/* Ask `first`, and on from there. url is memory for the present one. */
static enum status
ask(struct fetch *h, CURL *easy, const struct fetch_request *q,
    const char *first, struct buf *url, struct fetch_reply *r)
{
	bool away = false;
	enum status st = ST_BUG;
	int hop;

	buf_adds(url, first);
	for (hop = 0;; hop++) {
		const char *to = NULL;

		st = buf_status(url);
		if (st == ST_OK)
			st = transfer(h, easy, buf_cstr(url), q, away, r);
		if (st == ST_OK)
			to = redirected(easy, r);
		if (to == NULL)
			break;
		if (hop == HOPS || !fetch_redirect_ok(first, to, &away)) {
			log_warn(
			    "%s: %s: redirect refused", h->server.who, q->what);
			break;
		}
		buf_clear(url);
		buf_adds(url, to);
	}
	/* After the first hop something was sent, whatever comes. */
	return st != ST_OK && r->sent ? ST_IO : st;
}

enum status
fetch_ask(struct fetch *h, const struct fetch_request *q, struct fetch_reply *r)
{
	struct buf first, url;
	CURL *easy = NULL;
	enum status st = ST_NOMEM;

	buf_init(&first, URL_BYTES);
	buf_init(&url, URL_BYTES);
	buf_addf(&first, "%s%s", h->server.url, q->path);
	if (buf_status(&first) == ST_OK)
		easy = take(h);
	if (easy != NULL) {
		st = ask(h, easy, q, buf_cstr(&first), &url, r);
		give_back(h, easy);
	}
	buf_free(&url);
	buf_free(&first);
	return st;
}
