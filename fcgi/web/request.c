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

static enum status
read_source(struct request_work *p, const struct cJSON *v)
{
	enum status st;

	if (!json_is_string(v))
		return request_wrong_type(p, "source", "a string");
	st = json_bytes(&p->job->source, &p->job->source_len, v);
	if (st != ST_OK)
		return st;
	if (p->job->source_len > LIMITS_SOURCE)
		return request_invalid(
		    p, "source", "is over 1 MiB (1048576 bytes)");
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

static enum status
read_args(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;
	size_t n = json_count(v);
	size_t total = 0;

	if (!json_is_array(v))
		return request_wrong_type(p, "args", "an array of strings");
	if (n > LIMITS_ARGS)
		return request_invalid(
		    p, "args", "holds more than 64 arguments");
	j->args = calloc(n + 1, sizeof(j->args[0]));
	if (j->args == NULL)
		return ST_NOMEM;
	for (const struct cJSON *m = json_first(v); m != NULL;
	     m = json_next(m)) {
		const char *s = json_string(m);

		if (!json_is_string(m))
			return request_wrong_type(
			    p, "args", "an array of strings");
		if (s == NULL)
			return request_invalid(
			    p, "args", "holds a NUL, which no argument can");
		total += strlen(s) + 1;
		j->args[j->n_args] = strdup(s);
		if (j->args[j->n_args] == NULL)
			return ST_NOMEM;
		j->n_args++;
	}
	if (total > LIMITS_ARGS_BYTES)
		return request_invalid(p, "args", "are over 32 KiB in all");
	return ST_OK;
}

static bool
env_name_ok(const char *name)
{
	if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
		return false;
	return strspn(name,
		   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		   "0123456789_") == strlen(name);
}

static bool
pattern_hit(const char *pattern, const char *name)
{
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return strncmp(pattern, name, n - 1) == 0;
	return strcmp(pattern, name) == 0;
}

/* The start-up variables of the loader and of every runtime: a program may
 * start another interpreter, so all runtimes' lists hold for each. */
static bool
env_refused(const struct conf *c, const char *name)
{
	if (pattern_hit("LD_*", name) || pattern_hit("GCONV_PATH", name) ||
	    pattern_hit("GLIBC_TUNABLES", name))
		return true;
	for (size_t i = 0; i < c->n_runtimes; i++) {
		char **list = c->runtimes[i].env_refused;

		for (size_t k = 0; list != NULL && list[k] != NULL; k++)
			if (pattern_hit(list[k], name))
				return true;
	}
	return false;
}

static enum status
read_env(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;
	size_t n = json_count(v);
	size_t total = 0;

	if (!json_is_object(v))
		return request_wrong_type(p, "env", "an object of strings");
	if (n > LIMITS_ENV)
		return request_invalid(
		    p, "env", "holds more than 64 variables");
	j->env = calloc(n + 1, sizeof(j->env[0]));
	if (j->env == NULL)
		return ST_NOMEM;
	for (const struct cJSON *m = json_first(v); m != NULL;
	     m = json_next(m)) {
		const char *name = json_name(m);
		const char *s = json_string(m);

		if (!env_name_ok(name))
			return request_invalid(p, "env",
			    "holds a name that is not [A-Za-z_][A-Za-z0-9_]*");
		if (!json_is_string(m))
			return fault_set(p->f, ST_REQUEST_MALFORMED,
			    "env: %.100s must be a string", name);
		if (s == NULL)
			return request_invalid(
			    p, "env", "holds a NUL, which no variable can");
		if (env_refused(p->site->base, name))
			return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
			    "env: %.100s is a start-up variable of the loader "
			    "or an interpreter and cannot be set",
			    name);
		total += strlen(name) + strlen(s) + 2;
		if (asprintf(&j->env[j->n_env], "%s=%s", name, s) < 0) {
			j->env[j->n_env] = NULL;
			return ST_NOMEM;
		}
		j->n_env++;
	}
	if (total > LIMITS_ENV_BYTES)
		return request_invalid(p, "env", "is over 32 KiB in all");
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

static const struct member {
	const char *name;
	enum status (*read)(struct request_work *p, const struct cJSON *v);
} members[] = {
	{ "source", read_source },
	{ "runtime", read_runtime },
	{ "stdin", read_stdin },
	{ "files", request_files_read },
	{ "args", read_args },
	{ "env", read_env },
	{ "limits", keep_limits },
	{ "outputs", request_outputs_read },
	{ "evaluate", request_outputs_evaluate },
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
	const size_t n = sizeof(members) / sizeof(members[0]);

	for (const struct cJSON *m = json_first(root); m != NULL;
	     m = json_next(m)) {
		const char *name = json_name(m);
		size_t i = 0;
		enum status st;

		while (i < n && strcmp(members[i].name, name) != 0)
			i++;
		if (i == n)
			return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
			    "unknown member \"%.60s\"",
			    utf8_valid(name, strlen(name)) ? name : "?");
		st = members[i].read(p, m);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

/* Which file the source becomes, and that nothing else takes its name. */
static enum status
choose_entry(struct request_work *p)
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
parse_tree(struct request_work *p, const struct site_tier **tier,
    const struct cJSON *root, bool quote)
{
	enum status st;

	if (!json_is_object(root))
		return request_wrong_type(p, "the body", "a JSON object");
	st = read_members(p, root);
	if (st != ST_OK)
		return st;
	if (!quote && p->job->source == NULL)
		return request_wrong_type(
		    p, "source is missing: it", "a string");
	if (!quote && p->job->runtime == NULL)
		return request_wrong_type(
		    p, "runtime is missing: it", "a string");
	st = read_limits(p);
	if (st != ST_OK)
		return st;
	if (p->job->runtime != NULL) {
		st = choose_entry(p);
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
request_parse(struct job *out, const struct site_tier **tier,
    const struct site *s, const char *body, size_t len, bool quote,
    struct fault *f)
{
	struct request_work p = { .job = out, .site = s, .f = f };
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
	st = parse_tree(&p, tier, root, quote);
	json_free(root);
	if (st != ST_OK) {
		job_free(out);
		memset(out, 0, sizeof(*out));
		*tier = NULL;
	}
	return st;
}

const struct site_tier *
request_price(const struct site *s, const char *body, size_t len)
{
	const struct site_tier *tier = NULL;
	struct job j;

	/* A body that would be refused once paid is priced as far as its
	 * limits go: a probe without source still sees its own price. */
	if (request_parse(&j, &tier, s, body, len, true, NULL) == ST_OK) {
		job_free(&j);
		return tier;
	}
	return &s->tiers[0];
}
