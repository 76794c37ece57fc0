#include "web/mcp.h"

#include <string.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/jcs.h"
#include "base/json.h"
#include "base/limits.h"
#include "pay/x402.h"
#include "web/answer.h"
#include "web/intake.h"
#include "web/mcp_message.h"
#include "web/mcp_result.h"
#include "web/mcp_tools.h"
#include "web/outlet.h"
#include "web/quote.h"
#include "web/run.h"
#include "web/stream.h"

#define TOKEN_BYTES 1024
#define KEY_BYTES 512
#define PAYMENT_BYTES ((size_t)X402_HEADER_CAP / 4 * 3)
#define PAYMENT_PLACE "_meta[\"x402/payment\"]"
#define KEY_PLACE "_meta[\"tollbox/idempotency-key\"]"
#define SMALL_ANSWER (512u << 10)

/* Newest first. */
static const char *const versions[] = { "2025-11-25", "2025-06-18",
	"2025-03-26", "2024-11-05" };
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

/* One request on its way. */
struct call {
	struct http_reply *a;
	struct context *g;
	const struct site *site;
	const struct dialect *dialect;
	const struct http_request *q;
	struct intake *in;
	struct mcp_message *m;
	bool offered; /* the route; else only a run paid before is served */
};

static bool
known_version(const char *v)
{
	for (size_t i = 0; v != NULL && i < VERSIONS; i++)
		if (strcmp(v, versions[i]) == 0)
			return true;
	return false;
}

static void
head(struct http_reply *a, int status)
{
	buf_clear(&a->headers);
	a->status = status;
	http_header(a, "Content-Type", "application/json");
	http_header(a, "Cache-Control", "private, no-store");
}

static void
refuse(struct call *c, enum mcp_message_error code, const char *text)
{
	head(c->a, 200);
	c->a->told = ST_REQUEST_MALFORMED;
	mcp_message_put_error(&c->a->body, c->m, code, text);
}

/* ---- methods that tell ---- */

static void
initialize(struct call *c)
{
	struct buf *out = &c->a->body;
	const struct cJSON *v = c->m->params == NULL
				    ? NULL
				    : json_get(c->m->params, "protocolVersion");
	const char *asked = v == NULL ? NULL : json_string(v);

	if (asked == NULL) {
		refuse(c, MCP_MESSAGE_PARAMS,
		    "Invalid params: protocolVersion must be a string");
		return;
	}
	head(c->a, 200);
	mcp_message_open(out, c->m);
	buf_adds(out, "{\"protocolVersion\":");
	json_put_string(out, known_version(asked) ? asked : versions[0]);
	buf_adds(out,
	    ",\"capabilities\":{\"tools\":{\"listChanged\":false}},"
	    "\"serverInfo\":{\"name\":\"tollbox\",\"title\":\"Tollbox\","
	    "\"version\":\"" TOLLBOX_VERSION "\"},\"instructions\":");
	mcp_tools_put_instructions(out);
	buf_addc(out, '}');
	mcp_message_close(out);
}

static void
ping(struct call *c)
{
	head(c->a, 200);
	mcp_message_open(&c->a->body, c->m);
	buf_adds(&c->a->body, "{}");
	mcp_message_close(&c->a->body);
}

static void
list_tools(struct call *c)
{
	/* All are on the first page, so no cursor of ours is about. */
	if (c->m->params != NULL && json_get(c->m->params, "cursor") != NULL) {
		refuse(c, MCP_MESSAGE_PARAMS, "Invalid params: unknown cursor");
		return;
	}
	head(c->a, 200);
	mcp_message_open(&c->a->body, c->m);
	mcp_tools_put(&c->a->body, c->site);
	mcp_message_close(&c->a->body);
}

/* ---- tools/call ---- */

