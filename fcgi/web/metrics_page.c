#include "web/metrics_page.h"

#include <string.h>
#include <time.h>

#include "base/conf.h"
#include "box/client.h"
#include "pay/facilitator.h"
#include "pay/ledger.h"
#include "web/answer.h"
#include "web/metrics.h"
#include "web/metrics_text.h"
#include "web/room.h"
#include "web/sites.h"

#define PAGE_BYTES (4u << 20)

static bool
asked_for(const struct http_request *q)
{
	static const char *const proxies[] = { "HTTP_X_FORWARDED_FOR",
		"HTTP_FORWARDED", "HTTP_X_REAL_IP", "HTTP_VIA",
		"HTTP_CF_CONNECTING_IP" };
	const char *on = http_param(q, "TOLLBOX_METRICS");

	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		if (http_param(q, proxies[i]) != NULL)
			return false;
	return on != NULL && strcmp(on, "on") == 0;
}

/* A family of one sample without labels. */
static void
put_one(struct buf *out, const char *name, const char *type, uint64_t value,
    const char *help)
{
	metrics_text_family(out, name, type, help);
	metrics_text_number(out, name, NULL, value);
}

static void
put_pool(struct buf *out, const struct wire_state *s)
{
	static const char name[] = "tollbox_pool_sandboxes";

	metrics_text_family(out, name, "gauge",
	    "Sandboxes that wait for a run, and those on their way there.");
	for (uint32_t i = 0; i < s->n_pools; i++) {
		char runtime[WIRE_NAME];

		memcpy(runtime, s->pools[i].runtime, sizeof(runtime));
		runtime[sizeof(runtime) - 1] = '\0';
		metrics_text_number(out, name,
		    (const char *[]){
			"runtime", runtime, "state", "warm", NULL },
		    s->pools[i].warm);
		metrics_text_number(out, name,
		    (const char *[]){
			"runtime", runtime, "state", "starting", NULL },
		    s->pools[i].starting);
	}
}

/* Without a boxer there is nothing to say of it but that. */
static void
put_boxer(struct buf *out, struct context *g)
{
	struct wire_state s;
	bool up = client_state(g->boxer, &s) == ST_OK;

	put_one(out, "tollbox_boxer_up", "gauge", up,
	    "Whether there is somebody to run programs.");
	if (!up)
		return;
	put_one(out, "tollbox_slots", "gauge", s.slots,
	    "Programs that may run at a time.");
	put_one(out, "tollbox_slots_running", "gauge", s.running,
	    "Slots that are taken.");
	put_one(out, "tollbox_slots_lost", "gauge", s.quarantined,
	    "Sandboxes that do not go, and hold a slot or memory.");
	put_one(out, "tollbox_queue", "gauge", s.queue,
	    "Requests that wait for a slot.");
	put_pool(out, &s);
}

static void
put_budgets(struct buf *out, struct context *g)
{
	uint64_t kept = 0;

	put_one(out, "tollbox_payments_working", "gauge",
	    atomic_load(&g->paying), "Requests that work on a payment.");
	put_one(out, "tollbox_payments_working_max", "gauge", g->max_paying,
	    "And how many may.");
	put_one(out, "tollbox_body_bytes", "gauge", atomic_load(&g->body_bytes),
	    "Large request bodies in memory.");
	put_one(out, "tollbox_body_bytes_max", "gauge", g->conf->body_bytes,
	    "And how many may be.");
	put_one(out, "tollbox_answer_bytes_reserved", "gauge",
	    room_due(g->room), "Room set aside for answers of runs under way.");
	put_one(out, "tollbox_answer_bytes_max", "gauge", g->conf->answer_bytes,
	    "Budget of answers, kept and set aside.");
	if (ledger_answer_bytes(g->ledger, &kept) == ST_OK)
		put_one(out, "tollbox_answer_bytes", "gauge", kept,
		    "Answers that are kept.");
}

