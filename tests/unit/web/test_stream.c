/* Live output, through libfcgi on a socket of our own: framing, text in pieces,
 * signs of life, and readers that do not read. */
#include "web/stream.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"
#include "web/outlet.h"

#define OUTPUT (8u << 20)

struct live {
	int listener;
	int peer; /* the web server's side */
	struct http_conn *conn;
	struct http_request q;
	struct stream s;
	struct buf raw[2];
	struct buf got;	 /* records */
	struct buf text; /* their content: the answer */
	size_t unpacked; /* of got */
	bool ended;	 /* END_REQUEST came */
	unsigned seed;
};

/* ---- the web server's side ---- */

static void
put_record(struct buf *out, int type, const void *data, size_t len)
{
	const uint8_t head[8] = { 1, (uint8_t)type, 0, 1, (uint8_t)(len >> 8),
		(uint8_t)len };

	buf_add(out, head, sizeof(head));
	buf_add(out, data, len);
}

static void
put_param(struct buf *out, const char *name, const char *value)
{
	buf_addc(out, (char)strlen(name));
	buf_addc(out, (char)strlen(value));
	buf_adds(out, name);
	buf_adds(out, value);
}

static void
ask(int fd, const char *accept)
{
	static const uint8_t begin[8] = { 0, 1 };
	struct buf params;
	struct buf all;

	buf_init(&params, 1024);
	buf_init(&all, 4096);
	put_param(&params, "REQUEST_METHOD", "POST");
	put_param(&params, "REQUEST_URI", "/execute");
	put_param(&params, "REQUEST_ID", "0123456789");
	put_param(&params, "HTTP_ACCEPT", accept);
	put_record(&all, 1, begin, sizeof(begin));
	put_record(&all, 4, params.data, params.len);
	put_record(&all, 4, "", 0);
	put_record(&all, 5, "", 0);
	assert_int_equal(io_write_all(fd, all.data, all.len), ST_OK);
	buf_free(&params);
	buf_free(&all);
}

/* Read at most max bytes of what is there. */
static void
hear(struct live *l, size_t max)
{
	uint8_t block[65536];
	ssize_t n = 1;

	while (max > 0 && n > 0) {
		n = recv(l->peer, block,
		    max < sizeof(block) ? max : sizeof(block), MSG_DONTWAIT);
		if (n > 0) {
			buf_add(&l->got, block, (size_t)n);
			max -= (size_t)n;
		}
	}
	while (l->got.len - l->unpacked >= 8) {
		const uint8_t *r = l->got.data + l->unpacked;
		size_t len = (size_t)(r[4] << 8 | r[5]);

		if (l->got.len - l->unpacked < 8 + len + r[6])
			break;
		if (r[1] == 6)
			buf_add(&l->text, r + 8, len);
		l->ended = l->ended || r[1] == 3;
		l->unpacked += 8 + len + r[6];
	}
	assert_int_equal(buf_status(&l->got), ST_OK);
	assert_int_equal(buf_status(&l->text), ST_OK);
}

static void
open_live(struct live *l, const char *accept)
{
	const volatile bool stop = false;
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sa_family_t);

	memset(l, 0, sizeof(*l));
	l->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* A name of the kernel's choice. */
	assert_int_equal(bind(l->listener, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(l->listener, 1), 0);
	len = sizeof(at);
	assert_int_equal(
	    getsockname(l->listener, (struct sockaddr *)&at, &len), 0);
	l->peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(l->peer, (struct sockaddr *)&at, len), 0);
	ask(l->peer, accept);
	assert_int_equal(http_open(&l->conn, l->listener), ST_OK);
	assert_int_equal(http_accept(l->conn, &l->q, &stop), ST_OK);
	for (int i = 0; i < 2; i++)
		buf_init(&l->raw[i], OUTPUT);
	buf_init(&l->got, 64u << 20);
	buf_init(&l->text, 64u << 20);
	stream_init(&l->s, l->q.accept);
	l->seed = 1;
}

static void
begin(struct live *l)
{
	struct http_reply a;
	struct buf payment;

	http_reply_init(&a, 0);
	buf_init(&payment, 64);
	a.status = 200;
	http_header(&a, "Content-Type", "application/json");
	http_header(&a, "PAYMENT-RESPONSE", "e30=");
	buf_adds(&payment, "{\"payer\":\"p\"}");
	stream_begin(&l->s, &l->q, &a, &payment, l->raw);
	http_reply_free(&a);
	buf_free(&payment);
}

