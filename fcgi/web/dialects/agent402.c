#include "web/dialects/agent402.h"

#include "base/json.h"
#include "box/extras.h"
#include "web/program.h"
#include "web/result.h"

#define CODE_POINTS 10000

static const char *const languages[] = { "python", "javascript", NULL };

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
	enum status st = program_finish(p, tier, languages);

	if (st != ST_OK)
		return st;
	p->job->evaluate = job_offers(p->job->runtime, "evaluate");
	p->job->tell = true;
	return ST_OK;
}

static void
put_error(struct buf *out, const struct result *r, const struct extras *x)
{
	struct program_error e;

	if (r->end->status == ST_OK) {
		buf_adds(out, "null");
		return;
	}
	program_error(&e, r, x);
	buf_addc(out, '{');
	json_key(out, "name");
	program_put_text(out, e.name, e.name_len, false);
	json_key(out, "message");
	program_put_text(out, e.message, e.message_len, false);
	json_key(out, "traceback");
	program_put_text(out, e.traceback, e.traceback_len, true);
	buf_addc(out, '}');
}

/* The answer's members up to the last one, and the receipt. */
static enum status
put_members(struct dialect_answer *out, const struct result *r,
    const struct buf text[2], const struct buf *value)
{
	struct buf *body = out->body;

	buf_addc(body, '{');
	json_key(body, "language");
	json_put_string(body, program_name(r->job->runtime));
	result_put_text(body, text);
	json_key(body, "result");
	buf_add(body, value->data, value->len);
	return result_put_receipt(
	    out->receipt, r, text, r->job->evaluate ? value : NULL, NULL);
}

static enum status
put(struct dialect_answer *out, const struct result *r)
{
	struct extras x;
	struct buf text[2];
	struct buf value;
	enum status st = result_text(text, r);

	program_extras(&x, r);
	buf_init(&value, out->body->max);
	program_put_value(&value, r, &x);
	if (st == ST_OK)
		st = buf_status(&value);
	if (st == ST_OK)
		st = put_members(out, r, text, &value);
	json_key(out->body, "error");
	put_error(out->body, r, &x);
	buf_addc(out->body, '}');
	buf_free(&text[0]);
	buf_free(&text[1]);
	buf_free(&value);
	return st == ST_OK ? buf_status(out->body) : st;
}

static const struct member members[] = {
	{ .name = "code",
	    .type = MEMBER_STRING,
	    .required = true,
	    .max = CODE_POINTS,
	    .in_points = true,
	    .about = "The program, at most 10000 characters.",
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
	.flat = "agent402",
	.put_more = put_rule,
	.finish = finish,
};

const struct dialect agent402_dialect = {
	.name = "agent402",
	.path = "/api/code-run",
	.form = &form,
	.put = put,
	.own_extras = true,
	.summary = "Runs Python or JavaScript for at most 30 seconds and tells "
		   "the value of the last expression",
	.answer_schema =
	    "{'type':'object','required':['language','stdout','stderr',"
	    "'result','error'],"
	    "'properties':{'language':{'enum':['python','javascript']},"
	    "'stdout':{'type':'string'},'stderr':{'type':'string'},"
	    "'result':{'type':['string','null']},"
	    "'error':{'type':['object','null'],'required':['name',"
	    "'message','traceback'],"
	    "'properties':{'name':{'type':'string'},"
	    "'message':{'type':'string'},"
	    "'traceback':{'type':'string'}}}}}",
	.put_example = put_example,
	.answer_example =
	    "{\"language\":\"python\",\"stdout\":\"42\\n\",\"stderr\":\"\","
	    "\"result\":\"42\",\"error\":null}",
};
