#include "web/result.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "pay/receipt.h"
#include "web/answer.h"

const char *
result_outcome(enum status st)
{
	if (st == ST_OK)
		return "completed";
	return st == ST_SANDBOX_TIMEOUT ? "timeout" : "error";
}

static void
put_bool(struct buf *out, const char *name, bool v)
{
	json_key(out, name);
	buf_adds(out, v ? "true" : "false");
}

static void
put_text(struct buf *out, const char *name, const char *v)
{
	json_key(out, name);
	json_put_string(out, v);
}

static void
put_signal(struct buf *out, int sig)
{
	const char *name = sig > 0 ? sigabbrev_np(sig) : NULL;
	char text[24];

	json_key(out, "signal");
	if (sig <= 0) {
		buf_adds(out, "null");
		return;
	}
	if (name != NULL)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), "SIGRTMIN+%d", sig - SIGRTMIN);
	json_put_string(out, text);
}

static void
put_end(struct buf *out, const struct wire_result *e)
{
	enum status st = (enum status)e->status;
	struct fault f;

	json_key(out, "exitCode");
	if (e->exit_code < 0)
		buf_adds(out, "null");
	else
		buf_addf(out, "%d", e->exit_code);
	put_signal(out, e->signal);
	json_key(out, "durationMs");
	json_put_tenths(out, (e->duration_us + 50) / 100);
	json_key(out, "truncated");
	buf_addc(out, '{');
	put_bool(out, "stdout", e->lost[0] != 0);
	put_bool(out, "stderr", e->lost[1] != 0);
	buf_addc(out, '}');
	json_key(out, "error");
	if (st == ST_OK) {
		buf_adds(out, "null");
		return;
	}
	fault_set(&f, st, "%s", e->text);
	answer_put_error(out, &f);
}

void
result_put_payment(struct buf *out, const struct result *r)
{
	buf_addc(out, '{');
	put_text(out, "payer", r->payer);
	put_text(out, "amount", r->amount);
	put_text(out, "asset", r->asset);
	put_text(out, "network", r->network);
	put_text(out, "transaction", r->transaction);
	buf_addc(out, '}');
}

enum status
result_put_receipt(struct buf *out, const struct result *r,
    const struct buf text[2], const struct buf *value,
    const struct buf *outputs)
{
	const struct wire_result *e = r->end;
	char digest[65], extras[65];
	struct receipt rec = {
		.request_digest = r->request_digest,
		.output_digest = digest,
		.payer = r->payer,
		.amount = r->amount,
		.asset = r->asset,
		.network = r->network,
		.reference = r->transaction,
		.price_micros = r->price_micros,
		.tier = r->tier->name,
		.limits = r->job->limits,
		.outcome = result_outcome((enum status)e->status),
		.duration_tenths = (e->duration_us + 50) / 100,
		.exited = e->exit_code >= 0,
		.exit_code = e->exit_code,
		.truncated_stdout = e->lost[0] != 0,
		.truncated_stderr = e->lost[1] != 0,
		.status = (enum status)e->status,
		.runtime = r->job->runtime->name,
		.issued_at = r->issued_at,
		.issuer = r->site->did,
	};
	enum status st = receipt_output_digest(digest, &rec, buf_cstr(&text[0]),
	    text[0].len, buf_cstr(&text[1]), text[1].len);

	if (st == ST_OK && (value != NULL || outputs != NULL)) {
		st = receipt_extras_digest(extras, outputs, value);
		rec.extras_digest = extras;
	}
	if (st != ST_OK)
		return st;
	receipt_put(out, &rec, keyring_receipts(r->site->keys));
	return ST_OK;
}

static enum status
put_extras(struct buf *out, const struct result *r)
{
	enum status st = ST_OK;

	if (r->job->evaluate) {
		json_key(out, "result");
		buf_add(out, r->extras->value.data, r->extras->value.len);
		st = buf_status(&r->extras->value);
	}
	if (r->job->wants_outputs) {
		json_key(out, "outputs");
		buf_add(out, r->extras->outputs.data, r->extras->outputs.len);
		if (st == ST_OK)
			st = buf_status(&r->extras->outputs);
	}
	return st;
}

enum status
result_text(struct buf out[2], const struct result *r)
{
	enum status st;

	for (int i = 0; i < 2; i++) {
		/* One bad byte becomes the three of U+FFFD. */
		buf_init(&out[i], r->streams[i].len * 3);
		utf8_mend(&out[i], buf_cstr(&r->streams[i]), r->streams[i].len,
		    r->end->lost[i] != 0);
	}
	st = buf_status(&out[0]);
	return st == ST_OK ? buf_status(&out[1]) : st;
}

void
result_put_text(struct buf *out, const struct buf text[2])
{
	json_key(out, "stdout");
	json_put_bytes(out, buf_cstr(&text[0]), text[0].len);
	json_key(out, "stderr");
	json_put_bytes(out, buf_cstr(&text[1]), text[1].len);
}

enum status
result_put(struct buf *out, const struct result *r)
{
	const struct job *j = r->job;
	struct buf text[2];
	enum status st = result_text(text, r);

	if (st != ST_OK)
		goto out;
	buf_addc(out, '{');
	put_text(out, "outcome", result_outcome((enum status)r->end->status));
	result_put_text(out, text);
	put_end(out, r->end);
	json_key(out, "payment");
	result_put_payment(out, r);
	json_key(out, "receipt");
	st = result_put_receipt(out, r, text,
	    j->evaluate ? &r->extras->value : NULL,
	    j->wants_outputs ? &r->extras->outputs : NULL);
	if (st != ST_OK)
		goto out;
	st = put_extras(out, r);
	if (st != ST_OK)
		goto out;
	json_key(out, "usage");
	buf_adds(out, "{\"cpuMs\":");
	json_put_tenths(out, (r->end->cpu_us + 50) / 100);
	buf_addf(out, ",\"maxMemoryBytes\":%llu}}",
	    (unsigned long long)r->end->max_memory_bytes);
	st = buf_status(out);
out:
	buf_free(&text[0]);
	buf_free(&text[1]);
	return st;
}