static void
grow(struct live *l, int stream, const void *data, size_t len)
{
	buf_add(&l->raw[stream - 1], data, len);
	stream_grown(&l->s, stream);
}

static struct client_wake
idle(struct live *l)
{
	struct client_wake w = { .fd = -1, .at_ms = -1 };

	stream_idle(&l->s, &w);
	return w;
}

static void
result(struct live *l, uint32_t lost0, uint32_t lost1, const char *json)
{
	const uint32_t lost[2] = { lost0, lost1 };
	struct buf b;

	buf_init(&b, 1u << 20);
	buf_adds(&b, json);
	stream_result(&l->s, lost, &b);
	buf_free(&b);
}

/* Let the daemon's side end the request, and all go. False: not whole. */
static bool
close_live(struct live *l)
{
	struct http_reply a;
	bool whole;

	http_reply_init(&a, 0);
	/* libfcgi waits for the other side to close. */
	shutdown(l->peer, SHUT_WR);
	whole = http_send(&l->q, &a);
	hear(l, SIZE_MAX);
	http_reply_free(&a);
	http_close(l->conn);
	close(l->peer);
	close(l->listener);
	for (int i = 0; i < 2; i++)
		buf_free(&l->raw[i]);
	return whole;
}

static void
free_live(struct live *l)
{
	buf_free(&l->got);
	buf_free(&l->text);
}

static const char *
body_of(const struct live *l)
{
	const char *at = strstr(buf_cstr(&l->text), "\r\n\r\n");

	assert_non_null(at);
	return at + 4;
}

/* ---- tests ---- */

