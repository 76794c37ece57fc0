#include "web/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "web/esm.h"
#include "web/request_work.h"

/* More than any valid request holds: 256 files of an object each, 64 args, 64
 * env and a dozen more. Keeps a hostile body from growing a huge tree. */
static const struct json_caps caps = { .depth = 8, .values = 2048 };

enum status
request_invalid(struct request_work *p, const char *member, const char *rule)
{
	return fault_set(
	    p->f, ST_SANDBOX_INVALID_REQUEST, "%s %s", member, rule);
}

enum status
request_source(struct request_work *p, const struct cJSON *v)
{
	return json_bytes(&p->job->source, &p->job->source_len, v);
}

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
		st = member_check(&form->members[i], m, p->f);
		if (st == ST_OK)
			st = form->members[i].take(p, m);
		if (st != ST_OK)
			return st;
	}
	for (size_t i = 0; !p->quote && i < form->n_members; i++)
		if (form->members[i].required &&
		    json_get(root, form->members[i].name) == NULL)
			return fault_set(p->f, ST_REQUEST_MALFORMED,
			    "%s is missing: it must be %s",
			    form->members[i].name,
			    member_type_words(&form->members[i]));
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
		st = fault_set(
		    f, ST_REQUEST_MALFORMED, "the body must be a JSON object");
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
