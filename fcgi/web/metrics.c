#include "web/metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/conf.h"
#include "web/dialect.h"
#include "web/metrics_money.h"
#include "web/metrics_text.h"
#include "web/result.h"

#define ROUTES_MAX 32
#define TIERS_MAX                                                              \
	(CONF_TIERS + CONF_DIALECTS) /* with the dialects of a flat price */

/* What ends a started run: the program's ends, then why it is owed. */
static const enum status ends[] = {
	ST_OK, ST_SANDBOX_TIMEOUT, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED,
	ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, ST_EXECUTION_RUNTIME_ERROR,
	ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
	ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
	ST_SANDBOX_SETUP_FAILED, ST_SANDBOX_UNAVAILABLE,
	ST_SERVICE_INTERNAL_FAILURE, /* and whatever else */
};
#define N_ENDS (sizeof(ends) / sizeof(ends[0]))

static const int answers[] = { 200, 202, 204, 400, 402, 404, 405, 409, 413, 415,
	429, 500, 503, 0 /* any other */ };
#define N_ANSWERS (sizeof(answers) / sizeof(answers[0]))

static const char *const stages[METRICS_STAGE_MAX] = {
	[METRICS_READ] = "read",
	[METRICS_PARSE] = "parse",
	[METRICS_CHECK] = "check",
	[METRICS_CLAIM] = "claim",
	[METRICS_RESERVE] = "reserve",
	[METRICS_SETTLE] = "settle",
	[METRICS_RUN] = "run",
	[METRICS_ANSWER] = "answer",
	[METRICS_KEEP] = "keep",
	[METRICS_FACILITATOR] = "facilitator",
	[METRICS_START] = "start",
	[METRICS_PROGRAM] = "program",
	[METRICS_WHOLE] = "whole",
};

/* Upper ends of the histograms' buckets, and how they are written. */
static const struct {
	int64_t us;
	const char *text;
} buckets[] = {
	{ 500, "0.0005" },
	{ 1000, "0.001" },
	{ 2500, "0.0025" },
	{ 5000, "0.005" },
	{ 10000, "0.01" },
	{ 25000, "0.025" },
	{ 50000, "0.05" },
	{ 100000, "0.1" },
	{ 250000, "0.25" },
	{ 500000, "0.5" },
	{ 1000000, "1" },
	{ 2500000, "2.5" },
	{ 5000000, "5" },
	{ 10000000, "10" },
	{ 30000000, "30" },
	{ 60000000, "60" },
	{ 300000000, "300" },
	{ INT64_MAX, "+Inf" },
};
#define N_BUCKETS (sizeof(buckets) / sizeof(buckets[0]))

typedef _Atomic uint64_t counter;

static struct {
	/* The last one of each kind is "other". */
	const char *routes[ROUTES_MAX + 1];
	size_t n_routes;
	const char *tiers[TIERS_MAX];
	size_t n_tiers;
	const struct conf *conf; /* of runtimes; NULL before metrics_open() */
	counter requests[ROUTES_MAX + 1][N_ANSWERS];
	counter refused[ST_MAX];
	counter runs[CONF_RUNTIMES + 1][TIERS_MAX + 1][N_ENDS];
	struct {
		counter in[N_BUCKETS];
		counter us;
	} stages[METRICS_STAGE_MAX];
} table;

static void
more(counter *c, uint64_t n)
{
	atomic_fetch_add_explicit(c, n, memory_order_relaxed);
}

