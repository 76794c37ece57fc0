#include "pay/facilitator_answer.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"

/* Longest transaction taken for one: Solana's have 88 characters, others'
 * formats are not ours to know. */
#define TRANSACTION_CHARS 256

static const struct json_caps caps = { .depth = 32, .values = 32768 };

enum status
facilitator_answer_init(struct facilitator_answer *out)
{
	memset(out, 0, sizeof(*out));
	out->verdict = FACILITATOR_UNKNOWN;
	out->transaction = strdup("");
	return out->transaction != NULL ? ST_OK : ST_NOMEM;
}

void
facilitator_answer_free(struct facilitator_answer *a)
{
	if (a == NULL)
		return;
	free(a->transaction);
	free(a->network);
	free(a->payer);
	free(a->amount);
	memset(a, 0, sizeof(*a));
}

/* The reason goes into headers and logs: printable ASCII, whatever it was. */
static void
put_reason(struct facilitator_answer *out, const char *reason)
{
	const char *p = NULL;
	size_t len = 0;

	for (p = reason; *p != '\0' && len < sizeof(out->reason) - 1; p++)
		out->reason[len++] = *p >= 0x20 && *p < 0x7f ? *p : '?';
	out->reason[len] = '\0';
}

void
facilitator_answer_set(struct facilitator_answer *out,
    enum facilitator_verdict v, const char *reason)
{
	out->verdict = v;
	put_reason(out, reason);
}

/* The public token's revert text for a payer without the money: a call that
 * reverts moves nothing, before or after it is mined. */
static bool
no_balance(const char *reason)
{
	return strstr(reason, "transfer amount exceeds balance") != NULL;
}

/* One word for what free text says; before it is cut to its room. */
static const char *
one_word(const char *reason)
{
	if (facilitator_answer_spent(reason))
		return "nonce_already_used";
	return no_balance(reason) ? "insufficient_funds" : reason;
}

/* Reasons for which nothing can have been sent to the chain: what a facilitator
 * finds before it broadcasts. Whatever is not on this list may come after it,
 * free text of a library above all (the released packages answer a lost
 * receipt with the bare error), so it leaves the outcome unknown: a wrong "no"
 * makes the caller pay twice, a wrong "unknown" costs a retry. A last '*'
 * stands for any ending. x402.md 3.8. */
static bool
decided(const char *reason)
{
	static const char *const list[] = { "insufficient_funds",
		"invalid_network", "invalid_payload",
		"invalid_payment_requirements", "invalid_scheme",
		"unsupported_scheme", "invalid_x402_version", "payment_expired",
		"invalid_exact_evm_scheme",
		"invalid_exact_evm_network_mismatch",
		"invalid_exact_evm_missing_eip712_domain",
		"invalid_exact_evm_recipient_mismatch",
		"invalid_exact_evm_signature*", "invalid_exact_evm_payload_*",
		"invalid_exact_evm_authorization_*",
		"invalid_exact_evm_token_*_mismatch",
		"invalid_exact_evm_eip3009_not_supported",
		"invalid_exact_evm_insufficient_balance",
		"invalid_exact_evm_transaction_simulation_failed",
		"invalid_exact_svm_payload_*", "asset_not_deployed_contract",
		"eip6492_factory_not_allowed", "unsupported_payload_type",
		"permit2_*", "invalid_permit2_*", "kyt_risk_detected",
		"request_blocked_by_location", "self_send_not_allowed",
		"amount_too_low", "invalid_bazaar_extension",
		"preflight_validation_failed", "invalid_format",
		"invalid_payment_amount", "invalid_payment_early",
		"invalid_payment_expired", "chain_id_mismatch",
		"recipient_mismatch", "asset_mismatch",
		"accepted_requirements_mismatch", "invalid_signature",
		"unsupported_chain" };
	size_t i;

	if (facilitator_answer_spent(reason) || no_balance(reason))
		return true;
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (fnmatch(list[i], reason, 0) == 0)
			return true;
	return false;
}

