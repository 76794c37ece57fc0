/*
 * The ledger: one row a payment, one state machine, every state committed
 * before its effect (design.md, "The ledger's states"). SQLite behind it is
 * this file's secret: nothing here says so, so that another store can take
 * its place. Thread-safe; calls block until the change is durable.
 *
 *   CLAIMED -> SETTLING -> SETTLED -> RUNNING -> DONE
 *      |         |  |  ^      ^  <-------'  (crash or sandbox trouble: owed)
 *   (released)   |  |  '- again (UNKNOWN, FAILED settle anew)
 *                |  '-> UNKNOWN -> SETTLED | FAILED
 *                '----> FAILED
 */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

struct ledger;

enum ledger_state {
	LEDGER_CLAIMED = 1,
	LEDGER_SETTLING, /* found at start-up: treated as UNKNOWN */
	LEDGER_UNKNOWN,
	LEDGER_FAILED,	/* bound to its request until valid_before */
	LEDGER_SETTLED, /* paid, run is owed */
	LEDGER_RUNNING, /* found at start-up: back to SETTLED */
	LEDGER_DONE,	/* the answer is kept */
	LEDGER_STATE_MAX
};

/* How the first call of settle that was sent for a payment ended: may it have
 * been what moved the money? (pay/evidence.h) */
enum ledger_first {
	LEDGER_FIRST_NONE,    /* nothing was sent yet */
	LEDGER_FIRST_LOST,    /* it may: no verdict came, or none yet */
	LEDGER_FIRST_USED,    /* no: the nonce had been used before */
	LEDGER_FIRST_REFUSED, /* no, for another reason; or it is not known in
			       * a row of an older program */
	LEDGER_FIRST_MAX
};

#define LEDGER_STARTS 3 /* runs started for one payment at most */
#define LEDGER_KEY_BYTES 32
/* An unknown settlement stays this long past the end of its authorization. */
#define LEDGER_UNKNOWN_KEEP_S 7776000 /* 90 days */
/* A payer is remembered so long after he last paid. */
#define LEDGER_PAYER_KEEP_S 7776000
#define LEDGER_NEVER UINT64_MAX
/* A settlement rests so long after it became UNKNOWN. */
#define LEDGER_FIRST_TRY_S 5
/* None rests for longer: one that does was put off by a clock that has been set
 * back since, and is due. */
#define LEDGER_REST_S 3700

/* What is written with a claim. Borrowed by ledger_claim(). */
struct ledger_claim {
	const char *identity; /* x402_identity() */
	const char *site;     /* public URL of the site */
	const char *route;
	const char *request_digest; /* 64 hex digits */
	const char *payer;
	const char *network;
	const char *asset;
	const char *pay_to;
	const char *amount;	 /* atomic units */
	const char *facilitator; /* its section's name */
	const char *settle_body; /* exact bytes for settle */
	size_t settle_body_len;
	uint64_t valid_before; /* Unix seconds; 0 if unknown */
	int version;	       /* x402 version it was paid in */
	/* What else the payer knows it by; NULL: nothing. The key as a hash of
	 * LEDGER_KEY_BYTES that covers site and route too: it is a secret. */
	const char *identifier;
	const uint8_t *key;
};

/* A row as read. Owned: ledger_row_free(). */
struct ledger_row {
	enum ledger_state state;
	char *site;
	char *route;
	char *request_digest;
	char *payer;
	char *network;
	char *asset;
	char *pay_to;
	char *amount;
	char *facilitator;
	char *settle_body;
	size_t settle_body_len;
	char *transaction; /* NULL until settled */
	char *reason;	   /* why UNKNOWN or FAILED, NULL if none */
	uint64_t valid_before;
	int version;
	int starts;
	int tries; /* times it went into SETTLING */
	enum ledger_first first;
	uint64_t next_try; /* UNKNOWN: when it is looked at next, 0: asked to be
			    * at once, LEDGER_NEVER: nothing new can come */
	uint64_t created;  /* Unix seconds */
	char *identifier;  /* payment-identifier, NULL if none */
	bool keyed;	   /* claimed with the key whose hash is: */
	uint8_t key[LEDGER_KEY_BYTES];
	/* The answer kept, when DONE and not yet expired, or when SETTLED and
	 * given up; else body NULL and http 0. */
	int answer_http;
	char *answer_headers; /* "Name: value\n" lines */
	char *answer_body;
	size_t answer_body_len;
};
void ledger_row_free(struct ledger_row *r);

/* Open (making it if it is not there) the store named by url, "sqlite:PATH".
 * Every SETTLING becomes UNKNOWN, every RUNNING goes back to SETTLED, every
 * CLAIMED is released: the process that held them is gone. One process at a
 * time has the store so; a second is refused. ST_OK; ST_IO, the reason logged;
 * ST_NOMEM. */
