/* The members `args` and `env` of a request (api.md section 2). */
#include "web/request_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum status
request_words_args(struct request_work *p, const struct cJSON *v)
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

enum status
request_words_env(struct request_work *p, const struct cJSON *v)
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
