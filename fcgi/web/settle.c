#include "web/settle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/log.h"
#include "base/point.h"
#include "pay/facilitator.h"
#include "web/metrics_money.h"

/* Callers see reasons that are codes; free text may hold a facilitator's
 * addresses, traces or worse, and goes to the log only. */
static const char *
reason_told(const char *reason)
{
	size_t n = strlen(reason);

	if (n == 0 || n > 96 ||
	    strspn(reason,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		"0123456789_.-") != n)
		return facilitator_reason_spent(reason) ? "nonce_already_used"
							: "refused";
	return reason;
}

/* Does what the facilitator tells contradict what was asked? A lie, or another
 * payment's answer: either way no proof that this one was settled. */
static const char *
contradiction(const struct settle_ask *ask, const struct facilitator_answer *a)
{
	uint8_t hash[32];

	if (a->transaction == NULL || a->transaction[0] == '\0')
		return "no transaction";
	if (strncmp(ask->network, "eip155:", 7) == 0 &&
	    hex_decode0x(hash, sizeof(hash), a->transaction) != ST_OK)
		return "no transaction hash";
	if (a->network != NULL && strcmp(a->network, ask->network) != 0 &&
	    (ask->network_v1 == NULL ||
		strcmp(a->network, ask->network_v1) != 0))
		return "another network";
	if (a->payer != NULL && ask->payer != NULL && a->payer[0] != '\0' &&
	    strcasecmp(a->payer, ask->payer) != 0)
		return "another payer";
	if (a->amount != NULL && a->amount[0] != '\0' &&
	    strcmp(a->amount, ask->amount) != 0)
		return "another amount";
	return NULL;
}

static enum status
ledger_trouble(struct fault *f)
{
	return fault_set(
	    f, ST_SERVICE_INTERNAL_FAILURE, "the ledger could not be written");
}

static enum status
unknown(struct ledger *l, const struct settle_ask *ask, const char *reason,
    struct fault *f)
{
	log_warn("settlement unknown: %s: %s", ask->identity, reason);
	if (ledger_unknown(l, ask->identity, reason) != ST_OK)
		log_err("ledger: cannot mark %s as unknown", ask->identity);
	return fault_set(f, ST_PAYMENT_SETTLEMENT_INDETERMINATE,
	    "whether the payment was settled is not known yet; repeat the "
	    "same request with the same payment, do not sign a new one");
}

static enum status
settled(char **transaction, struct ledger *l, const struct settle_ask *ask,
    struct facilitator_answer *a, struct fault *f)
{
	const char *odd = contradiction(ask, a);
	enum status st;

	if (odd != NULL)
		return unknown(l, ask, odd, f);
	POINT("settled.before");
	st = ledger_settled(l, ask->identity, a->transaction);
	POINT("settled.after");
	if (st == ST_CONFLICT) {
		*ask->look = true;
		log_err("settlement of %s names a transaction that another "
			"payment has: %s",
		    ask->identity, a->transaction);
		return fault_set(f, ST_PAYMENT_SETTLEMENT_INDETERMINATE,
		    "the facilitator named another payment's transaction; "
		    "whether this one was settled is not known");
	}
	if (st != ST_OK) {
		/* The money moved and the row still says SETTLING, which a
		 * restart reads as UNKNOWN: nothing is lost. */
		log_err("ledger: cannot mark %s as settled (%s)", ask->identity,
		    a->transaction);
		return fault_set(f, ST_PAYMENT_SETTLEMENT_INDETERMINATE,
		    "the settlement could not be recorded; repeat the same "
		    "request with the same payment");
	}
	metrics_money_settled(ask->network, ask->asset, ask->amount);
	*transaction = a->transaction;
	a->transaction = NULL;
	return ST_OK;
}

static enum status
refused(struct ledger *l, const struct settle_ask *ask, const char *reason,
    struct fault *f)
{
	bool spent = facilitator_reason_spent(reason);

