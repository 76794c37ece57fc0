/* A body of POST /execute: its members, as the table that checks and documents
 * them, and what joins several of them (api.md sections 2 and 4). */
#include "web/request_work.h"

#include <string.h>

#include "base/jcs.h"
#include "base/json.h"
#include "base/wire.h"
#include "web/member_schema.h"

/* What one file costs in a tmpfs beside its content. */
#define PAGE 4096u

/* ---- forms ---- */

static bool
path_ok(const char *text)
{
	return wire_path_ok(text, strlen(text));
}

/* A part of a path that is not "." or "..", of LIMITS_NAME at most. */
#define PART                                                                   \
	"([^./\\x00][^/\\x00]{0,254}|\\.[^./\\x00][^/\\x00]{0,253}|"           \
	"\\.\\.[^/\\x00]{1,253})"
#define PATH "^" PART "(/" PART "){0,15}$"
#define PATH_PARTS                                                             \
	" without \".\", \"..\" and empty parts, of at most 16 parts of at "   \
	"most 255 bytes"

static const struct member_form path_form = { PATH, path_ok,
	"is no relative path" PATH_PARTS };
static const struct member_form glob_form = { PATH, path_ok,
	"is no relative path or glob" PATH_PARTS };

/* As hex_unbase64() takes it: one alphabet, padding or none, no bits unused
 * that are not zero. */
#define BASE64(digits)                                                         \
	"([" digits "]{4})*([" digits "][AQgw](==)?|[" digits "]{2}"           \
	"[AEIMQUYcgkosw048]=?)?"
static const struct member_form base64_form = {
	"^(" BASE64("A-Za-z0-9+/") "|" BASE64("A-Za-z0-9_-") ")$", NULL, NULL
};

static void
put_runtimes(struct buf *out, const struct site *s)
{
	for (size_t i = 0; i < s->base->n_runtimes; i++) {
		const char *name = s->base->runtimes[i].name;

		if (site_runtime(s, name) == NULL)
			continue;
		json_sep(out);
		json_put_string(out, name);
	}
}

static enum status
take_runtime(struct request_work *p, const struct cJSON *v)
{
	const char *name = json_string(v);
	struct buf names;

	if (name != NULL)
		p->job->runtime = site_runtime(p->site, name);
	if (p->job->runtime != NULL)
		return ST_OK;
	buf_init(&names, 256);
	for (size_t i = 0; i < p->site->base->n_runtimes; i++) {
		const char *n = p->site->base->runtimes[i].name;

		if (site_runtime(p->site, n) != NULL)
			buf_addf(&names, "%s%s", names.len > 0 ? ", " : "", n);
	}
	fault_set(p->f, ST_RUNTIME_UNSUPPORTED,
	    "runtime \"%.40s\" is not offered here; offered: %s",
	    name == NULL ? "" : name, buf_cstr(&names));
	buf_free(&names);
	return ST_RUNTIME_UNSUPPORTED;
}

static enum status
take_stdin(struct request_work *p, const struct cJSON *v)
{
	return json_bytes(&p->job->stdin_data, &p->job->stdin_len, v);
}

/* ---- limits ---- */

/* Ranges depend on the runtime, which may stand behind them in the body. */
static enum status
keep_limits(struct request_work *p, const struct cJSON *v)
{
	p->limits = v;
	return ST_OK;
}

static void
put_limits(struct buf *out, const struct site *s)
{
	struct request_range range[REQUEST_LIMITS];

	request_ranges(range, s, NULL);
	json_key(out, "properties");
	buf_addc(out, '{');
	for (size_t i = 0; i < REQUEST_LIMITS; i++) {
		json_key(out, range[i].name);
		buf_addf(out,
		    "{\"type\":\"integer\",\"minimum\":%llu,"
		    "\"default\":%llu,\"maximum\":%llu}",
		    (unsigned long long)range[i].min,
		    (unsigned long long)range[i].def,
		    (unsigned long long)range[i].max);
	}
	member_schema_json(out, "},'additionalProperties':false");
}

