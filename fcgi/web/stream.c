#include "web/stream.h"

#include <poll.h>
#include <string.h>
#include <strings.h>

#include "base/io.h"
#include "base/json.h"
#include "base/utf8.h"
#include "web/answer.h"
#include "web/outlet.h"

#define PING_MS 15000

/* Raw bytes of one event, and its text at worst: a control character takes six
 * bytes, an ill-formed part three. */
#define EVENT_BYTES ((size_t)16384)
#define EVENT_TEXT (EVENT_BYTES * 6 + 256)

/* A program that never pauses is told in pieces of this, not in single
 * writes. */
#define GROWN_BYTES 8192u

/* ---- the Accept header ---- */

/* Do a media range's parameters give it the weight zero? */
static bool
weightless(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		size_t at = i + 1;
		size_t end;

		if (p[i] != ';')
			continue;
		while (at < len && (p[at] == ' ' || p[at] == '\t'))
			at++;
		if (at + 1 >= len || (p[at] != 'q' && p[at] != 'Q') ||
		    p[at + 1] != '=')
			continue;
		at += 2;
		for (end = at; end < len; end++)
			if (p[end] != '0' && p[end] != '.')
				break;
		return end > at && (end == len || p[end] == ' ' ||
				       p[end] == '\t' || p[end] == ';');
	}
	return false;
}

static enum stream_form
range_form(const char *p, size_t len)
{
	static const struct {
		const char *type;
		enum stream_form form;
	} types[] = {
		{ "text/event-stream", STREAM_SSE },
		{ "application/x-ndjson", STREAM_NDJSON },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].type);

		if (len < n || strncasecmp(p, types[i].type, n) != 0)
			continue;
		if (len > n && strchr(" \t;", p[n]) == NULL)
			continue;
		if (!weightless(p + n, len - n))
			return types[i].form;
	}
	return STREAM_NONE;
}

enum stream_form
stream_form(const char *accept)
{
	enum stream_form form = STREAM_NONE;
	const char *p = accept == NULL ? "" : accept;

	while (*p != '\0' && form == STREAM_NONE) {
		size_t n;

		p += strspn(p, " \t,");
		n = strcspn(p, ",");
		form = range_form(p, n);
		p += n;
	}
	return form;
}

void
stream_init(struct stream *s, const char *accept)
{
	memset(s, 0, sizeof(*s));
	s->form = stream_form(accept);
}

void
stream_progress(struct stream *s, const char *token)
{
	s->form = STREAM_PROGRESS;
	s->token = token;
}

/* ---- events ---- */

/* What stands before and behind an event's JSON text. In SSE the text is the
 * data, or one member of it; in NDJSON it stands beside "type", under the
 * member's name or "data". */
static void
put_open(
    struct buf *out, const struct stream *s, const char *type, const char *name)
{
	if (s->form == STREAM_PROGRESS)
		buf_addf(out,
		    "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
		    "\"notifications/progress\",\"params\":{"
		    "\"progressToken\":%s,\"progress\":%lu,\"message\":",
		    s->token, s->steps);
	else if (s->form == STREAM_NDJSON)
		buf_addf(out, "{\"type\":\"%s\",\"%s\":", type,
		    name == NULL ? "data" : name);
	else if (name == NULL)
		buf_addf(out, "event: %s\ndata: ", type);
	else
		buf_addf(out, "event: %s\ndata: {\"%s\":", type, name);
}

static void
put_close(struct buf *out, const struct stream *s, const char *name)
{
	if (s->form == STREAM_PROGRESS)
		buf_adds(out, "}}\n\n");
	else if (s->form == STREAM_NDJSON)
		buf_adds(out, "}\n");
	else
		buf_adds(out, name == NULL ? "\n\n" : "}\n\n");
}

/* An event of a JSON text that is small. */
static void
put_event(struct stream *s, const char *type, const char *name,
    const struct buf *json)
{
	OWN_BUF struct buf event;

	buf_init(&event, json->len + 2048);
	s->steps++;
	put_open(&event, s, type, name);
	buf_add(&event, buf_cstr(json), json->len);
	put_close(&event, s, name);
	if (buf_status(&event) == ST_OK && buf_status(json) == ST_OK)
		outlet_put(s->out, event.data, event.len);
	else
		s->out->gone = true;
}

/* Every header of the JSON answer holds for its events too but this one. */
static void
put_headers(struct buf *out, const struct stream *s, const struct buf *json)
{
	static const char type[] = "Content-Type:";
	const char *line = buf_cstr(json);

	while (*line != '\0') {
		size_t n = strcspn(line, "\n");

		n += line[n] == '\n';
		if (strncasecmp(line, type, sizeof(type) - 1) != 0)
			buf_add(out, line, n);
		line += n;
	}
	buf_addf(out, "%s %s\r\n", type,
	    s->form == STREAM_NDJSON ? "application/x-ndjson"
				     : "text/event-stream");
	/* Servers that would else hold events back until a buffer is full. */
	buf_adds(out, "X-Accel-Buffering: no\r\n");
}

/* Progress of which there is no output. */
static void
put_word(struct stream *s, const char *json)
{
	OWN_BUF struct buf text;

	buf_init(&text, 256);
	buf_adds(&text, json);
	put_event(s, "word", NULL, &text);
}

