#include "pay/facilitator.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/facilitator_answer.h"
#include "pay/fetch.h"

struct facilitator {
	const struct conf_facilitator *conf;
	struct fetch *http;
	char who[16 + CONF_NAME]; /* in the log */
};

/* A header of the answer. */
#define EXTENSIONS "EXTENSION-RESPONSES"

#define OWN_REPLY __attribute__((cleanup(fetch_reply_free)))

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
	snprintf(f->who, sizeof(f->who), "facilitator %s", c->name);
	st = fetch_open(&f->http, &(struct fetch_server){ .who = f->who,
				      .url = c->url,
				      .ca_file = c->ca_file,
				      .header = c->auth_header });
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
	fetch_close(f->http);
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
borrow(const struct fetch_reply *got)
{
	return (struct facilitator_reply){ .http = got->http,
		.type = got->type[0] != '\0' ? got->type : NULL,
		.body = buf_cstr(&got->body),
		.len = got->body.len };
}

/* No whole answer came. Only its status can still say something. */
static void
judge_broken(struct facilitator_answer *out, enum facilitator_call call,
    const struct fetch_reply *got)
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

/* The only sign that a catalogue takes us or does not. */
static void
log_extensions(const struct facilitator *f, const struct fetch_reply *got)
{
	if (got->note[0] != '\0')
		log_info("%s: " EXTENSIONS ": %s", f->who, got->note);
}

static void
log_verdict(const struct facilitator *f, enum facilitator_call call,
    const struct facilitator_answer *a, const struct facilitator_reply *r)
{
	char note[FACILITATOR_NOTE];

	if (a->verdict == FACILITATOR_YES)
		return;
	facilitator_answer_note(note, r);
	log_warn("%s: %s: HTTP %ld, %s%s%s", f->who, call_path(call), a->http,
	    a->reason, note[0] != '\0' ? ", " : "", note);
}

/* One call. ST_NOMEM only where nothing was sent: a caller that takes it for
 * "nothing happened" is right. */
static enum status
call_once(struct facilitator *f, enum facilitator_call call, const char *body,
    size_t len, int64_t deadline_ms, struct facilitator_answer *out)
{
	struct fetch_request q = { .what = call_path(call),
		.path = call_path(call),
		.body = body,
		.len = len,
		.note = EXTENSIONS,
		.once = call == FACILITATOR_SETTLE,
		.deadline_ms = deadline_ms };
	OWN_REPLY struct fetch_reply got;
	enum status st = facilitator_answer_init(out);

	fetch_reply_init(&got, FACILITATOR_ANSWER_BYTES);
	if (st == ST_OK)
		st = fetch_ask(f->http, &q, &got);
	if (st == ST_OK) {
		struct facilitator_reply r = borrow(&got);

		facilitator_answer_read(out, call, &r);
		log_extensions(f, &got);
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
	struct fetch_request q = { .what = "/supported",
		.path = "/supported",
		.deadline_ms = io_now_ms() + (int64_t)f->conf->timeout_ms };
	OWN_REPLY struct fetch_reply got;
	struct facilitator_reply r;
	enum status st = ST_BUG;

	*offered = false;
	fetch_reply_init(&got, FACILITATOR_ANSWER_BYTES);
	if (fetch_ask(f->http, &q, &got) != ST_OK)
		return ST_UNKNOWN;
	r = borrow(&got);
	st = facilitator_answer_kinds(&r, version, scheme, network, offered);
	if (st != ST_OK)
		log_warn("%s: /supported: HTTP %ld, no list of kinds", f->who,
		    got.http);
	return st;
}
