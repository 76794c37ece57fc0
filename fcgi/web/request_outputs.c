/* The members `outputs` and `evaluate` of a request (api.md section 2). */
#include "web/request_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/wire.h"

enum status
request_outputs_read(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;
	size_t n = json_count(v);

	if (!json_is_array(v))
		return request_wrong_type(p, "outputs", "an array of strings");
	if (n > LIMITS_OUTPUTS)
		return request_invalid(
		    p, "outputs", "holds more than 64 paths");
	j->outputs = calloc(n + 1, sizeof(j->outputs[0]));
	if (j->outputs == NULL)
		return ST_NOMEM;
	j->wants_outputs = true;
	for (const struct cJSON *m = json_first(v); m != NULL;
	     m = json_next(m)) {
		const char *s = json_string(m);

		if (!json_is_string(m))
			return request_wrong_type(
			    p, "outputs", "an array of strings");
		/* A NUL makes it none. */
		if (s == NULL || !wire_path_ok(s, strlen(s)))
			return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
			    "outputs: \"%.120s\" is no relative path or glob "
			    "without \".\", \"..\" and empty parts, of at most "
			    "16 parts of at most 255 bytes",
			    s == NULL ? "" : s);
		j->outputs[j->n_outputs] = strdup(s);
		if (j->outputs[j->n_outputs] == NULL)
			return ST_NOMEM;
		j->n_outputs++;
	}
	return ST_OK;
}

enum status
request_outputs_evaluate(struct request_work *p, const struct cJSON *v)
{
	if (!json_is_bool(v))
		return request_wrong_type(p, "evaluate", "true or false");
	p->job->evaluate = json_is_true(v);
	return ST_OK;
}

enum status
request_outputs_check(struct request_work *p)
{
	const struct job *j = p->job;

	if (!j->evaluate || job_offers(j->runtime, "evaluate"))
		return ST_OK;
	return fault_set(p->f, ST_SANDBOX_INVALID_REQUEST,
	    "evaluate is not offered for runtime \"%s\"", j->runtime->name);
}
