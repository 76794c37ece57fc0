/*
 * What a facilitator's answer means: (call, status, content type, body) to a
 * verdict. Pure, and total over hostile input; what is odd in any way is no
 * verdict. Also home of facilitator_answer_free().
 */
#ifndef FACILITATOR_ANSWER_H
#define FACILITATOR_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "pay/facilitator.h"

struct cJSON;

/* A whole HTTP answer. Borrowed. */
struct facilitator_reply {
	long http;
	const char *type; /* Content-Type, or NULL if there is none */
	const char *body;
	size_t len;
};

#define FACILITATOR_NOTE 512

/* Zero *out and make its transaction "": what can fail of an answer is done
 * before anything is sent. ST_OK or ST_NOMEM. */
enum status facilitator_answer_init(struct facilitator_answer *out)
    __attribute__((warn_unused_result));

/* Fill *out, which was inited, by the rules of facilitator.h. Without memory
 * the verdict is FACILITATOR_UNKNOWN. */
void facilitator_answer_read(struct facilitator_answer *out,
    enum facilitator_call call, const struct facilitator_reply *r);

/* Set the verdict with a reason of our own. */
void facilitator_answer_set(struct facilitator_answer *out,
    enum facilitator_verdict v, const char *reason);

/* Was a transaction sent whose fate the facilitator does not know yet? The one
 * case in which it is asked again. */
bool facilitator_answer_pending(const struct facilitator_answer *a);

/* As facilitator_reason_spent(). */
bool facilitator_answer_spent(const char *reason);

/* What the body says beside the verdict (messages, correlation id), for the
 * log; "" if nothing. */
void facilitator_answer_note(
    char out[FACILITATOR_NOTE], const struct facilitator_reply *r);

/* The body as a JSON object, the caller's to json_free(); NULL if it is none or
 * its type says that it is something else. */
struct cJSON *facilitator_answer_object(const struct facilitator_reply *r);

#endif
