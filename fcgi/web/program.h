/*
 * What the dialects of {code, language} share: reading the two, and how a run
 * ended in the words of interpreters.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "web/request_work.h"

struct extras;
struct result;
struct wire_result;

/* The member `language` of a dialect that offers these (canonical names, NULL
 * behind the last): one of them, its runtime's own name, or a usual alias. Sets
 * p->job->runtime. ST_OK; ST_RUNTIME_UNSUPPORTED. */
enum status program_language(struct request_work *p, const struct cJSON *v,
    const char *const *offered) __attribute__((warn_unused_result));

/* For the documents: the values of that member at site s; what is required
 * where the first of offered, which is taken when it is missing, is not to be
 * had; and a body that the site takes. */
void program_put_words(
    struct buf *out, const struct site *s, const char *const *offered);
void program_put_rule(
    struct buf *out, const struct site *s, const char *const *offered);
void program_put_example(
    struct buf *out, const struct site *s, const char *const *offered);

/* The canonical name of a runtime; its own, if it has no other. */
const char *program_name(const struct conf_runtime *rt);

/* Once all is read: the first of offered where no language was asked for, the
 * entry file, the flat price and its limits, of which a time that a member has
 * set stays. ST_OK, ST_RUNTIME_UNSUPPORTED, ST_RUNTIME_LIMIT_OUT_OF_RANGE (the
 * runtime needs more memory), ST_REQUEST_NOT_FOUND (not offered here). */
enum status program_finish(struct request_work *p,
    const struct site_tier **tier, const char *const *offered)
    __attribute__((warn_unused_result));

/* Always a number: 124 for time, 137 for memory or output, 128 + N for a
 * signal, else the program's own. */
int program_exit_code(const struct wire_result *e);

/* What ended a program that did not complete. Text is borrowed from the result
 * and its extras; bytes that may be no UTF-8. */
struct program_error {
	const char *name;
	size_t name_len;
	const char *message;
	size_t message_len;
	const char *traceback; /* "": there is none */
	size_t traceback_len;
	bool thrown; /* by the program; else a limit, a signal, an exit code */
};

/* x: the extras of r. Only for a run that did not complete. */
void program_error(
    struct program_error *out, const struct result *r, const struct extras *x);

/* The extras of a dialect with own_extras; empty where nothing came back.
 * Points into r. */
void program_extras(struct extras *out, const struct result *r);

/* Append len bytes as a JSON string: mended to UTF-8; cut: a limit cut them. */
void program_put_text(struct buf *out, const char *text, size_t len, bool cut);

/* Append the value of the last expression as a JSON string, as far as the
 * output limit has room behind what was printed; else null. */
void program_put_value(
    struct buf *out, const struct result *r, const struct extras *x);

#endif
