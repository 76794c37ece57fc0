#include "web/metrics.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/conf.h"
#include "web/metrics_money.h"
#include "web/site.h"

/* The page as it is now; until the next call. */
static const char *
page(void)
{
	static char text[1 << 20];
	OWN_BUF struct buf out;

	buf_init(&out, sizeof(text) - 1);
	metrics_put(&out);
	assert_int_equal(buf_status(&out), ST_OK);
	memcpy(text, buf_cstr(&out), out.len + 1);
	return text;
}

/* Is there that very line? */
static void
assert_line(const char *line)
{
	const char *text = page();
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	if (strstr(text, whole) == NULL)
		fail_msg("not there: %s\n%s", line, text);
}

static int
setup(void **state)
{
	static struct conf c;
	static char python[] = "python3", small[] = "small", large[] = "large";

	(void)state;
	c.runtimes[0].name = python;
	c.n_runtimes = 1;
	c.tiers[0].name = small;
	c.tiers[1].name = large;
	c.n_tiers = 2;
	metrics_open(&c);
	metrics_route("/execute");
	metrics_route("/health");
	return 0;
}

static void
what_never_happened_reads_zero(void **state)
{
	(void)state;
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"small\","
		    "outcome=\"completed\",code=\"none\"} 0");
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"large\","
		    "outcome=\"owed\",code=\"SANDBOX_SETUP_FAILED\"} 0");
	assert_line("tollbox_refusals_total{code=\"SERVICE_BUSY\"} 0");
	assert_line("tollbox_stage_seconds_bucket{stage=\"whole\",le=\"+Inf\"} "
		    "0");
	assert_line(
	    "tollbox_requests_total{route=\"/execute\",status=\"200\"} 0");
	assert_null(strstr(page(), "status=\"402\""));
	assert_null(strstr(page(), "\"other\""));
}

static void
requests_and_refusals(void **state)
{
	(void)state;
	metrics_request("/execute", 200, ST_OK);
	metrics_request("/execute", 402, ST_PAYMENT_REQUIRED);
	metrics_request("/execute", 402, ST_PAYMENT_INVALID);
	metrics_request("/health", 405, ST_REQUEST_BAD_METHOD);
	/* What a client sends is no label. */
	metrics_request("/x\"} 1\nevil 2", 404, ST_REQUEST_NOT_FOUND);
	metrics_request("", 418, ST_NOMEM);
	metrics_request("/execute", 500, (enum status)12345);
	assert_line(
	    "tollbox_requests_total{route=\"/execute\",status=\"200\"} 1");
	assert_line(
	    "tollbox_requests_total{route=\"/execute\",status=\"402\"} 2");
	assert_line(
	    "tollbox_requests_total{route=\"/health\",status=\"405\"} 1");
	assert_line("tollbox_requests_total{route=\"other\",status=\"404\"} 1");
	assert_line(
	    "tollbox_requests_total{route=\"other\",status=\"other\"} 1");
	/* 404, 405 and 400 are one code; what is ours is one too. */
	assert_line("tollbox_refusals_total{code=\"REQUEST_MALFORMED\"} 2");
	assert_line("tollbox_refusals_total{code=\"PAYMENT_REQUIRED\"} 1");
	assert_line("tollbox_refusals_total{code=\"PAYMENT_INVALID\"} 1");
	assert_line(
	    "tollbox_refusals_total{code=\"SERVICE_INTERNAL_FAILURE\"} 2");
	assert_null(strstr(page(), "evil"));
	assert_int_equal(metrics_refused(ST_PAYMENT_INVALID), 1);
}

static void
runs(void **state)
{
	(void)state;
	metrics_run("python3", "small", ST_OK);
	metrics_run("python3", "small", ST_OK);
	metrics_run("python3", "large", ST_SANDBOX_TIMEOUT);
	metrics_run("python3", "large", ST_EXECUTION_MEMORY_LIMIT_EXCEEDED);
	metrics_run("python3", "small", ST_SANDBOX_SETUP_FAILED);
	metrics_run("python3", "small", ST_NOMEM);
	metrics_run("nobody's", "none", ST_OK);
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"small\","
		    "outcome=\"completed\",code=\"none\"} 2");
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"large\","
		    "outcome=\"timeout\",code=\"SANDBOX_TIMEOUT\"} 1");
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"large\","
		    "outcome=\"error\",code=\"EXECUTION_MEMORY_LIMIT_"
		    "EXCEEDED\"} 1");
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"small\","
		    "outcome=\"owed\",code=\"SANDBOX_SETUP_FAILED\"} 1");
	assert_line("tollbox_runs_total{runtime=\"python3\",tier=\"small\","
		    "outcome=\"owed\",code=\"SERVICE_INTERNAL_FAILURE\"} 1");
	assert_line("tollbox_runs_total{runtime=\"other\",tier=\"other\","
		    "outcome=\"completed\",code=\"none\"} 1");
}