/* What came in _meta with a call of `execute`. */
struct meta {
	struct buf payment; /* as its header would hold it; empty: none */
	bool v1;
	char key[KEY_BYTES]; /* "" if none */
	struct buf token;    /* the progress token's JSON text; empty: none */
};

static enum status
read_payment(struct meta *t, const struct cJSON *v, struct fault *f)
{
	OWN_BUF struct buf text;
	uint64_t version = 2;
	const struct cJSON *n;

	/* So that it fits in base64. */
	buf_init(&text, PAYMENT_BYTES);
	if (v == NULL)
		return ST_OK;
	if (!json_is_object(v))
		return fault_set(f, ST_PAYMENT_MALFORMED,
		    PAYMENT_PLACE " must be an object");
	n = json_get(v, "x402Version");
	t->v1 = n != NULL && json_uint(&version, n) == ST_OK && version == 1;
	jcs_write(&text, v);
	hex_base64(&t->payment, text.data, text.len);
	if (buf_status(&text) == ST_TOO_BIG)
		return fault_set(f, ST_PAYMENT_MALFORMED,
		    PAYMENT_PLACE " is longer than %zu bytes", PAYMENT_BYTES);
	if (buf_status(&text) != ST_OK || buf_status(&t->payment) != ST_OK)
		return fault_set(f, ST_SERVICE_INTERNAL_FAILURE, "memory");
	return ST_OK;
}

static enum status
read_key(struct meta *t, const struct http_request *q, const struct cJSON *v,
    struct fault *f)
{
	struct http_request with = *q;
	const char *key = v == NULL ? NULL : json_string(v);

	if (v == NULL)
		return ST_OK;
	if (key == NULL || strlen(key) >= sizeof(t->key))
		return fault_set(f, ST_SANDBOX_INVALID_REQUEST,
		    KEY_PLACE " must be a string of 32 to 128 visible ASCII "
			      "characters");
	if (q->idempotency_key != NULL && strcmp(q->idempotency_key, key) != 0)
		return fault_set(f, ST_SANDBOX_INVALID_REQUEST,
		    KEY_PLACE " and Idempotency-Key differ");
	with.idempotency_key = key;
	with.key_place = KEY_PLACE;
	memcpy(t->key, key, strlen(key) + 1);
	return intake_key(&with, f);
}

/* Progress is told where it was asked for and can be received. */
static void
read_token(struct meta *t, const struct http_request *q, const struct cJSON *v)
{
	if (v == NULL || (!json_is_string(v) && !json_is_number(v)) ||
	    stream_form(q->accept) != STREAM_SSE)
		return;
	jcs_write(&t->token, v);
	if (buf_status(&t->token) != ST_OK)
		buf_clear(&t->token);
}

static enum status
read_meta(struct meta *t, const struct call *c, struct fault *f)
{
	const struct cJSON *meta = json_get(c->m->params, "_meta");
	enum status st;

	if (meta == NULL)
		return ST_OK;
	if (!json_is_object(meta))
		return fault_set(
		    f, ST_REQUEST_MALFORMED, "_meta must be an object");
	st = read_payment(t, json_get(meta, "x402/payment"), f);
	if (st == ST_OK)
		st = read_key(
		    t, c->q, json_get(meta, "tollbox/idempotency-key"), f);
	read_token(t, c->q, json_get(meta, "progressToken"));
	return st;
}

/* What the request is known by is the tool's name and its arguments in one
 * spelling, so that a retry with another id is the same request (api.md
 * section 9). */
static enum status
digest(struct intake *in, const char *name, struct fault *f)
{
	OWN_BUF struct buf frame;
	enum status st;

	buf_init(&frame, LIMITS_BODY + 256);
	buf_adds(&frame, "{\"arguments\":");
	buf_add(&frame, in->body.data, in->body.len);
	json_key(&frame, "name");
	json_put_string(&frame, name);
	buf_addc(&frame, '}');
	st = buf_status(&frame);
	if (st == ST_OK)
		st = jcs_sha256(in->digest, frame.data, frame.len);
	return st == ST_OK ? ST_OK : fault_set(f, st, "digest");
}

