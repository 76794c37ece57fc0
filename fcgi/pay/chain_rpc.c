#include "pay/chain_rpc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/fetch.h"

#define REQUEST_BYTES 4096
#define ERROR_SHOWN 128

#define HTTP_TOO_MANY 429
#define LIMIT_EXCEEDED (-32005)
#define TOO_MANY_CALLS (-32029)

/* A receipt's logs nest three deep; a batch has thousands of values. */
static const struct json_caps CAPS = { .depth = 12, .values = 100000 };

struct chain_rpc {
	struct fetch *http;
	char *who;
	char *url;
	char *ca_file;
	_Atomic uint64_t last_id;
};

#define OWN_REPLY __attribute__((cleanup(fetch_reply_free)))

enum status
chain_rpc_open(struct chain_rpc **out, const char *who, const char *url,
    const char *ca_file)
{
	struct chain_rpc *c = calloc(1, sizeof(*c));
	enum status st = ST_NOMEM;

	*out = NULL;
	if (c == NULL)
		return ST_NOMEM;
	c->who = strdup(who);
	c->url = strdup(url);
	if (ca_file != NULL)
		c->ca_file = strdup(ca_file);
	if (c->who != NULL && c->url != NULL &&
	    (ca_file == NULL || c->ca_file != NULL))
		st = fetch_open(&c->http,
		    &(struct fetch_server){
			.who = c->who, .url = c->url, .ca_file = c->ca_file });
	if (st == ST_OK)
		*out = OWN_STEAL(c);
	chain_rpc_close(c);
	return st;
}

void
chain_rpc_close(struct chain_rpc *c)
{
	if (c == NULL)
		return;
	fetch_close(c->http);
	free(c->who);
	if (c->url != NULL)
		explicit_bzero(c->url, strlen(c->url));
	free(c->url);
	free(c->ca_file);
	free(c);
}

/* What the node says about its refusal; its text may be anybody's. */
static void
log_error(
    const struct chain_rpc *c, const char *method, const struct cJSON *error)
{
	const struct cJSON *v = json_get(error, "message");
	const char *s = v != NULL ? json_string(v) : NULL;

	log_info("%s: %s: refused: %.*s", c->who, method, ERROR_SHOWN,
	    s != NULL ? s : "without a message");
}

static bool
is_code(double got, int code)
{
	return got > code - 0.5 && got < code + 0.5;
}

/* Is it about the node's calls, not about this one? Nodes have one code for
 * both limits, and those that cap the blocks or logs of a call say so. */
static bool
about_rate(const struct cJSON *error)
{
	static const char *const caps[] = { "range", "blocks", "result" };
	const struct cJSON *v = json_get(error, "code");
	const char *s = NULL;
	double code = 0;

	if (v == NULL || json_double(&code, v) != ST_OK)
		return false;
	if (is_code(code, TOO_MANY_CALLS))
		return true;
	if (!is_code(code, LIMIT_EXCEEDED))
		return false;
	v = json_get(error, "message");
	s = v != NULL ? json_string(v) : NULL;
	for (size_t i = 0; s != NULL && i < sizeof(caps) / sizeof(caps[0]); i++)
		if (strcasestr(s, caps[i]) != NULL)
			return false;
	return true;
}

/* The answer's shape. A node that cannot read a request may leave out or null
 * the id of its error; a result must have it. */
static enum status
judge(const struct chain_rpc *c, const char *method, const struct cJSON *root,
    uint64_t id, const struct cJSON **result)
{
	const struct cJSON *error, *v;
	const char *version;
	uint64_t got = 0;

	if (!json_is_object(root))
		return ST_FORMAT;
	v = json_get(root, "jsonrpc");
	version = v != NULL ? json_string(v) : NULL;
	if (version == NULL || strcmp(version, "2.0") != 0)
		return ST_FORMAT;
	error = json_get(root, "error");
	if (error != NULL && !json_is_null(error)) {
		if (!json_is_object(error))
			return ST_FORMAT;
		log_error(c, method, error);
		return about_rate(error) ? ST_SERVICE_BUSY : ST_REFUSED;
	}
	v = json_get(root, "id");
	if (v == NULL || json_uint(&got, v) != ST_OK || got != id)
		return ST_FORMAT;
	*result = json_get(root, "result");
	return *result != NULL ? ST_OK : ST_FORMAT;
}

static enum status
read_reply(const struct chain_rpc *c, const char *method,
    const struct fetch_reply *got, uint64_t id, struct cJSON **tree,
    const struct cJSON **result)
{
	OWN_JSON struct cJSON *root = NULL;
	enum status st;

	if (got->http == HTTP_TOO_MANY) {
		log_info("%s: %s: HTTP %ld", c->who, method, got->http);
		return ST_SERVICE_BUSY;
	}
	st =
	    json_parse(&root, buf_cstr(&got->body), got->body.len, &CAPS, NULL);
	if (st == ST_OK)
		st = judge(c, method, root, id, result);
	/* Nodes send their errors with 200, 400 and 500; a result only so. */
	if (st == ST_OK && got->http != 200)
		st = ST_FORMAT;
	if (st == ST_FORMAT)
		log_warn("%s: %s: HTTP %ld, no answer to the call", c->who,
		    method, got->http);
	if (st == ST_OK)
		*tree = OWN_STEAL(root);
	else
		*result = NULL;
	return st;
}

enum status
chain_rpc_call(struct chain_rpc *c, const char *method, const char *params,
    int64_t deadline_ms, struct cJSON **tree, const struct cJSON **result)
{
	uint64_t id = atomic_fetch_add(&c->last_id, 1) + 1;
	OWN_BUF struct buf body;
	OWN_REPLY struct fetch_reply got;
	struct fetch_request q = {
		.what = method, .path = "", .deadline_ms = deadline_ms
	};
	enum status st;

	*tree = NULL;
	*result = NULL;
	fetch_reply_init(&got, CHAIN_RPC_ANSWER_BYTES);
	buf_init(&body, REQUEST_BYTES);
	buf_addf(&body, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"method\":\"%s\"",
	    (unsigned long long)id, method);
	buf_addf(&body, ",\"params\":%s}", params);
	st = buf_status(&body);
	if (st != ST_OK)
		return st;
	if (io_now_ms() >= deadline_ms)
		return ST_TIMEOUT;
	q.body = buf_cstr(&body);
	q.len = body.len;
	st = fetch_ask(c->http, &q, &got);
	return st == ST_OK ? read_reply(c, method, &got, id, tree, result) : st;
}
