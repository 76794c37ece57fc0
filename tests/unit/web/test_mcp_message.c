/* JSON-RPC messages of MCP: what is taken, what is refused, what goes back. */
#include "web/mcp_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "web/http.h"
#include "web/mcp_result.h"

static void
messages(void **state)
{
	static const struct {
		const char *text;
		enum mcp_message_error code;
		const char *id;
		bool silent;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 0, "1",
		    false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\"}", 0,
		    "1", false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00fc\\\"\",\"method\":"
		  "\"x\"}",
		    0, "\"\xc3\xbc\\\"\"", false },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", 0, "null",
		    true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", 0, "1", true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
		    MCP_MESSAGE_INVALID, "null", false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}",
		    MCP_MESSAGE_INVALID, "1", false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":"
		  "1}",
		    MCP_MESSAGE_PARAMS, "1", false },
		{ "{\"id\":1,\"method\":\"ping\"}", MCP_MESSAGE_INVALID, "1",
		    false },
		{ "[]", MCP_MESSAGE_INVALID, "null", false },
		{ "\"x\"", MCP_MESSAGE_INVALID, "null", false },
		{ "nonsense", MCP_MESSAGE_PARSE, "null", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fault f = { .st = ST_OK };
		struct mcp_message m;
		enum mcp_message_error code = mcp_message_read(
		    &m, rows[i].text, strlen(rows[i].text), &f);

		if (code != rows[i].code || m.silent != rows[i].silent ||
		    strcmp(buf_cstr(&m.id), rows[i].id) != 0)
			fail_msg("%s: code %d, id %s", rows[i].text, (int)code,
			    buf_cstr(&m.id));
		mcp_message_free(&m);
	}
}

static void
frames(void **state)
{
	static const char text[] =
	    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}";
	struct fault f = { .st = ST_OK };
	struct mcp_message m;
	struct buf out;

	(void)state;
	assert_int_equal(
	    mcp_message_read(&m, text, sizeof(text) - 1, &f), MCP_MESSAGE_OK);
	buf_init(&out, 1024);
	mcp_message_open(&out, &m);
	buf_adds(&out, "{}");
	mcp_message_close(&out);
	assert_string_equal(
	    buf_cstr(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	buf_clear(&out);
	mcp_message_put_error(&out, &m, MCP_MESSAGE_METHOD, "no \"such\"");
	assert_string_equal(buf_cstr(&out),
	    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32601,"
	    "\"message\":\"no \\\"such\\\"\"}}");
	buf_free(&out);
	mcp_message_free(&m);
}

/* One answer of HTTP → the tool's result. */
static void
expect(int status, const char *body, bool v1, const char *expected)
{
	struct http_reply http;
	struct buf out;

	http_reply_init(&http, 4096);
	http.status = status;
	http_header(&http, "Cache-Control", "no-store");
	http_header(&http,
	    status == 402 ? "PAYMENT-REQUIRED" : "PAYMENT-RESPONSE",
	    "eyJhIjoxfQ==");
	buf_adds(&http.body, body);
	buf_init(&out, mcp_result_most(&http));
	mcp_result_put_run(&out, &http, v1);
	assert_string_equal(buf_cstr(&out), expected);
	buf_free(&out);
	http_reply_free(&http);
}

static void
results(void **state)
{
	(void)state;
	expect(200,
	    "{\"outcome\":\"completed\",\"stdout\":\"\\\"stderr\\\":\\n\","
	    "\"stderr\":\"\",\"error\":null}",
	    false,
	    "{\"content\":[{\"type\":\"text\",\"text\":\"\\\"stderr\\\":\\n\"}]"
	    ","
	    "\"structuredContent\":{\"outcome\":\"completed\",\"stdout\":"
	    "\"\\\"stderr\\\":\\n\",\"stderr\":\"\",\"error\":null},"
	    "\"isError\":false,\"_meta\":{\"x402/"
	    "payment-response\":{\"a\":1}}}");
	expect(200,
	    "{\"outcome\":\"error\",\"stdout\":\"\",\"stderr\":\"e\","
	    "\"error\":{\"code\":\"X\",\"message\":\"m\"}}",
	    false,
	    "{\"content\":[{\"type\":\"text\",\"text\":\"e\"},{\"type\":"
	    "\"text\","
	    "\"text\":\"m\"}],\"structuredContent\":{\"outcome\":\"error\","
	    "\"stdout\":\"\",\"stderr\":\"e\",\"error\":{\"code\":\"X\","
	    "\"message\":\"m\"}},\"isError\":false,"
	    "\"_meta\":{\"x402/payment-response\":{\"a\":1}}}");
	expect(402, "{\"x402Version\":1,\"details\":{\"code\":null}}", false,
	    "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],"
	    "\"structuredContent\":{\"a\":1},\"isError\":true,"
	    "\"_meta\":{\"tollbox/error\":{\"code\":null}}}");
	expect(402, "{\"b\":1,\"details\":{}}", true,
	    "{\"content\":[{\"type\":\"text\",\"text\":"
	    "\"{\\\"b\\\":1,\\\"details\\\":{}}\"}],"
	    "\"structuredContent\":{\"b\":1,\"details\":{}},\"isError\":true,"
	    "\"_meta\":{\"tollbox/error\":{}}}");
	expect(503, "{\"error\":{}}", false,
	    "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":{}}\"}]"
	    ","
	    "\"structuredContent\":{\"error\":{}},\"isError\":true}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages),
		cmocka_unit_test(frames),
		cmocka_unit_test(results),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
