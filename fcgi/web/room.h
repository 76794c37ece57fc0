/*
 * The room for answers that must be kept (api.md section 10): one budget for
 * those that are kept already and for the most that runs under way may come to.
 * Whose turn it is when it gets scarce, so that nobody's answers, and nobody's
 * promises, shut out all others. Pure but for its lock. Thread-safe.
 *
 * - Strangers, of whom nobody knows if they can pay, have half of it.
 * - While more than half is taken, who has over an eighth of it for himself
 *   gets no more.
 */
#ifndef ROOM_H
#define ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define ROOM_PAYER 128

struct room;

/* One run's part. Zeroed: it holds none. */
struct room_part {
	struct room_part *next;
	uint64_t bytes;
	char payer[ROOM_PAYER];
	bool stranger;
};

/* budget in bytes. ST_OK, ST_NOMEM. */
enum status room_open(struct room **out, uint64_t budget)
    __attribute__((warn_unused_result));
void room_close(struct room *r); /* NULL is fine; all parts were left */

struct room_ask {
	const char *payer;   /* "" where nobody knows */
	uint64_t bytes;	     /* the most that his answer may take */
	uint64_t kept;	     /* of all answers that are kept */
	uint64_t kept_payer; /* of his */
	bool stranger;	     /* he has not paid yet */
	bool paid;	     /* for this very run: the whole budget is his */
};

/* Take a part, which stays linked until room_leave(). ST_OK; ST_SERVICE_BUSY:
 * nothing was taken. */
enum status room_take(struct room *r, struct room_part *part,
    const struct room_ask *ask) __attribute__((warn_unused_result));
/* He has paid: he is no stranger any more. */
void room_paid(struct room *r, struct room_part *part);
void room_leave(struct room *r, struct room_part *part);

/* Bytes of all parts. */
uint64_t room_due(struct room *r);

#endif