static void
put_ledger(struct buf *out, struct context *g)
{
	static const char name[] = "tollbox_ledger_payments";
	struct ledger_counts n;

	if (ledger_count(g->ledger, &n) != ST_OK)
		return;
	metrics_text_family(out, name, "gauge",
	    "Payments on record, by state; settled ones are owed a run, "
	    "given_up "
	    "ones a refund; done ones are not counted.");
	n.rows[LEDGER_SETTLED] -= n.given_up;
	for (int s = LEDGER_CLAIMED; s < LEDGER_DONE; s++)
		metrics_text_number(out, name,
		    (const char *[]){ "state",
			ledger_state_name((enum ledger_state)s), NULL },
		    n.rows[s]);
	metrics_text_number(out, name,
	    (const char *[]){ "state", "given_up", NULL }, n.given_up);
}

static void
put_calls(struct buf *out, const struct facilitator *f)
{
	static const char *const calls[FACILITATOR_CALL_MAX] = {
		[FACILITATOR_VERIFY] = "verify",
		[FACILITATOR_SETTLE] = "settle",
	};
	static const char *const verdicts[FACILITATOR_VERDICT_MAX] = {
		[FACILITATOR_YES] = "yes",
		[FACILITATOR_NO] = "no",
		[FACILITATOR_NOT_SENT] = "not_sent",
		[FACILITATOR_NO_SERVICE] = "no_service",
		[FACILITATOR_UNKNOWN] = "unknown",
	};

	for (int c = 0; c < FACILITATOR_CALL_MAX; c++)
		for (int v = 0; v < FACILITATOR_VERDICT_MAX; v++)
			metrics_text_number(out,
			    "tollbox_facilitator_calls_total",
			    (const char *[]){ "facilitator",
				facilitator_conf(f)->name, "call", calls[c],
				"verdict", verdicts[v], NULL },
			    facilitator_calls(f, (enum facilitator_call)c,
				(enum facilitator_verdict)v));
}

/* up: there is a list of what it offers, and its circuit is closed. */
static void
put_facilitators(struct buf *out, struct context *g)
{
	const struct conf *c = g->conf;

	metrics_text_family(out, "tollbox_facilitator_calls_total", "counter",
	    "Calls of facilitators, by what came of them.");
	for (size_t i = 0; i < c->n_facilitators; i++)
		put_calls(
		    out, sites_facilitator(g->sites, c->facilitators[i].name));
	metrics_text_family(out, "tollbox_facilitator_up", "gauge",
	    "Whether payments are sent to it: it has told what it offers, and "
	    "its circuit is closed.");
	for (size_t i = 0; i < c->n_facilitators; i++) {
		struct facilitator *f =
		    sites_facilitator(g->sites, c->facilitators[i].name);

		metrics_text_number(out, "tollbox_facilitator_up",
		    (const char *[]){
			"facilitator", c->facilitators[i].name, NULL },
		    facilitator_known(f) && !facilitator_down(f));
	}
}

static void
put_process(struct buf *out, const struct context *g)
{
	metrics_text_family(
	    out, "tollbox_build_info", "gauge", "The program; always 1.");
	metrics_text_number(out, "tollbox_build_info",
	    (const char *[]){
		"version", TOLLBOX_VERSION, "commit", TOLLBOX_COMMIT, NULL },
	    1);
	put_one(out, "tollbox_start_time_seconds", "gauge", g->started,
	    "When the counters began, in Unix time: at a start, and at each "
	    "reload.");
}

void
metrics_page(
    struct http_reply *a, struct context *g, const struct http_request *q)
{
	struct fault f = { .st = ST_BUG };

	if (!asked_for(q)) {
		fault_set(
		    &f, ST_REQUEST_NOT_FOUND, "there is nothing at this path");
		answer_error(a, &f);
		return;
	}
	buf_free(&a->body);
	buf_init(&a->body, PAGE_BYTES);
	a->status = 200;
	http_header(
	    a, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
	http_header(a, "Cache-Control", "no-store");
	put_process(&a->body, g);
	metrics_put(&a->body);
	put_boxer(&a->body, g);
	put_budgets(&a->body, g);
	put_ledger(&a->body, g);
	put_facilitators(&a->body, g);
}
