/* What the ledger's tests share: a place for a store, and rows in each state.
 */
#ifndef LEDGER_FIXTURE_H
#define LEDGER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "pay/ledger.h"

#define DIGEST                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_DIGEST                                                           \
	"ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
#define NET "eip155:84532"
#define TXN "0xABCDEF"
#define PAYER "0xf39F"

struct store {
	char dir[64];
	char path[96];
	char url[112];
	struct ledger *l;
};

static inline void
sqlite_make(struct store *s)
{
	snprintf(s->dir, sizeof(s->dir), "/tmp/test_ledger.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	snprintf(s->path, sizeof(s->path), "%s/ledger.db", s->dir);
	snprintf(s->url, sizeof(s->url), "sqlite:%s", s->path);
	s->l = NULL;
}

static inline void
sqlite_remove(const struct store *s)
{
	static const char *const ends[] = { "", "-wal", "-shm", ".lock" };
	char name[128];
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", s->path, ends[i]);
		(void)unlink(name);
	}
	(void)rmdir(s->dir);
}

static inline struct ledger_claim
claim_of(const char *identity)
{
	return (struct ledger_claim){ .identity = identity,
		.site = "https://api.example.com",
		.route = "/execute",
		.request_digest = DIGEST,
		.payer = PAYER,
		.network = NET,
		.asset = "0x036C",
		.pay_to = "0x7099",
		.amount = "10000",
		.facilitator = "default",
		.settle_body = "{}",
		.settle_body_len = 2,
		.valid_before = 1740672389,
		.version = 2 };
}

static inline enum status
claim(struct ledger *l, const char *identity)
{
	struct ledger_claim c = claim_of(identity);

	return ledger_claim(l, &c);
}

/* The state of a row, 0 if there is none. */
static inline int
state_of(struct ledger *l, const char *identity)
{
	struct ledger_row row;
	enum status st = ledger_find(l, identity, &row);
	int state = st == ST_OK ? (int)row.state : 0;

	assert_true(st == ST_OK || st == ST_NOT_FOUND);
	ledger_row_free(&row);
	return state;
}

/* A key's hash. */
static inline const uint8_t *
key_of(unsigned int n)
{
	static uint8_t keys[16][LEDGER_KEY_BYTES];

	memset(keys[n % 16], (int)n, LEDGER_KEY_BYTES);
	return keys[n % 16];
}

/* Make a row and bring it to a state. */
static inline void
bring_claim(
    struct ledger *l, const struct ledger_claim *c, int state, const char *txn)
{
	const char *identity = c->identity;

	assert_int_equal(ledger_claim(l, c), ST_OK);
	if (state == LEDGER_CLAIMED)
		return;
	assert_int_equal(ledger_settling(l, identity), ST_OK);
	if (state == LEDGER_SETTLING)
		return;
	if (state == LEDGER_UNKNOWN) {
		assert_int_equal(ledger_unknown(l, identity, "r"), ST_OK);
		return;
	}
	if (state == LEDGER_FAILED) {
		assert_int_equal(ledger_failed(l, identity, "r"), ST_OK);
		return;
	}
	assert_int_equal(ledger_settled(l, identity, txn), ST_OK);
	if (state == LEDGER_SETTLED)
		return;
	assert_int_equal(ledger_running(l, identity), ST_OK);
	if (state == LEDGER_RUNNING)
		return;
	assert_int_equal(
	    ledger_done(l, identity, 200, "A: b\n", "body", 4), ST_OK);
}

static inline void
bring(struct ledger *l, const char *identity, int state, const char *txn)
{
	struct ledger_claim c = claim_of(identity);

	if (state != 0)
		bring_claim(l, &c, state, txn);
}

/* A way to have stores, whatever is behind the interface. */
struct store_kind {
	const char *name;
	void (*make)(struct store *s);	       /* an url that nobody has used */
	void (*remove)(const struct store *s); /* and all that it left */
};

static const struct store_kind sqlite_kind = { "sqlite", sqlite_make,
	sqlite_remove };

#endif