static void
accept_header(void **state)
{
	static const struct {
		const char *accept;
		enum stream_form form;
	} rows[] = {
		{ NULL, STREAM_NONE },
		{ "", STREAM_NONE },
		{ ",", STREAM_NONE },
		{ "*/*", STREAM_NONE },
		{ "text/*", STREAM_NONE },
		{ "application/json", STREAM_NONE },
		{ "text/event-stream", STREAM_SSE },
		{ "TEXT/Event-Stream", STREAM_SSE },
		{ "application/x-ndjson", STREAM_NDJSON },
		{ "application/json, text/event-stream", STREAM_SSE },
		{ "application/json,,\ttext/event-stream", STREAM_SSE },
		{ "application/x-ndjson, text/event-stream", STREAM_NDJSON },
		{ "text/event-stream;q=0.001", STREAM_SSE },
		{ "text/event-stream;q=1.000", STREAM_SSE },
		{ "text/event-stream;q=.5", STREAM_SSE },
		{ "text/event-stream;q=0", STREAM_NONE },
		{ "text/event-stream;q=0.000", STREAM_NONE },
		{ "text/event-stream ; Q=0 ; x=1", STREAM_NONE },
		{ "text/event-stream;charset=utf-8;\tq=0", STREAM_NONE },
		{ "text/event-stream;q=", STREAM_SSE },
		{ "text/event-stream;", STREAM_SSE },
		{ "text/event-stream;q=0, application/x-ndjson;q=0.1",
		    STREAM_NDJSON },
		{ "text/event-stream2", STREAM_NONE },
		{ "text/event-strea", STREAM_NONE },
		{ "x/text/event-stream", STREAM_NONE },
		{ "a/b;c=text/event-stream", STREAM_NONE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (stream_form(rows[i].accept) != rows[i].form)
			fail_msg("%s", rows[i].accept);
}

static void
frames(void **state)
{
	static const char sse[] =
	    "event: started\ndata: {\"payment\":{\"payer\":\"p\"}}\n\n"
	    "event: stdout\ndata: {\"data\":\"a\\\"\\n\"}\n\n"
	    "event: stderr\ndata: {\"data\":\"b\"}\n\n"
	    "event: stdout\ndata: {\"data\":\"c\"}\n\n"
	    "event: result\ndata: {\"x\":1}\n\n";
	static const char ndjson[] =
	    "{\"type\":\"started\",\"payment\":{\"payer\":\"p\"}}\n"
	    "{\"type\":\"stdout\",\"data\":\"a\\\"\\n\"}\n"
	    "{\"type\":\"stderr\",\"data\":\"b\"}\n"
	    "{\"type\":\"stdout\",\"data\":\"c\"}\n"
	    "{\"type\":\"result\",\"data\":{\"x\":1}}\n";

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *type =
		    i == 0 ? "text/event-stream" : "application/x-ndjson";
		struct live l;
		char line[64];

		open_live(&l, type);
		begin(&l);
		/* `started` is on its way before anything else happens. */
		hear(&l, SIZE_MAX);
		assert_non_null(strstr(buf_cstr(&l.text), "started"));
		grow(&l, 1, "a\"\n", 3);
		grow(&l, 2, "b", 1);
		grow(&l, 1, "c", 1);
		result(&l, 0, 0, "{\"x\":1}");
		assert_true(close_live(&l));
		assert_true(l.ended);
		assert_string_equal(body_of(&l), i == 0 ? sse : ndjson);
		snprintf(line, sizeof(line), "\r\nContent-Type: %s\r\n", type);
		assert_non_null(strstr(buf_cstr(&l.text), line));
		assert_null(strstr(
		    buf_cstr(&l.text), "Content-Type: application/json"));
		assert_non_null(strstr(
		    buf_cstr(&l.text), "\r\nPAYMENT-RESPONSE: e30=\r\n"));
		assert_non_null(
		    strstr(buf_cstr(&l.text), "\r\nX-Accel-Buffering: no\r\n"));
		assert_non_null(strstr(
		    buf_cstr(&l.text), "\r\nRequest-Id: 0123456789\r\n"));
		assert_int_equal(
		    strncmp(buf_cstr(&l.text), "Status: 200 OK\r\n", 16), 0);
		free_live(&l);
	}
}

static void
error_event(void **state)
{
	struct live l;
	struct fault f;

	(void)state;
	open_live(&l, "application/x-ndjson");
	begin(&l);
	grow(&l, 1, "a\xf0\x9f", 3);
	idle(&l);
	fault_set(&f, ST_SANDBOX_UNAVAILABLE, "gone");
	stream_error(&l.s, &f);
	assert_true(close_live(&l));
	assert_string_equal(body_of(&l),
	    "{\"type\":\"started\",\"payment\":{\"payer\":\"p\"}}\n"
	    "{\"type\":\"stdout\",\"data\":\"a\"}\n"
	    "{\"type\":\"stdout\",\"data\":\"\xef\xbf\xbd\"}\n"
	    "{\"type\":\"error\",\"data\":{\"code\":\"SANDBOX_UNAVAILABLE\","
	    "\"message\":\"gone\",\"billable\":false,"
	    "\"category\":\"service_busy\"}}\n");
	free_live(&l);
}

static unsigned
chance(struct live *l, unsigned n)
{
	return (unsigned)rand_r(&l->seed) % n;
}

/* Bytes that are good, bad, and begin or end in all ways. */
static size_t
hostile(struct live *l, uint8_t *out, size_t max)
{
	static const char *const good[] = { "a", "\n", "\"", "\x01", "\xc3\xa9",
		"\xe4\xbd\xa0", "\xf0\x9f\xa7\xb0", "\xed\x9f\xbf" };
	static const uint8_t bad[] = { 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xa0, 0xed,
		0x9f, 0xf0, 0x90, 0xf4, 0x8f, 0xf5, 0xff, 0 };
	size_t want = 1 + chance(l, (unsigned)max);
	size_t n = 0;

	while (n < want) {
		const char *g = good[chance(l, sizeof(good) / sizeof(good[0]))];
		size_t len = strlen(g);

		if (chance(l, 3) == 0)
			out[n++] = bad[chance(l, sizeof(bad))];
		else if (n + len <= want)
			for (size_t i = 0; i < len; i++)
				out[n++] = (uint8_t)g[i];
	}
	return n;
}

/* What the events of one stream say, joined. */
static void
join(struct buf *out, const struct live *l, const char *type)
{
	static const struct json_caps caps = { .depth = 8, .values = 64 };
	const char *line = body_of(l);

	while (*line != '\0') {
		size_t n = strcspn(line, "\n");
		struct cJSON *v = NULL;
		char *data = NULL;
		size_t len = 0;

		assert_int_equal(line[n], '\n');
		assert_int_equal(json_parse(&v, line, n, &caps, NULL), ST_OK);
		if (strcmp(json_string(json_get(v, "type")), type) == 0) {
			assert_int_equal(
			    json_bytes(&data, &len, json_get(v, "data")),
			    ST_OK);
			assert_true(len > 0);
			buf_add(out, data, len);
			free(data);
		}
		json_free(v);
		line += n + 1;
	}
}

/* However the output is cut into pieces, however slowly it is read, and
 * wherever a limit ends it: the events join to what the final form says. */
static void
pieces(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		uint32_t lost[2];
		struct live l;
		struct buf want[2];
		uint8_t block[300];

		open_live(&l, "application/x-ndjson");
		l.seed = seed;
		begin(&l);
		for (unsigned i = chance(&l, 60); i > 0; i--) {
			unsigned max = chance(&l, 2) ? 4 : sizeof(block) - 4;
			size_t n = hostile(&l, block, max);

			grow(&l, 1 + (int)chance(&l, 2), block, n);
			if (chance(&l, 3) == 0)
				idle(&l);
			if (chance(&l, 3) == 0)
				hear(&l, chance(&l, 5000));
		}
		for (int i = 0; i < 2; i++) {
			lost[i] = chance(&l, 2);
			buf_init(&want[i], 1u << 20);
			utf8_mend(&want[i], buf_cstr(&l.raw[i]), l.raw[i].len,
			    lost[i] != 0);
		}
		result(&l, lost[0], lost[1], "{}");
		assert_true(close_live(&l));
		for (int i = 0; i < 2; i++) {
			struct buf got;

			buf_init(&got, 1u << 20);
			join(&got, &l, i == 0 ? "stdout" : "stderr");
			assert_int_equal(got.len, want[i].len);
			assert_memory_equal(
			    buf_cstr(&got), buf_cstr(&want[i]), got.len);
			buf_free(&got);
			buf_free(&want[i]);
		}
		free_live(&l);
	}
}

