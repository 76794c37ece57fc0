/*
 * Live output (api.md section 3): server-sent events or one JSON object a
 * line. What the program has written lies in the run's own buffers, which its
 * output limit bounds; this follows behind as fast as the reader takes it, and
 * no call but stream_result() and stream_error() waits for the reader.
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "box/client.h"
#include "web/http.h"

enum stream_form {
	STREAM_NONE, /* ordinary JSON */
	STREAM_SSE,
	STREAM_NDJSON,
	STREAM_PROGRESS /* MCP: notifications/progress, as SSE */
};

struct stream {
	enum stream_form form;
	struct outlet *out; /* NULL until stream_begin() */
	/* stdout, stderr: raw bytes so far; NULL in a replay. */
	const struct buf *raw;
	size_t told[2]; /* of raw: in events already */
	int last;	/* whose bytes came last, 0 or 1 */
	int64_t ping_ms;
	const char *token;   /* of STREAM_PROGRESS, JSON text, borrowed */
	unsigned long steps; /* told to it */
};

/* The form that a value of the Accept header asks for: the first of the two
 * types that it names with a weight above zero. NULL: none. */
enum stream_form stream_form(const char *accept);

void stream_init(struct stream *s, const char *accept);
/* The output is told as progress of an MCP call, and its end by the caller. */
void stream_progress(struct stream *s, const char *token);

/* Send the head, with json's headers but for the content type, and `started`.
 * payment: the object's text. raw: two buffers that outlive the stream, or
 * NULL. */
void stream_begin(struct stream *s, const struct http_request *q,
    const struct http_reply *json, const struct buf *payment,
    const struct buf *raw);

/* Something was added to raw[stream - 1]. */
void stream_grown(struct stream *s, int stream);

/* Nothing more comes at the moment: send what there is, and a sign of life
 * when it is time; *next says what to be woken up for. */
void stream_idle(struct stream *s, struct client_wake *next);

/* The end: the output still untold (lost: which streams a limit cut), then the
 * whole answer. Waits for the reader within outlet.h's times. */
void stream_result(
    struct stream *s, const uint32_t lost[2], const struct buf *json);
/* The end that is a failure of ours. */
void stream_error(struct stream *s, const struct fault *f);

#endif
