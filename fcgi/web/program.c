#include "web/program.h"

#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "box/extras.h"
#include "web/member_schema.h"
#include "web/result.h"

#define NAMES 5

/* The canonical name first. */
static const struct {
	const char *runtime;
	const char *names[NAMES];
	const char *example; /* prints 42 and ends on its value */
} languages[] = {
	{ "python3", { "python", "python3", "py" }, "print(6 * 7)\n6 * 7" },
	{ "node", { "javascript", "js", "node", "nodejs" },
	    "console.log(6 * 7);\n6 * 7" },
	{ "bash", { "bash", "sh" }, "echo $((6 * 7))" },
	{ "r", { "r", "R" }, "cat(6 * 7, fill = TRUE)" },
};
#define LANGUAGES (sizeof(languages) / sizeof(languages[0]))

/* The row that text names, or LANGUAGES. */
static size_t
row_of(const char *text)
{
	for (size_t i = 0; i < LANGUAGES; i++)
		for (size_t k = 0; k < NAMES; k++)
			if (languages[i].names[k] != NULL &&
			    strcmp(languages[i].names[k], text) == 0)
				return i;
	return LANGUAGES;
}

/* The runtime of a canonical name, where the site offers it. */
static const struct conf_runtime *
runtime_of(const struct site *s, const char *name)
{
	size_t i = row_of(name);

	return i < LANGUAGES ? site_runtime(s, languages[i].runtime) : NULL;
}

static enum status
unsupported(
    struct request_work *p, const char *text, const char *const *offered)
{
	OWN_BUF struct buf names;

	buf_init(&names, 256);
	for (; *offered != NULL; offered++)
		if (runtime_of(p->site, *offered) != NULL)
			buf_addf(&names, "%s%s", names.len > 0 ? ", " : "",
			    *offered);
	return fault_set(p->f, ST_RUNTIME_UNSUPPORTED,
	    "language \"%.40s\" is not offered here; offered: %s", text,
	    buf_cstr(&names));
}

enum status
program_language(
    struct request_work *p, const struct cJSON *v, const char *const *offered)
{
	const char *text = json_string(v);
	size_t i = text == NULL ? LANGUAGES : row_of(text);

	for (const char *const *o = offered; *o != NULL; o++)
		if (i == row_of(*o))
			p->job->runtime = runtime_of(p->site, *o);
	if (p->job->runtime != NULL)
		return ST_OK;
	return unsupported(p, text == NULL ? "" : text, offered);
}

void
program_put_words(
    struct buf *out, const struct site *s, const char *const *offered)
{
	for (; *offered != NULL; offered++) {
		const char *const *names = languages[row_of(*offered)].names;

		if (runtime_of(s, *offered) == NULL)
			continue;
		for (size_t k = 0; k < NAMES && names[k] != NULL; k++) {
			json_sep(out);
			json_put_string(out, names[k]);
		}
	}
}

void
program_put_rule(
    struct buf *out, const struct site *s, const char *const *offered)
{
	if (runtime_of(s, offered[0]) == NULL)
		member_schema_json(out, ",'allOf':[{'required':['language']}]");
}

void
program_put_example(
    struct buf *out, const struct site *s, const char *const *offered)
{
	const char *const *o = offered;
	size_t i;

	while (o[1] != NULL && runtime_of(s, *o) == NULL)
		o++;
	i = row_of(*o);
	buf_addc(out, '{');
	json_key(out, "code");
	json_put_string(out, languages[i].example);
	json_key(out, "language");
	json_put_string(out, languages[i].names[0]);
	buf_addc(out, '}');
}

const char *
program_name(const struct conf_runtime *rt)
{
	for (size_t i = 0; i < LANGUAGES; i++)
		if (strcmp(languages[i].runtime, rt->name) == 0)
			return languages[i].names[0];
	return rt->name;
}

