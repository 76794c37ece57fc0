/*
 * A dialect with a flat price: any bytes as its body, and any extras image,
 * output and end as the result that its answer is made from. What is taken has
 * the flat price and its limits; the answer is JSON, within the room that was
 * set aside for it, and its receipt is there.
 */
#include "fuzz.h"

#include "../unit/web/site_fixture.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "web/dialect.h"
#include "web/perform.h"
#include "web/request.h"
#include "web/result.h"

static const struct json_caps caps = { .depth = 16, .values = 100000 };
static const struct site *site;
static void *fixture;

static void
leave(void)
{
	(void)fixture_drop(&fixture);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	must(fixture_make(&fixture) == 0);
	site = ((const struct fixture *)fixture)->site;
	must(atexit(leave) == 0);
	return 0;
}

static void
check_job(const struct dialect *d, const struct job *j,
    const struct site_tier *tier, bool quote)
{
	must(tier == site_flat(site, d->name));
	must(tier == request_base(d->form, site));
	must(quote || j->source != NULL);
	must(j->source_len <= LIMITS_SOURCE);
	must(j->runtime != NULL && j->n_files == 0 && j->n_env == 0);
	must(j->limits.timeout_ms >= 1000 &&
	     j->limits.timeout_ms <= tier->limits.timeout_ms);
	must(j->limits.memory_bytes == tier->limits.memory_bytes);
	must(j->limits.output_bytes == tier->limits.output_bytes);
	must(j->limits.work_bytes == tier->limits.work_bytes);
	must(!j->evaluate || j->tell);
	must(strcmp(d->name, "agent402") != 0 ||
	     utf8_length(j->source, j->source_len) <= 10000);
	must(strcmp(d->name, "pocket") != 0 || job_flags(j) == 0);
}

static void
read_body(const struct dialect *d, const uint8_t *data, size_t size)
{
	const char *body = (const char *)data;
	enum status said[2];

	for (int quote = 0; quote < 2; quote++) {
		const struct site_tier *tier = NULL;
		struct fault f = { .st = ST_OK };
		struct job j;

		said[quote] = request_read(
		    &j, &tier, d->form, site, body, size, quote == 1, &f);
		if (said[quote] == ST_OK) {
			check_job(d, &j, tier, quote == 1);
		} else {
			must(f.st == said[quote] && f.message[0] != '\0');
			must(utf8_valid(f.message, strlen(f.message)));
			must(status_api(f.st)->http == 400);
			must(tier == NULL && j.source == NULL &&
			     j.outputs == NULL);
		}
		job_free(&j);
	}
	must(said[0] != ST_OK || said[1] == ST_OK);
	must(request_price(d->form, site, body, size) ==
	     site_flat(site, d->name));
}

/* One of the ends that a verdict can be. */
static struct wire_result
an_end(struct input *in)
{
	static const enum status ends[] = { ST_OK, ST_SANDBOX_TIMEOUT,
		ST_EXECUTION_MEMORY_LIMIT_EXCEEDED,
		ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, ST_EXECUTION_RUNTIME_ERROR,
		ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED };
	struct wire_result e = { .duration_us = 1,
		.status =
		    ends[input_byte(in) % (sizeof(ends) / sizeof(ends[0]))] };

	e.exit_code = (int)(input_byte(in) % 4) - 1;
	if (e.status == ST_OK)
		e.exit_code = 0;
	if (e.exit_code < 0)
		e.signal = input_byte(in) % 64;
	e.lost[0] = input_byte(in) % 2;
	if (e.status != ST_OK)
		memcpy(e.text, "why \"not\"", sizeof("why \"not\""));
	return e;
}

static void
check_json(const struct buf *text)
{
	OWN_JSON struct cJSON *v = NULL;

	must(buf_status(text) == ST_OK);
	must(json_parse(&v, buf_cstr(text), text->len, &caps, NULL) == ST_OK);
	must(json_is_object(v));
}

static void
write_answer(const struct dialect *d, struct input *in)
{
	static const char body[] = "{\"code\":\"\"}";
	const struct wire_result end = an_end(in);
	struct buf streams[2], text, receipt;
	struct result_extras extras;
	const struct site_tier *tier = NULL;
	struct job j;
	struct result r = { .end = &end,
		.streams = streams,
		.extras = &extras,
		.job = &j,
		.site = site,
		.request_digest = "aa",
		.payer = "0xpayer",
		.amount = "5000",
		.network = "eip155:84532",
		.asset = "0xasset",
		.transaction = "0xtx",
		.issued_at = 1740672089 };
	struct dialect_answer answer = { .body = &text, .receipt = &receipt };
	const uint8_t *at = NULL;
	size_t n;

	must(request_read(&j, &tier, d->form, site, body, strlen(body), false,
		 NULL) == ST_OK);
	r.tier = tier;
	r.price_micros = tier->price_micros;
	for (int i = 0; i < 2; i++) {
		n = input_take(in, &at, input_byte(in));
		buf_init(&streams[i], j.limits.output_bytes);
		buf_add(&streams[i], at, n);
	}
	result_extras_init(&extras, &j);
	if (result_extras_keep(&extras, &j, in->at, in->left) == ST_OK) {
		buf_init(&text, perform_answer_bytes(&j));
		buf_init(&receipt, 8192);
		must(d->put(&answer, &r) == ST_OK);
		check_json(&text);
		check_json(&receipt);
		buf_free(&text);
		buf_free(&receipt);
	}
	result_extras_free(&extras);
	buf_free(&streams[0]);
	buf_free(&streams[1]);
	job_free(&j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	uint8_t which = input_byte(&in);
	const struct dialect *flat[8];
	size_t n = 0;

	for (size_t i = 0; dialects[i] != NULL; i++)
		if (dialects[i]->form->flat != NULL)
			flat[n++] = dialects[i];
	if (which & 1)
		write_answer(flat[(which >> 1) % n], &in);
	else
		read_body(flat[(which >> 1) % n], in.at, in.left);
	return 0;
}
