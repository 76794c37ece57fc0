/*
 * A JSON-RPC message from anybody: what is taken has a method and an id that
 * comes back as it came, and each answer around it is JSON again. The same
 * bytes as the headers and body of a paid answer make a tool's result.
 */
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "web/http.h"
#include "web/mcp_message.h"
#include "web/mcp_result.h"

static const struct json_caps caps = { .depth = 64, .values = 1 << 20 };

static void
is_json(const struct buf *b)
{
	struct cJSON *v = NULL;

	must(buf_status(b) == ST_OK);
	must(json_parse(&v, buf_cstr(b), b->len, &caps, NULL) == ST_OK);
	json_free(v);
}

static void
message(const uint8_t *data, size_t size)
{
	struct fault f = { .st = ST_OK };
	struct mcp_message m;
	struct buf out;
	enum mcp_message_error code =
	    mcp_message_read(&m, (const char *)data, size, &f);

	buf_init(&out, 1 << 20);
	if (code != MCP_MESSAGE_OK) {
		must(f.message[0] != '\0');
		mcp_message_put_error(&out, &m, code, f.message);
		is_json(&out);
	} else if (!m.silent) {
		must(m.method != NULL);
		mcp_message_open(&out, &m);
		buf_adds(&out, "{}");
		mcp_message_close(&out);
		is_json(&out);
	}
	buf_free(&out);
	mcp_message_free(&m);
}

/* Our own answers are JSON; what the program wrote in them is anything. */
static void
result(const uint8_t *data, size_t size)
{
	static const int codes[] = { 200, 402, 500 };
	struct http_reply http;
	struct buf out;
	size_t half = size / 2;

	http_reply_init(&http, 1 << 20);
	http.status = codes[size % 3];
	buf_adds(&http.body, size % 2 ? "{\"outcome\":\"completed\",\"stdout\":"
				      : "{\"outcome\":\"error\",\"stdout\":");
	json_put_bytes(&http.body, data, half);
	json_key(&http.body, "stderr");
	json_put_bytes(&http.body, data + half, size - half);
	json_key(&http.body, "error");
	buf_adds(&http.body, "{\"code\":\"X\",\"message\":");
	json_put_bytes(&http.body, data, size);
	buf_adds(&http.body, "},\"details\":{\"code\":null}}");
	http_header(&http, "PAYMENT-RESPONSE", "e30=");
	buf_init(&out, mcp_result_most(&http));
	mcp_result_put_run(&out, &http, size % 5 == 0);
	is_json(&out);
	buf_clear(&out);
	mcp_result_put_free(&out, &http);
	is_json(&out);
	buf_free(&out);
	http_reply_free(&http);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	message(data, size);
	/* Only what is UTF-8 can stand in an answer. */
	if (utf8_valid((const char *)data, size) &&
	    utf8_valid((const char *)data, size / 2))
		result(data, size);
	return 0;
}
