/* The dialects with a flat price: what they take, what they answer, and what
 * they do when memory runs out (api.md section 8). */
#include "web/dialect.h"

#include "site_fixture.h"

#include <stdio.h>

#include "../torture.h"
#include "base/json.h"
#include "base/wire.h"
#include "web/result.h"

static const struct json_caps caps = { .depth = 16, .values = 1024 };

/* ---- bodies ---- */

static void
taken(void **state)
{
	static const struct {
		const char *path, *body;
		const char *runtime, *entry;
		uint64_t timeout_ms;
		uint32_t flags;
	} table[] = {
		{ "/api/code-run", "{\"code\":\"1\"}", "python3", "main.py",
		    30000, WIRE_JOB_EVALUATE | WIRE_JOB_TELL },
		{ "/api/code-run",
		    "{\"code\":\"import 'fs'\",\"language\":\"nodejs\","
		    "\"more\":[1]}",
		    /* The fixture's node has no helper. */
		    "node", "main.mjs", 30000, 0 },
		{ "/api/code/run", "{\"code\":\"\",\"language\":\"py\"}",
		    "python3", "main.py", 60000,
		    WIRE_JOB_EVALUATE | WIRE_JOB_TELL | WIRE_JOB_OUTPUTS |
			WIRE_JOB_FIGURES },
		{ "/api/code/run", "{\"code\":\"\",\"timeout\":1.0004}",
		    "python3", "main.py", 1000,
		    WIRE_JOB_EVALUATE | WIRE_JOB_TELL | WIRE_JOB_OUTPUTS |
			WIRE_JOB_FIGURES },
		{ "/api/code/run",
		    "{\"timeout\":299.9996,\"language\":\"js\",\"code\":\"\"}",
		    "node", "main.js", 300000, WIRE_JOB_OUTPUTS },
		{ "/v1/code", "{\"code\":\"\",\"language\":\"python3\"}",
		    "python3", "main.py", 5000, 0 },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct dialect *d = dialect_of(table[i].path);
		const struct site_tier *t = NULL;
		struct fault f = { .st = ST_OK };
		struct job j;

		if (request_read(&j, &t, d->form, x->site, table[i].body,
			strlen(table[i].body), false, &f) != ST_OK)
			fail_msg("%s: %s", table[i].body, f.message);
		assert_string_equal(j.runtime->name, table[i].runtime);
		assert_string_equal(j.entry, table[i].entry);
		assert_int_equal(j.limits.timeout_ms, table[i].timeout_ms);
		assert_int_equal(j.limits.memory_bytes, 256u << 20);
		assert_int_equal(j.limits.output_bytes, 1u << 20);
		assert_int_equal(j.limits.work_bytes, 64u << 20);
		assert_int_equal(job_flags(&j), table[i].flags);
		assert_string_equal(t->name, d->name);
		job_free(&j);
	}
}