static void
signs_of_life(void **state)
{
	struct client_wake w;
	struct live l;

	(void)state;
	open_live(&l, "text/event-stream");
	begin(&l);
	w = idle(&l);
	assert_int_equal(w.fd, -1);
	assert_in_range(w.at_ms - io_now_ms(), 14000, 15000);
	l.s.ping_ms = io_now_ms();
	w = idle(&l);
	assert_in_range(w.at_ms - io_now_ms(), 14000, 15000);
	idle(&l);
	result(&l, 0, 0, "{}");
	assert_true(close_live(&l));
	assert_string_equal(body_of(&l),
	    "event: started\ndata: {\"payment\":{\"payer\":\"p\"}}\n\n"
	    ": still running\n\n"
	    "event: result\ndata: {}\n\n");
	free_live(&l);
	/* Output does not put it off. */
	open_live(&l, "application/x-ndjson");
	begin(&l);
	l.s.ping_ms = io_now_ms();
	grow(&l, 2, "x", 1);
	idle(&l);
	result(&l, 0, 0, "{}");
	assert_true(close_live(&l));
	assert_string_equal(body_of(&l),
	    "{\"type\":\"started\",\"payment\":{\"payer\":\"p\"}}\n"
	    "{\"type\":\"stderr\",\"data\":\"x\"}\n"
	    "{\"type\":\"ping\"}\n"
	    "{\"type\":\"result\",\"data\":{}}\n");
	free_live(&l);
}

/* The run goes on at its own pace; little is queued; who reads in the end gets
 * all of it. */
