/* The members `outputs` and `evaluate` of a request (api.md section 2). */
#include "web/request_work.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"

enum status
request_outputs_read(struct request_work *p, const struct cJSON *v)
{
	struct job *j = p->job;

	j->outputs = calloc(json_count(v) + 1, sizeof(j->outputs[0]));
	if (j->outputs == NULL)
		return ST_NOMEM;
	j->wants_outputs = true;
	for (v = json_first(v); v != NULL; v = json_next(v)) {
		j->outputs[j->n_outputs] = strdup(json_string(v));
		if (j->outputs[j->n_outputs] == NULL)
			return ST_NOMEM;
		j->n_outputs++;
	}
	return ST_OK;
}

enum status
request_outputs_evaluate(struct request_work *p, const struct cJSON *v)
{
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
