/* Bodies of /execute and /quote against api.md sections 2 and 4. */
#include "web/request.h"

#include "site_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wire.h"

/* Parse text; the status and message come back in f. */
static enum status
parse(const struct site *s, const char *text, struct job *j,
    const struct site_tier **t, struct fault *f, bool quote)
{
	memset(f, 0, sizeof(*f));
	return request_read(
	    j, t, &request_native, s, text, strlen(text), quote, f);
}

struct refusal {
	const char *body;
	enum status st;
	const char *says; /* must stand in the message */
};

static void
refusals(void **state)
{
	static const struct refusal table[] = {
		{ "", ST_REQUEST_MALFORMED, "JSON" },
		{ "[]", ST_REQUEST_MALFORMED, "object" },
		{ "{", ST_REQUEST_MALFORMED, "" },
		{ "{\"runtime\":\"python3\"}", ST_REQUEST_MALFORMED, "source" },
		{ "{\"source\":\"\"}", ST_REQUEST_MALFORMED, "runtime" },
		{ "{\"source\":1,\"runtime\":\"python3\"}",
		    ST_REQUEST_MALFORMED, "source" },
		{ "{\"source\":\"\",\"source\":\"\"}", ST_REQUEST_MALFORMED,
		    "source" },
		{ "{\"source\":\"\",\"runtime\":\"cobol\"}",
		    ST_RUNTIME_UNSUPPORTED, "cobol" },
		{ "{\"source\":\"\",\"runtime\":\"cobol\"}",
		    ST_RUNTIME_UNSUPPORTED, "python3" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"timeout\":1}",
		    ST_SANDBOX_INVALID_REQUEST, "timeout" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"limits\":"
		  "{\"timeoutms\":1000}}",
		    ST_SANDBOX_INVALID_REQUEST, "timeoutms" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"limits\":"
		  "{\"timeoutMs\":99}}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE,
		    "limits.timeoutMs is 99; it must be an integer from 100 "
		    "to 300000" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"limits\":"
		  "{\"timeoutMs\":300001}}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "300001" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"limits\":"
		  "{\"timeoutMs\":1000.5}}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "1000.5" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"limits\":"
		  "{\"timeoutMs\":-1}}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "-1" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"limits\":"
		  "{\"timeoutMs\":\"1000\"}}",
		    ST_REQUEST_MALFORMED, "limits.timeoutMs" },
		{ "{\"source\":\"\",\"runtime\":\"node\",\"limits\":"
		  "{\"maxMemoryBytes\":33554432}}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "67108864" },
		{ "{\"limits\":{\"maxMemoryBytes\":33554432},\"runtime\":"
		  "\"node\",\"source\":\"\"}",
		    ST_RUNTIME_LIMIT_OUT_OF_RANGE, "67108864" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"main.py\":\"\"}}",
		    ST_RUNTIME_RESERVED_FILE_PATH, "main.py" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"main.py/x\":\"\"}}",
		    ST_RUNTIME_RESERVED_FILE_PATH, "main.py" },
		{ "{\"source\":\"import 'x'\",\"runtime\":\"node\","
		  "\"files\":{\"main.mjs\":\"\"}}",
		    ST_RUNTIME_RESERVED_FILE_PATH, "main.mjs" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"../x\":\"\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "../x" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"/etc/x\":\"\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "/etc/x" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"a//b\":\"\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "a//b" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"a\\u0000b\":\"\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "files" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"a\":\"\",\"a/b/c\":\"\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "a/b/c" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"a\":{\"base64\":\"!!\"}}}",
		    ST_SANDBOX_INVALID_REQUEST, "base64" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":"
		  "{\"a\":{\"base64\":\"\",\"x\":1}}}",
		    ST_REQUEST_MALFORMED, "base64" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"files\":[]}",
		    ST_REQUEST_MALFORMED, "files" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"args\":[1]}",
		    ST_REQUEST_MALFORMED, "args" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"args\":"
		  "[\"a\\u0000\"]}",
		    ST_SANDBOX_INVALID_REQUEST, "args" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"env\":"
		  "{\"LD_PRELOAD\":\"x\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "LD_PRELOAD" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"env\":"
		  "{\"NODE_OPTIONS\":\"x\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "NODE_OPTIONS" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"env\":"
		  "{\"PYTHONPATH\":\"x\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "PYTHONPATH" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"env\":"
		  "{\"1A\":\"x\"}}",
		    ST_SANDBOX_INVALID_REQUEST, "env" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"env\":"
		  "{\"A\":1}}",
		    ST_REQUEST_MALFORMED, "A" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"stdin\":null}",
		    ST_REQUEST_MALFORMED, "stdin" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"evaluate\":"
		  "1}",
		    ST_REQUEST_MALFORMED, "evaluate" },
		{ "{\"source\":\"\",\"evaluate\":true,\"runtime\":"
		  "\"node\"}",
		    ST_SANDBOX_INVALID_REQUEST,
		    "evaluate is not offered for runtime \"node\"" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"outputs\":"
		  "{}}",
		    ST_REQUEST_MALFORMED, "outputs" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"outputs\":"
		  "[\"a\",null]}",
		    ST_REQUEST_MALFORMED, "outputs" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"outputs\":"
		  "[\"a\",\"/b\"]}",
		    ST_SANDBOX_INVALID_REQUEST, "outputs: \"/b\"" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"outputs\":"
		  "[\"a/../b\"]}",
		    ST_SANDBOX_INVALID_REQUEST, "a/../b" },
		{ "{\"source\":\"\",\"runtime\":\"python3\",\"outputs\":"
		  "[\"a\\u0000\"]}",
		    ST_SANDBOX_INVALID_REQUEST, "outputs" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct site_tier *t;
		struct fault f;
		struct job j;

		assert_int_equal(
		    parse(x->site, table[i].body, &j, &t, &f, false),
		    table[i].st);
		assert_int_equal(f.st, table[i].st);
		assert_null(j.source);
		assert_null(t);
		if (strstr(f.message, table[i].says) == NULL)
			fail_msg("%s\n says: %s\n not: %s", table[i].body,
			    f.message, table[i].says);
	}
}

static void
accepted(void **state)
{
	static const char body[] =
	    "{\"source\":\"a\\u0000b\",\"runtime\":\"python3\","
	    "\"stdin\":\"\\u0000\\u00e9\",\"args\":[\"-x\",\"\"],"
	    "\"env\":{\"A\":\"1\",\"B_2\":\"\"},"
	    "\"files\":{\"d/x.txt\":\"hi\",\"d/y\":{\"base64\":\"AP8=\"}},"
	    "\"outputs\":[\"out/**\",\"x[1]\"],\"evaluate\":true,"
	    "\"limits\":{\"timeoutMs\":1e4,\"maxOutputBytes\":2048.0}}";
	struct fixture *x = *state;
	const struct site_tier *t;
	struct fault f;
	struct job j;

	assert_int_equal(parse(x->site, body, &j, &t, &f, false), ST_OK);
	assert_string_equal(j.runtime->name, "python3");
	assert_string_equal(j.entry, "main.py");
	assert_int_equal(j.source_len, 3);
	assert_memory_equal(j.source, "a\0b", 3);
	assert_int_equal(j.stdin_len, 3);
	assert_memory_equal(j.stdin_data, "\0\xc3\xa9", 3);
	assert_int_equal(j.n_args, 2);
	assert_string_equal(j.args[0], "-x");
	assert_string_equal(j.args[1], "");
	assert_int_equal(j.n_env, 2);
	assert_string_equal(j.env[1], "B_2=");
	assert_int_equal(j.n_files, 2);
	assert_string_equal(j.files[1].path, "d/y");
	assert_int_equal(j.files[1].len, 2);
	assert_memory_equal(j.files[1].data, "\0\xff", 2);
	assert_true(j.evaluate);
	assert_true(j.wants_outputs);
	assert_false(j.figures);
	assert_int_equal(j.n_outputs, 2);
	assert_string_equal(j.outputs[0], "out/**");
	assert_string_equal(j.outputs[1], "x[1]");
	assert_int_equal(j.limits.timeout_ms, 10000);
	assert_int_equal(j.limits.memory_bytes, 256u << 20);
	assert_int_equal(j.limits.output_bytes, 2048);
	assert_int_equal(j.limits.work_bytes, 64u << 20);
	assert_string_equal(t->name, "small");
	assert_int_equal(t->price_micros, 1000);
	job_free(&j);
}

/* The tier is the smallest one that holds all four limits. */
static void
tiers(void **state)
{
	static const struct {
		const char *limits;
		const char *tier;
		uint64_t micros;
	} table[] = {
		{ "{}", "small", 1000 },
		{ "{\"timeoutMs\":10000}", "small", 1000 },
		{ "{\"timeoutMs\":10001}", "medium", 5000 },
		{ "{\"maxMemoryBytes\":268435457}", "medium", 5000 },
		{ "{\"maxOutputBytes\":4194305}", "large", 20000 },
		{ "{\"workDirBytes\":1073741824}", "large", 20000 },
		{ "{\"timeoutMs\":60000,\"workDirBytes\":268435457}", "large",
		    20000 },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct site_tier *t;
		struct fault f;
		struct job j;
		char body[256];

		snprintf(
		    body, sizeof(body), "{\"limits\":%s}", table[i].limits);
		assert_int_equal(parse(x->site, body, &j, &t, &f, true), ST_OK);
		assert_string_equal(t->name, table[i].tier);
		assert_int_equal(t->price_micros, table[i].micros);
		assert_ptr_equal(
		    request_price(&request_native, x->site, body, strlen(body)),
		    t);
		job_free(&j);
	}
	assert_string_equal(
	    request_price(&request_native, x->site, "<html>", 6)->name,
	    "small");
	assert_string_equal(
	    request_price(&request_native, x->site, "", 0)->name, "small");
}

/* Source and files must fit the work dir in whole pages. */
static void
fit(void **state)
{
	struct fixture *x = *state;
	const struct site_tier *t;
	struct buf b;
	struct fault f;
	struct job j;

	buf_init(&b, 4u << 20);
	buf_adds(&b,
	    "{\"runtime\":\"python3\",\"limits\":{\"workDirBytes\":1048576},"
	    "\"source\":\"");
	for (int i = 0; i < 1048576 - 4096; i++)
		buf_addc(&b, ' ');
	buf_adds(&b, "\",\"files\":{\"a\":\"1\"");
	assert_int_equal(buf_status(&b), ST_OK);
	assert_int_equal(request_read(&j, &t, &request_native, x->site,
			     buf_cstr(&b), b.len, false, &f),
	    ST_REQUEST_MALFORMED);
	buf_adds(&b, "}}");
	assert_int_equal(request_read(&j, &t, &request_native, x->site,
			     buf_cstr(&b), b.len, false, &f),
	    ST_OK);
	job_free(&j);
	b.len -= 2;
	buf_adds(&b, ",\"b\":\"1\"}}");
	assert_int_equal(request_read(&j, &t, &request_native, x->site,
			     buf_cstr(&b), b.len, false, &f),
	    ST_SANDBOX_INVALID_REQUEST);
	assert_non_null(strstr(f.message, "workDirBytes"));
	buf_free(&b);
}

/* Counts and sizes of api.md section 2, at the limit and one over. */
static void
counts(void **state)
{
	static const struct {
		const char *member;
		const char *before, *after; /* the number */
		char open, close;
		int most;
	} table[] = {
		{ "files", "\"f", "\":\"\"", '{', '}', 256 },
		{ "args", "\"", "\"", '[', ']', 64 },
		{ "env", "\"E", "\":\"\"", '{', '}', 64 },
		{ "outputs", "\"", "\"", '[', ']', 64 },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		for (int over = 0; over < 2; over++) {
			const struct site_tier *t;
			struct buf b;
			struct fault f;
			struct job j;
			enum status st;

			buf_init(&b, 1u << 20);
			buf_addf(&b,
			    "{\"source\":\"\",\"runtime\":\"python3\","
			    "\"%s\":%c",
			    table[i].member, table[i].open);
			for (int k = 0; k < table[i].most + over; k++) {
				buf_addf(&b, "%s%s%d%s", k > 0 ? "," : "",
				    table[i].before, k, table[i].after);
			}
			buf_addf(&b, "%c}", table[i].close);
			st = request_read(&j, &t, &request_native, x->site,
			    buf_cstr(&b), b.len, false, &f);
			assert_int_equal(
			    st, over ? ST_SANDBOX_INVALID_REQUEST : ST_OK);
			if (over)
				assert_non_null(
				    strstr(f.message, table[i].member));
			job_free(&j);
			buf_free(&b);
		}
	}
}

/* Asked for with false, or not at all, is the same; an empty list is asked. */
static void
not_asked(void **state)
{
	static const struct {
		const char *more;
		uint32_t flags;
	} table[] = {
		{ "", 0 },
		{ ",\"evaluate\":false", 0 },
		{ ",\"evaluate\":true", WIRE_JOB_EVALUATE },
		{ ",\"outputs\":[]", WIRE_JOB_OUTPUTS },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct site_tier *t;
		struct fault f;
		struct job j;
		char body[256];

		snprintf(body, sizeof(body),
		    "{\"source\":\"\",\"runtime\":\"python3\"%s}",
		    table[i].more);
		assert_int_equal(
		    parse(x->site, body, &j, &t, &f, false), ST_OK);
		assert_int_equal(job_flags(&j), table[i].flags);
		job_free(&j);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),
		cmocka_unit_test(accepted),
		cmocka_unit_test(tiers),
		cmocka_unit_test(fit),
		cmocka_unit_test(counts),
		cmocka_unit_test(not_asked),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_drop);
}