/* The call's arguments take the place of the body that they came in. All that
 * may be large goes as soon as it was used, so that a call takes no more memory
 * than the body of any other route; of the message its id is left. */
static enum status
take_arguments(struct call *c, const char *name, struct fault *f)
{
	const struct cJSON *v = json_get(c->m->params, "arguments");
	struct buf *text = &c->in->body;

	buf_free(text);
	buf_init(text, LIMITS_BODY);
	if (v == NULL)
		buf_adds(text, "{}");
	else
		jcs_write(text, v);
	json_free(c->m->tree);
	c->m->tree = NULL;
	c->m->params = NULL;
	c->m->method = NULL;
	if (buf_status(text) == ST_TOO_BIG)
		return fault_set(f, ST_REQUEST_TOO_LARGE,
		    "arguments are over 32 MiB (33554432 bytes)");
	if (buf_status(text) != ST_OK)
		return fault_set(f, buf_status(text), "arguments");
	return digest(c->in, name, f);
}

/* The answer of the tool, as JSON or as the last event of what was begun. What
 * it is made from is not needed while the reader takes it. */
static void
tell(struct call *c, struct http_reply *http, bool paid, bool v1)
{
	static const char replayed[] = "Idempotency-Replayed: true";
	struct outlet *live = http_outlet(c->q);
	struct http_reply *a = c->a;
	int64_t deadline = io_now_ms() + OUTLET_DRAIN_MS;

	buf_free(&a->body);
	buf_init(&a->body, mcp_result_most(http));
	head(a, 200);
	a->told = http->told;
	a->noted = http->noted;
	if (strstr(buf_cstr(&http->headers), replayed) != NULL)
		http_header(a, "Idempotency-Replayed", "true");
	mcp_message_open(&a->body, c->m);
	if (paid)
		mcp_result_put_run(&a->body, http, v1);
	else
		mcp_result_put_free(&a->body, http);
	mcp_message_close(&a->body);
	buf_free(&http->body);
	if (live == NULL)
		return;
	live->held = a->body.len;
	if (buf_status(&a->body) != ST_OK) {
		live->gone = true;
		return;
	}
	outlet_send(live, "event: message\ndata: ", 21, deadline);
	outlet_send(live, a->body.data, a->body.len, deadline);
	outlet_send(live, "\n\n", 2, deadline);
}

static void
call_execute(struct call *c)
{
	struct meta t = { .v1 = false };
	struct fault f = { .st = ST_BUG };
	struct http_request q = *c->q;
	struct run_call call = { .in = c->in };
	struct http_reply http;
	enum status st;

	buf_init(&t.payment, (size_t)2 * X402_HEADER_CAP);
	buf_init(&t.token, TOKEN_BYTES);
	http_reply_init(&http, SMALL_ANSWER);
	st = read_meta(&t, c, &f);
	if (st == ST_OK)
		st = take_arguments(c, "execute", &f);
	if (st != ST_OK) {
		answer_error(&http, &f);
	} else {
		q.payment_signature = q.x_payment = NULL;
		q.payment_repeated = false;
		q.payment_place = PAYMENT_PLACE;
		if (t.payment.len > 0 && t.v1)
			q.x_payment = buf_cstr(&t.payment);
		else if (t.payment.len > 0)
			q.payment_signature = buf_cstr(&t.payment);
		if (t.key[0] != '\0')
			q.idempotency_key = t.key;
		if (t.token.len > 0)
			call.progress = buf_cstr(&t.token);
		run_paid_call(&http, c->g, c->site, c->dialect, &q, &call);
	}
	if (!c->offered && http.status == 404) {
		struct http_reply unused = *c->a;

		*c->a = http;
		http = unused;
	} else {
		tell(c, &http, true, t.v1);
	}
	http_reply_free(&http);
	buf_free(&t.payment);
	buf_free(&t.token);
}