/* ---- what one runtime lacks ---- */

static void
put_runtime_rules(
    struct buf *out, const struct site *s, const struct conf_runtime *rt)
{
	struct request_range any[REQUEST_LIMITS], own[REQUEST_LIMITS];
	bool evaluates = job_offers(rt, "evaluate");

	request_ranges(any, s, NULL);
	request_ranges(own, s, rt);
	if (evaluates && own[1].min == any[1].min)
		return;
	json_sep(out);
	member_schema_json(out, "{'if':{'properties':{'runtime':{'const':");
	json_put_string(out, rt->name);
	member_schema_json(
	    out, "}},'required':['runtime']},'then':{'properties':{");
	if (!evaluates)
		member_schema_json(out, "'evaluate':{'const':false}");
	if (own[1].min != any[1].min) {
		json_key(out, "limits");
		member_schema_json(out, "{'properties':{");
		json_key(out, own[1].name);
		buf_addf(out, "{\"minimum\":%llu}}}",
		    (unsigned long long)own[1].min);
	}
	buf_adds(out, "}}}");
}

static void
put_runtimes_rules(struct buf *out, const struct site *s)
{
	struct buf rules;

	buf_init(&rules, out->max);
	for (size_t i = 0; i < s->base->n_runtimes; i++)
		if (site_runtime(s, s->base->runtimes[i].name) != NULL)
			put_runtime_rules(&rules, s, &s->base->runtimes[i]);
	if (rules.len > 0) {
		json_key(out, "allOf");
		buf_addf(out, "[%s]", buf_cstr(&rules));
	}
	if (buf_status(&rules) != ST_OK)
		out->st = buf_status(&rules);
	buf_free(&rules);
}

static enum status
read_limits(struct request_work *p)
{
	struct request_range range[REQUEST_LIMITS];
	uint64_t *field[REQUEST_LIMITS] = { &p->job->limits.timeout_ms,
		&p->job->limits.memory_bytes, &p->job->limits.output_bytes,
		&p->job->limits.work_bytes };

	request_ranges(range, p->site, p->job->runtime);
	for (size_t i = 0; i < REQUEST_LIMITS; i++)
		*field[i] = range[i].def;
	for (const struct cJSON *m = json_first(p->limits); m != NULL;
	     m = json_next(m)) {
		size_t i = 0;
		uint64_t v = 0;

		while (i < REQUEST_LIMITS &&
		       strcmp(range[i].name, json_name(m)) != 0)
			i++;
		if (i == REQUEST_LIMITS)
			return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
			    "limits: unknown member \"%.60s\"", json_name(m));
		if (!json_is_number(m))
			return fault_set(p->f, ST_REQUEST_MALFORMED,
			    "limits.%s must be a number", range[i].name);
		if (json_uint(&v, m) != ST_OK || v < range[i].min ||
		    v > range[i].max) {
			struct buf shown;

			buf_init(&shown, 64);
			jcs_write(&shown, m);
			fault_set(p->f, ST_RUNTIME_LIMIT_OUT_OF_RANGE,
			    "limits.%s is %s; it must be an integer from "
			    "%llu to %llu",
			    range[i].name, buf_cstr(&shown),
			    (unsigned long long)range[i].min,
			    (unsigned long long)range[i].max);
			buf_free(&shown);
			return ST_RUNTIME_LIMIT_OUT_OF_RANGE;
		}
		*field[i] = v;
	}
	return ST_OK;
}

/* Counted as the tmpfs counts: whole pages; folders cost it none. */
static enum status
check_fit(struct request_work *p)
{
	const struct job *j = p->job;
	uint64_t need = (j->source_len + PAGE - 1) / PAGE * PAGE;

	for (size_t i = 0; i < j->n_files; i++)
		need += (j->files[i].len + PAGE - 1) / PAGE * PAGE;
	if (need <= j->limits.work_bytes)
		return ST_OK;
	return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
	    "source and files need %llu bytes in blocks of 4096, which "
	    "limits.workDirBytes (%llu) does not hold",
	    (unsigned long long)need, (unsigned long long)j->limits.work_bytes);
}