bool
facilitator_answer_spent(const char *reason)
{
	return strcmp(reason, "nonce_already_used") == 0 ||
	       strcmp(reason, "invalid_exact_evm_nonce_already_used") == 0 ||
	       strcmp(reason, "duplicate_settlement") == 0 ||
	       /* the public token's own revert text, in whose free text the
		* released v1 packages hand it on */
	       strstr(reason, "authorization is used or canceled") != NULL;
}

bool
facilitator_answer_pending(const struct facilitator_answer *a)
{
	return a->verdict == FACILITATOR_UNKNOWN &&
	       strcmp(a->reason, "settlement_pending") == 0 &&
	       a->transaction != NULL && a->transaction[0] != '\0';
}

static bool
no_service(long http)
{
	return http == 401 || http == 403 || http == 404 || http == 413 ||
	       http == 429;
}

/* A type that is there must be JSON; the body still has to be. */
static bool
json_type(const char *type)
{
	size_t len;

	if (type == NULL)
		return true;
	len = strcspn(type, "; \t");
	if (len == strlen("application/json") &&
	    strncasecmp(type, "application/json", len) == 0)
		return true;
	if (len == strlen("text/json") &&
	    strncasecmp(type, "text/json", len) == 0)
		return true;
	return len > strlen("+json") &&
	       strncasecmp(
		   type + len - strlen("+json"), "+json", strlen("+json")) == 0;
}

struct cJSON *
facilitator_answer_object(const struct facilitator_reply *r)
{
	struct cJSON *v = NULL;

	if (!json_type(r->type))
		return NULL;
	if (json_parse(&v, r->body, r->len, &caps, NULL) != ST_OK)
		return NULL;
	if (!json_is_object(v)) {
		json_free(v);
		return NULL;
	}
	return v;
}

/* An optional string, borrowed: NULL where it is absent or null. ST_FORMAT
 * where it is anything else than a string. */
static enum status
optional(const char **out, const struct cJSON *obj, const char *name)
{
	const struct cJSON *v = json_get(obj, name);

	*out = NULL;
	if (v == NULL || json_is_null(v))
		return ST_OK;
	*out = json_string(v);
	return *out != NULL ? ST_OK : ST_FORMAT;
}

/* The same, copied. */
static enum status
keep(char **out, const struct cJSON *obj, const char *name)
{
	const char *s = NULL;
	enum status st = optional(&s, obj, name);

	if (st != ST_OK || s == NULL)
		return st;
	*out = strdup(s);
	return *out != NULL ? ST_OK : ST_NOMEM;
}

static bool
plausible_transaction(const char *s)
{
	size_t i;

	for (i = 0; s[i] != '\0'; i++)
		if (s[i] <= 0x20 || s[i] >= 0x7f)
			return false;
	return i <= TRANSACTION_CHARS;
}

static enum status
keep_transaction(struct facilitator_answer *out, const struct cJSON *obj)
{
	const char *s = NULL;
	char *copy = NULL;
	enum status st = optional(&s, obj, "transaction");

	if (st != ST_OK || s == NULL)
		return st;
	if (!plausible_transaction(s))
		return ST_FORMAT;
	copy = strdup(s);
	if (copy == NULL)
		return ST_NOMEM;
	free(out->transaction);
	out->transaction = copy;
	return ST_OK;
}

/* The members beside the verdict. */
static enum status
read_members(struct facilitator_answer *out, enum facilitator_call call,
    const struct cJSON *obj)
{
	enum status st = keep(&out->payer, obj, "payer");

	if (call == FACILITATOR_VERIFY)
		return st;
	if (st == ST_OK)
		st = keep(&out->network, obj, "network");
	if (st == ST_OK)
		st = keep(&out->amount, obj, "amount");
	if (st == ST_OK)
		st = keep_transaction(out, obj);
	return st;
}