static void
call_quote(struct call *c)
{
	struct fault f = { .st = ST_BUG };
	struct http_reply http;

	http_reply_init(&http, SMALL_ANSWER);
	if (take_arguments(c, "quote", &f) == ST_OK)
		quote_put(&http, c->g, c->site, c->dialect, c->q, &c->in->body);
	else
		answer_error(&http, &f);
	tell(c, &http, false, false);
	http_reply_free(&http);
}

static void
call_tool(struct call *c)
{
	const struct cJSON *params = c->m->params;
	const struct cJSON *v =
	    params == NULL ? NULL : json_get(params, "name");
	const char *name = v == NULL ? NULL : json_string(v);
	const struct cJSON *args =
	    params == NULL ? NULL : json_get(params, "arguments");

	if (name == NULL)
		refuse(c, MCP_MESSAGE_PARAMS,
		    "Invalid params: name must be a string");
	else if (args != NULL && !json_is_object(args))
		refuse(c, MCP_MESSAGE_PARAMS,
		    "Invalid params: arguments must be an object");
	else if (strcmp(name, "execute") == 0)
		call_execute(c);
	else if (strcmp(name, "quote") == 0)
		call_quote(c);
	else
		refuse(c, MCP_MESSAGE_PARAMS,
		    "Invalid params: the tools are execute and quote");
}

/* ---- the route ---- */

static const struct {
	const char *name;
	void (*handle)(struct call *c);
} methods[] = {
	{ "initialize", initialize },
	{ "ping", ping },
	{ "tools/list", list_tools },
	{ "tools/call", call_tool },
};

/* What alone can be about a payment that came before. */
static bool
is_execute(const struct mcp_message *m)
{
	const struct cJSON *v =
	    m->params == NULL ? NULL : json_get(m->params, "name");
	const char *name = v == NULL ? NULL : json_string(v);

	return !m->silent && strcmp(m->method, "tools/call") == 0 &&
	       name != NULL && strcmp(name, "execute") == 0;
}

static void
answer(struct call *c)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (strcmp(methods[i].name, c->m->method) != 0)
			continue;
		methods[i].handle(c);
		return;
	}
	refuse(c, MCP_MESSAGE_METHOD, "Method not found");
}

void
mcp_answer(struct http_reply *a, struct context *g, const struct site *s,
    const struct dialect *d, const struct http_request *q)
{
	const char *version = http_param(q, "HTTP_MCP_PROTOCOL_VERSION");
	struct fault f = { .st = ST_BUG };
	struct intake in;
	struct mcp_message m;
	struct call c = { a, g, s, d, q, &in, &m, dialect_offered(d, s) };
	enum mcp_message_error code;

	intake_init(&in, g);
	if (intake_read(&in, q, &f) != ST_OK) {
		answer_error(a, &f);
		intake_free(&in);
		return;
	}
	code = mcp_message_read(&m, buf_cstr(&in.body), in.body.len, &f);
	if (!c.offered && (code != MCP_MESSAGE_OK || !is_execute(&m))) {
		dialect_refuse(&f, q->path);
		answer_error_as(a, &f, d->put_error);
	} else if (code != MCP_MESSAGE_OK) {
		refuse(&c, code, f.message);
	} else if (version != NULL && !known_version(version)) {
		/* The transport's own rule, and no JSON-RPC matter. */
		refuse(&c, MCP_MESSAGE_INVALID,
		    "MCP-Protocol-Version must be 2025-11-25, 2025-06-18, "
		    "2025-03-26 or 2024-11-05");
		a->status = 400;
	} else if (m.silent) {
		a->status = 202;
		http_header(a, "Cache-Control", "no-store");
	} else {
		answer(&c);
	}
	mcp_message_free(&m);
	intake_free(&in);
}
