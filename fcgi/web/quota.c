#include "web/quota.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "web/address.h"
#include "web/limiter.h"

#define NAMES 16384 /* remembered by each limit */
#define WARY_MS 60000
#define FORWARDED_BYTES (128u << 10) /* over what web servers pass on */

struct quota {
	const struct conf *conf;
	struct address_proxies proxies;
	struct limiter *addresses;
	struct limiter *verifies; /* by address */
	struct limiter *payers;
	struct limiter *refused; /* strangers, by address */
	_Atomic uint64_t verifying;
	_Atomic uint64_t strangers;
	uint64_t max_strangers;
	_Atomic int64_t wary_until_ms;
};

/* A tenth of a minute's worth may come at once. */
static uint64_t
burst(uint64_t per_minute)
{
	return per_minute < 200 ? 20 : per_minute / 10;
}

static enum status
open_all(struct quota *k, const struct conf *c, size_t places)
{
	const struct limiter_rule address = { .per_minute = c->address_rate,
		.burst = burst(c->address_rate) };
	const struct limiter_rule verify = { .per_minute = c->verify_rate,
		.burst = burst(c->verify_rate) };
	const struct limiter_rule payer = { .per_minute = c->payer_rate,
		.burst = burst(c->payer_rate),
		.at_a_time = c->payer_runs,
		.shared = places,
		.busy_from = c->max_runs };
	enum status st = address_proxies_parse(&k->proxies, c->trusted_proxies);

	if (st == ST_OK)
		st = limiter_open(&k->addresses, &address, NAMES);
	if (st == ST_OK)
		st = limiter_open(&k->verifies, &verify, NAMES);
	if (st == ST_OK)
		st = limiter_open(&k->payers, &payer, NAMES);
	if (st == ST_OK)
		st = limiter_open(&k->refused, &verify, NAMES);
	return st;
}

enum status
quota_open(struct quota **out, const struct conf *c, size_t places)
{
	struct quota *k = calloc(1, sizeof(*k));
	enum status st;

	*out = NULL;
	if (k == NULL)
		return ST_NOMEM;
	k->conf = c;
	k->max_strangers = places > 1 ? places / 2 : 1;
	st = open_all(k, c, places);
	if (st == ST_OK)
		*out = k;
	else
		quota_close(k);
	return st;
}

void
quota_close(struct quota *k)
{
	if (k == NULL)
		return;
	address_proxies_free(&k->proxies);
	limiter_close(k->addresses);
	limiter_close(k->verifies);
	limiter_close(k->payers);
	limiter_close(k->refused);
	free(k);
}

/* False: it is this host itself. Without memory for the list it is the proxy
 * that counts. */
static bool
address(char out[ADDRESS_TEXT], struct quota *k, const struct http_request *q)
{
	OWN_BUF struct buf forwarded;

	buf_init(&forwarded, FORWARDED_BYTES);
	if (k->proxies.n > 0)
		http_joined(q, "HTTP_X_FORWARDED_FOR", &forwarded);
	return address_of(
	    out, q->remote_addr, buf_cstr(&forwarded), &k->proxies);
}

/* Take one token of the address; nothing is held. */
static enum status
take(struct limiter *l, const char *name, struct fault *f)
{
	uint64_t wait_s = 1;

	if (limiter_enter(l, name, false, io_now_ms(), &wait_s) == LIMITER_GO) {
		limiter_leave(l, name);
		return ST_OK;
	}
	fault_set(f, ST_EXECUTE_IP_RATE_LIMITED,
	    "too many requests from %s; nothing was charged for this one",
	    name);
	f->retry_s = (unsigned)wait_s;
	return ST_EXECUTE_IP_RATE_LIMITED;
}

enum status
quota_address(struct quota *k, const struct http_request *q, struct fault *f)
{
	char name[ADDRESS_TEXT];

	if (!address(name, k, q))
		return ST_OK;
	return take(k->addresses, name, f);
}

enum status
quota_verify(struct quota *k, const struct http_request *q, struct fault *f)
{
	char name[ADDRESS_TEXT];
	enum status st = ST_OK;

	if (q != NULL && address(name, k, q))
		st = take(k->verifies, name, f);
	if (st != ST_OK)
		return st;
	if (atomic_fetch_add(&k->verifying, 1) < k->conf->verify_calls ||
	    k->conf->verify_calls == 0)
		return ST_OK;
	quota_verified(k);
	return fault_set(f, ST_SERVICE_BUSY,
	    "too many payments wait for the facilitator's check; nothing was "
	    "charged");
}

void
quota_verified(struct quota *k)
{
	atomic_fetch_sub(&k->verifying, 1);
}

enum status
quota_stranger(struct quota *k, const struct http_request *q, struct fault *f)
{
	char name[ADDRESS_TEXT];
	enum status st = ST_OK;

	if (atomic_fetch_add(&k->strangers, 1) >= k->max_strangers)
		st = fault_set(f, ST_SERVICE_BUSY,
		    "too many payers who have not paid here before wait for "
		    "their settlement; %s: repeat the same request with the "
		    "same payment, do not sign a new one",
		    q != NULL ? "nothing was charged"
			      : "this request changed nothing");
	if (st == ST_OK && q != NULL && address(name, k, q))
		st = take(k->refused, name, f);
	if (st != ST_OK)
		atomic_fetch_sub(&k->strangers, 1);
	return st;
}

void
quota_stranger_leave(
    struct quota *k, const struct http_request *q, bool refused)
{
	char name[ADDRESS_TEXT];

	atomic_fetch_sub(&k->strangers, 1);
	if (refused)
		atomic_store(&k->wary_until_ms, io_now_ms() + WARY_MS);
	else if (q != NULL && address(name, k, q))
		limiter_undo(k->refused, name);
}

bool
quota_wary(const struct quota *k)
{
	return io_now_ms() < atomic_load(&k->wary_until_ms);
}

/* A payer whom nobody names is known by where he comes from. */
static const char *
payer_name(char out[ADDRESS_TEXT], struct quota *k, const char *payer,
    const struct http_request *q)
{
	if (payer[0] != '\0')
		return payer;
	(void)address(out, k, q);
	return out;
}

enum status
quota_payer(struct quota *k, const char *payer, bool known,
    const struct http_request *q, struct fault *f)
{
	char room[ADDRESS_TEXT];
	uint64_t wait_s = 1;
	enum status st = ST_OK;

	switch (limiter_enter(k->payers, payer_name(room, k, payer, q), !known,
	    io_now_ms(), &wait_s)) {
	case LIMITER_GO:
		return ST_OK;
	case LIMITER_TOO_OFTEN:
		st = fault_set(f, ST_PAYER_RATE_LIMITED,
		    "this payer has asked for too many runs in the last "
		    "minute; nothing was charged for this one: repeat it with "
		    "the same payment");
		break;
	case LIMITER_TOO_MANY:
		st = fault_set(f, ST_PAYER_CONCURRENCY_LIMITED,
		    "too many runs of this payer are under way; nothing was "
		    "charged for this one: repeat it with the same payment");
		break;
	}
	f->retry_s = (unsigned)wait_s;
	return st;
}

void
quota_payer_leave(
    struct quota *k, const char *payer, const struct http_request *q, bool ran)
{
	char room[ADDRESS_TEXT];
	const char *name = payer_name(room, k, payer, q);

	if (ran)
		limiter_leave(k->payers, name);
	else
		limiter_undo(k->payers, name);
}
