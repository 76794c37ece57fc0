/*
 * The facilitator's client against a small HTTP server that plays one answer
 * after the other, the last one for ever.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/facilitator.h"

extern char **environ;

#define BODY "{\"x402Version\":2,\"paymentPayload\":{}}"
#define YES                                                                    \
	"{\"success\":true,\"transaction\":\"0xabc\",\"network\":\"eip155:1\"" \
	",\"payer\":\"0xf39F\",\"amount\":\"10000\"}"
#define NO                                                                     \
	"{\"success\":false,\"errorReason\":\"insufficient_funds\","           \
	"\"transaction\":\"\",\"network\":\"eip155:1\"}"
#define PENDING                                                                \
	"{\"success\":false,\"errorReason\":\"settlement_pending\","           \
	"\"transaction\":\"0xabc\",\"network\":\"eip155:1\"}"
#define VALID "{\"isValid\":true,\"payer\":\"0xf39F\"}"
#define HTML "<html>Bad gateway</html>"
#define JSON "application/json"

/* ---- the server ---- */

enum twist {
	PLAIN,
	CLOSING,     /* keeps the connection by its words, closes it by deed */
	CUT,	     /* Content-Length is larger than what comes */
	CUT_CHUNKED, /* the last chunk never comes */
	RESET_MID,   /* reset in the midst of the body */
	RESET_FIRST, /* reset once the request was read */
	CLOSE_FIRST, /* an orderly end instead of an answer */
	HANG,	     /* nothing, for ever */
	HANG_MID,    /* half of the body, then nothing */
	HUGE,	     /* 64 MiB after Content-Length */
	ENDLESS,     /* body without a length, until stopped */
	HEADERS,     /* header lines without end */
	BARE,	     /* the body alone, as HTTP/0.9 */
	AFTER_100,   /* an interim answer before the real one */
};

struct play {
	int status;
	const char *type; /* NULL: no Content-Type */
	const char *body;
	enum twist twist;
	const char *header; /* a further line with its end, or NULL */
};

#define PLAYS 8
#define CONNS 256 /* of one test */

struct server {
	int fd;
	unsigned port;
	pthread_t thread;
	pthread_mutex_t lock;
	struct play plays[PLAYS];
	int n_plays;
	int requests;
	int connections;
	size_t written;	  /* of the largest answer */
	char last[8192];  /* request as it came, its beginning */
	size_t last_body; /* length of its body */
	bool tls_rubbish;
	pthread_t conns[CONNS];
};