static uint64_t
now(const counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

const char *
metrics_stage_name(enum metrics_stage s)
{
	return stages[s];
}

/* Its number; TIERS_MAX, "other", for none of ours. */
static size_t
tier_of(const char *name)
{
	for (size_t i = 0; i < table.n_tiers; i++)
		if (strcmp(table.tiers[i], name) == 0)
			return i;
	return TIERS_MAX;
}

static void
add_tier(const char *name)
{
	if (tier_of(name) == TIERS_MAX && table.n_tiers < TIERS_MAX)
		table.tiers[table.n_tiers++] = name;
}

void
metrics_open(const struct conf *c)
{
	table.conf = c;
	for (size_t i = 0; i < c->n_tiers; i++)
		add_tier(c->tiers[i].name);
	for (size_t i = 0; dialects[i] != NULL; i++) {
		metrics_route(dialects[i]->path);
		if (dialects[i]->form->flat != NULL)
			add_tier(dialects[i]->form->flat);
	}
}

void
metrics_route(const char *path)
{
	if (table.n_routes < ROUTES_MAX)
		table.routes[table.n_routes++] = path;
}

static size_t
route_index(const char *path)
{
	for (size_t i = 0; i < table.n_routes; i++)
		if (strcmp(table.routes[i], path) == 0)
			return i;
	return ROUTES_MAX;
}

const char *
metrics_route_of(const char *path)
{
	return table.routes[route_index(path)];
}

/* ---- counting ---- */

void
metrics_request(const char *path, int http, enum status told)
{
	size_t route = route_index(path), answer = 0;

	while (answer < N_ANSWERS - 1 && answers[answer] != http)
		answer++;
	more(&table.requests[route][answer], 1);
	if (told != ST_OK)
		more(
		    &table.refused[(unsigned)told < ST_MAX ? told : ST_BUG], 1);
}

static size_t
runtime_of(const char *name)
{
	const struct conf_runtime *r =
	    table.conf == NULL ? NULL : conf_runtime(table.conf, name);

	return r == NULL ? CONF_RUNTIMES : (size_t)(r - table.conf->runtimes);
}

void
metrics_run(const char *runtime, const char *tier, enum status end)
{
	size_t i = 0;

	while (i < N_ENDS - 1 && ends[i] != end)
		i++;
	more(&table.runs[runtime_of(runtime)][tier_of(tier)][i], 1);
}

void
metrics_stage(enum metrics_stage s, int64_t us)
{
	size_t i = 0;

	if (us < 0)
		us = 0;
	while (us > buckets[i].us)
		i++;
	more(&table.stages[s].in[i], 1);
	more(&table.stages[s].us, (uint64_t)us);
}

uint64_t
metrics_refused(enum status told)
{
	return now(&table.refused[told]);
}

/* ---- telling ---- */

/* What never happened is left out, but for each route one line. */
static void
put_requests_of(struct buf *out, size_t route)
{
	for (size_t i = 0; i < N_ANSWERS; i++) {
		uint64_t n = now(&table.requests[route][i]);
		char status[12] = "other";

		if (n == 0 && (i > 0 || route == ROUTES_MAX))
			continue;
		if (answers[i] != 0)
			snprintf(status, sizeof(status), "%d", answers[i]);
		metrics_text_number(out, "tollbox_requests_total",
		    (const char *[]){ "route",
			route == ROUTES_MAX ? "other" : table.routes[route],
			"status", status, NULL },
		    n);
	}
}

static void
put_requests(struct buf *out)
{
	metrics_text_family(out, "tollbox_requests_total", "counter",
	    "Answers, by route and HTTP status; other: no route of ours.");
	for (size_t r = 0; r < table.n_routes; r++)
		put_requests_of(out, r);
	put_requests_of(out, ROUTES_MAX);
}

/* Several statuses are one code to a caller; one, to pay, has none. */
static const char *
code_of(enum status st)
{
	const char *code = status_api(st)->code;

	return code != NULL ? code : "PAYMENT_REQUIRED";
}

static void
put_refusals(struct buf *out)
{
	static const char name[] = "tollbox_refusals_total";

	metrics_text_family(out, name, "counter",
	    "Answers that are no result, by error code; PAYMENT_REQUIRED: "
	    "nothing was paid yet.");
	for (int st = ST_REQUEST_MALFORMED; st < ST_SANDBOX_TIMEOUT; st++) {
		const char *code = code_of((enum status)st);
		uint64_t n = 0;
		bool first = true;

		for (int other = ST_OK + 1; other < ST_MAX; other++) {
			if (strcmp(code_of((enum status)other), code) != 0)
				continue;
			if (other >= ST_REQUEST_MALFORMED && other < st)
				first = false;
			n += now(&table.refused[other]);
		}
		if (first)
			metrics_text_number(out, name,
			    (const char *[]){ "code", code, NULL }, n);
	}
}

static const char *
outcome(enum status end)
{
	return status_api(end)->billable ? result_outcome(end) : "owed";
}

/* All that can happen is there from the start: what appears as a one is no
 * increase to a reader, and a first owed run must raise an alarm. */
static void
put_runs_of(struct buf *out, size_t runtime, size_t tier)
{
	const struct conf *c = table.conf;
	bool known = runtime < CONF_RUNTIMES && tier < TIERS_MAX;

	for (size_t i = 0; i < N_ENDS; i++) {
		uint64_t n = now(&table.runs[runtime][tier][i]);
		const char *code = status_api(ends[i])->code;

		if (n == 0 && !known)
			continue;
		metrics_text_number(out, "tollbox_runs_total",
		    (const char *[]){ "runtime",
			runtime < CONF_RUNTIMES ? c->runtimes[runtime].name
						: "other",
			"tier", tier < TIERS_MAX ? table.tiers[tier] : "other",
			"outcome", outcome(ends[i]), "code",
			code != NULL ? code : "none", NULL },
		    n);
	}
}

static void
put_runs(struct buf *out)
{
	size_t runtimes = table.conf == NULL ? 0 : table.conf->n_runtimes;

	metrics_text_family(out, "tollbox_runs_total", "counter",
	    "Started runs, by how they ended; owed: failed on our side.");
	for (size_t r = 0; r <= CONF_RUNTIMES; r++)
		for (size_t t = 0; t <= TIERS_MAX; t++)
			if ((r < runtimes || r == CONF_RUNTIMES) &&
			    (t < table.n_tiers || t == TIERS_MAX))
				put_runs_of(out, r, t);
}

static void
put_stages(struct buf *out)
{
	char seconds[METRICS_TEXT_SECONDS];

	metrics_text_family(out, "tollbox_stage_seconds", "histogram",
	    "Time that requests on paid routes spent, by stage.");
	for (size_t s = 0; s < METRICS_STAGE_MAX; s++) {
		const char *labels[] = { "stage", stages[s], NULL };
		uint64_t n = 0;

		for (size_t i = 0; i < N_BUCKETS; i++) {
			n += now(&table.stages[s].in[i]);
			metrics_text_number(out, "tollbox_stage_seconds_bucket",
			    (const char *[]){ "stage", stages[s], "le",
				buckets[i].text, NULL },
			    n);
		}
		metrics_text_seconds(seconds, now(&table.stages[s].us));
		metrics_text_sample(
		    out, "tollbox_stage_seconds_sum", labels, seconds);
		metrics_text_number(
		    out, "tollbox_stage_seconds_count", labels, n);
	}
}

void
metrics_put(struct buf *out)
{
	put_requests(out);
	put_refusals(out);
	put_runs(out);
	put_stages(out);
	metrics_money_put(out);
}