void
stream_begin(struct stream *s, const struct http_request *q,
    const struct http_reply *json, const struct buf *payment,
    const struct buf *raw)
{
	struct http_reply head;

	http_reply_init(&head, 0);
	head.status = json->status;
	put_headers(&head.headers, s, &json->headers);
	s->out = http_live(q, &head);
	http_reply_free(&head);
	s->raw = raw;
	s->ping_ms = io_now_ms() + PING_MS;
	if (s->form == STREAM_PROGRESS)
		put_word(s, "\"paid, and started\"");
	else
		put_event(s, "started", "payment", payment);
	/* What does not go now goes later; who has gone shows later too. */
	outlet_push(s->out);
}

/* ---- output ---- */

static size_t
untold(const struct stream *s, int i)
{
	return s->raw == NULL ? 0 : s->raw[i].len - s->told[i];
}

/* One event of stream i. What may be the beginning of a code point waits for
 * the rest of it, unless there is none to come: lost is NULL until then. False
 * when there is nothing to tell. */
static bool
tell(struct stream *s, int i, const uint32_t *lost)
{
	static const char *const types[2] = { "stdout", "stderr" };
	const uint8_t *raw = s->raw == NULL ? NULL : s->raw[i].data;
	size_t left = untold(s, i);
	size_t n = left < EVENT_BYTES ? left : EVENT_BYTES;
	bool last = lost != NULL && n == left;
	OWN_BUF struct buf text;
	OWN_BUF struct buf json;

	buf_init(&text, EVENT_BYTES * 3);
	buf_init(&json, EVENT_TEXT);
	if (n > 0 && !last)
		n -= utf8_incomplete((const char *)raw + s->told[i], n);
	if (n == 0)
		return false;
	utf8_mend(&text, raw + s->told[i], n, last && lost[i] != 0);
	s->told[i] += n;
	if (text.len == 0 && buf_status(&text) == ST_OK)
		return false; /* the beginning of a code point, cut there */
	json_put_bytes(&json, buf_cstr(&text), text.len);
	put_event(s, types[i], "data", &json);
	return true;
}

/* The older bytes first, as far as that is known. */
static bool
tell_next(struct stream *s, const uint32_t *lost)
{
	return tell(s, 1 - s->last, lost) || tell(s, s->last, lost);
}

static void
tell_all(struct stream *s)
{
	while (outlet_push(s->out) && tell_next(s, NULL))
		continue;
}

void
stream_grown(struct stream *s, int stream)
{
	if (s->out == NULL)
		return;
	if (s->last != stream - 1) {
		/* The order of the two is kept where the reader keeps up. */
		while (outlet_push(s->out) && tell(s, s->last, NULL))
			continue;
		s->last = stream - 1;
	}
	if (untold(s, 0) + untold(s, 1) >= GROWN_BYTES)
		tell_all(s);
}

static void
ping(struct stream *s)
{
	static const char comment[] = ": still running\n\n";
	static const char line[] = "{\"type\":\"ping\"}\n";

	s->ping_ms = io_now_ms() + PING_MS;
	/* With something else on its way there is no need. */
	if (!outlet_push(s->out))
		return;
	if (s->form == STREAM_PROGRESS)
		put_word(s, "\"still running\"");
	else if (s->form == STREAM_NDJSON)
		outlet_put(s->out, line, sizeof(line) - 1);
	else
		outlet_put(s->out, comment, sizeof(comment) - 1);
	outlet_push(s->out);
}

void
stream_idle(struct stream *s, struct client_wake *next)
{
	if (s->out == NULL || s->out->gone)
		return;
	tell_all(s);
	if (io_now_ms() >= s->ping_ms)
		ping(s);
	if (s->out->gone)
		return;
	next->at_ms = s->ping_ms;
	if (s->out->pending.len > 0) {
		next->fd = s->out->fd;
		next->events = POLLOUT;
	}
}

/* ---- the end ---- */

static void
tell_rest(struct stream *s, const uint32_t lost[2], int64_t deadline)
{
	while (outlet_drain(s->out, deadline) && tell_next(s, lost))
		continue;
}

void
stream_result(struct stream *s, const uint32_t lost[2], const struct buf *json)
{
	int64_t deadline = io_now_ms() + OUTLET_DRAIN_MS;
	OWN_BUF struct buf edge;

	buf_init(&edge, 256);
	s->out->held = json->len;
	tell_rest(s, lost, deadline);
	if (s->form == STREAM_PROGRESS)
		return;
	put_open(&edge, s, "result", NULL);
	outlet_send(s->out, buf_cstr(&edge), edge.len, deadline);
	outlet_send(s->out, json->data, json->len, deadline);
	buf_clear(&edge);
	put_close(&edge, s, NULL);
	outlet_send(s->out, buf_cstr(&edge), edge.len, deadline);
}

void
stream_error(struct stream *s, const struct fault *f)
{
	static const uint32_t lost[2] = { 0, 0 };
	int64_t deadline = io_now_ms() + OUTLET_DRAIN_MS;
	OWN_BUF struct buf json;

	buf_init(&json, 4096);
	answer_put_error(&json, f);
	tell_rest(s, lost, deadline);
	if (s->form == STREAM_PROGRESS)
		return;
	put_event(s, "error", NULL, &json);
	outlet_drain(s->out, deadline);
}