enum status ledger_open(struct ledger **out, const char *url)
    __attribute__((warn_unused_result));
/* Open a store that is there beside the process that has it, to look only:
 * nothing is mended, and every change gives ST_BUG. */
enum status ledger_open_reader(struct ledger **out, const char *url)
    __attribute__((warn_unused_result));
/* Open a store that is there beside the process that has it, for
 * ledger_recall() as the one change. Nothing is mended. */
enum status ledger_open_beside(struct ledger **out, const char *url)
    __attribute__((warn_unused_result));
void ledger_close(struct ledger *l);
/* Does another process have the store? ST_OK: *held tells; else as
 * ledger_open(). */
enum status ledger_held(bool *held, const char *url)
    __attribute__((warn_unused_result));

/* The row of an identity. ST_OK, ST_NOT_FOUND, ST_IO, ST_NOMEM. */
enum status ledger_find(struct ledger *l, const char *identity,
    struct ledger_row *out) __attribute__((warn_unused_result));

/* The same without the answer itself, which may be large: answer_http tells if
 * one is kept (0: none). */
enum status ledger_look(struct ledger *l, const char *identity,
    struct ledger_row *out) __attribute__((warn_unused_result));

/* Which earlier payment has this key? payer NULL: anybody's whose request has
 * this digest, the one furthest on. Else only his: ST_CONFLICT where he used
 * the key for another digest. FAILED rows of the same digest do not count: no
 * money moved, and a new payment may take the key over. ST_OK: *identity (free
 * it); ST_NOT_FOUND; ST_IO; ST_NOMEM. */
enum status ledger_find_key(struct ledger *l, const uint8_t *key,
    const char *payer, const char *request_digest, char **identity)
    __attribute__((warn_unused_result));

/* The payment of this payer that has this payment-identifier, as above. */
enum status ledger_find_identifier(struct ledger *l, const char *payer,
    const char *identifier, char **identity)
    __attribute__((warn_unused_result));

/* The payment whose identity is head, then text without "/", then tail; the
 * first by the alphabet. Takes a step for each such text that there is behind
 * head, however many rows have it. ST_OK: *identity (free it); ST_NOT_FOUND;
 * ST_IO; ST_NOMEM. */
enum status ledger_find_around(struct ledger *l, const char *head,
    const char *tail, char **identity) __attribute__((warn_unused_result));

/* For every change below: ST_CONFLICT also when there is no such row, or when
 * it is in no state this change may start from (nothing is changed then).
 * ST_IO, ST_NOMEM, ST_BUG: not made as far as this process sees, but a change
 * whose commit failed may turn up as made after a crash. */

/* Make the row in state CLAIMED. ST_OK: it is ours. ST_CONFLICT: a row was
 * there already, or one of the same payer that has this identifier (an unknown
 * payer, "", has none), or this key as ledger_find_key() counts. ST_IO. */
enum status ledger_claim(struct ledger *l, const struct ledger_claim *c)
    __attribute__((warn_unused_result));

/* Delete a row that is still CLAIMED. ST_OK, ST_CONFLICT (it is not), ST_IO. */
enum status ledger_release(struct ledger *l, const char *identity)
    __attribute__((warn_unused_result));

/* CLAIMED, UNKNOWN or FAILED -> SETTLING, before settle is called. The same
 * identical settle_body is to be sent. ST_CONFLICT also for a FAILED row whose
 * key another payment has taken over: the request is that one's now. */
enum status ledger_settling(struct ledger *l, const char *identity)
    __attribute__((warn_unused_result));
/* The same for evidence alone: settle is not called. */
enum status ledger_reopened(struct ledger *l, const char *identity)
    __attribute__((warn_unused_result));
/* SETTLING by the first call, which ended so: anything but LOST, which it is
 * from ledger_settling() on. */
enum status ledger_first(struct ledger *l, const char *identity,
    enum ledger_first first) __attribute__((warn_unused_result));
/* SETTLING, and nothing was sent yet: another facilitator is to settle it. */
enum status ledger_facilitator(struct ledger *l, const char *identity,
    const char *name) __attribute__((warn_unused_result));
/* SETTLING or UNKNOWN -> SETTLED with the transaction. ST_CONFLICT when the
 * (network, transaction) pair is another payment's: not a payment, the row
 * goes to UNKNOWN (api.md section 10, identity). */
enum status ledger_settled(struct ledger *l, const char *identity,
    const char *transaction) __attribute__((warn_unused_result));
/* The same, proved by the chain: number `log` of the transaction's block is the
 * one that says that this very authorization was used. So another payment may
 * have the transaction as well, but none that log. */