static void
refused(void **state)
{
	static const struct {
		const char *path, *body;
		enum status st;
		const char *says;
	} table[] = {
		{ "/api/code-run", "{}", ST_REQUEST_MALFORMED,
		    "code is missing" },
		{ "/api/code-run", "{\"code\":null}", ST_REQUEST_MALFORMED,
		    "code must be a string" },
		{ "/api/code-run", "{\"code\":\"\",\"language\":\"bash\"}",
		    ST_RUNTIME_UNSUPPORTED, "offered: python, javascript" },
		{ "/api/code-run", "{\"code\":\"\",\"language\":\"\\u0000\"}",
		    ST_RUNTIME_UNSUPPORTED, "language \"\"" },
		/* In the table, but not at this host. */
		{ "/api/code/run", "{\"code\":\"\",\"language\":\"r\"}",
		    ST_RUNTIME_UNSUPPORTED, "offered: python, javascript" },
		{ "/api/code/run", "{\"code\":\"\",\"timeout\":0.9999}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "timeout is 0.9999" },
		{ "/api/code/run", "{\"code\":\"\",\"timeout\":1e300}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "from 1 to 300" },
		{ "/api/code/run", "{\"code\":\"\",\"timeout\":true}",
		    ST_REQUEST_MALFORMED, "timeout must be a number" },
		{ "/api/code/run", "{\"code\":\"\",\"evaluate\":true}",
		    ST_SANDBOX_INVALID_REQUEST, "unknown member \"evaluate\"" },
		{ "/v1/code", "{\"code\":\"\",\"language\":\"js\"}",
		    ST_RUNTIME_UNSUPPORTED, "offered: python" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct dialect *d = dialect_of(table[i].path);
		const struct site_tier *t = NULL;
		struct fault f = { .st = ST_OK };
		struct job j;

		assert_int_equal(
		    request_read(&j, &t, d->form, x->site, table[i].body,
			strlen(table[i].body), false, &f),
		    table[i].st);
		if (strstr(f.message, table[i].says) == NULL)
			fail_msg("\"%s\" does not say \"%s\"", f.message,
			    table[i].says);
		assert_null(t);
	}
}

/* ---- answers ---- */

/* An image of extras under way. */
static struct buf image;

static void
add(enum wire_kind kind, const char *path, const char *data, size_t len)
{
	uint8_t head[WIRE_RECORD_HEAD];

	wire_put_head(head, kind, strlen(path), len);
	buf_add(&image, head, sizeof(head));
	buf_adds(&image, path);
	buf_add(&image, data, len);
}

/* The answer of a run that ended so, with what stands in image, which is fresh
 * afterwards: is it that text? */
static void
answers(struct fixture *x, const char *path, const struct wire_result *end,
    const char *err, const char *want)
{
	const struct dialect *d = dialect_of(path);
	static const char body[] = "{\"code\":\"\"}";
	struct buf streams[2], text, receipt;
	struct result_extras extras;
	const struct site_tier *t = NULL;
	struct job j;
	struct result r = { .end = end,
		.streams = streams,
		.extras = &extras,
		.job = &j,
		.site = x->site,
		.request_digest = "aa",
		.payer = "0xpayer",
		.amount = "5000",
		.network = "eip155:84532",
		.asset = "0xasset",
		.transaction = "0xtx",
		.issued_at = 1740672089 };
	struct dialect_answer answer = { .body = &text, .receipt = &receipt };
	struct cJSON *v = NULL;

	assert_int_equal(request_read(&j, &t, d->form, x->site, body,
			     strlen(body), false, NULL),
	    ST_OK);
	r.tier = t;
	r.price_micros = t->price_micros;
	buf_init(&streams[0], 64);
	buf_init(&streams[1], 64);
	buf_adds(&streams[1], err);
	buf_init(&text, 65536);
	buf_init(&receipt, 8192);
	result_extras_init(&extras, &j);
	assert_int_equal(
	    result_extras_keep(&extras, &j, image.data, image.len), ST_OK);
	assert_int_equal(d->put(&answer, &r), ST_OK);
	assert_string_equal(buf_cstr(&text), want);
	assert_int_equal(
	    json_parse(&v, buf_cstr(&receipt), receipt.len, &caps, NULL),
	    ST_OK);
	assert_string_equal(json_string(json_get(v, "tier")), d->name);
	json_free(v);
	result_extras_free(&extras);
	buf_free(&streams[0]);
	buf_free(&streams[1]);
	buf_free(&text);
	buf_free(&receipt);
	buf_clear(&image);
	job_free(&j);
}

#define AGENT(error)                                                           \
	"{\"language\":\"python\",\"stdout\":\"\",\"stderr\":\"\",\"result\":" \
	"null,\"error\":{\"name\":\"" error "\",\"message\":\"why\","          \
	"\"traceback\":\"\"}}"

/* How it ended, in each one's words. */
static void
ends(void **state)
{
	static const struct {
		struct wire_result end;
		const char *code, *agent;
	} table[] = {
		{ { .status = ST_SANDBOX_TIMEOUT, .exit_code = -1 }, "124",
		    AGENT("TimeoutError") },
		/* It exited, but over its limit. */
		{ { .status = ST_EXECUTION_MEMORY_LIMIT_EXCEEDED }, "137",
		    AGENT("MemoryLimitExceeded") },
		{ { .status = ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED,
		      .exit_code = -1 },
		    "137", AGENT("OutputLimitExceeded") },
		{ { .status = ST_EXECUTION_RUNTIME_ERROR,
		      .exit_code = -1,
		      .signal = 11 },
		    "139", AGENT("SignalError") },
		{ { .status = ST_EXECUTION_RUNTIME_ERROR, .exit_code = 255 },
		    "255", AGENT("ExitError") },
		{ { .status = ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
		      .exit_code = 1 },
		    "1", AGENT("ExitError") },
	};
	char want[128];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct wire_result end = table[i].end;

		memcpy(end.text, "why", sizeof("why"));
		answers(*state, "/api/code-run", &end, "", table[i].agent);
		(void)snprintf(want, sizeof(want),
		    "{\"stdout\":\"\",\"stderr\":\"\",\"exit_code\":%s,"
		    "\"lang\":\"python\"}",
		    table[i].code);
		answers(*state, "/v1/code", &end, "", want);
	}
}

/* A limit counts for more than what was thrown on the way; what was thrown may
 * be cut anywhere, and is mended. */
static void
thrown(void **state)
{
	struct wire_result end = { .status = ST_EXECUTION_RUNTIME_ERROR,
		.exit_code = 1,
		.text = "why" };

	add(WIRE_THROWN, "", "E\0m\xff\0t\n\xc3", 8);
	answers(*state, "/api/code-run", &end, "",
	    "{\"language\":\"python\",\"stdout\":\"\",\"stderr\":\"\","
	    "\"result\":null,\"error\":{\"name\":\"E\",\"message\":"
	    "\"m\xef\xbf\xbd\",\"traceback\":\"t\\n\"}}");
	add(WIRE_THROWN, "", "Err", 3);
	answers(*state, "/api/code-run", &end, "",
	    "{\"language\":\"python\",\"stdout\":\"\",\"stderr\":\"\","
	    "\"result\":null,\"error\":{\"name\":\"Err\",\"message\":\"\","
	    "\"traceback\":\"\"}}");
	end.status = ST_SANDBOX_TIMEOUT;
	add(WIRE_THROWN, "", "E\0m\0t", 5);
	answers(*state, "/api/code-run", &end, "", AGENT("TimeoutError"));
}

#define ENGINE(success, code, outputs)                                         \
	"{\"stdout\":\"\",\"stderr\":\"\",\"success\":" success                \
	",\"exit_code\":" code                                                 \
	",\"execution_time_ms\":2,\"outputs\":[" outputs "]}"

/* Each kind of output, and none that was not asked for: the image is made by
 * somebody whom nobody trusts. */
static void
outputs(void **state)
{
	struct wire_result end = { .duration_us = 1001 };
	const uint64_t large = 5u << 20;

	answers(*state, "/api/code/run", &end, "", ENGINE("true", "0", ""));
	add(WIRE_VALUE_REPR, "", "'x'", 3);
	add(WIRE_GIVEN, "a", "other", 5);
	add(WIRE_GIVEN, "outputs.txt", "other", 5);
	add(WIRE_GIVEN, "outputs/d/b.bin", "\0\xff", 2);
	add(WIRE_OMITTED, "outputs/l.csv", (const char *)&large, 8);
	add(WIRE_FIGURE, "001.png", "\x89PNG\r\n\x1a\n\0\0", 10);
	answers(*state, "/api/code/run", &end, "",
	    ENGINE("true", "0",
		"{\"data\":\"'x'\",\"mimeType\":\"text/plain\",\"type\":"
		"\"result\"},"
		"{\"data\":\"iVBORw0KGgoAAA==\",\"encoding\":\"base64\","
		"\"mimeType\":\"image/png\",\"type\":\"image\"},"
		"{\"data\":\"AP8=\",\"encoding\":\"base64\",\"mimeType\":"
		"\"application/octet-stream\",\"name\":\"d/b.bin\",\"type\":"
		"\"file\"},"
		"{\"data\":null,\"mimeType\":\"text/csv\",\"name\":\"l.csv\","
		"\"omitted\":\"too_large\",\"size\":5242880,\"type\":"
		"\"file\"}"));
	end.status = ST_EXECUTION_MEMORY_LIMIT_EXCEEDED;
	memcpy(end.text, "too \"much\"", sizeof("too \"much\""));
	answers(*state, "/api/code/run", &end, "",
	    ENGINE("false", "137",
		"{\"data\":\"MemoryLimitExceeded: too \\\"much\\\"\","
		"\"mimeType\":\"text/plain\",\"type\":\"error\"}"));
}

static void
own_errors(void **state)
{
	struct fault f;
	struct buf b;

	(void)state;
	fault_set(&f, ST_RUNTIME_UNSUPPORTED, "no \"%s\"", "x");
	buf_init(&b, 1024);
	dialect_of("/v1/code")->put_error(&b, &f);
	assert_string_equal(buf_cstr(&b),
	    "{\"error\":\"no \\\"x\\\"\",\"details\":{\"code\":"
	    "\"RUNTIME_UNSUPPORTED\",\"message\":\"no \\\"x\\\"\","
	    "\"billable\":false,\"category\":\"unsupported_runtime\"}}");
	buf_free(&b);
	assert_null(dialect_of("/api/code-run")->put_error);
	assert_null(dialect_of("/api/code/run")->put_error);
}

/* ---- no memory ---- */

#ifndef SANITIZED

static const struct site *site;
static const struct request_form *form;

static enum status
read_one(void)
{
	static const char body[] =
	    "{\"code\":\"a\\u0000b\",\"language\":\"python\"}";
	const struct site_tier *t = NULL;
	struct fault f = { .st = ST_OK };
	struct job j;
	enum status st =
	    request_read(&j, &t, form, site, body, strlen(body), false, &f);

	assert_true(st == ST_OK || (t == NULL && j.source == NULL));
	job_free(&j);
	return st;
}

static void
memory(void **state)
{
	struct fixture *x = *state;

	site = x->site;
	for (size_t i = 0; dialects[i] != NULL; i++) {
		form = dialects[i]->form;
		if (form->flat != NULL)
			torture(read_one, 6);
	}
}

#endif

static int
prepare(void **state)
{
	buf_init(&image, 1u << 16);
	return fixture_make(state);
}

static int
drop(void **state)
{
	buf_free(&image);
	return fixture_drop(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(taken),
		cmocka_unit_test(refused),
		cmocka_unit_test(ends),
		cmocka_unit_test(thrown),
		cmocka_unit_test(outputs),
		cmocka_unit_test(own_errors),
#ifndef SANITIZED
		cmocka_unit_test(memory),
#endif
	};

	return cmocka_run_group_tests(tests, prepare, drop);
}