static void
slow_reader(void **state)
{
	static char block[32768];
	struct client_wake w;
	int64_t start;
	struct live l;
	struct buf got;

	(void)state;
	memset(block, 'x', sizeof(block));
	open_live(&l, "application/x-ndjson");
	begin(&l);
	start = io_now_ms();
	for (int i = 0; i < 128; i++) {
		grow(&l, 1, block, sizeof(block));
		w = idle(&l);
	}
	assert_true(io_now_ms() - start < 5000);
	assert_true(l.s.out->pending.cap <= 512u << 10);
	assert_int_equal(w.fd, l.s.out->fd);
	assert_int_equal(w.events, POLLOUT);
	/* No signs of life pile up behind what is not read. */
	l.s.ping_ms = io_now_ms();
	w = idle(&l);
	assert_true(w.at_ms > io_now_ms());
	while (l.s.told[0] < l.raw[0].len || l.s.out->pending.len > 0) {
		hear(&l, SIZE_MAX);
		idle(&l);
	}
	result(&l, 0, 0, "{}");
	assert_true(close_live(&l));
	assert_null(strstr(buf_cstr(&l.text), "ping"));
	buf_init(&got, OUTPUT);
	join(&got, &l, "stdout");
	assert_int_equal(got.len, 128 * sizeof(block));
	buf_free(&got);
	free_live(&l);
}

static void
gone_reader(void **state)
{
	struct client_wake w;
	struct live l;
	int64_t start;

	(void)state;
	open_live(&l, "text/event-stream");
	begin(&l);
	close(l.peer);
	l.peer = -1;
	start = io_now_ms();
	for (int i = 0; i < 1000; i++) {
		grow(&l, 1 + i % 2, "xyz", 3);
		w = idle(&l);
		assert_int_equal(w.fd, -1);
	}
	result(&l, 0, 0, "{}");
	assert_false(close_live(&l));
	assert_true(io_now_ms() - start < OUTLET_STALL_MS - 2000);
	free_live(&l);
}

/* Half a record must not be followed by the end of an answer. */
static void
unread_answer_is_cut(void **state)
{
	static char block[32768];
	struct live l;

	(void)state;
	memset(block, 'x', sizeof(block));
	open_live(&l, "text/event-stream");
	begin(&l);
	for (int i = 0; i < 32; i++)
		grow(&l, 1, block, sizeof(block));
	assert_true(l.s.out->pending.len > 0);
	assert_false(close_live(&l));
	assert_false(l.ended);
	free_live(&l);
}

struct sending {
	struct live *l;
	struct http_reply a;
	bool whole;
};

static void *
send_all(void *arg)
{
	struct sending *s = arg;

	s->whole = http_send(&s->l->q, &s->a);
	return NULL;
}

/* The ordinary answer goes the same way. */
static void
json_answer(void **state)
{
	const size_t sizes[] = { 0, 2, 70000, 3u << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct live l;
		struct sending s = { .l = &l };
		pthread_t thread;
		char line[64];

		open_live(&l, "*/*");
		http_reply_init(&s.a, 4u << 20);
		s.a.status = 200;
		http_header(&s.a, "X-Test", "yes");
		for (size_t n = 0; n < sizes[i]; n++)
			buf_addc(&s.a.body, (char)('a' + n % 26));
		/* Somebody has to read the long ones meanwhile. */
		assert_int_equal(
		    pthread_create(&thread, NULL, send_all, &s), 0);
		while (!l.ended) {
			assert_int_equal(
			    io_wait(l.peer, POLLIN, io_now_ms() + 5000), ST_OK);
			hear(&l, SIZE_MAX);
		}
		close(l.peer);
		pthread_join(thread, NULL);
		assert_true(s.whole);
		snprintf(line, sizeof(line), "\r\nContent-Length: %zu\r\n",
		    sizes[i]);
		assert_non_null(strstr(buf_cstr(&l.text), line));
		assert_non_null(strstr(buf_cstr(&l.text), "\r\nX-Test: yes"));
		assert_int_equal(strlen(body_of(&l)), sizes[i]);
		assert_memory_equal(body_of(&l), buf_cstr(&s.a.body), sizes[i]);
		http_reply_free(&s.a);
		http_close(l.conn);
		close(l.listener);
		for (int k = 0; k < 2; k++)
			buf_free(&l.raw[k]);
		free_live(&l);
	}
}

static int
library(void **state)
{
	(void)state;
	return http_init() == ST_OK ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept_header),
		cmocka_unit_test(frames),
		cmocka_unit_test(error_event),
		cmocka_unit_test(pieces),
		cmocka_unit_test(signs_of_life),
		cmocka_unit_test(slow_reader),
		cmocka_unit_test(gone_reader),
		cmocka_unit_test(unread_answer_is_cut),
		cmocka_unit_test(json_answer),
	};
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, NULL);
	return cmocka_run_group_tests(tests, library, NULL);
}