enum status ledger_proved(struct ledger *l, const char *identity,
    const char *transaction, uint64_t log) __attribute__((warn_unused_result));
/* SETTLING -> UNKNOWN; SETTLING or (on evidence) UNKNOWN -> FAILED; with the
 * reason for the operator, or NULL. */
enum status ledger_unknown(struct ledger *l, const char *identity,
    const char *reason) __attribute__((warn_unused_result));
enum status ledger_failed(struct ledger *l, const char *identity,
    const char *reason) __attribute__((warn_unused_result));
/* UNKNOWN stays so, until next_try (Unix seconds or LEDGER_NEVER), with what
 * was found. */
enum status ledger_later(struct ledger *l, const char *identity,
    uint64_t next_try, const char *reason) __attribute__((warn_unused_result));
/* The UNKNOWN row that has been due longest, before those that are due only
 * since they rest for too long: *identity (free it), or ST_NOT_FOUND. */
enum status ledger_due(struct ledger *l, uint64_t now, char **identity)
    __attribute__((warn_unused_result));
/* Make UNKNOWN rows due at once: the one of identity, or (NULL) all of them,
 * with `never` those that were given up too. */
enum status ledger_recall(struct ledger *l, const char *identity, bool never)
    __attribute__((warn_unused_result));
/* SETTLED -> RUNNING, counting the start. ST_TOO_BIG when LEDGER_STARTS are
 * used up (the row stays). */
enum status ledger_running(struct ledger *l, const char *identity)
    __attribute__((warn_unused_result));
/* RUNNING -> SETTLED: the run did not start or was lost on our side. */
enum status ledger_owed(struct ledger *l, const char *identity)
    __attribute__((warn_unused_result));
/* RUNNING -> DONE with the answer, durable before it is sent. headers may be
 * NULL for none. */
enum status ledger_done(struct ledger *l, const char *identity, int http,
    const char *headers, const char *body, size_t body_len)
    __attribute__((warn_unused_result));

/* SETTLED after LEDGER_STARTS stays as it is, for a refund by hand, but has an
 * answer from now on, which stays as long as the row. ST_CONFLICT also where it
 * has one already. */
enum status ledger_given_up(struct ledger *l, const char *identity, int http,
    const char *headers, const char *body, size_t body_len)
    __attribute__((warn_unused_result));

/* Delete answers older than answer_age_s (rows stay), and rows that can go:
 * FAILED ones past valid_before + margin, DONE ones past that and
 * answer_age_s, UNKNOWN ones LEDGER_UNKNOWN_KEEP_S past it (logged). Whatever
 * is owed stays. Payers who are owed nothing go after LEDGER_PAYER_KEEP_S. */
enum status ledger_expire(struct ledger *l, uint64_t now, uint64_t answer_age_s)
    __attribute__((warn_unused_result));

/* Bytes of answers kept, as they are stored (compressed where that helps, and
 * never more than headers and body have); exact at any moment, and quick. */
enum status ledger_answer_bytes(struct ledger *l, uint64_t *out)
    __attribute__((warn_unused_result));

/* What is remembered of a payer who has paid. */
struct ledger_payer {
	bool good;	       /* and no settlement of his was refused since */
	uint64_t answer_bytes; /* as above, of his alone */
};
/* *out is zero for one who is not known, or who is "". ST_OK, ST_IO. */
enum status ledger_payer(struct ledger *l, const char *payer,
    struct ledger_payer *out) __attribute__((warn_unused_result));
/* He was refused: not good until he pays again. ST_CONFLICT: nobody knows him.
 */
enum status ledger_doubt(struct ledger *l, const char *payer)
    __attribute__((warn_unused_result));

struct ledger_counts {
	uint64_t rows[LEDGER_STATE_MAX]; /* by state; those of DONE, which are
					  * as many as were sold in a day, are
					  * not counted */
	uint64_t given_up; /* of SETTLED: have an answer that says so */
};

/* How many rows there are; quick, as none of DONE is looked at. ST_OK, ST_IO,
 * ST_NOMEM. */
enum status ledger_count(struct ledger *l, struct ledger_counts *out)
    __attribute__((warn_unused_result));

/* Call fn for each row, newest first, of one state (0: all), without its
 * answer. fn returns false to stop; it may call the ledger. Read-only; used by
 * `tollbox payments`. */
enum status ledger_list(struct ledger *l, enum ledger_state state,
    bool (*fn)(void *ctx, const char *identity, const struct ledger_row *row),
    void *ctx) __attribute__((warn_unused_result));

const char *ledger_state_name(enum ledger_state s); /* "settled" */

#endif
