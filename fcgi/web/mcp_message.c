#include "web/mcp_message.h"

#include <math.h>
#include <string.h>

#include "base/jcs.h"
#include "base/json.h"

/* A body of api.md section 2 two levels down, a payment beside it. */
static const struct json_caps caps = { .depth = 40, .values = 8192 };

#define ID_BYTES 1024
#define SAFE_INTEGER 9007199254740992.0

/* A string, or a number that comes back as it was. */
static bool
read_id(struct buf *out, const struct cJSON *v)
{
	double d = 0;

	if (json_is_number(v) &&
	    (json_double(&d, v) != ST_OK || fabs(d) > SAFE_INTEGER))
		return false;
	if (!json_is_number(v) && !json_is_string(v))
		return false;
	buf_clear(out);
	jcs_write(out, v);
	return buf_status(out) == ST_OK;
}

static enum mcp_message_error
refuse(struct fault *f, enum mcp_message_error code, const char *text)
{
	f->st = fault_set(f, ST_REQUEST_MALFORMED, "%s", text);
	return code;
}

static enum mcp_message_error
read_members(struct mcp_message *m, struct fault *f)
{
	const struct cJSON *version = json_get(m->tree, "jsonrpc");
	const struct cJSON *method = json_get(m->tree, "method");
	const struct cJSON *id = json_get(m->tree, "id");
	const char *text = version == NULL ? NULL : json_string(version);
	bool sound_id = id != NULL && read_id(&m->id, id);

	if (id != NULL && !sound_id) {
		buf_clear(&m->id);
		buf_adds(&m->id, "null");
		return refuse(f, MCP_MESSAGE_INVALID,
		    "Invalid request: id must be a string of at most 1000 "
		    "bytes or a number of at most 2^53");
	}
	if (text == NULL || strcmp(text, "2.0") != 0)
		return refuse(f, MCP_MESSAGE_INVALID,
		    "Invalid request: jsonrpc must be \"2.0\"");
	/* An answer to something that we never asked. */
	m->silent = id == NULL ||
		    (method == NULL && (json_get(m->tree, "result") != NULL ||
					   json_get(m->tree, "error") != NULL));
	if (m->silent)
		return MCP_MESSAGE_OK;
	m->method = method == NULL ? NULL : json_string(method);
	if (m->method == NULL)
		return refuse(f, MCP_MESSAGE_INVALID,
		    "Invalid request: method must be a string");
	m->params = json_get(m->tree, "params");
	if (m->params != NULL && !json_is_object(m->params))
		return refuse(f, MCP_MESSAGE_PARAMS,
		    "Invalid params: params must be an object");
	return MCP_MESSAGE_OK;
}

enum mcp_message_error
mcp_message_read(
    struct mcp_message *out, const char *text, size_t len, struct fault *f)
{
	enum status st;

	memset(out, 0, sizeof(*out));
	buf_init(&out->id, ID_BYTES);
	buf_adds(&out->id, "null");
	st = json_parse(&out->tree, text, len, &caps, f);
	if (st == ST_FORMAT) {
		struct fault why = *f;

		fault_set(
		    f, ST_REQUEST_MALFORMED, "Parse error: %s", why.message);
		return MCP_MESSAGE_PARSE;
	}
	if (st != ST_OK)
		return refuse(f, MCP_MESSAGE_PARSE, "Parse error");
	if (json_is_array(out->tree))
		return refuse(f, MCP_MESSAGE_INVALID,
		    "Invalid request: batches are not taken");
	if (!json_is_object(out->tree))
		return refuse(f, MCP_MESSAGE_INVALID,
		    "Invalid request: it must be an object");
	return read_members(out, f);
}

void
mcp_message_free(struct mcp_message *m)
{
	json_free(m->tree);
	m->tree = NULL;
	buf_free(&m->id);
}

static void
open_frame(struct buf *out, const struct mcp_message *m, const char *member)
{
	buf_adds(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	buf_adds(out, buf_cstr(&m->id));
	json_key(out, member);
}

void
mcp_message_open(struct buf *out, const struct mcp_message *m)
{
	open_frame(out, m, "result");
}

void
mcp_message_close(struct buf *out)
{
	buf_addc(out, '}');
}

void
mcp_message_put_error(struct buf *out, const struct mcp_message *m,
    enum mcp_message_error code, const char *text)
{
	open_frame(out, m, "error");
	buf_addf(out, "{\"code\":%d", (int)code);
	json_key(out, "message");
	json_put_string(out, text);
	buf_adds(out, "}}");
}
