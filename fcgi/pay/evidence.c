#include "pay/evidence.h"

#include <stddef.h>

/* Two clocks are compared below, ours and the chain's. Within this they agree:
 * a block's time lies on a grid of seconds and may be a little ahead. */
#define AHEAD_S 30
#define BEHIND_S 120
/* Mined so long before the claim: no doubt about the order. A maker of blocks
 * may take what comes some seconds after the time that the block is given. */
#define EARLIER_S 60

#define SOON_S 3
#define FIRST_S 5
#define MOST_S 600
#define RARE_S 3600
/* Stands for an end that is not known: no payment is valid for longer. */
#define LONGEST_S 86400

_Static_assert(RARE_S + FIRST_S <= LEDGER_REST_S, "the longest rest there is");

static bool
chain_ahead(const struct evidence *e)
{
	return e->sight->head_time > e->now &&
	       e->sight->head_time - e->now > AHEAD_S;
}

static bool
chain_behind(const struct evidence *e)
{
	return e->now > e->sight->head_time &&
	       e->now - e->sight->head_time > BEHIND_S;
}

/* The transfer is there; did it come after the claim? Anybody may hand in a
 * signed authorization, so an older one binds to no request of ours. The time
 * of the claim is our clock's, which may have been wrong then and be right now:
 * by itself it never says that somebody else was first. That takes the word of
 * our first call, to which the nonce was used already. And where that call was
 * lost, it may be what is found: seconds that our clock was ahead do not matter
 * then. (Who gains by those must have our call fail at the right moment.) */
static enum evidence_verdict
weigh_paid(const struct evidence *e, const char **why)
{
	uint64_t early;

	if (chain_ahead(e)) {
		*why =
		    "paid on the chain, whose clock does not agree with ours";
		return EVIDENCE_LIKELY;
	}
	if (e->sight->block_time >= e->claimed) {
		*why = "paid on the chain";
		return EVIDENCE_PAID;
	}
	early = e->claimed - e->sight->block_time;
	if (e->first == LEDGER_FIRST_LOST && early <= EARLIER_S) {
		*why = "paid on the chain, by a call whose answer was lost";
		return EVIDENCE_PAID;
	}
	if (e->first == LEDGER_FIRST_USED && early >= EARLIER_S &&
	    !chain_behind(e)) {
		*why = "the authorization was used before this payment was "
		       "claimed here";
		return EVIDENCE_SPENT;
	}
	*why = early >= EARLIER_S
		   ? "paid on the chain, by our clock before the claim, which "
		     "alone proves nothing"
		   : "paid on the chain, too close to the claim to tell which "
		     "came first";
	return EVIDENCE_LIKELY;
}

static enum evidence_verdict
weigh_unused(const struct evidence *e, const char **why)
{
	if (e->valid_before != 0 && e->sight->sure_time >= e->valid_before &&
	    e->now >= e->valid_before) {
		*why = "the authorization expired unused";
		return EVIDENCE_NOT_PAID;
	}
	*why = "the authorization is unused so far";
	return EVIDENCE_OPEN;
}

/* EVIDENCE_NONE where the chain says nothing. */
static enum evidence_verdict
weigh_sight(const struct evidence *e, const char **why)
{
	switch (e->sight->use) {
	case CHAIN_PAID:
		return weigh_paid(e, why);
	case CHAIN_UNUSED:
		return weigh_unused(e, why);
	case CHAIN_CANCELED:
		*why = "the payer cancelled the authorization";
		return EVIDENCE_NOT_PAID;
	case CHAIN_DIVERTED:
		*why = "the authorization's nonce was used for another "
		       "transfer";
		return EVIDENCE_SPENT;
	case CHAIN_EARLIER:
		if (e->first != LEDGER_FIRST_USED || chain_behind(e) ||
		    chain_ahead(e))
			break;
		*why = "the authorization was used before this payment was "
		       "claimed here";
		return EVIDENCE_SPENT;
	case CHAIN_FRESH:
		*why = "used on the chain, waiting for confirmations";
		return EVIDENCE_LIKELY;
	case CHAIN_LOST:
		break;
	case CHAIN_UNREAD:
	case CHAIN_USE_MAX:
		return EVIDENCE_NONE;
	}
	*why = "used or cancelled on the chain, which of them cannot be read";
	return EVIDENCE_LIKELY;
}

enum evidence_verdict
evidence_weigh(const struct evidence *e, const char **why)
{
	enum evidence_verdict v = EVIDENCE_NONE;
	const char *unheard;

	if (why == NULL)
		why = &unheard;
	*why = "nothing is known";
	if (e->sight != NULL)
		v = weigh_sight(e, why);
	/* Where the chain is sure, it is not for the facilitator to say; and
	 * what it says to a call made again is no proof but for a yes. */
	if (evidence_decides(v))
		return v;
	if (e->said == EVIDENCE_SAID_PAID) {
		*why = "the facilitator says it is settled";
		return EVIDENCE_PAID;
	}
	if (v == EVIDENCE_NONE && e->said == EVIDENCE_SAID_SPENT) {
		*why = "the facilitator says the nonce is used: likely paid";
		return EVIDENCE_LIKELY;
	}
	if (v == EVIDENCE_NONE && e->said == EVIDENCE_SAID_NO)
		*why = "the facilitator refuses now, which says nothing about "
		       "before";
	return v;
}

bool
evidence_decides(enum evidence_verdict v)
{
	return v == EVIDENCE_PAID || v == EVIDENCE_NOT_PAID ||
	       v == EVIDENCE_SPENT;
}

uint64_t
evidence_next(const struct evidence *e, enum evidence_verdict v)
{
	uint64_t end =
	    e->valid_before != 0 ? e->valid_before : e->claimed + LONGEST_S;
	uint64_t age = e->now > e->claimed ? e->now - e->claimed : 0;
	uint64_t pause = age / 2 > FIRST_S ? age / 2 : FIRST_S;

	if (pause > MOST_S)
		pause = MOST_S;
	if (e->sight == NULL)
		/* All that could be heard has been by then. */
		return e->now >= end + EVIDENCE_MARGIN_S ? EVIDENCE_NEVER
							 : e->now + pause;
	if (e->sight->use == CHAIN_FRESH)
		return e->now + SOON_S;
	/* The chain will be that far in no time. */
	if (v == EVIDENCE_OPEN && e->now >= end)
		return e->now + FIRST_S;
	if (age > LONGEST_S)
		pause = RARE_S;
	/* The end of the authorization decides much: be there soon after. */
	if (e->now < end && e->now + pause > end)
		return end + FIRST_S;
	return e->now + pause;
}
