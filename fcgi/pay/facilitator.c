#include "pay/facilitator.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/breaker.h"
#include "pay/cdp.h"
#include "pay/facilitator_answer.h"
#include "pay/facilitator_kinds.h"
#include "pay/facilitator_state.h"
#include "pay/fetch.h"

#define SUPPORTED_MS 10000 /* the longest wait for a list */

struct facilitator {
	const struct conf_facilitator *conf;
	struct fetch *http;
	struct cdp *cdp;	  /* signs a token for each call; or NULL */
	char who[16 + CONF_NAME]; /* in the log */
	struct facilitator_kinds *kinds;

	_Atomic uint64_t calls[FACILITATOR_CALL_MAX][FACILITATOR_VERDICT_MAX];
	struct facilitator_state state;
	bool watched;
	pthread_t watcher;
};

/* A header of the answer. */
#define EXTENSIONS "EXTENSION-RESPONSES"

#define OWN_REPLY __attribute__((cleanup(fetch_reply_free)))

static enum status
put_token(struct buf *out, void *ctx, const char *method, const char *place)
{
	return cdp_token(out, ctx, method, place, (uint64_t)time(NULL));
}

/* The settings hold the key's file as base64. */
static enum status
open_key(struct facilitator *f)
{
	struct fault why = { .st = ST_OK };
	struct buf text;
	enum status st;

	buf_init(&text, CDP_KEY_BYTES);
	st = hex_unbase64(&text, f->conf->cdp_key, strlen(f->conf->cdp_key));
	if (st == ST_OK)
		st = cdp_open(&f->cdp, buf_cstr(&text), text.len, &why);
	if (text.data != NULL)
		explicit_bzero(text.data, text.cap);
	buf_free(&text);
	if (st == ST_FORMAT)
		log_err("%s: cdp_key_file: %s", f->who, why.message);
	return st;
}

static enum status
open_http(struct facilitator *f)
{
	struct fetch_server s = { .who = f->who,
		.url = f->conf->url,
		.ca_file = f->conf->ca_file,
		.header = f->conf->auth_header,
		.proxy = f->conf->proxy };
	enum status st = ST_OK;

	if (f->conf->cdp_key != NULL) {
		st = open_key(f);
		s.token = put_token;
		s.token_ctx = f->cdp;
	}
	return st == ST_OK ? fetch_open(&f->http, &s) : st;
}

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
	st = facilitator_state_init(&f->state);
	if (st != ST_OK) {
		free(f);
		return st;
	}
	st = facilitator_kinds_open(&f->kinds);
	if (st == ST_OK)
		st = open_http(f);
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
	if (f->watched) {
		facilitator_state_stop(&f->state);
		pthread_join(f->watcher, NULL);
	}
	fetch_close(f->http);
	cdp_close(f->cdp);
	facilitator_kinds_close(f->kinds);
	facilitator_state_free(&f->state);
	free(f);
}

