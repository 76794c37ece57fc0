#include "web/dialects/x402engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/jcs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "box/extras.h"
#include "web/program.h"
#include "web/result.h"

#define FOLDER "outputs"
#define DEFAULT_TIMEOUT_MS 60000

static const char *const languages[] = { "python", "javascript", "bash", "r",
	NULL };

static enum status
take_language(struct request_work *p, const struct cJSON *v)
{
	return program_language(p, v, languages);
}

static void
put_words(struct buf *out, const struct site *s)
{
	program_put_words(out, s, languages);
}

static void
put_rule(struct buf *out, const struct site *s)
{
	program_put_rule(out, s, languages);
}

static void
put_example(struct buf *out, const struct site *s)
{
	program_put_example(out, s, languages);
}

static enum status
take_timeout(struct request_work *p, const struct cJSON *v)
{
	double seconds = 0;
	enum status st = json_double(&seconds, v);

	p->job->limits.timeout_ms = (uint64_t)(seconds * 1000 + 0.5);
	return st;
}

/* All files in one folder of /box, which is there from the start. */
static enum status
ask_files(struct job *j)
{
	j->outputs = calloc(2, sizeof(j->outputs[0]));
	if (j->outputs == NULL)
		return ST_NOMEM;
	j->outputs[0] = strdup(FOLDER "/**");
	if (j->outputs[0] == NULL)
		return ST_NOMEM;
	j->n_outputs = 1;
	j->wants_outputs = true;
	j->folder = FOLDER;
	return ST_OK;
}

static enum status
finish(struct request_work *p, const struct site_tier **tier)
{
	struct job *j = p->job;
	enum status st;

	if (j->limits.timeout_ms == 0)
		j->limits.timeout_ms = DEFAULT_TIMEOUT_MS;
	st = program_finish(p, tier, languages);
	if (st != ST_OK)
		return st;
	j->evaluate = job_offers(j->runtime, "evaluate");
	j->tell = true;
	j->figures = job_offers(j->runtime, "figures");
	return ask_files(j);
}

/* ---- outputs: members in the order that JCS sorts them into ---- */

static void
begin(struct buf *out)
{
	json_sep(out);
	buf_addc(out, '{');
	json_key(out, "data");
}

static void
end(struct buf *out, const char *mime, const char *type)
{
	json_key(out, "mimeType");
	json_put_string(out, mime);
	json_key(out, "type");
	json_put_string(out, type);
	buf_addc(out, '}');
}

static void
put_base64(struct buf *out, const struct extras_file *f)
{
	buf_addc(out, '"');
	hex_base64(out, f->data, (size_t)f->size);
	buf_addc(out, '"');
	json_key(out, "encoding");
	json_put_string(out, "base64");
}

static void
put_file(struct buf *out, const struct extras_file *f)
{
	const size_t skip = strlen(FOLDER "/");
	size_t len = (size_t)f->size;

	/* Whoever made the image need not have kept to what was asked for. */
	if (f->path_len <= skip || memcmp(f->path, FOLDER "/", skip) != 0)
		return;
	begin(out);
	if (f->data == NULL)
		buf_adds(out, "null");
	else if (utf8_valid((const char *)f->data, len))
		json_put_bytes(out, f->data, len);
	else
		put_base64(out, f);
	json_key(out, "mimeType");
	json_put_string(out, result_extras_type(f));
	json_key(out, "name");
	json_put_bytes(out, f->path + skip, f->path_len - skip);
	if (f->data == NULL) {
		json_key(out, "omitted");
		json_put_string(out, "too_large");
		json_key(out, "size");
		jcs_number(out, (double)f->size);
	}
	json_key(out, "type");
	json_put_string(out, "file");
	buf_addc(out, '}');
}

/* R has no exceptions that a helper could see: it says the last word on stderr,
 * "Error in f() : why", and then that it stops. */
static void
find_error_of_r(struct program_error *e, const struct result *r)
{
	static const char halted[] = "Execution halted\n";
	const char *text = buf_cstr(&r->streams[1]);
	size_t len = r->streams[1].len, from = len;

	if (strcmp(r->job->runtime->name, "r") != 0 || len < strlen(halted) ||
	    memcmp(text + len - strlen(halted), halted, strlen(halted)) != 0)
		return;
	len -= strlen(halted);
	while (from > 0) {
		from--;
		if ((from > 0 && text[from - 1] != '\n') || len < from + 6 ||
		    memcmp(text + from, "Error", 5) != 0 ||
		    (text[from + 5] != ' ' && text[from + 5] != ':'))
			continue;
		e->traceback = text + from;
		e->traceback_len = len - from;
		e->thrown = true;
		return;
	}
}

/* An exception, or a limit that ended the program; a plain exit code is none.
 */