static void
judge_yes(struct facilitator_answer *out, enum facilitator_call call)
{
	if (out->http < 200 || out->http > 299)
		facilitator_answer_set(out, FACILITATOR_UNKNOWN,
		    "the facilitator's answer contradicts its status");
	else if (call == FACILITATOR_SETTLE && out->transaction[0] == '\0')
		facilitator_answer_set(out, FACILITATOR_UNKNOWN,
		    "the facilitator named no transaction");
	else
		facilitator_answer_set(out, FACILITATOR_YES, "");
}

static void
judge_no(struct facilitator_answer *out, enum facilitator_call call,
    const char *reason)
{
	if (call == FACILITATOR_VERIFY)
		facilitator_answer_set(out, FACILITATOR_NO,
		    reason[0] != '\0' ? reason : "refused without a reason");
	else if (reason[0] == '\0')
		facilitator_answer_set(
		    out, FACILITATOR_UNKNOWN, "not settled, without a reason");
	else
		facilitator_answer_set(out,
		    out->transaction[0] == '\0' && decided(reason)
			? FACILITATOR_NO
			: FACILITATOR_UNKNOWN,
		    one_word(reason));
}

static void
judge(struct facilitator_answer *out, enum facilitator_call call,
    const struct cJSON *obj)
{
	bool verify = call == FACILITATOR_VERIFY;
	const struct cJSON *say = json_get(obj, verify ? "isValid" : "success");
	const char *reason = NULL;
	enum status st = ST_BUG;

	if (say == NULL || !json_is_bool(say)) {
		facilitator_answer_set(out, FACILITATOR_UNKNOWN,
		    "the facilitator's answer holds no verdict");
		return;
	}
	st = read_members(out, call, obj);
	if (st == ST_OK)
		st = optional(
		    &reason, obj, verify ? "invalidReason" : "errorReason");
	if (st != ST_OK)
		facilitator_answer_set(out, FACILITATOR_UNKNOWN,
		    st == ST_NOMEM ? "out of memory"
				   : "the facilitator's answer is ill-formed");
	else if (json_is_true(say))
		judge_yes(out, call);
	else
		judge_no(out, call, reason != NULL ? reason : "");
}

void
facilitator_answer_read(struct facilitator_answer *out,
    enum facilitator_call call, const struct facilitator_reply *r)
{
	OWN_JSON struct cJSON *obj = NULL;
	char words[64];

	out->http = r->http;
	if (no_service(r->http)) {
		snprintf(words, sizeof(words),
		    "the facilitator answers HTTP %ld", r->http);
		facilitator_answer_set(out, FACILITATOR_NO_SERVICE, words);
		return;
	}
	/* A redirect, or less, speaks for nobody. */
	if (r->http >= 200 && r->http <= 599 && r->http / 100 != 3)
		obj = facilitator_answer_object(r);
	if (obj == NULL) {
		snprintf(words, sizeof(words),
		    "the facilitator answers HTTP %ld without a verdict",
		    r->http);
		facilitator_answer_set(out, FACILITATOR_UNKNOWN, words);
		return;
	}
	judge(out, call, obj);
}

void
facilitator_answer_note(
    char out[FACILITATOR_NOTE], const struct facilitator_reply *r)
{
	static const char *const names[] = { "errorType", "errorMessage",
		"invalidMessage", "invalidReasonDetails", "correlationId" };
	OWN_JSON struct cJSON *obj = facilitator_answer_object(r);
	size_t i, len = 0;

	out[0] = '\0';
	for (i = 0; obj != NULL && i < sizeof(names) / sizeof(names[0]); i++) {
		const struct cJSON *v = json_get(obj, names[i]);
		const char *s = v != NULL ? json_string(v) : NULL;

		if (s == NULL)
			continue;
		snprintf(out + len, FACILITATOR_NOTE - len, "%s%s: %.128s",
		    len > 0 ? ", " : "", names[i], s);
		len += strlen(out + len);
	}
}
