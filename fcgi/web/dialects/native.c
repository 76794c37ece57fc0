#include "web/dialects/native.h"

#include "web/result.h"

static enum status
put(struct dialect_answer *out, const struct result *r)
{
	return result_put(out->body, r);
}

const struct dialect native_dialect = {
	.name = "native",
	.path = "/execute",
	.form = &request_native,
	.put = put,
	.live = true,
	.summary = "Runs a program in a sandbox; the limits make the price",
	.answer_schema =
	    "{\"type\":\"object\",\"required\":[\"outcome\",\"stdout\","
	    "\"stderr\",\"exitCode\",\"signal\",\"durationMs\",\"truncated\","
	    "\"error\",\"payment\",\"receipt\",\"usage\"],\"properties\":{"
	    "\"outcome\":{\"enum\":[\"completed\",\"timeout\",\"error\"]},"
	    "\"stdout\":{\"type\":\"string\"},\"stderr\":{\"type\":\"string\"},"
	    "\"exitCode\":{\"type\":[\"integer\",\"null\"]},"
	    "\"signal\":{\"type\":[\"string\",\"null\"]},"
	    "\"durationMs\":{\"type\":\"number\"},"
	    "\"truncated\":{\"type\":\"object\",\"required\":[\"stdout\","
	    "\"stderr\"],\"properties\":{\"stdout\":{\"type\":\"boolean\"},"
	    "\"stderr\":{\"type\":\"boolean\"}}},"
	    "\"error\":{\"type\":[\"object\",\"null\"]},"
	    "\"payment\":{\"type\":\"object\"},"
	    "\"receipt\":{\"type\":\"object\"},"
	    "\"result\":{\"type\":[\"object\",\"null\"]},"
	    "\"outputs\":{\"type\":\"array\"},"
	    "\"usage\":{\"type\":\"object\",\"required\":[\"cpuMs\","
	    "\"maxMemoryBytes\"],\"properties\":{\"cpuMs\":{\"type\":"
	    "\"number\"},\"maxMemoryBytes\":{\"type\":\"integer\"}}}}}",
	.body_example = "{\"runtime\":\"python3\",\"source\":\"print(6 * 7)\"}",
	.answer_example =
	    "{\"outcome\":\"completed\",\"stdout\":\"42\\n\",\"stderr\":\"\","
	    "\"exitCode\":0,\"signal\":null,\"durationMs\":12.5,"
	    "\"truncated\":{\"stdout\":false,\"stderr\":false},"
	    "\"error\":null,\"usage\":{\"cpuMs\":11.9,"
	    "\"maxMemoryBytes\":9437184}}",
};
