/* A request being read: shared by request*.c and dialects only. */
#ifndef REQUEST_WORK_H
#define REQUEST_WORK_H

#include "base/status.h"
#include "box/job.h"
#include "web/request.h"
#include "web/site.h"

struct cJSON;

struct request_work {
	struct job *job;
	const struct request_form *form;
	const struct site *site;
	bool quote;		    /* required members may be missing */
	const struct cJSON *limits; /* read last: ranges need the runtime */
	struct fault *f;
};

/* "MEMBER RULE" as SANDBOX_INVALID_REQUEST, which it returns. */
enum status request_invalid(
    struct request_work *p, const char *member, const char *rule);

/* The take() of members, which have been checked (member.h). The program's
 * text, whatever its member is called: */
enum status request_source(struct request_work *p, const struct cJSON *v)
    __attribute__((warn_unused_result));
extern const struct member_form request_words_argument;
extern const struct member_form request_words_variable; /* its name */
extern const struct member_form request_words_value;
/* Keywords of the schema of `env`: the names that are refused. */
void request_words_put_refused(struct buf *out, const struct site *s);
enum status request_words_args(struct request_work *p, const struct cJSON *v)
    __attribute__((warn_unused_result));
enum status request_words_env(struct request_work *p, const struct cJSON *v)
    __attribute__((warn_unused_result));
enum status request_files_read(struct request_work *p, const struct cJSON *v)
    __attribute__((warn_unused_result));
enum status request_outputs_read(struct request_work *p, const struct cJSON *v)
    __attribute__((warn_unused_result));
enum status request_outputs_evaluate(struct request_work *p,
    const struct cJSON *v) __attribute__((warn_unused_result));
/* Once the runtime is known: which file the source becomes. */
enum status request_entry(struct request_work *p)
    __attribute__((warn_unused_result));
/* Once all is read: can the runtime do what is asked? */
enum status request_outputs_check(struct request_work *p)
    __attribute__((warn_unused_result));

#endif
