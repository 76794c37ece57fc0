/* All of one paid run, shared by run.c, repeat.c, perform.c and run_state.c
 * only. */
#ifndef RUN_STATE_H
#define RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "base/wire.h"
#include "box/client.h"
#include "box/job.h"
#include "pay/facilitator.h"
#include "pay/ledger.h"
#include "pay/x402.h"
#include "web/context.h"
#include "web/dialect.h"
#include "web/http.h"
#include "web/intake.h"
#include "web/result_extras.h"
#include "web/room.h"
#include "web/sites.h"
#include "web/stream.h"

enum run_stage {
	RUN_STAGE_READ,
	RUN_STAGE_PARSE,
	RUN_STAGE_CHECK,
	RUN_STAGE_CLAIM,
	RUN_STAGE_RESERVE,
	RUN_STAGE_SETTLE,
	RUN_STAGE_RUN,
	RUN_STAGE_ANSWER,
	RUN_STAGE_KEEP,
	RUN_STAGE_MAX
};

struct run {
	struct context *g;
	const struct site *site;
	const struct dialect *dialect;
	const struct http_request *q;
	struct http_reply *a;
	struct fault f;

	struct intake in;

	bool offered; /* the dialect, at the site: else nothing new is sold */
	bool paid;    /* a payment came with it: pay, signature */
	struct x402_payment pay;
	enum x402_signed signature;
	/* Of the payment that the request is about: its own, or the one that an
	 * earlier request with the same key brought. */
	struct buf identity;
	bool in_flight;
	bool vouched;  /* by a facilitator, or the chain: he can pay */
	bool stranger; /* holds one of the strangers' places */
	bool counted;  /* as a run of this payer */
	bool settling; /* it came that far */
	bool keyed;    /* an Idempotency-Key came with it, hashed: */
	uint8_t key[LEDGER_KEY_BYTES];
	char key_turn[80]; /* its name in flight */
	bool in_key_turn;
	bool working; /* it counts among the threads that do */
	bool ran;     /* its program, to the end that end holds */
	bool passed[RUN_STAGE_MAX];
	struct ledger_row row; /* as the turn found it */

	struct job job;
	const struct site_tier *tier;
	struct accept_choice choice;
	struct facilitator *by;	   /* settles it, for a new payment */
	struct facilitator *other; /* where that one is not reached, or NULL */
	struct x402_requirement req;
	char price[U256_TEXT]; /* req's amount */
	uint64_t price_micros; /* the same in dollars, or as it was claimed */
	struct x402_resource res;
	char url[SITE_URL];
	char payer[128];
	struct buf settle_body;
	char *transaction;
	/* As claimed, borrowed from req and tier, or from row. */
	const char *amount;
	const char *network;
	const char *asset;
	int version;			 /* of x402, for the payment response */
	int starts;			 /* of its run so far */
	bool given_up;			 /* they are used up, and *a says so */
	uint64_t settled_at;		 /* known to be; Unix seconds */
	char reason[FACILITATOR_REASON]; /* of a refused settlement */
	struct client_slot *slot;
	struct room_part room; /* for its answer */

	struct buf streams[2];
	struct wire_result end;
	struct result_extras extras;
	struct stream live;

	int64_t begin;
	int64_t mark;		      /* start of the current stage */
	int64_t spent[RUN_STAGE_MAX]; /* microseconds */
	int64_t facilitator_us;	      /* of the settle stage: its call */
};

void run_state_init(struct run *r, struct http_reply *a, struct context *g,
    const struct site *s, const struct dialect *d,
    const struct http_request *q);
/* The tier that stands in for the body's: the base one, or any where the site
 * does not offer the dialect. */
const struct site_tier *run_state_base(const struct run *r);
/* The payment's turn in flight ends, if it was ours. */
void run_state_leave(struct run *r);
/* The work is done: twins waiting in flight wake up, and its place among those
 * that work and what it held of the budgets of bodies and answers go back. */
void run_state_release(struct run *r);
/* Undo all of it: the slot goes back, twins waiting in flight wake up. */
void run_state_free(struct run *r);

/* Book the time since the last call on stage s. */
void run_state_stage_end(struct run *r, enum run_stage s);

/* The request is over: its times are counted, and one line tells of it, at the
 * level debug where nobody paid and nothing was wrong. No payload, signature,
 * source or output. */
void run_state_tell(const struct run *r, enum status st);

#endif
