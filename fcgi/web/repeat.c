#include "web/repeat.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/hex.h"
#include "base/jcs.h"
#include "base/own.h"

/* Longer than any site, route and key together. */
#define NAMED_KEY 4096

static enum status
ledger_trouble(struct run *r)
{
	return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "ledger");
}

/* The key is a secret and is kept as a hash only. Site and route are hashed
 * with it: elsewhere the same key is another one. */
static enum status
hash_key(struct run *r)
{
	OWN_BUF struct buf b;
	char hex[2 * LEDGER_KEY_BYTES + 1];
	enum status st = ST_BUG;

	buf_init(&b, NAMED_KEY);
	buf_addf(&b, "tollbox idempotency key\n%s\n%s\n%s",
	    r->site->conf.public_url, r->q->path, r->q->idempotency_key);
	st = buf_status(&b);
	if (st == ST_OK)
		st = jcs_sha256(hex, b.data, b.len);
	if (st == ST_OK)
		st = hex_decode(r->key, sizeof(r->key), hex);
	if (st != ST_OK)
		return st;
	snprintf(r->key_turn, sizeof(r->key_turn), "key/%s", hex);
	r->keyed = true;
	return ST_OK;
}

enum status
repeat_init(struct run *r)
{
	if (r->q->idempotency_key != NULL && hash_key(r) != ST_OK)
		return fault_set(
		    &r->f, ST_SERVICE_INTERNAL_FAILURE, "Idempotency-Key");
	return ST_OK;
}

static enum status
find_key(char **identity, struct run *r, const char *payer)
{
	enum status st = ST_BUG;

	*identity = NULL;
	if (!r->keyed)
		return ST_OK;
	st = ledger_find_key(
	    r->g->ledger, r->key, payer, r->in.digest, identity);
	if (st == ST_CONFLICT)
		return fault_set(&r->f, ST_PAYMENT_REPLAYED,
		    "this Idempotency-Key was used for another body; nothing "
		    "is charged by this request");
	if (st != ST_OK && st != ST_NOT_FOUND)
		return ledger_trouble(r);
	return ST_OK;
}

enum status
repeat_find(char **identity, struct run *r)
{
	/* Where the payer is not known, the body must be the same: the key and
	 * it are proof enough, as they are without any payment. */
	return find_key(identity, r, r->payer[0] != '\0' ? r->payer : NULL);
}

static bool
same_request(const struct run *r, const struct ledger_row *row)
{
	return strcmp(row->site, r->site->conf.public_url) == 0 &&
	       strcmp(row->route, r->q->path) == 0 &&
	       strcmp(row->request_digest, r->in.digest) == 0;
}

/* Only the holder of a payment gets what it bought. What cannot be checked here
 * must at least be the very signature that was claimed. A 402 would tell its
 * payer to sign again, so that is the answer only where no money moved. */
static enum status
check_holder(struct run *r, const struct ledger_row *row)
{
	enum status st = ST_CONFLICT;

	if (r->signature == X402_SIGNED_YES)
		return ST_OK;
	if (row->settle_body != NULL)
		st = x402_payment_same(
		    &r->pay, row->settle_body, row->settle_body_len);
	if (st == ST_OK)
		return ST_OK;
	if (st != ST_CONFLICT)
		return fault_set(&r->f, ST_SERVICE_INTERNAL_FAILURE, "payload");
	if (row->state == LEDGER_FAILED)
		return fault_set(&r->f, ST_PAYMENT_INVALID,
		    "payload is not the one this payment was made with, and "
		    "nothing was charged for that one");
	return fault_set(&r->f, ST_PAYMENT_REPLAYED,
	    "this payment is on record with another payload (its signature, "
	    "for one); repeat the request with that one, do not sign a new "
	    "payment");
}

/* What was signed is public afterwards, so a run that was asked for with a key
 * is only for who has it. */
static enum status
check_key(struct run *r, const struct ledger_row *row)
{
	if (!row->keyed ||
	    (r->keyed && CRYPTO_memcmp(r->key, row->key, sizeof(r->key)) == 0))
		return ST_OK;
	return fault_set(&r->f, ST_PAYMENT_REPLAYED,
	    "this payment's run was asked for with an Idempotency-Key; send "
	    "the same request with the same key");
}

enum status
repeat_allowed(struct run *r, const struct ledger_row *row)
{
	enum status st;

	if (!same_request(r, row))
		return fault_set(&r->f, ST_PAYMENT_REPLAYED,
		    "this payment was used for another request (another site, "
		    "route or body)");
	st = check_holder(r, row);
	return st == ST_OK ? check_key(r, row) : st;
}

enum status
repeat_identifier(struct run *r)
{
	OWN_FREE char *other = NULL;
	enum status st = ST_BUG;

	if (r->pay.identifier == NULL || r->payer[0] == '\0')
		return ST_OK;
	st = ledger_find_identifier(
	    r->g->ledger, r->payer, r->pay.identifier, &other);
	if (st == ST_NOT_FOUND)
		return ST_OK;
	if (st != ST_OK)
		return ledger_trouble(r);
	return fault_set(&r->f, ST_PAYMENT_REPLAYED,
	    "this payment-identifier was used with another payment; send that "
	    "one again, or take a new id");
}

enum status
repeat_conflict(struct run *r)
{
	OWN_FREE char *earlier = NULL;
	enum status st = find_key(&earlier, r, r->payer);

	if (st == ST_OK && earlier == NULL)
		st = repeat_identifier(r);
	if (st != ST_OK)
		return st;
	return fault_set(&r->f, ST_PAYMENT_REPLAYED,
	    "this %s is being used by another request",
	    earlier != NULL ? "Idempotency-Key" : "payment");
}