static bool
push(int fd, const void *data, size_t len)
{
	return send(fd, data, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static void
reset(int fd)
{
	struct linger hard = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

static void
pour(struct server *s, int fd, const char *filler)
{
	size_t len = strlen(filler), sum = 0;

	while (sum < (64u << 20) && push(fd, filler, len))
		sum += len;
	pthread_mutex_lock(&s->lock);
	if (sum > s->written)
		s->written = sum;
	pthread_mutex_unlock(&s->lock);
}

/* Wait until the client goes away. */
static void
hang(int fd)
{
	char c;

	while (recv(fd, &c, 1, 0) > 0)
		;
}

/* Play one answer. False: the connection is over. */
static bool
answer(struct server *s, int fd, const struct play *p)
{
	static const char filler[] =
	    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
	char head[2048], type[256] = "";
	size_t len = strlen(p->body), claimed = len;
	bool chunked = p->twist == CUT_CHUNKED;
	bool endless = p->twist == ENDLESS;

	if (p->twist == RESET_FIRST)
		reset(fd);
	if (p->twist == RESET_FIRST || p->twist == CLOSE_FIRST)
		return false;
	if (p->twist == HANG) {
		hang(fd);
		return false;
	}
	if (p->twist == BARE) {
		push(fd, p->body, len);
		return false;
	}
	if (p->twist == AFTER_100)
		push(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25);
	if (p->twist == CUT || p->twist == RESET_MID || p->twist == HANG_MID)
		claimed = len + 100;
	if (p->twist == HUGE)
		claimed = 64u << 20;
	if (p->type != NULL)
		snprintf(type, sizeof(type), "Content-Type: %s\r\n", p->type);
	snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\n%s%s", p->status, type,
	    p->header != NULL ? p->header : "");
	push(fd, head, strlen(head));
	if (p->twist == HEADERS) {
		pour(s, fd, "X-More: and more and more and more of it\r\n");
		return false;
	}
	if (chunked)
		snprintf(head, sizeof(head),
		    "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", len);
	else if (endless)
		snprintf(head, sizeof(head), "Connection: close\r\n\r\n");
	else
		snprintf(
		    head, sizeof(head), "Content-Length: %zu\r\n\r\n", claimed);
	push(fd, head, strlen(head));
	push(fd, p->body, len);
	if (p->twist == HUGE || endless)
		pour(s, fd, filler);
	if (p->twist == HANG_MID)
		hang(fd);
	if (p->twist == RESET_MID) {
		/* Let the first part arrive. */
		usleep(20000);
		reset(fd);
	}
	return p->twist == PLAIN || p->twist == AFTER_100;
}

/* One request, headers and body; `into` gets its beginning, *body the length
 * of its body. False at the end of the connection. */
static bool
read_request(int fd, char *into, size_t cap, size_t *body)
{
	size_t len = 0, sum = 0, want = 0;
	char rest[4096];

	while (want == 0 || sum < want) {
		bool room = len < cap - 1;
		ssize_t n = recv(fd, room ? into + len : rest,
		    room ? cap - 1 - len : sizeof(rest), 0);
		const char *end = NULL, *h = NULL;

		if (n <= 0)
			return false;
		sum += (size_t)n;
		len += room ? (size_t)n : 0;
		into[len] = '\0';
		end = strstr(into, "\r\n\r\n");
		if (want == 0 && end != NULL) {
			want = (size_t)(end + 4 - into);
			*body = 0;
			h = strcasestr(into, "Content-Length:");
			if (h != NULL && h < end)
				*body = strtoul(h + 15, NULL, 10);
			want += *body;
		}
	}
	return sum == want;
}

struct conn {
	struct server *s;
	int fd;
};

static void *
serve_conn(void *arg)
{
	struct conn *c = arg;
	struct server *s = c->s;
	char request[sizeof(s->last)];
	bool more = true;
	size_t body = 0;

	if (s->tls_rubbish) {
		push(c->fd, "this is not TLS at all\r\n", 24);
		more = false;
	}
	while (more && read_request(c->fd, request, sizeof(request), &body)) {
		struct play p;

		pthread_mutex_lock(&s->lock);
		p = s->plays[s->requests < s->n_plays ? s->requests
						      : s->n_plays - 1];
		s->requests++;
		memcpy(s->last, request, sizeof(request));
		s->last_body = body;
		pthread_mutex_unlock(&s->lock);
		more = answer(s, c->fd, &p);
	}
	close(c->fd);
	free(c);
	return NULL;
}

static void *
serve(void *arg)
{
	struct server *s = arg;

	for (;;) {
		struct conn *c = calloc(1, sizeof(*c));
		int n;

		if (c == NULL)
			break;
		c->s = s;
		c->fd = accept(s->fd, NULL, NULL);
		pthread_mutex_lock(&s->lock);
		n = s->connections;
		/* Counted before it can answer. */
		s->connections += c->fd >= 0 && n < CONNS;
		pthread_mutex_unlock(&s->lock);
		if (c->fd < 0 || n == CONNS) {
			free(c);
			break;
		}
		if (pthread_create(&s->conns[n], NULL, serve_conn, c) != 0)
			abort();
	}
	return NULL;
}

static int
listen_local(unsigned *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(fd, 64), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

struct fixture {
	struct server s;
	struct facilitator *f;
	struct conf_facilitator conf;
	char url[128], name[16], auth[64];
	struct facilitator_answer a;
	pid_t tls;    /* openssl's server, or 0 */
	char dir[32]; /* its folder, or "" */
};

static int
setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->s.fd = listen_local(&x->s.port);
	pthread_mutex_init(&x->s.lock, NULL);
	assert_int_equal(pthread_create(&x->s.thread, NULL, serve, &x->s), 0);
	snprintf(x->url, sizeof(x->url), "http://127.0.0.1:%u/base", x->s.port);
	snprintf(x->name, sizeof(x->name), "test");
	snprintf(x->auth, sizeof(x->auth), "Authorization: Bearer s3cret");
	x->conf = (struct conf_facilitator){
		.name = x->name, .url = x->url, .timeout_ms = 5000
	};
	assert_int_equal(facilitator_open(&x->f, &x->conf), ST_OK);
	*state = x;
	return 0;
}

/* Here, so that neither is left behind where a test fails. */
static void
end_tls(struct fixture *x)
{
	static const char *const files[] = { "key.pem", "cert.pem",
		"supported" };
	char path[64];

	if (x->tls > 0) {
		kill(x->tls, SIGKILL);
		waitpid(x->tls, NULL, 0);
	}
	if (x->dir[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", x->dir, files[i]);
		(void)unlink(path);
	}
	(void)rmdir(x->dir);
}

static int
teardown(void **state)
{
	struct fixture *x = *state;
	int i;

	end_tls(x);
	facilitator_answer_free(&x->a);
	facilitator_close(x->f);
	shutdown(x->s.fd, SHUT_RDWR);
	pthread_join(x->s.thread, NULL);
	for (i = 0; i < x->s.connections; i++)
		pthread_join(x->s.conns[i], NULL);
	close(x->s.fd);
	free(x);
	return 0;
}

static void
will_play(struct fixture *x, const struct play *plays, int n)
{
	assert_in_range(n, 1, PLAYS);
	memcpy(x->s.plays, plays, (size_t)n * sizeof(plays[0]));
	x->s.n_plays = n;
	x->s.requests = 0;
}

static void
settle(struct fixture *x)
{
	facilitator_answer_free(&x->a);
	assert_int_equal(
	    facilitator_settle(x->f, BODY, strlen(BODY), &x->a), ST_OK);
	assert_non_null(x->a.transaction);
}

static void
verify(struct fixture *x)
{
	facilitator_answer_free(&x->a);
	assert_int_equal(
	    facilitator_verify(x->f, BODY, strlen(BODY), &x->a), ST_OK);
	assert_non_null(x->a.transaction);
}

static int
connections(struct fixture *x)
{
	int n;

	pthread_mutex_lock(&x->s.lock);
	n = x->s.connections;
	pthread_mutex_unlock(&x->s.lock);
	return n;
}

static int
requests(struct fixture *x)
{
	int n;

	pthread_mutex_lock(&x->s.lock);
	n = x->s.requests;
	pthread_mutex_unlock(&x->s.lock);
	return n;
}

/* ---- what goes out, and the plain answers ---- */

static void
settle_yes(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, YES, PLAIN, NULL };

	will_play(x, &p, 1);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_int_equal(x->a.http, 200);
	assert_string_equal(x->a.transaction, "0xabc");
	assert_string_equal(x->a.network, "eip155:1");
	assert_string_equal(x->a.payer, "0xf39F");
	assert_string_equal(x->a.amount, "10000");
	assert_string_equal(x->a.reason, "");
}

static void
the_request_is_right(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, VALID, PLAIN, NULL };

	will_play(x, &p, 1);
	verify(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_string_equal(x->a.payer, "0xf39F");
	assert_string_equal(x->a.transaction, "");
	assert_int_equal(
	    strncmp(x->s.last, "POST /base/verify HTTP/1.1\r\n", 28), 0);
	assert_non_null(
	    strstr(x->s.last, "\r\nContent-Type: application/json\r\n"));
	assert_null(strcasestr(x->s.last, "\r\nexpect:"));
	assert_null(strcasestr(x->s.last, "\r\naccept-encoding:"));
	assert_null(strcasestr(x->s.last, "\r\nauthorization:"));
	assert_null(strcasestr(x->s.last, "\r\ncookie:"));
	assert_non_null(strstr(x->s.last, "\r\n\r\n" BODY));
	settle(x);
	assert_int_equal(
	    strncmp(x->s.last, "POST /base/settle HTTP/1.1\r\n", 28), 0);
}

/* So long that curl would ask first (Expect) if it were let. */
static void
large_bodies_go_out_whole(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, YES, PLAIN, NULL };
	size_t len = 3u << 20;
	OWN_FREE char *body = malloc(len);

	assert_non_null(body);
	memset(body, 'b', len);
	will_play(x, &p, 1);
	assert_int_equal(facilitator_settle(x->f, body, len, &x->a), ST_OK);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_int_equal(x->s.last_body, len);
	assert_null(strcasestr(x->s.last, "\r\nexpect:"));
}

/* One answer to settle: its verdict, reason, transaction; and that settle went
 * out exactly once. */
struct settle_case {
	struct play play;
	enum facilitator_verdict verdict;
	const char *reason; /* contained in it */
	const char *transaction;
};

static void
with_auth(struct fixture *x, char *line)
{
	facilitator_close(x->f);
	x->f = NULL;
	x->conf.auth_header = line;
	assert_int_equal(facilitator_open(&x->f, &x->conf), ST_OK);
}

static void
settle_answers(void **state)
{
	static const struct settle_case cases[] = {
		{ { 200, JSON, NO, PLAIN, NULL }, FACILITATOR_NO,
		    "insufficient_funds", "" },
		{ { 400, JSON, NO, PLAIN, NULL }, FACILITATOR_NO,
		    "insufficient_funds", "" },
		{ { 500, JSON, NO, PLAIN, NULL }, FACILITATOR_NO,
		    "insufficient_funds", "" },
		{ { 200, "Application/JSON; charset=utf-8", NO, PLAIN, NULL },
		    FACILITATOR_NO, "insufficient_funds", "" },
		{ { 200, NULL, NO, PLAIN, NULL }, FACILITATOR_NO,
		    "insufficient_funds", "" },
		{ { 200, JSON, NO, AFTER_100, NULL }, FACILITATOR_NO,
		    "insufficient_funds", "" },
		{ { 200, "text/html", NO, PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "HTTP 200 without a verdict", "" },
		{ { 500, "text/html", HTML, PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "HTTP 500 without a verdict", "" },
		{ { 502, NULL, "", PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "HTTP 502", "" },
		{ { 200, JSON, "rubbish", PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "without a verdict", "" },
		{ { 200, JSON, "", PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "without a verdict", "" },
		{ { 200, JSON, "{}", PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "no verdict", "" },
		{ { 500, JSON, YES, PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "contradicts", "0xabc" },
		{ { 302, JSON, NO, PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "HTTP 302", "" },
		{ { 308, JSON, NO, PLAIN, NULL }, FACILITATOR_UNKNOWN,
		    "HTTP 308", "" },
		{ { 401, JSON, NO, PLAIN, NULL }, FACILITATOR_NO_SERVICE,
		    "HTTP 401", "" },
		{ { 403, "text/html", HTML, PLAIN, NULL },
		    FACILITATOR_NO_SERVICE, "HTTP 403", "" },
		{ { 404, NULL, "", PLAIN, NULL }, FACILITATOR_NO_SERVICE,
		    "HTTP 404", "" },
		{ { 413, JSON, "{}", PLAIN, NULL }, FACILITATOR_NO_SERVICE,
		    "HTTP 413", "" },
		{ { 429, JSON, NO, PLAIN, "Retry-After: 1\r\n" },
		    FACILITATOR_NO_SERVICE, "HTTP 429", "" },
		{ { 429, "text/html", HTML, CUT, NULL }, FACILITATOR_NO_SERVICE,
		    "HTTP 429", "" },
		/* What breaks off says nothing, however whole it looks. */
		{ { 200, JSON, YES, CUT, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
		{ { 200, JSON, NO, CUT, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
		{ { 200, JSON, NO, CUT_CHUNKED, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
		{ { 200, JSON, NO, RESET_MID, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
		{ { 0, NULL, "", RESET_FIRST, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
		{ { 0, NULL, "", CLOSE_FIRST, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
		{ { 0, NULL, NO, BARE, NULL }, FACILITATOR_UNKNOWN,
		    "no whole answer", "" },
	};
	struct fixture *x = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct settle_case *c = &cases[i];

		with_auth(x, NULL); /* anew: so many would open the circuit */
		will_play(x, &c->play, 1);
		settle(x);
		if (x->a.verdict != c->verdict ||
		    strstr(x->a.reason, c->reason) == NULL ||
		    strcmp(x->a.transaction, c->transaction) != 0)
			fail_msg("case %zu: verdict %d, \"%s\", \"%s\"", i,
			    (int)x->a.verdict, x->a.reason, x->a.transaction);
		if (requests(x) != 1)
			fail_msg("case %zu: sent %d times", i, requests(x));
		assert_int_equal(x->a.http, c->play.status);
	}
}

/* A 64 MiB body, one without end, headers without end: reading stops. */
static void
floods_are_cut_off(void **state)
{
	static const struct play floods[] = {
		{ 200, JSON, NO, HUGE, NULL },
		{ 200, JSON, NO, ENDLESS, NULL },
		{ 200, JSON, NO, HEADERS, NULL },
	};
	struct fixture *x = *state;
	size_t i;

	for (i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
		will_play(x, &floods[i], 1);
		settle(x);
		assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
		assert_string_equal(x->a.transaction, "");
	}
	/* A refused service is one even so. */
	will_play(x, &(struct play){ 403, "text/html", HTML, HUGE, NULL }, 1);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NO_SERVICE);
	/* Socket buffers take some beyond what was read. */
	assert_in_range(x->s.written, 1, 32u << 20);
}

/* ---- time ---- */

static void
slow_answers_are_unknown(void **state)
{
	static const struct play slow[] = {
		{ 200, JSON, YES, HANG, NULL },
		{ 200, JSON, YES, HANG_MID, NULL },
	};
	struct fixture *x = *state;
	size_t i;

	x->conf.timeout_ms = 300;
	for (i = 0; i < 2; i++) {
		int64_t start = io_now_ms();

		will_play(x, &slow[i], 1);
		settle(x);
		assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
		assert_int_equal(requests(x), 1);
		assert_in_range(io_now_ms() - start, 250, 4000);
	}
	will_play(x, &slow[0], 1);
	verify(x);
	assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
}

/* ---- nothing was sent ---- */

static void
set_url(struct fixture *x, const char *fmt, unsigned port)
{
	/* The format is one of this file's own. */
	OWN_FREE char *url = NULL;
	const char *at = strchr(fmt, '@');

	assert_true(
	    asprintf(&url, "%.*s%u%s", (int)(at - fmt), fmt, port, at + 1) > 0);
	snprintf(x->url, sizeof(x->url), "%s", url);
}

static void
unreachable_is_not_sent(void **state)
{
	struct fixture *x = *state;
	unsigned port;
	int fd = listen_local(&port);

	close(fd);
	set_url(x, "http://127.0.0.1:@/", port);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	assert_non_null(strstr(x->a.reason, "could not be reached"));
	assert_int_equal(x->a.http, 0);
	verify(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	set_url(x, "http://no-such-host.invalid:@", port);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	snprintf(x->url, sizeof(x->url), "ftp://127.0.0.1/x");
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	snprintf(x->url, sizeof(x->url), "no url at all");
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
}

/* A full backlog: the connection is never made, the time runs out. */
static void
a_timeout_while_connecting_is_not_sent(void **state)
{
	struct fixture *x = *state;
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd, i, fillers[4];
	unsigned port;

	fd = listen_local(&port);
	assert_int_equal(listen(fd, 0), 0);
	a.sin_port = htons((uint16_t)port);
	for (i = 0; i < 4; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fillers[i], (struct sockaddr *)&a, sizeof(a));
	}
	x->conf.timeout_ms = 300;
	set_url(x, "http://127.0.0.1:@", port);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	for (i = 0; i < 4; i++)
		close(fillers[i]);
	close(fd);
}

/* Settings are read when it is opened. */
static void
with_ca(struct fixture *x, char *path)
{
	facilitator_close(x->f);
	x->f = NULL;
	x->conf.ca_file = path;
	assert_int_equal(facilitator_open(&x->f, &x->conf), ST_OK);
}

static void
a_failed_handshake_is_not_sent(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, YES, PLAIN, NULL };

	will_play(x, &p, 1);
	x->s.tls_rubbish = true;
	set_url(x, "https://127.0.0.1:@", x->s.port);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	assert_int_equal(requests(x), 0);
	/* A CA file that is not there. */
	with_ca(x, x->name);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	with_ca(x, NULL);
}

/* ---- TLS against openssl's own server ---- */

static void
run_wait(char *const *argv)
{
	pid_t pid;
	int ws = 0;

	assert_int_equal(
	    posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &ws, 0), pid);
	assert_int_equal(ws, 0);
}

/* Connects to 127.0.0.1:port, waiting till somebody listens. */
static void
await_port(unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int i, rc = -1;

	for (i = 0; i < 500 && rc != 0; i++) {
		OWN_FD int fd = socket(AF_INET, SOCK_STREAM, 0);

		rc = connect(fd, (struct sockaddr *)&a, sizeof(a));
		if (rc != 0)
			usleep(20000);
	}
	assert_int_equal(rc, 0);
}

#define ARG(s) ((char *)(uintptr_t)(s))

/* A certificate for localhost in the fixture's folder, and what is served. */
static void
make_tls(struct fixture *x, char cert[64], char key[64])
{
	static const char file[] =
	    "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
	    "{\"kinds\":[{\"x402Version\":2,\"scheme\":\"exact\","
	    "\"network\":\"eip155:1\"}]}";
	char path[64];
	char *const make[] = { ARG("openssl"), ARG("req"), ARG("-x509"),
		ARG("-newkey"), ARG("ec"), ARG("-pkeyopt"),
		ARG("ec_paramgen_curve:P-256"), ARG("-nodes"), ARG("-keyout"),
		key, ARG("-out"), cert, ARG("-subj"), ARG("/CN=localhost"),
		ARG("-addext"), ARG("subjectAltName=DNS:localhost"), NULL };
	FILE *out = NULL;

	snprintf(x->dir, sizeof(x->dir), "/tmp/test_facil.XXXXXX");
	assert_non_null(mkdtemp(x->dir));
	snprintf(cert, 64, "%s/cert.pem", x->dir);
	snprintf(key, 64, "%s/key.pem", x->dir);
	run_wait(make);
	snprintf(path, sizeof(path), "%s/supported", x->dir);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_true(fputs(file, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

/* openssl serves the files of the folder it is started in. */
static void
start_tls(struct fixture *x, unsigned port, char *cert, char *key)
{
	char accept_at[32], was[256];
	char *const serve_it[] = { ARG("openssl"), ARG("s_server"),
		ARG("-accept"), accept_at, ARG("-cert"), cert, ARG("-key"), key,
		ARG("-HTTP"), ARG("-quiet"), NULL };
	posix_spawn_file_actions_t quiet;
	int rc;

	snprintf(accept_at, sizeof(accept_at), "127.0.0.1:%u", port);
	assert_int_equal(posix_spawn_file_actions_init(&quiet), 0);
	assert_int_equal(
	    posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", 1, 0), 0);
	assert_non_null(getcwd(was, sizeof(was)));
	assert_int_equal(chdir(x->dir), 0);
	rc = posix_spawnp(&x->tls, "openssl", &quiet, NULL, serve_it, environ);
	assert_int_equal(chdir(was), 0);
	posix_spawn_file_actions_destroy(&quiet);
	if (rc != 0)
		x->tls = 0;
	assert_int_equal(rc, 0);
	await_port(port);
}

static void
certificates_decide(void **state)
{
	struct fixture *x = *state;
	char cert[64], key[64];
	struct fault why;
	unsigned port;

	close(listen_local(&port));
	make_tls(x, cert, key);
	start_tls(x, port, cert, key);

	/* Nobody vouches for it. */
	set_url(x, "https://localhost:@", port);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	assert_int_equal(facilitator_refresh(x->f, &why), ST_UNKNOWN);
	assert_non_null(strstr(why.message, "certificate is not accepted"));
	/* The CA file does, but only for its name. */
	with_ca(x, cert);
	assert_int_equal(facilitator_refresh(x->f, &why), ST_OK);
	assert_true(facilitator_offers(x->f, 2, "exact", "eip155:1", NULL));
	set_url(x, "https://127.0.0.1:@", port);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	with_ca(x, NULL);
}

/* ---- pending: one repeat of the same body ---- */

static void
pending_is_asked_once_more(void **state)
{
	static const struct play plays[] = {
		{ 200, JSON, PENDING, PLAIN, NULL },
		{ 200, JSON, YES, PLAIN, NULL },
	};
	struct fixture *x = *state;

	will_play(x, plays, 2);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_int_equal(requests(x), 2);
	assert_non_null(strstr(x->s.last, "\r\n\r\n" BODY));
}

/* Whatever else the repeat says, the transaction is under way. */
static void
only_yes_counts_after_pending(void **state)
{
	static const struct play seconds[] = {
		{ 200, JSON, PENDING, PLAIN, NULL },
		{ 200, JSON, NO, PLAIN, NULL },
		{ 200, JSON,
		    "{\"success\":false,\"transaction\":\"\",\"errorReason\":"
		    "\"invalid_exact_evm_nonce_already_used\"}",
		    PLAIN, NULL },
		{ 429, NULL, "", PLAIN, NULL },
		{ 500, "text/html", HTML, PLAIN, NULL },
		{ 0, NULL, "", RESET_FIRST, NULL },
	};
	struct fixture *x = *state;
	size_t i;

	for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		struct play plays[2] = { { 400, JSON, PENDING, PLAIN, NULL },
			seconds[i] };

		will_play(x, plays, 2);
		settle(x);
		assert_int_equal(requests(x), 2);
		assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
		assert_string_equal(x->a.reason, "settlement_pending");
		assert_string_equal(x->a.transaction, "0xabc");
	}
}

static void
pending_without_transaction_is_not_repeated(void **state)
{
	static const struct play p = { 200, JSON,
		"{\"success\":false,\"errorReason\":\"settlement_pending\","
		"\"transaction\":\"\"}",
		PLAIN, NULL };
	struct fixture *x = *state;

	will_play(x, &p, 1);
	settle(x);
	assert_int_equal(requests(x), 1);
	assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
}

/* ---- connections ---- */

static void
kept_connections_serve_verify(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, VALID, PLAIN, NULL };
	int i;

	will_play(x, &p, 1);
	for (i = 0; i < 5; i++) {
		verify(x);
		assert_int_equal(x->a.verdict, FACILITATOR_YES);
	}
	assert_int_equal(connections(x), 1);
}

/* A kept connection that died is no reason to send settle twice: settle does
 * not use one. verify may, and curl repeats it. */
static void
dead_connections(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, YES, CLOSING, NULL };
	const struct play v = { 200, JSON, VALID, CLOSING, NULL };
	const struct play r[] = { { 200, JSON, VALID, PLAIN, NULL },
		{ 0, NULL, "", RESET_FIRST, NULL } };
	int i;

	will_play(x, &p, 1);
	for (i = 0; i < 4; i++) {
		settle(x);
		assert_int_equal(x->a.verdict, FACILITATOR_YES);
	}
	assert_int_equal(requests(x), 4);
	assert_int_equal(connections(x), 4);
	will_play(x, &v, 1);
	for (i = 0; i < 4; i++) {
		verify(x);
		assert_int_equal(x->a.verdict, FACILITATOR_YES);
	}
	/* A live one is there from verify; settle still opens its own, so
	 * that what dies under it went out once. */
	will_play(x, r, 2);
	verify(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
	assert_int_equal(requests(x), 2);
}

static void *
many_thread(void *arg)
{
	struct fixture *x = arg;
	int i, wrong = 0;

	for (i = 0; i < 4; i++) {
		struct facilitator_answer a;

		if (facilitator_verify(x->f, BODY, strlen(BODY), &a) != ST_OK)
			wrong++;
		wrong += a.verdict != FACILITATOR_YES;
		facilitator_answer_free(&a);
	}
	return wrong == 0 ? NULL : arg;
}

static void
more_threads_than_handles(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, VALID, PLAIN, NULL };
	pthread_t threads[40];
	void *bad = NULL;
	int i;

	will_play(x, &p, 1);
	for (i = 0; i < 40; i++)
		assert_int_equal(
		    pthread_create(&threads[i], NULL, many_thread, x), 0);
	for (i = 0; i < 40; i++) {
		assert_int_equal(pthread_join(threads[i], &bad), 0);
		assert_null(bad);
	}
	assert_int_equal(requests(x), 160);
}

static void
proxies_of_the_environment_are_not_used(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, VALID, PLAIN, NULL };

	will_play(x, &p, 1);
	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
	verify(x);
	unsetenv("http_proxy");
	unsetenv("ALL_PROXY");
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
}

/* ---- the secret, redirects ---- */

static void
auth_goes_along(void **state)
{
	struct fixture *x = *state;
	struct play p = { 200, JSON, VALID, PLAIN, NULL };
	struct fault why;

	with_auth(x, x->auth);
	will_play(x, &p, 1);
	verify(x);
	assert_non_null(
	    strstr(x->s.last, "\r\nAuthorization: Bearer s3cret\r\n"));
	p.body = "{\"kinds\":[]}";
	will_play(x, &p, 1);
	assert_int_equal(facilitator_refresh(x->f, &why), ST_OK);
	assert_false(facilitator_offers(x->f, 2, "exact", "n", NULL));
	assert_non_null(strstr(x->s.last, "\r\nAuthorization: Bearer"));
}

static void
bad_auth_lines_are_refused(void **state)
{
	static const char *const lines[] = { "", "NoColon", ": x",
		"Name:", "Name:  ", "A: b\r\nX: y", "A: b\n", "A: \x7f" };
	struct fixture *x = *state;
	struct facilitator *f = NULL;
	char line[32];
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(line, sizeof(line), "%s", lines[i]);
		x->conf.auth_header = line;
		assert_int_equal(facilitator_open(&f, &x->conf), ST_FORMAT);
		assert_null(f);
	}
	x->conf.auth_header = NULL;
}

static void
redirects_on_the_same_server(void **state)
{
	struct fixture *x = *state;
	const struct play plays[] = {
		{ 308, "text/html", HTML, PLAIN, "Location: /new/settle\r\n" },
		{ 307, NULL, "", PLAIN, "Location: ../last\r\n" },
		{ 200, JSON, YES, PLAIN, NULL },
	};

	with_auth(x, x->auth);
	will_play(x, plays, 3);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_int_equal(requests(x), 3);
	assert_int_equal(strncmp(x->s.last, "POST /last HTTP/1.1\r\n", 21), 0);
	assert_non_null(strstr(x->s.last, "\r\n\r\n" BODY));
	assert_non_null(strstr(x->s.last, "\r\nAuthorization: Bearer"));
}

static void
redirect_loops_end(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 308, NULL, "", PLAIN, "Location: /loop\r\n" };

	will_play(x, &p, 1);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
	assert_int_equal(x->a.http, 308);
	assert_int_equal(requests(x), 4);
}

/* Plain http to another host, other schemes, GET-turning redirects: stay. */
static void
wrong_redirects_are_not_followed(void **state)
{
	static const struct play plays[] = {
		{ 308, JSON, YES, PLAIN, "Location: http://localhost:1/x\r\n" },
		{ 308, JSON, YES, PLAIN, "Location: ftp://127.0.0.1/x\r\n" },
		{ 308, JSON, YES, PLAIN,
		    "Location: http://user@127.0.0.1/\r\n" },
		{ 308, JSON, YES, PLAIN, "Location: file:///etc/passwd\r\n" },
		{ 308, JSON, YES, PLAIN, "Location: http://[::1\r\n" },
		{ 308, JSON, YES, PLAIN, "Location:\r\n" },
		{ 301, JSON, YES, PLAIN, "Location: /x\r\n" },
		{ 302, JSON, YES, PLAIN, "Location: /x\r\n" },
		{ 303, JSON, YES, PLAIN, "Location: /x\r\n" },
	};
	struct fixture *x = *state;
	size_t i;

	for (i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
		will_play(x, &plays[i], 1);
		settle(x);
		assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
		assert_int_equal(x->a.http, plays[i].status);
		assert_int_equal(requests(x), 1);
	}
}

/* A port of its own is an origin of its own: the secret stays here. And what
 * fails behind a redirect was not "not sent": the first host had it. */
static void
the_secret_stays_with_its_origin(void **state)
{
	struct fixture *x = *state;
	struct fixture *y = NULL;
	const struct play ok = { 200, JSON, YES, PLAIN, NULL };
	char location[64];
	struct play away = { 308, NULL, "", PLAIN, location };
	unsigned closed;

	assert_int_equal(setup((void **)&y), 0);
	will_play(y, &ok, 1);
	with_auth(x, x->auth);
	snprintf(location, sizeof(location),
	    "Location: http://127.0.0.1:%u/s\r\n", y->s.port);
	will_play(x, &away, 1);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_non_null(strcasestr(x->s.last, "\r\nAuthorization:"));
	assert_null(strcasestr(y->s.last, "\r\nAuthorization:"));
	assert_null(strstr(y->s.last, "s3cret"));
	assert_non_null(strstr(y->s.last, "\r\n\r\n" BODY));

	close(listen_local(&closed));
	snprintf(location, sizeof(location),
	    "Location: http://127.0.0.1:%u/s\r\n", closed);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
	with_auth(x, x->auth); /* lets go of y */
	assert_int_equal(teardown((void **)&y), 0);
}

/* ---- supported ---- */

#define KINDS                                                                  \
	"{\"kinds\":[{\"x402Version\":1,\"scheme\":\"exact\","                 \
	"\"network\":\"base\"},{\"x402Version\":2,\"scheme\":"                 \
	"\"exact\",\"network\":\"eip155:8453\"}]}"

static void
supported(void **state)
{
	static const struct play list = { 200, JSON, KINDS, PLAIN, NULL };
	static const struct {
		struct play play;
		const char *says;
	} bad[] = {
		{ { 401, JSON, "{\"kinds\":[]}", PLAIN, NULL }, "key" },
		{ { 500, JSON, "{\"kinds\":[]}", PLAIN, NULL }, "HTTP 500" },
		{ { 200, JSON, "{}", PLAIN, NULL }, "no list of kinds" },
		{ { 200, "text/html", "{\"kinds\":[]}", PLAIN, NULL },
		    "no list of kinds" },
		{ { 200, JSON, "{\"kinds\":[]}", CUT, NULL }, "" },
		{ { 308, NULL, "", PLAIN, "Location: /loop\r\n" }, "HTTP 308" },
	};
	struct fixture *x = *state;
	struct fault why;
	size_t i;

	assert_false(facilitator_known(x->f));
	assert_false(facilitator_offers(x->f, 2, "exact", "eip155:8453", NULL));
	will_play(x, &list, 1);
	assert_int_equal(facilitator_refresh(x->f, &why), ST_OK);
	assert_true(facilitator_known(x->f));
	assert_int_equal(
	    strncmp(x->s.last, "GET /base/supported HTTP/1.1\r\n", 30), 0);
	assert_true(facilitator_offers(x->f, 2, "exact", "eip155:8453", NULL));
	assert_true(facilitator_offers(x->f, 1, "exact", "base", NULL));
	assert_false(facilitator_offers(x->f, 2, "exact", "base", NULL));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		will_play(x, &bad[i].play, 1);
		assert_int_equal(facilitator_refresh(x->f, &why), ST_UNKNOWN);
		assert_non_null(strstr(why.message, bad[i].says));
		/* The old list stays. */
		assert_true(facilitator_offers(x->f, 1, "exact", "base", NULL));
	}
}

static void
unreachable_in_words(void **state)
{
	struct fixture *x = *state;
	struct fault why;
	unsigned port;

	x->conf.url = x->url;
	snprintf(x->url, sizeof(x->url), "http://nobody.invalid");
	assert_int_equal(facilitator_refresh(x->f, &why), ST_UNKNOWN);
	assert_non_null(strstr(why.message, "name cannot be resolved"));
	close(listen_local(&port));
	snprintf(x->url, sizeof(x->url), "http://127.0.0.1:%u", port);
	assert_int_equal(facilitator_refresh(x->f, &why), ST_UNKNOWN);
	assert_non_null(strstr(why.message, "no connection"));
}

/* ---- the circuit ---- */

static int
calls(const struct fixture *x, enum facilitator_call call,
    enum facilitator_verdict verdict)
{
	return (int)facilitator_calls(x->f, call, verdict);
}

static void
the_circuit_opens_and_closes(void **state)
{
	struct fixture *x = *state;
	const struct play gone = { 503, NULL, "", PLAIN, NULL };
	const struct play refusal = { 200, JSON, NO, PLAIN, NULL };
	const struct play large = { 413, NULL, "", PLAIN, NULL };
	const struct play list = { 200, JSON, KINDS, PLAIN, NULL };
	struct fault why;
	int before, i;

	/* Refusals and bodies that are too large are no reason. */
	for (i = 0; i < 12; i++) {
		will_play(x, i % 2 == 0 ? &refusal : &large, 1);
		settle(x);
	}
	assert_false(facilitator_down(x->f));
	will_play(x, &gone, 1);
	for (i = 0; i < 5; i++) {
		assert_false(facilitator_down(x->f));
		settle(x);
		assert_int_equal(x->a.verdict, FACILITATOR_UNKNOWN);
	}
	assert_true(facilitator_down(x->f));
	before = requests(x);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	verify(x);
	assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
	assert_int_equal(requests(x), before);
	/* Each is counted by what came of it, those kept back too. */
	assert_int_equal(calls(x, FACILITATOR_SETTLE, FACILITATOR_YES), 0);
	assert_int_equal(calls(x, FACILITATOR_SETTLE, FACILITATOR_NO), 6);
	assert_int_equal(
	    calls(x, FACILITATOR_SETTLE, FACILITATOR_NO_SERVICE), 6);
	assert_int_equal(calls(x, FACILITATOR_SETTLE, FACILITATOR_UNKNOWN), 5);
	assert_int_equal(calls(x, FACILITATOR_SETTLE, FACILITATOR_NOT_SENT), 1);
	assert_int_equal(calls(x, FACILITATOR_VERIFY, FACILITATOR_NOT_SENT), 1);
	/* A probe in vain, then one that is answered. */
	assert_int_equal(facilitator_refresh(x->f, &why), ST_UNKNOWN);
	assert_true(facilitator_down(x->f));
	will_play(x, &list, 1);
	assert_int_equal(facilitator_refresh(x->f, &why), ST_OK);
	assert_false(facilitator_down(x->f));
	/* Half open: the first call decides. */
	will_play(x, &gone, 1);
	settle(x);
	assert_true(facilitator_down(x->f));
}

/* The watch asks at once, goes on by itself, and finds a facilitator again. */
static void
the_watch_looks_after_it(void **state)
{
	struct fixture *x = *state;
	const struct play plays[] = {
		{ 500, NULL, "", PLAIN, NULL },
		{ 200, JSON, KINDS, PLAIN, NULL },
	};
	int64_t end = io_now_ms() + 10000;

	x->conf.refresh_s = 3600;
	will_play(x, plays, 2);
	assert_int_equal(facilitator_watch(x->f), ST_OK);
	facilitator_await(x->f, end);
	assert_true(requests(x) >= 1);
	while (!facilitator_known(x->f) && io_now_ms() < end)
		usleep(10000);
	assert_true(facilitator_offers(x->f, 1, "exact", "base", NULL));
}

/* Closing does not wait for a facilitator that hangs. */
static void
the_watch_ends_at_once(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, "", HANG, NULL };
	int64_t begin;

	will_play(x, &p, 1);
	x->conf.timeout_ms = 60000;
	assert_int_equal(facilitator_watch(x->f), ST_OK);
	while (requests(x) == 0)
		usleep(1000);
	begin = io_now_ms();
	facilitator_close(x->f);
	x->f = NULL;
	assert_true(io_now_ms() - begin < 4000);
}

/* ---- proxies ---- */

static void
with_proxy(struct fixture *x, char *proxy)
{
	facilitator_close(x->f);
	x->f = NULL;
	x->conf.proxy = proxy;
	assert_int_equal(facilitator_open(&x->f, &x->conf), ST_OK);
}

/* The plain server stands for a proxy: for https it is asked to CONNECT, and
 * whatever it says to that, nothing of the request can have left. */
static void
a_proxy_that_refuses_is_not_sent(void **state)
{
	static const struct play plays[] = {
		{ 403, NULL, "", PLAIN, NULL },
		{ 502, JSON, YES, PLAIN, NULL },
		{ 200, JSON, "", RESET_FIRST, NULL },
	};
	struct fixture *x = *state;
	char proxy[64];
	size_t i;

	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", x->s.port);
	with_proxy(x, proxy);
	x->conf.url = x->url;
	snprintf(x->url, sizeof(x->url), "https://facilitator.invalid/x402");
	for (i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
		will_play(x, &plays[i], 1);
		settle(x);
		assert_int_equal(x->a.verdict, FACILITATOR_NOT_SENT);
		assert_int_equal(
		    strncmp(x->s.last, "CONNECT facilitator.invalid:443 ", 32),
		    0);
		assert_null(strstr(x->s.last, "paymentPayload"));
	}
	with_proxy(x, NULL);
}

static void
a_proxy_is_used(void **state)
{
	struct fixture *x = *state;
	const struct play p = { 200, JSON, YES, PLAIN, NULL };
	char proxy[64];

	snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%u", x->s.port);
	with_proxy(x, proxy);
	x->conf.url = x->url;
	snprintf(x->url, sizeof(x->url), "http://facilitator.invalid/x402");
	will_play(x, &p, 1);
	settle(x);
	assert_int_equal(x->a.verdict, FACILITATOR_YES);
	assert_int_equal(
	    strncmp(
		x->s.last, "POST http://facilitator.invalid/x402/settle ", 44),
	    0);
	with_proxy(x, NULL);
}

#define WITH_SERVER(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		WITH_SERVER(settle_yes),
		WITH_SERVER(the_request_is_right),
		WITH_SERVER(large_bodies_go_out_whole),
		WITH_SERVER(settle_answers),
		WITH_SERVER(floods_are_cut_off),
		WITH_SERVER(slow_answers_are_unknown),
		WITH_SERVER(unreachable_is_not_sent),
		WITH_SERVER(a_timeout_while_connecting_is_not_sent),
		WITH_SERVER(a_failed_handshake_is_not_sent),
		WITH_SERVER(certificates_decide),
		WITH_SERVER(pending_is_asked_once_more),
		WITH_SERVER(only_yes_counts_after_pending),
		WITH_SERVER(pending_without_transaction_is_not_repeated),
		WITH_SERVER(kept_connections_serve_verify),
		WITH_SERVER(dead_connections),
		WITH_SERVER(more_threads_than_handles),
		WITH_SERVER(proxies_of_the_environment_are_not_used),
		WITH_SERVER(auth_goes_along),
		WITH_SERVER(bad_auth_lines_are_refused),
		WITH_SERVER(redirects_on_the_same_server),
		WITH_SERVER(redirect_loops_end),
		WITH_SERVER(wrong_redirects_are_not_followed),
		WITH_SERVER(the_secret_stays_with_its_origin),
		WITH_SERVER(supported),
		WITH_SERVER(unreachable_in_words),
		WITH_SERVER(the_circuit_opens_and_closes),
		WITH_SERVER(the_watch_looks_after_it),
		WITH_SERVER(the_watch_ends_at_once),
		WITH_SERVER(a_proxy_that_refuses_is_not_sent),
		WITH_SERVER(a_proxy_is_used),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