static void
stages(void **state)
{
	(void)state;
	/* On a border it is within; beyond the last there is no end. */
	metrics_stage(METRICS_READ, 500);
	metrics_stage(METRICS_READ, 501);
	metrics_stage(METRICS_READ, -3);
	metrics_stage(METRICS_READ, INT64_C(400000000));
	assert_line(
	    "tollbox_stage_seconds_bucket{stage=\"read\",le=\"0.0005\"} 2");
	assert_line(
	    "tollbox_stage_seconds_bucket{stage=\"read\",le=\"0.001\"} 3");
	assert_line(
	    "tollbox_stage_seconds_bucket{stage=\"read\",le=\"300\"} 3");
	assert_line(
	    "tollbox_stage_seconds_bucket{stage=\"read\",le=\"+Inf\"} 4");
	assert_line("tollbox_stage_seconds_sum{stage=\"read\"} 400.001001");
	assert_line("tollbox_stage_seconds_count{stage=\"read\"} 4");
}

static void
money_is_exact(void **state)
{
	struct site s = { .n_accepts = 1 };

	(void)state;
	s.accepts[0].network = "eip155:1";
	snprintf(s.accepts[0].asset, sizeof(s.accepts[0].asset), "0xA");
	s.accepts[0].decimals = 18;
	metrics_money_site(&s);
	assert_line("tollbox_settled_atomic_units_total{network=\"eip155:1\","
		    "asset=\"0xA\"} 0");
	assert_line(
	    "tollbox_asset_decimals{network=\"eip155:1\",asset=\"0xA\"} "
	    "18");
	/* Beyond 2^53 and 2^64, each unit counts. */
	metrics_money_settled("eip155:1", "0xA", "18446744073709551616");
	metrics_money_settled("eip155:1", "0xA", "1");
	assert_line("tollbox_settled_atomic_units_total{network=\"eip155:1\","
		    "asset=\"0xA\"} 18446744073709551617");
	assert_line("tollbox_settled_payments_total{network=\"eip155:1\","
		    "asset=\"0xA\"} 2");
	metrics_money_settled("eip155:1", "0xA", "no number");
	assert_line("tollbox_settled_payments_total{network=\"eip155:1\","
		    "asset=\"0xA\"} 2");
}

static void
labels_are_bounded_and_escaped(void **state)
{
	char asset[32];
	size_t lines = 0;

	(void)state;
	metrics_money_settled("n", "a\"b\\c\nd", "7");
	assert_line("tollbox_settled_atomic_units_total{network=\"n\",asset="
		    "\"a\\\"b\\\\c\\nd\"} 7");
	for (int i = 0; i < 200; i++) {
		snprintf(asset, sizeof(asset), "asset-%d", i);
		metrics_money_settled("n", asset, "1");
	}
	for (const char *at = strstr(page(), "tollbox_settled_payments_total{");
	     at != NULL; at = strstr(at + 1, "tollbox_settled_payments_total{"))
		lines++;
	assert_int_equal(lines, 65);
	assert_line("tollbox_settled_payments_total{network=\"other\",asset="
		    "\"other\"} 139");
}

static void *
count(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10000; i++) {
		metrics_request("/execute", 503, ST_SERVICE_BUSY);
		metrics_stage(METRICS_KEEP, i);
		metrics_money_settled("threads", "0xT", "3");
	}
	return NULL;
}

static void
threads_lose_nothing(void **state)
{
	pthread_t t[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_line(
	    "tollbox_requests_total{route=\"/execute\",status=\"503\"} 40000");
	assert_line("tollbox_stage_seconds_count{stage=\"keep\"} 40000");
	assert_line("tollbox_stage_seconds_sum{stage=\"keep\"} 199.980000");
	assert_line("tollbox_settled_atomic_units_total{network=\"threads\","
		    "asset=\"0xT\"} 120000");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_never_happened_reads_zero),
		cmocka_unit_test(requests_and_refusals),
		cmocka_unit_test(runs),
		cmocka_unit_test(stages),
		cmocka_unit_test(money_is_exact),
		cmocka_unit_test(threads_lose_nothing),
		/* Last: it fills the table. */
		cmocka_unit_test(labels_are_bounded_and_escaped),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