	/* After an earlier attempt whose answer was lost, "used" may well be
	 * our own success; after one that was refused, only "used" casts doubt
	 * on that. */
	if (ask->again && (!ask->refused || spent))
		return unknown(l, ask, reason, f);
	/* Used it is, but by whom? Somebody may have handed in our claim, or
	 * the facilitator repeated a call of ours. A row that is FAILED until
	 * the chain tells would give its key away to a second charge. */
	if (spent && ask->chain) {
		*ask->look = true;
		return unknown(l, ask, reason, f);
	}
	log_info("settlement refused: %s: %s", ask->identity, reason);
	if (ledger_failed(l, ask->identity, reason) != ST_OK)
		return ledger_trouble(f);
	if (spent)
		return fault_set(f, ST_PAYMENT_REPLAYED,
		    "this payment's nonce was already used elsewhere (%s)",
		    reason_told(reason));
	return fault_set(f, ST_PAYMENT_SETTLEMENT_FAILED,
	    "the facilitator refused to settle: %s", reason_told(reason));
}

/* Nothing left this host, so an earlier doubt stays and no new one comes. */
static enum status
not_sent(struct ledger *l, const struct settle_ask *ask, const char *reason,
    struct fault *f)
{
	log_warn("facilitator cannot be reached: %s", reason);
	if (ask->again && !ask->refused) {
		(void)unknown(l, ask, reason, f);
		return fault_set(f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
		    "the facilitator cannot be reached; whether the payment "
		    "was settled before is not known yet; repeat the same "
		    "request with the same payment, do not sign a new one");
	}
	if (ledger_failed(l, ask->identity, reason) != ST_OK)
		log_err("ledger: cannot mark %s as failed", ask->identity);
	return fault_set(f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
	    "the facilitator cannot be reached; nothing was charged; repeat "
	    "the same request with the same payment");
}

/* The call, and if provably nothing of it left this host, the same by the other
 * facilitator, which the row then names: whoever got it must be asked again. */
static void
call(struct facilitator_answer *a, struct ledger *l, struct facilitator *fac,
    const struct settle_ask *ask)
{
	enum status st = facilitator_settle(fac, ask->body, ask->body_len, a);

	if (st == ST_OK && a->verdict == FACILITATOR_NOT_SENT && !ask->again &&
	    ask->other != NULL &&
	    ledger_facilitator(l, ask->identity,
		facilitator_conf(ask->other)->name) == ST_OK) {
		log_warn("settling %s by %s: %s cannot be reached",
		    ask->identity, facilitator_conf(ask->other)->name,
		    facilitator_conf(fac)->name);
		facilitator_answer_free(a);
		st =
		    facilitator_settle(ask->other, ask->body, ask->body_len, a);
	}
	if (st != ST_OK) {
		a->verdict = FACILITATOR_UNKNOWN;
		snprintf(a->reason, sizeof(a->reason),
		    "the call failed on our side");
	}
}

/* May the first call have been what moved the money? It may from the moment
 * that the row is SETTLING, unless its answer says otherwise. */
static void
keep_first(struct ledger *l, const struct settle_ask *ask,
    const struct facilitator_answer *a)
{
	enum ledger_first first = LEDGER_FIRST_LOST;

	switch (a->verdict) {
	case FACILITATOR_NOT_SENT:
		first = LEDGER_FIRST_NONE;
		break;
	case FACILITATOR_NO:
		first = facilitator_reason_spent(a->reason)
			    ? LEDGER_FIRST_USED
			    : LEDGER_FIRST_REFUSED;
		break;
	case FACILITATOR_NO_SERVICE:
		first = LEDGER_FIRST_REFUSED;
		break;
	case FACILITATOR_YES:
	case FACILITATOR_UNKNOWN:
	case FACILITATOR_VERDICT_MAX:
		break;
	}
	if (!ask->first || first == LEDGER_FIRST_LOST)
		return;
	if (ledger_first(l, ask->identity, first) != ST_OK)
		log_err("ledger: cannot note how the first call for %s ended",
		    ask->identity);
}

enum status
settle_payment(char **transaction, char reason[FACILITATOR_REASON],
    struct ledger *l, struct facilitator *fac, const struct settle_ask *ask,
    struct fault *f)
{
	struct facilitator_answer a = { .verdict = FACILITATOR_UNKNOWN };
	enum status st = ST_BUG;
	int64_t begin;

