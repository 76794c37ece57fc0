#include "web/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jcs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "web/esm.h"
#include "web/request_work.h"

/* More than any valid request holds: 256 files of an object each, 64 args, 64
 * env and a dozen more. Keeps a hostile body from growing a huge tree. */
static const struct json_caps caps = { .depth = 8, .values = 2048 };

/* What one file costs in a tmpfs beside its content. */
#define PAGE 4096u

enum status
request_invalid(struct request_work *p, const char *member, const char *rule)
{
	return fault_set(
	    p->f, ST_SANDBOX_INVALID_REQUEST, "%s %s", member, rule);
}

enum status
request_wrong_type(struct request_work *p, const char *member, const char *type)
{
	return fault_set(
	    p->f, ST_REQUEST_MALFORMED, "%s must be %s", member, type);
}

enum status
request_source(struct request_work *p, const struct cJSON *v)
{
	enum status st;

	if (!json_is_string(v))
		return request_wrong_type(p, json_name(v), "a string");
	st = json_bytes(&p->job->source, &p->job->source_len, v);
	if (st != ST_OK)
		return st;
	if (p->job->source_len > LIMITS_SOURCE)
		return request_invalid(
		    p, json_name(v), "is over 1 MiB (1048576 bytes)");
	return ST_OK;
}