static enum status
choose_tier(const struct site_tier **tier, struct request_work *p)
{
	const struct limits *l = &p->job->limits;

	*tier = site_tier(p->site, l);
	if (*tier != NULL)
		return ST_OK;
	return fault_set(p->f, ST_RUNTIME_LIMIT_OUT_OF_RANGE,
	    "limits: no offered tier holds timeoutMs %llu, maxMemoryBytes "
	    "%llu, maxOutputBytes %llu and workDirBytes %llu together",
	    (unsigned long long)l->timeout_ms,
	    (unsigned long long)l->memory_bytes,
	    (unsigned long long)l->output_bytes,
	    (unsigned long long)l->work_bytes);
}

static enum status
finish(struct request_work *p, const struct site_tier **tier)
{
	enum status st = read_limits(p);

	if (st != ST_OK)
		return st;
	if (p->job->runtime != NULL) {
		st = request_entry(p);
		if (st == ST_OK)
			st = request_outputs_check(p);
		if (st != ST_OK)
			return st;
	}
	st = check_fit(p);
	if (st != ST_OK)
		return st;
	return choose_tier(tier, p);
}

static const struct member rows[] = {
	{ .name = "source",
	    .type = MEMBER_STRING,
	    .required = true,
	    .max = LIMITS_SOURCE,
	    .about = "The program, at most 1 MiB of UTF-8.",
	    .take = request_source },
	{ .name = "runtime",
	    .type = MEMBER_STRING,
	    .required = true,
	    .about = "What runs it.",
	    .put_words = put_runtimes,
	    .take = take_runtime },
	{ .name = "stdin",
	    .type = MEMBER_STRING,
	    .max = LIMITS_STDIN,
	    .fallback = "\"\"",
	    .about = "Given to the program, then closed; at most 16 MiB.",
	    .take = take_stdin },
	{ .name = "files",
	    .type = MEMBER_FILES,
	    .max = LIMITS_FILES,
	    .form = &path_form,
	    .value_form = &base64_form,
	    .about = "Further files by relative path, as text or base64; 16 "
		     "MiB in all. The entry file's own name (main.py, "
		     "main.js or main.mjs, main.sh, main.R) is taken.",
	    .take = request_files_read },
	{ .name = "args",
	    .type = MEMBER_STRINGS,
	    .max = LIMITS_ARGS,
	    .form = &request_words_argument,
	    .about = "What follows the entry file in argv; 32 KiB in all.",
	    .take = request_words_args },
	{ .name = "env",
	    .type = MEMBER_TEXTS,
	    .max = LIMITS_ENV,
	    .form = &request_words_variable,
	    .value_form = &request_words_value,
	    .about = "Variables added to the clean environment; 32 KiB in "
		     "all.",
	    .put_more = request_words_put_refused,
	    .take = request_words_env },
	{ .name = "limits",
	    .type = MEMBER_OBJECT,
	    .about = "The smallest tier that holds all four is the price.",
	    .put_more = put_limits,
	    .take = keep_limits },
	{ .name = "outputs",
	    .type = MEMBER_STRINGS,
	    .max = LIMITS_OUTPUTS,
	    .form = &glob_form,
	    .about = "Paths and globs of files to hand back after the run.",
	    .take = request_outputs_read },
	{ .name = "evaluate",
	    .type = MEMBER_BOOLEAN,
	    .fallback = "false",
	    .about = "Also hand back the value of the last expression.",
	    .take = request_outputs_evaluate },
};

const struct request_form request_native = {
	.members = rows,
	.n_members = sizeof(rows) / sizeof(rows[0]),
	.strict = true,
	.put_more = put_runtimes_rules,
	.finish = finish,
};