static void
put_error(struct buf *out, const struct result *r, const struct extras *x)
{
	const int code = program_exit_code(r->end);
	struct program_error e;

	if (r->end->status == ST_OK)
		return;
	program_error(&e, r, x);
	if (!e.thrown && code != 124 && code != 137)
		find_error_of_r(&e, r);
	if (e.thrown) {
		begin(out);
		program_put_text(out, e.traceback, e.traceback_len, true);
		end(out, "text/plain", "error");
	} else if (r->end->status != ST_EXECUTION_RUNTIME_ERROR) {
		OWN_BUF struct buf text;

		buf_init(&text, WIRE_TEXT + 64);
		buf_addf(&text, "%s: %s", e.name, e.message);
		begin(out);
		program_put_text(out, buf_cstr(&text), text.len, false);
		end(out, "text/plain", "error");
	}
}

static void
put_outputs(struct buf *out, const struct result *r, const struct extras *x)
{
	buf_addc(out, '[');
	if (x->value == EXTRAS_VALUE_REPR || x->value == EXTRAS_VALUE_JSON) {
		begin(out);
		program_put_value(out, r, x);
		end(out, "text/plain", "result");
	}
	put_error(out, r, x);
	for (size_t i = 0; i < x->n_figures; i++) {
		begin(out);
		put_base64(out, &x->figures[i]);
		end(out, "image/png", "image");
	}
	for (size_t i = 0; i < x->n_files; i++)
		put_file(out, &x->files[i]);
	buf_addc(out, ']');
}

static void
put_members(struct buf *body, const struct result *r, const struct buf text[2],
    const struct buf *outputs)
{
	buf_addc(body, '{');
	result_put_text(body, text);
	json_key(body, "success");
	buf_adds(body, r->end->status == ST_OK ? "true" : "false");
	json_key(body, "exit_code");
	buf_addf(body, "%d", program_exit_code(r->end));
	json_key(body, "execution_time_ms");
	buf_addf(body, "%llu",
	    (unsigned long long)(r->end->duration_us + 999) / 1000);
	json_key(body, "outputs");
	buf_add(body, outputs->data, outputs->len);
	buf_addc(body, '}');
}

static enum status
put(struct dialect_answer *out, const struct result *r)
{
	struct extras x;
	struct buf text[2];
	struct buf outputs;
	enum status st = result_text(text, r);

	program_extras(&x, r);
	buf_init(&outputs, out->body->max);
	put_outputs(&outputs, r, &x);
	if (st == ST_OK)
		st = buf_status(&outputs);
	if (st == ST_OK)
		st = result_put_receipt(out->receipt, r, text, NULL, &outputs);
	put_members(out->body, r, text, &outputs);
	buf_free(&text[0]);
	buf_free(&text[1]);
	buf_free(&outputs);
	return st == ST_OK ? buf_status(out->body) : st;
}

static const struct member members[] = {
	{ .name = "code",
	    .type = MEMBER_STRING,
	    .required = true,
	    .max = LIMITS_SOURCE,
	    .about = "The program, at most 1 MiB of UTF-8.",
	    .take = request_source },
	{ .name = "language",
	    .type = MEMBER_STRING,
	    .fallback = "\"python\"",
	    .about = "What it is written in.",
	    .put_words = put_words,
	    .take = take_language },
	{ .name = "timeout",
	    .type = MEMBER_NUMBER,
	    .min = 1,
	    .max = 300,
	    .fallback = "60",
	    .about = "Seconds that it may run, with fractions.",
	    .take = take_timeout },
};

static const struct request_form form = {
	.members = members,
	.n_members = sizeof(members) / sizeof(members[0]),
	.strict = true,
	.flat = "x402engine",
	.put_more = put_rule,
	.finish = finish,
};

const struct dialect x402engine_dialect = {
	.name = "x402engine",
	.path = "/api/code/run",
	.form = &form,
	.put = put,
	.own_extras = true,
	.summary = "Runs Python, JavaScript, Bash or R and hands back the last "
		   "value, figures and files of /box/outputs",
	.answer_schema =
	    "{'type':'object','required':['stdout','stderr','success',"
	    "'exit_code','execution_time_ms','outputs'],"
	    "'properties':{'stdout':{'type':'string'},"
	    "'stderr':{'type':'string'},'success':{'type':'boolean'},"
	    "'exit_code':{'type':'integer'},"
	    "'execution_time_ms':{'type':'integer'},"
	    "'outputs':{'type':'array','items':{'type':'object',"
	    "'required':['type','mimeType','data'],"
	    "'properties':{'type':{'enum':['result','error','image',"
	    "'file']},'mimeType':{'type':'string'},"
	    "'data':{'type':['string','null']},"
	    "'encoding':{'enum':['base64']},'name':{'type':'string'},"
	    "'omitted':{'enum':['too_large']},"
	    "'size':{'type':'integer'}}}}}}",
	.put_example = put_example,
	.answer_example =
	    "{\"stdout\":\"42\\n\",\"stderr\":\"\",\"success\":true,"
	    "\"exit_code\":0,\"execution_time_ms\":14,\"outputs\":[{\"data\":"
	    "\"42\",\"mimeType\":\"text/plain\",\"type\":\"result\"}]}",
};