static enum status
read_runtime(struct request_work *p, const struct cJSON *v)
{
	struct buf names;
	const char *name = json_string(v);

	if (!json_is_string(v))
		return request_wrong_type(p, "runtime", "a string");
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
read_stdin(struct request_work *p, const struct cJSON *v)
{
	enum status st;

	if (!json_is_string(v))
		return request_wrong_type(p, "stdin", "a string");
	st = json_bytes(&p->job->stdin_data, &p->job->stdin_len, v);
	if (st != ST_OK)
		return st;
	if (p->job->stdin_len > LIMITS_STDIN)
		return request_invalid(
		    p, "stdin", "is over 16 MiB (16777216 bytes)");
	return ST_OK;
}

/* Ranges depend on the runtime, which may stand behind them in the body. */
static enum status
keep_limits(struct request_work *p, const struct cJSON *v)
{
	if (!json_is_object(v))
		return request_wrong_type(p, "limits", "an object");
	p->limits = v;
	return ST_OK;
}

static enum status finish_native(
    struct request_work *p, const struct site_tier **tier);

static const struct request_member members[] = {
	{ "source", true,
	    "{\"type\":\"string\",\"description\":\"The program; at most 1 "
	    "MiB\"}",
	    request_source },
	{ "runtime", true,
	    "{\"type\":\"string\",\"description\":\"What runs it\"}",
	    read_runtime },
	{ "stdin", false,
	    "{\"type\":\"string\",\"default\":\"\",\"description\":\"Given "
	    "to the program; at most 16 MiB\"}",
	    read_stdin },
	{ "files", false,
	    "{\"type\":\"object\",\"maxProperties\":256,"
	    "\"additionalProperties\":{\"oneOf\":[{\"type\":\"string\"},"
	    "{\"type\":\"object\",\"required\":[\"base64\"],"
	    "\"properties\":{\"base64\":{\"type\":\"string\"}},"
	    "\"additionalProperties\":false}]},\"description\":\"Further "
	    "files by relative path; at most 16 MiB in all\"}",
	    request_files_read },
	{ "args", false,
	    "{\"type\":\"array\",\"maxItems\":64,\"items\":{\"type\":"
	    "\"string\"},\"description\":\"What follows the entry file in "
	    "argv; at most 32 KiB in all\"}",
	    request_words_args },
	{ "env", false,
	    "{\"type\":\"object\",\"maxProperties\":64,\"propertyNames\":"
	    "{\"pattern\":\"^[A-Za-z_][A-Za-z0-9_]*$\"},"
	    "\"additionalProperties\":{\"type\":\"string\"},"
	    "\"description\":\"Added to the environment; at most 32 KiB in "
	    "all\"}",
	    request_words_env },
	{ "limits", false,
	    "{\"type\":\"object\",\"description\":\"What the run may take; "
	    "they make the price\"}",
	    keep_limits },
	{ "outputs", false,
	    "{\"type\":\"array\",\"maxItems\":64,\"items\":{\"type\":"
	    "\"string\"},\"description\":\"Paths and globs of files to hand "
	    "back\"}",
	    request_outputs_read },
	{ "evaluate", false,
	    "{\"type\":\"boolean\",\"default\":false,\"description\":\"Also "
	    "hand back the value of the last expression\"}",
	    request_outputs_evaluate },
};

const struct request_form request_native = {
	.members = members,
	.n_members = sizeof(members) / sizeof(members[0]),
	.strict = true,
	.finish = finish_native,
};

void
request_ranges(struct request_range out[REQUEST_LIMITS], const struct site *s,
    const struct conf_runtime *rt)
{
	const struct request_range all[REQUEST_LIMITS] = {
		{ "timeoutMs", 100, 10000, s->max.timeout_ms },
		{ "maxMemoryBytes", 32u << 20, 256u << 20,
		    s->max.memory_bytes },
		{ "maxOutputBytes", 1024, 1u << 20, s->max.output_bytes },
		{ "workDirBytes", 1u << 20, 64u << 20, s->max.work_bytes },
	};

	memcpy(out, all, sizeof(all));
	if (rt != NULL && rt->min_memory_bytes > out[1].min)
		out[1].min = rt->min_memory_bytes;
	/* An offer smaller than the usual default bounds the default too. */
	for (size_t i = 0; i < REQUEST_LIMITS; i++)
		if (out[i].def > out[i].max)
			out[i].def = out[i].max;
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

static enum status
read_members(struct request_work *p, const struct cJSON *root)
{
	const struct request_form *form = p->form;

	for (const struct cJSON *m = json_first(root); m != NULL;
	     m = json_next(m)) {
		const char *name = json_name(m);
		size_t i = 0;
		enum status st;

		while (i < form->n_members &&
		       strcmp(form->members[i].name, name) != 0)
			i++;
		if (i == form->n_members && !form->strict)
			continue;
		if (i == form->n_members)
			return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
			    "unknown member \"%.60s\"",
			    utf8_valid(name, strlen(name)) ? name : "?");
		st = form->members[i].read(p, m);
		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; !p->quote && i < form->n_members; i++)
		if (form->members[i].required &&
		    json_get(root, form->members[i].name) == NULL)
			return fault_set(p->f, ST_REQUEST_MALFORMED,
			    "%s is missing", form->members[i].name);
	return ST_OK;
}

/* Which file the source becomes, and that nothing else takes its name. */
enum status
request_entry(struct request_work *p)
{
	struct job *j = p->job;

	j->entry = j->runtime->entry;
	if (j->runtime->entry_module != NULL && j->source != NULL &&
	    esm_is_module(j->source, j->source_len))
		j->entry = j->runtime->entry_module;
	for (size_t i = 0; i < j->n_files; i++) {
		const char *path = j->files[i].path;
		size_t n = strlen(j->entry);

		if (strncmp(path, j->entry, n) == 0 &&
		    (path[n] == '\0' || path[n] == '/'))
			return fault_set(p->f, ST_RUNTIME_RESERVED_FILE_PATH,
			    "files: \"%s\" is the entry file that source is "
			    "written to",
			    j->entry);
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
finish_native(struct request_work *p, const struct site_tier **tier)
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

enum status
request_read(struct job *out, const struct site_tier **tier,
    const struct request_form *form, const struct site *s, const char *body,
    size_t len, bool quote, struct fault *f)
{
	struct request_work p = {
		.job = out, .form = form, .site = s, .quote = quote, .f = f
	};
	struct cJSON *root = NULL;
	enum status st;

	memset(out, 0, sizeof(*out));
	*tier = NULL;
	if (quote && len == 0) {
		body = "{}";
		len = 2;
	}
	st = json_parse(&root, body, len, &caps, f);
	if (st == ST_FORMAT && f != NULL)
		f->st = ST_REQUEST_MALFORMED;
	if (st != ST_OK)
		return st == ST_FORMAT ? ST_REQUEST_MALFORMED : st;
	if (json_is_object(root))
		st = read_members(&p, root);
	else
		st = request_wrong_type(&p, "the body", "a JSON object");
	if (st == ST_OK)
		st = form->finish(&p, tier);
	json_free(root);
	if (st != ST_OK) {
		job_free(out);
		memset(out, 0, sizeof(*out));
		*tier = NULL;
	}
	return st;
}

const struct site_tier *
request_price(const struct request_form *form, const struct site *s,
    const char *body, size_t len)
{
	const struct site_tier *tier = NULL;
	struct job j;

	/* A body that would be refused once paid is priced as far as its
	 * limits go: a probe without source still sees its own price. */
	if (form->flat == NULL &&
	    request_read(&j, &tier, form, s, body, len, true, NULL) == ST_OK) {
		job_free(&j);
		return tier;
	}
	return request_base(form, s);
}

const struct site_tier *
request_base(const struct request_form *form, const struct site *s)
{
	return form->flat == NULL ? &s->tiers[0] : site_flat(s, form->flat);
}
