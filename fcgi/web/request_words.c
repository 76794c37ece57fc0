/* The members `args` and `env` of a request (api.md section 2). */
#include "web/request_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define NO_NUL "^[^\\x00]*$"
const struct member_form request_words_argument = { NO_NUL, NULL,
	"holds a NUL, which no argument can" };
const struct member_form request_words_value = { NO_NUL, NULL,
	"holds a NUL, which no variable can" };

#define NAME_BYTES                                                             \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static bool
variable_ok(const char *name)
{
	return name[0] != '\0' && (name[0] < '0' || name[0] > '9') &&
	       strspn(name, NAME_BYTES) == strlen(name);
}

const struct member_form request_words_variable = { "^[A-Za-z_][A-Za-z0-9_]*$",
	variable_ok, "is no name of the form [A-Za-z_][A-Za-z0-9_]*" };

enum status
request_words_args(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;
	size_t total = 0;

	j->args = calloc(json_count(v) + 1, sizeof(j->args[0]));
	if (j->args == NULL)
		return ST_NOMEM;
	for (v = json_first(v); v != NULL; v = json_next(v)) {
		total += json_length(v) + 1;
		j->args[j->n_args] = strdup(json_string(v));
		if (j->args[j->n_args] == NULL)
			return ST_NOMEM;
		j->n_args++;
	}
	if (total > LIMITS_ARGS_BYTES)
		return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
		    "args are over 32 KiB in all");
	return ST_OK;
}

/* Of the loader, whatever the runtime. */
static const char *const loader_refused[] = { "LD_*", "GCONV_PATH",
	"GLIBC_TUNABLES" };
#define N_LOADER (sizeof(loader_refused) / sizeof(loader_refused[0]))

/* The start-up variables of the loader and of every runtime: a program may
 * start another interpreter, so all runtimes' lists hold for each. Calls fn for
 * each pattern until it says true, and returns that. */
static bool
any_refused(
    const struct conf *c, bool (*fn)(void *ctx, const char *pattern), void *ctx)
{
	for (size_t i = 0; i < N_LOADER; i++)
		if (fn(ctx, loader_refused[i]))
			return true;
	for (size_t i = 0; i < c->n_runtimes; i++) {
		char **list = c->runtimes[i].env_refused;

		for (size_t k = 0; list != NULL && list[k] != NULL; k++)
			if (fn(ctx, list[k]))
				return true;
	}
	return false;
}

/* ctx: the name of a variable. */
static bool
hit(void *ctx, const char *pattern)
{
	const char *const *name = ctx;
	size_t n = strlen(pattern);

	if (n > 0 && pattern[n - 1] == '*')
		return strncmp(pattern, *name, n - 1) == 0;
	return strcmp(pattern, *name) == 0;
}

/* ctx: the regular expression so far. */
static bool
put_pattern(void *ctx, const char *pattern)
{
	struct buf *out = ctx;
	size_t n = strspn(pattern, NAME_BYTES);
	bool open = strcmp(pattern + n, "*") == 0;

	/* Any other hits no name that has the form. */
	if (pattern[n] == '\0' || open) {
		buf_adds(out, out->len > 0 ? "|" : "^(");
		buf_add(out, pattern, n);
		buf_adds(out, open ? ".*" : "");
	}
	return false;
}

void
request_words_put_refused(struct buf *out, const struct site *s)
{
	struct buf pattern;

	buf_init(&pattern, out->max);
	(void)any_refused(s->base, put_pattern, &pattern);
	buf_adds(&pattern, ")$");
	json_key(out, "patternProperties");
	buf_addc(out, '{');
	json_key(out, buf_cstr(&pattern));
	buf_adds(out, "false}");
	if (buf_status(&pattern) != ST_OK)
		out->st = buf_status(&pattern);
	buf_free(&pattern);
}

enum status
request_words_env(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;
	size_t total = 0;

	j->env = calloc(json_count(v) + 1, sizeof(j->env[0]));
	if (j->env == NULL)
		return ST_NOMEM;
	for (v = json_first(v); v != NULL; v = json_next(v)) {
		const char *name = json_name(v);

		if (any_refused(p->site->base, hit, &name))
			return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
			    "env: %.100s is a start-up variable of the loader "
			    "or an interpreter and cannot be set",
			    name);
		total += strlen(name) + json_length(v) + 2;
		if (asprintf(&j->env[j->n_env], "%s=%s", name, json_string(v)) <
		    0) {
			j->env[j->n_env] = NULL;
			return ST_NOMEM;
		}
		j->n_env++;
	}
	if (total > LIMITS_ENV_BYTES)
		return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
		    "env is over 32 KiB in all");
	return ST_OK;
}