enum status
program_finish(struct request_work *p, const struct site_tier **tier,
    const char *const *offered)
{
	const struct site_tier *flat = site_flat(p->site, p->form->flat);
	struct job *j = p->job;
	uint64_t timeout_ms = j->limits.timeout_ms;

	if (flat == NULL)
		return fault_set(p->f, ST_REQUEST_NOT_FOUND,
		    "this route is not offered at this site");
	if (j->runtime == NULL)
		j->runtime = runtime_of(p->site, offered[0]);
	if (j->runtime == NULL)
		return unsupported(p, offered[0], offered);
	j->limits = flat->limits;
	if (timeout_ms > 0)
		j->limits.timeout_ms = timeout_ms;
	if (j->runtime->min_memory_bytes > j->limits.memory_bytes)
		return fault_set(p->f, ST_RUNTIME_LIMIT_OUT_OF_RANGE,
		    "language needs %llu bytes of memory, and this route gives "
		    "%llu",
		    (unsigned long long)j->runtime->min_memory_bytes,
		    (unsigned long long)j->limits.memory_bytes);
	*tier = flat;
	return request_entry(p);
}

int
program_exit_code(const struct wire_result *e)
{
	enum status st = (enum status)e->status;

	if (st == ST_SANDBOX_TIMEOUT)
		return 124;
	if (st == ST_EXECUTION_MEMORY_LIMIT_EXCEEDED ||
	    st == ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED)
		return 137;
	return e->exit_code >= 0 ? e->exit_code : 128 + e->signal;
}

/* The name of what was no exception. */
static const char *
plain_name(const struct wire_result *e)
{
	enum status st = (enum status)e->status;

	if (st == ST_SANDBOX_TIMEOUT)
		return "TimeoutError";
	if (st == ST_EXECUTION_MEMORY_LIMIT_EXCEEDED)
		return "MemoryLimitExceeded";
	if (st == ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED)
		return "OutputLimitExceeded";
	return e->signal > 0 ? "SignalError" : "ExitError";
}

static bool
by_limit(const struct wire_result *e)
{
	enum status st = (enum status)e->status;

	return st == ST_SANDBOX_TIMEOUT ||
	       st == ST_EXECUTION_MEMORY_LIMIT_EXCEEDED ||
	       st == ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED;
}

/* The next part of what was thrown, up to a NUL. */
static const char *
part(size_t *len, const char **at, const char *end)
{
	const char *begin = *at;
	const char *nul = memchr(begin, '\0', (size_t)(end - begin));

	*len = (size_t)((nul == NULL ? end : nul) - begin);
	*at = nul == NULL ? end : nul + 1;
	return begin;
}

void
program_error(
    struct program_error *out, const struct result *r, const struct extras *x)
{
	const char *at = x->text;

	memset(out, 0, sizeof(*out));
	out->thrown = x->value == EXTRAS_VALUE_THROWN && !by_limit(r->end);
	if (out->thrown) {
		const char *end = x->text + x->text_len;

		out->name = part(&out->name_len, &at, end);
		out->message = part(&out->message_len, &at, end);
		out->traceback = at;
		out->traceback_len = (size_t)(end - at);
		return;
	}
	out->name = plain_name(r->end);
	out->name_len = strlen(out->name);
	out->message = r->end->text;
	out->message_len = strlen(r->end->text);
	out->traceback = "";
}

void
program_extras(struct extras *out, const struct result *r)
{
	const struct buf *image = &r->extras->image;

	/* It was read once already; an empty one holds nothing. */
	if (extras_read(out, image->data, image->len, job_flags(r->job),
		r->job->limits.output_bytes) != ST_OK)
		memset(out, 0, sizeof(*out));
}

void
program_put_text(struct buf *out, const char *text, size_t len, bool cut)
{
	OWN_BUF struct buf mended;

	/* One bad byte becomes the three of U+FFFD. */
	buf_init(&mended, 3 * len);
	utf8_mend(&mended, text, len, cut);
	if (buf_status(&mended) != ST_OK)
		out->st = buf_status(&mended);
	json_put_bytes(out, buf_cstr(&mended), mended.len);
}

void
program_put_value(
    struct buf *out, const struct result *r, const struct extras *x)
{
	uint64_t most = r->job->limits.output_bytes;
	uint64_t printed = r->streams[0].len + r->streams[1].len;
	size_t room = printed < most ? (size_t)(most - printed) : 0;

	if (x->value != EXTRAS_VALUE_REPR && x->value != EXTRAS_VALUE_JSON)
		buf_adds(out, "null");
	else if (x->text_len > room)
		program_put_text(out, x->text, room, true);
	else
		program_put_text(out, x->text, x->text_len, false);
}
