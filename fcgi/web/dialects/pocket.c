#include "web/dialects/pocket.h"

#include <string.h>

#include "base/json.h"
#include "web/answer.h"
#include "web/health.h"
#include "web/program.h"
#include "web/result.h"
#include "web/sites.h"

static const char *const languages[] = { "python", NULL };

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
finish(struct request_work *p, const struct site_tier **tier)
{
	return program_finish(p, tier, languages);
}

static enum status
put(struct dialect_answer *out, const struct result *r)
{
	struct buf *body = out->body;
	struct buf text[2];
	enum status st = result_text(text, r);

	buf_addc(body, '{');
	result_put_text(body, text);
	json_key(body, "exit_code");
	buf_addf(body, "%d", program_exit_code(r->end));
	json_key(body, "lang");
	json_put_string(body, program_name(r->job->runtime));
	buf_addc(body, '}');
	if (st == ST_OK)
		st = result_put_receipt(out->receipt, r, text, NULL, NULL);
	buf_free(&text[0]);
	buf_free(&text[1]);
	return st == ST_OK ? buf_status(body) : st;
}

static void
put_error(struct buf *out, const struct fault *f)
{
	buf_addc(out, '{');
	json_key(out, "error");
	json_put_string(out, f->message);
	json_key(out, "details");
	answer_put_error(out, f);
	buf_addc(out, '}');
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
};

static const struct request_form form = {
	.members = members,
	.n_members = sizeof(members) / sizeof(members[0]),
	.flat = "pocket",
	.put_more = put_rule,
	.finish = finish,
};

const struct dialect pocket_dialect = {
	.name = "pocket",
	.path = "/v1/code",
	.form = &form,
	.put = put,
	.put_error = put_error,
	.summary = "Runs Python for at most 5 seconds",
	.answer_schema =
	    "{'type':'object','required':['stdout','stderr',"
	    "'exit_code','lang'],"
	    "'properties':{'stdout':{'type':'string'},"
	    "'stderr':{'type':'string'},'exit_code':{'type':'integer'},"
	    "'lang':{'enum':['python']}}}",
	.put_example = put_example,
	.answer_example = "{\"stdout\":\"42\\n\",\"stderr\":\"\","
			  "\"exit_code\":0,\"lang\":\"python\"}",
};

void
pocket_read(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	OWN_SITE struct sites_loan loan = { .from = NULL };
	struct fault f = { .st = ST_SERVICE_INTERNAL_FAILURE };

	if (sites_of(&loan, g->sites, q) != ST_OK ||
	    loan.site->broken.st != ST_OK) {
		answer_error_as(a, &f, put_error);
	} else if (!dialect_offered(&pocket_dialect, loan.site)) {
		dialect_refuse(&f, q->path);
		answer_error_as(a, &f, put_error);
	} else if (strcmp(q->path, "/v1/health") == 0) {
		health_put_short(a, g);
	} else {
		health_version_short(a);
	}
}