	*transaction = NULL;
	*ask->look = false;
	POINT("settling.before");
	if (ledger_settling(l, ask->identity) != ST_OK)
		return ledger_trouble(f);
	POINT("settling.after");
	begin = io_now_us();
	call(&a, l, fac, ask);
	*ask->call_us = io_now_us() - begin;
	snprintf(reason, FACILITATOR_REASON, "%s", reason_told(a.reason));
	keep_first(l, ask, &a);
	switch (a.verdict) {
	case FACILITATOR_YES:
		st = settled(transaction, l, ask, &a, f);
		break;
	case FACILITATOR_NO:
		st = refused(l, ask, a.reason, f);
		break;
	case FACILITATOR_NOT_SENT:
		st = not_sent(l, ask, a.reason, f);
		break;
	case FACILITATOR_NO_SERVICE:
		(void)unknown(l, ask, a.reason, f);
		log_warn("facilitator gives no service: HTTP %ld %s", a.http,
		    a.reason);
		st = fault_set(f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
		    "the facilitator gives no service now (HTTP %ld); repeat "
		    "the same request with the same payment",
		    a.http);
		break;
	case FACILITATOR_UNKNOWN:
	case FACILITATOR_VERDICT_MAX:
		st = unknown(l, ask, a.reason, f);
		break;
	}
	facilitator_answer_free(&a);
	return st;
}

static bool
gave_verdict(const struct facilitator_answer *a)
{
	return a->verdict == FACILITATOR_YES || a->verdict == FACILITATOR_NO;
}

/* What a facilitator calls the payer goes into answers and logs. */
static void
take_payer(char *payer, size_t cap, const char *told)
{
	size_t len = told == NULL ? 0 : strlen(told);

	if (payer[0] != '\0' || len == 0 || len >= cap)
		return;
	for (size_t i = 0; i < len; i++)
		if (told[i] <= ' ' || told[i] > '~')
			return;
	memcpy(payer, told, len + 1);
}

enum status
settle_verify(char *payer, size_t cap, struct facilitator *fac,
    struct facilitator *other, const char *body, size_t body_len,
    struct fault *f)
{
	struct facilitator_answer a = { .verdict = FACILITATOR_UNKNOWN };
	enum status st;

	st = facilitator_verify(fac, body, body_len, &a);
	/* It changes nothing, so another may be asked whatever came. */
	if (st == ST_OK && !gave_verdict(&a) && other != NULL) {
		facilitator_answer_free(&a);
		st = facilitator_verify(other, body, body_len, &a);
	}
	if (st != ST_OK) {
		facilitator_answer_free(&a);
		return fault_set(f, ST_SERVICE_INTERNAL_FAILURE, "verify");
	}
	switch (a.verdict) {
	case FACILITATOR_YES:
		take_payer(payer, cap, a.payer);
		st = ST_OK;
		break;
	case FACILITATOR_NO:
		if (strstr(a.reason, "insufficient_funds") != NULL ||
		    strstr(a.reason, "insufficient_balance") != NULL)
			st = fault_set(f, ST_PAYMENT_AMOUNT_INSUFFICIENT,
			    "the payer's balance is too low (%s)",
			    reason_told(a.reason));
		else if (facilitator_reason_spent(a.reason))
			st = fault_set(f, ST_PAYMENT_REPLAYED,
			    "this payment's nonce was already used elsewhere "
			    "(%s)",
			    reason_told(a.reason));
		else
			st = fault_set(f, ST_PAYMENT_INVALID,
			    "the facilitator finds the payment invalid: %s",
			    reason_told(a.reason));
		break;
	case FACILITATOR_NOT_SENT:
	case FACILITATOR_NO_SERVICE:
	case FACILITATOR_UNKNOWN:
	case FACILITATOR_VERDICT_MAX:
		log_warn("facilitator: no verdict on verify: HTTP %ld %s",
		    a.http, a.reason);
		st = fault_set(f, ST_PAYMENT_FACILITATOR_UNAVAILABLE,
		    "the facilitator cannot check payments now; nothing was "
		    "charged");
		break;
	}
	facilitator_answer_free(&a);
	return st;
}
