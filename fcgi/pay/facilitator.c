#include "pay/facilitator.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/facilitator_answer.h"
#include "pay/facilitator_http.h"

struct facilitator {
	const struct conf_facilitator *conf;
	struct facilitator_http *http;
};

#define OWN_REPLY __attribute__((cleanup(facilitator_http_reply_free)))

enum status
facilitator_open(struct facilitator **out, const struct conf_facilitator *c)
{
	struct facilitator *f = NULL;
	enum status st = ST_BUG;

	*out = NULL;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return ST_NOMEM;
	f->conf = c;
	st = facilitator_http_open(&f->http, c);
	if (st == ST_OK)
		*out = OWN_STEAL(f);
	facilitator_close(f);
	return st;
}

void
facilitator_close(struct facilitator *f)
{
	if (f == NULL)
		return;
	facilitator_http_close(f->http);
	free(f);
}

bool
facilitator_reason_spent(const char *reason)
{
	return facilitator_answer_spent(reason);
}

static const char *
call_path(enum facilitator_call call)
{
	switch (call) {
	case FACILITATOR_VERIFY:
		return "/verify";
	case FACILITATOR_SETTLE:
		break;
	}
	return "/settle";
}

static struct facilitator_reply
borrow(const struct facilitator_http_reply *got)
{
	return (struct facilitator_reply){ .http = got->http,
		.type = got->type[0] != '\0' ? got->type : NULL,
		.body = buf_cstr(&got->body),
		.len = got->body.len };
}

/* No whole answer came. Only its status can still say something. */
static void
judge_broken(struct facilitator_answer *out, enum facilitator_call call,
    const struct facilitator_http_reply *got)
{
	struct facilitator_reply r = { .http = got->http, .body = "" };

	if (!got->sent) {
		facilitator_answer_set(out, FACILITATOR_NOT_SENT,
		    "the facilitator could not be reached");
		return;
	}
	facilitator_answer_read(out, call, &r);
	if (out->verdict == FACILITATOR_UNKNOWN)
		facilitator_answer_set(out, FACILITATOR_UNKNOWN,
		    "the facilitator gave no whole answer");
}

static void
log_verdict(const struct facilitator *f, enum facilitator_call call,
    const struct facilitator_answer *a, const struct facilitator_reply *r)
{
	char note[FACILITATOR_NOTE];

	if (a->verdict == FACILITATOR_YES)
		return;
	facilitator_answer_note(note, r);
	log_warn("facilitator %s: %s: HTTP %ld, %s%s%s", f->conf->name,
	    call_path(call), a->http, a->reason, note[0] != '\0' ? ", " : "",
	    note);
}

/* One call. ST_NOMEM only where nothing was sent: a caller that takes it for
 * "nothing happened" is right. */
static enum status
call_once(struct facilitator *f, enum facilitator_call call, const char *body,
    size_t len, int64_t deadline_ms, struct facilitator_answer *out)
{
	struct facilitator_http_request q = { .path = call_path(call),
		.body = body,
		.len = len,
		.once = call == FACILITATOR_SETTLE,
		.deadline_ms = deadline_ms };
	OWN_REPLY struct facilitator_http_reply got;
	enum status st = facilitator_answer_init(out);

	facilitator_http_reply_init(&got);
	if (st == ST_OK)
		st = facilitator_http_ask(f->http, &q, &got);
	if (st == ST_OK) {
		struct facilitator_reply r = borrow(&got);

		facilitator_answer_read(out, call, &r);
		log_verdict(f, call, out, &r);
	} else if (st == ST_IO) {
		judge_broken(out, call, &got);
		st = ST_OK;
	}
	if (st != ST_OK)
		facilitator_answer_free(out);
	return st;
}

enum status
facilitator_verify(struct facilitator *f, const char *body, size_t len,
    struct facilitator_answer *out)
{
	return call_once(f, FACILITATOR_VERIFY, body, len,
	    io_now_ms() + (int64_t)f->conf->timeout_ms, out);
}

enum status
facilitator_settle(struct facilitator *f, const char *body, size_t len,
    struct facilitator_answer *out)
{
	int64_t deadline = io_now_ms() + (int64_t)f->conf->timeout_ms;
	struct facilitator_answer again = { 0 };
	enum status st =
	    call_once(f, FACILITATOR_SETTLE, body, len, deadline, out);

	if (st != ST_OK || !facilitator_answer_pending(out) ||
	    io_now_ms() >= deadline)
		return st;
	/* A transaction is under way. Of the repeat only a yes counts: a no
	 * may mean just that the first one went through, so the first answer
	 * (unknown, with its transaction) stands against all others. */
	if (call_once(f, FACILITATOR_SETTLE, body, len, deadline, &again) !=
	    ST_OK)
		return ST_OK;
	if (again.verdict == FACILITATOR_YES) {
		facilitator_answer_free(out);
		*out = again;
	} else {
		facilitator_answer_free(&again);
	}
	return ST_OK;
}

enum status
facilitator_supported(struct facilitator *f, int version, const char *scheme,
    const char *network, bool *offered)
{
	struct facilitator_http_request q = { .path = "/supported",
		.deadline_ms = io_now_ms() + (int64_t)f->conf->timeout_ms };
	OWN_REPLY struct facilitator_http_reply got;
	struct facilitator_reply r;
	enum status st = ST_BUG;

	*offered = false;
	facilitator_http_reply_init(&got);
	if (facilitator_http_ask(f->http, &q, &got) != ST_OK)
		return ST_UNKNOWN;
	r = borrow(&got);
	st = facilitator_answer_kinds(&r, version, scheme, network, offered);
	if (st != ST_OK)
		log_warn("facilitator %s: /supported: HTTP %ld, no list of "
			 "kinds",
		    f->conf->name, got.http);
	return st;
}