const struct conf_facilitator *
facilitator_conf(const struct facilitator *f)
{
	return f->conf;
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
	case FACILITATOR_CALL_MAX:
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

/* What an answer tells about the facilitator. A refusal is service; a request
 * that is too large for it says nothing about others. Nor does a verify that it
 * fails at: the payment is not proven then, and anybody can write one that it
 * chokes on. */
static enum breaker_news
news_of(enum facilitator_call call, const struct facilitator_answer *a)
{
	switch (a->verdict) {
	case FACILITATOR_YES:
	case FACILITATOR_NO:
		return BREAKER_GOOD;
	case FACILITATOR_NOT_SENT:
		return BREAKER_BAD;
	case FACILITATOR_NO_SERVICE:
		return a->http == 413 ? BREAKER_NONE : BREAKER_BAD;
	case FACILITATOR_UNKNOWN:
		if (call == FACILITATOR_VERIFY)
			return BREAKER_NONE;
		return a->http == 0 || a->http >= 500 ? BREAKER_BAD
						      : BREAKER_NONE;
	case FACILITATOR_VERDICT_MAX:
		break;
	}
	return BREAKER_NONE;
}

static void
log_turn(const struct facilitator *f, enum facilitator_state_turn turn,
    const char *reason)
{
	switch (turn) {
	case FACILITATOR_STATE_DOWN:
		log_err("%s: is down (%s); payments are refused at once until "
			"its /supported answers",
		    f->who, reason);
		break;
	case FACILITATOR_STATE_BACK:
		log_warn("%s: is back", f->who);
		break;
	case FACILITATOR_STATE_SAME:
		break;
	}
}

/* One call that is not kept back. ST_NOMEM only where nothing was sent: a
 * caller that takes it for "nothing happened" is right. */
static enum status
ask_once(struct facilitator *f, enum facilitator_call call, const char *body,
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
	enum status st;

	fetch_reply_init(&got, FACILITATOR_ANSWER_BYTES);
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
	if (st == ST_OK)
		log_turn(f,
		    facilitator_state_call(&f->state, news_of(call, out)),
		    out->reason);
	return st;
}

/* One call, as above. */
static enum status
call_once(struct facilitator *f, enum facilitator_call call, const char *body,
    size_t len, int64_t deadline_ms, struct facilitator_answer *out)
{
	enum status st = facilitator_answer_init(out);

	if (st == ST_OK && facilitator_down(f))
		facilitator_answer_set(
		    out, FACILITATOR_NOT_SENT, "the facilitator is down");
	else if (st == ST_OK)
		st = ask_once(f, call, body, len, deadline_ms, out);
	if (st == ST_OK)
		atomic_fetch_add(&f->calls[call][out->verdict], 1);
	else
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

/* ---- what it offers ---- */

bool
facilitator_known(struct facilitator *f)
{
	return facilitator_kinds_known(f->kinds);
}

bool
facilitator_offers(struct facilitator *f, int version, const char *scheme,
    const char *network, const char **extra)
{
	return facilitator_kinds_offer(
	    f->kinds, version, scheme, network, extra);
}

const char *
facilitator_extra(struct facilitator *f, int version, const char *scheme,
    const char *network, size_t i)
{
	return facilitator_kinds_extra(f->kinds, version, scheme, network, i);
}

uint64_t
facilitator_calls(const struct facilitator *f, enum facilitator_call call,
    enum facilitator_verdict verdict)
{
	return atomic_load(&f->calls[call][verdict]);
}

bool
facilitator_down(struct facilitator *f)
{
	return facilitator_state_down(&f->state);
}

enum status
facilitator_learn(struct facilitator *f, const char *body, size_t len)
{
	struct facilitator_reply r = { .http = 200, .body = body, .len = len };

	return facilitator_kinds_take(f->kinds, &r);
}

static enum status
ask_list(struct facilitator *f, struct fault *why)
{
	uint64_t most = f->conf->timeout_ms < SUPPORTED_MS ? f->conf->timeout_ms
							   : SUPPORTED_MS;
	struct fetch_request q = { .what = "/supported",
		.path = "/supported",
		.stop = &f->state.stop,
		.quiet = true,
		.deadline_ms = io_now_ms() + (int64_t)most };
	OWN_REPLY struct fetch_reply got;
	struct facilitator_reply r;

	fetch_reply_init(&got, FACILITATOR_ANSWER_BYTES);
	if (fetch_ask(f->http, &q, &got) != ST_OK)
		return fault_set(why, ST_UNKNOWN, "%s", got.why);
	r = borrow(&got);
	if (facilitator_kinds_take(f->kinds, &r) == ST_OK)
		return ST_OK;
	if (got.http >= 200 && got.http <= 299)
		return fault_set(why, ST_UNKNOWN,
		    "its /supported holds no list of kinds: is %s an x402 "
		    "facilitator's base URL?",
		    f->conf->url);
	return fault_set(why, ST_UNKNOWN, "its /supported answers HTTP %ld%s",
	    got.http,
	    got.http == 401 || got.http == 403
		? ": it wants a key, or another one"
		: "");
}

static enum status
look(struct facilitator *f, struct fault *why)
{
	struct fault told = { .st = ST_OK };
	enum status st = ask_list(f, &told);
	bool known = false;

	log_turn(f,
	    facilitator_state_looked(
		&f->state, &told, f->conf->refresh_s, &known),
	    "");
	if (!known && st != ST_OK && !atomic_load(&f->state.stop))
		log_err("%s: what it offers cannot be asked: %s%s", f->who,
		    told.message,
		    facilitator_known(f) ? "; its last list stays" : "");
	else if (!known && st == ST_OK)
		log_info("%s: says what it offers", f->who);
	if (why != NULL)
		*why = told;
	return st;
}

enum status
facilitator_refresh(struct facilitator *f, struct fault *why)
{
	return look(f, why);
}

/* ---- the watch ---- */

void
facilitator_await(struct facilitator *f, int64_t deadline_ms)
{
	facilitator_state_await(&f->state, deadline_ms);
}

static void *
watch(void *arg)
{
	struct facilitator *f = arg;

	while (facilitator_state_next(&f->state))
		(void)look(f, NULL);
	return NULL;
}

enum status
facilitator_watch(struct facilitator *f)
{
	if (pthread_create(&f->watcher, NULL, watch, f) != 0)
		return ST_NOMEM;
	f->watched = true;
	return ST_OK;
}
