#include "web/reconcile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/chain.h"
#include "pay/facilitator.h"
#include "pay/x402.h"
#include "web/metrics_money.h"
#include "web/settle.h"

#define CHAIN_WAIT_MS 20000 /* of one look that nobody waits for */

struct reconcile {
	const struct conf *conf;
	struct ledger *ledger;
	struct sites *sites;
	struct chain *chains[CONF_CHAINS]; /* as the settings have them */
};

enum status
reconcile_open(struct reconcile **out, const struct conf *c, struct ledger *l,
    struct sites *s)
{
	struct reconcile *r = calloc(1, sizeof(*r));
	enum status st = ST_OK;

	*out = NULL;
	if (r == NULL)
		return ST_NOMEM;
	r->conf = c;
	r->ledger = l;
	r->sites = s;
	for (size_t i = 0; i < c->n_chains && st == ST_OK; i++) {
		const struct conf_chain *n = &c->chains[i];
		const char *network = conf_chain_network(c, n);

		if (network == NULL)
			continue;
		st = chain_open(
		    &r->chains[i], &(struct chain_setting){ .network = network,
				       .rpc_url = n->rpc_url,
				       .ca_file = n->ca_file,
				       .confirmations = n->confirmations,
				       .log_blocks = n->log_blocks });
	}
	if (st == ST_OK)
		*out = OWN_STEAL(r);
	reconcile_close(r);
	return st;
}

void
reconcile_close(struct reconcile *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < CONF_CHAINS; i++)
		chain_close(r->chains[i]);
	free(r);
}

static struct chain *
chain_of(const struct reconcile *r, const char *network)
{
	for (size_t i = 0; i < r->conf->n_chains; i++) {
		const char *name =
		    conf_chain_network(r->conf, &r->conf->chains[i]);

		if (name != NULL && strcmp(name, network) == 0)
			return r->chains[i];
	}
	return NULL;
}

/* ---- what is looked for ---- */

/* The next part of an identity, "/0x…", of that many bytes. */
static bool
part(const char **at, uint8_t *out, size_t len)
{
	char text[2 + 2 * 32 + 1];
	size_t chars = 2 + 2 * len;

	if (**at != '/' || strlen(*at + 1) < chars)
		return false;
	memcpy(text, *at + 1, chars);
	text[chars] = '\0';
	*at += 1 + chars;
	return hex_decode0x(out, len, text) == ST_OK;
}

/* Only EIP-3009's identities have this form: network, asset, payer, nonce. */
static bool
ask_of(
    struct chain_ask *out, const char *identity, const struct ledger_row *row)
{
	size_t len = strlen(row->network);
	const char *at = identity + len;
	struct eth_address asset, payer;

	memset(out, 0, sizeof(*out));
	if (strncmp(identity, row->network, len) != 0 ||
	    !part(&at, out->asset.b, sizeof(out->asset.b)) ||
	    !part(&at, out->from.b, sizeof(out->from.b)) ||
	    !part(&at, out->nonce, sizeof(out->nonce)) || *at != '\0')
		return false;
	out->claimed = row->created;
	out->valid_before =
	    row->valid_before != 0 ? row->valid_before : UINT64_MAX;
	return eth_address_parse(&asset, row->asset) == ST_OK &&
	       eth_address_equal(&asset, &out->asset) &&
	       eth_address_parse(&payer, row->payer) == ST_OK &&
	       eth_address_equal(&payer, &out->from) &&
	       eth_address_parse(&out->to, row->pay_to) == ST_OK &&
	       u256_parse(&out->value, row->amount) == ST_OK;
}

/* ---- gathering ---- */

struct gathered {
	struct evidence e;
	struct chain_sight sight;
};

static void
look(struct reconcile *r, const char *identity, const struct ledger_row *row,
    int64_t wait_ms, struct gathered *out)
{
	struct chain *chain = chain_of(r, row->network);
	struct chain_ask ask;

	memset(out, 0, sizeof(*out));
	if (chain != NULL && ask_of(&ask, identity, row)) {
		chain_look(chain, &ask, io_now_ms() + wait_ms, &out->sight);
		out->e.sight = &out->sight;
	}
	out->e.first = row->first;
	out->e.claimed = row->created;
	out->e.valid_before = row->valid_before;
	out->e.now = (uint64_t)time(NULL);
}

static void
weigh(const struct gathered *g, struct reconcile_found *out)
{
	const char *why = NULL;
	bool noted = g->e.sight != NULL && g->sight.note[0] != '\0';

	out->verdict = evidence_weigh(&g->e, &why);
	out->soon = out->verdict == EVIDENCE_LIKELY && g->e.sight != NULL &&
		    g->sight.use == CHAIN_FRESH;
	snprintf(out->why, sizeof(out->why), "%s%s%s%s", why, noted ? " (" : "",
	    noted ? g->sight.note : "", noted ? ")" : "");
}

/* ---- moving the row ---- */

static enum status
paid(struct reconcile *r, const char *identity, const struct ledger_row *row,
    const struct chain_sight *sight, struct reconcile_found *out)
{
	const char *transaction = sight->transaction;
	enum status st = ST_OK;

	out->transaction = strdup(transaction);
	if (out->transaction == NULL)
		return ST_NOMEM;
	/* What was refused and paid all the same goes the way of any claim;
	 * unless its request is another payment's by now. */
	if (row->state == LEDGER_FAILED)
		st = ledger_reopened(r->ledger, identity);
	if (st == ST_OK)
		st =
		    ledger_proved(r->ledger, identity, transaction, sight->log);
	if (st == ST_OK) {
		metrics_money_settled(row->network, row->asset, row->amount);
		return ST_OK;
	}
	free(out->transaction);
	out->transaction = NULL;
	if (st != ST_CONFLICT)
		return st;
	log_err("reconcile: %s: its log or its request is another payment's: "
		"%s",
	    identity, transaction);
	out->verdict = EVIDENCE_LIKELY;
	snprintf(out->why, sizeof(out->why),
	    "paid on the chain, but its log or its request is another "
	    "payment's");
	return ST_OK;
}

/* What was refused is used all the same, for what is not proved yet: it is to
 * be looked after, and no new payment may take its request over. Unless one
 * has. */
static enum status
doubt(struct reconcile *r, const char *identity, const char *why)
{
	enum status st = ledger_reopened(r->ledger, identity);

	if (st == ST_OK)
		st = ledger_unknown(r->ledger, identity, why);
	return st == ST_CONFLICT ? ST_OK : st;
}

static enum status
decide(struct reconcile *r, const char *identity, const struct ledger_row *row,
    const struct gathered *g, struct reconcile_found *out)
{
	enum status st = ST_OK;

	weigh(g, out);
	if (out->verdict == EVIDENCE_LIKELY && row->state == LEDGER_FAILED)
		return doubt(r, identity, out->why);
	if (!evidence_decides(out->verdict))
		return ST_OK;
	if (out->verdict == EVIDENCE_PAID)
		st = paid(r, identity, row, &g->sight, out);
	else if (row->state == LEDGER_UNKNOWN)
		st = ledger_failed(r->ledger, identity, out->why);
	log_info("reconcile: %s: %s%s%s", identity, out->why,
	    out->transaction != NULL ? ", " : "",
	    out->transaction != NULL ? out->transaction : "");
	return st;
}

enum status
reconcile_read(struct reconcile *r, const char *identity,
    const struct ledger_row *row, int64_t wait_ms, struct reconcile_found *out)
{
	struct gathered g;

	memset(out, 0, sizeof(*out));
	look(r, identity, row, wait_ms, &g);
	return decide(r, identity, row, &g, out);
}

/* ---- asking the facilitator again ---- */

static bool
may_ask(const struct gathered *g)
{
	return (g->e.sight == NULL || g->sight.use == CHAIN_UNREAD) &&
	       (g->e.valid_before == 0 ||
		   g->e.now < g->e.valid_before + EVIDENCE_MARGIN_S);
}

/* Moves the row by itself. */
static void
ask_again(struct reconcile *r, const char *identity,
    const struct ledger_row *row, struct gathered *g,
    struct reconcile_found *out)
{
	struct facilitator *by = sites_facilitator(r->sites, row->facilitator);
	int64_t call_us = 0;
	bool look = false;
	const struct settle_ask ask = {
		.identity = identity,
		.body = row->settle_body,
		.body_len = row->settle_body_len,
		.payer = row->payer[0] == '\0' ? NULL : row->payer,
		.network = row->network,
		.network_v1 = x402_v1_name(row->network),
		.asset = row->asset,
		.amount = row->amount,
		.again = true,
		.first = row->first == LEDGER_FIRST_NONE,
		.call_us = &call_us,
		.look = &look,
	};
	char reason[FACILITATOR_REASON] = "";
	struct fault f = { .st = ST_OK };

	if (by == NULL) {
		log_warn("reconcile: %s: there is no facilitator %s any more",
		    identity, row->facilitator);
		return;
	}
	if (settle_payment(
		&out->transaction, reason, r->ledger, by, &ask, &f) == ST_OK)
		g->e.said = EVIDENCE_SAID_PAID;
	else if (facilitator_reason_spent(reason))
		g->e.said = EVIDENCE_SAID_SPENT;
}

enum status
reconcile_row(struct reconcile *r, const char *identity,
    const struct ledger_row *row, struct reconcile_found *out)
{
	struct gathered g;
	enum status st;

	memset(out, 0, sizeof(*out));
	look(r, identity, row, CHAIN_WAIT_MS, &g);
	st = decide(r, identity, row, &g, out);
	if (st != ST_OK || evidence_decides(out->verdict))
		return st;
	if (may_ask(&g)) {
		ask_again(r, identity, row, &g, out);
		weigh(&g, out);
		g.e.now = (uint64_t)time(NULL);
	}
	if (out->verdict == EVIDENCE_PAID) {
		log_info("reconcile: %s: %s, %s", identity, out->why,
		    out->transaction);
		return ST_OK;
	}
	return ledger_later(
	    r->ledger, identity, evidence_next(&g.e, out->verdict), out->why);
}

/* ---- what a payer holds ---- */

bool
reconcile_reads(const struct reconcile *r, const char *network)
{
	return chain_of(r, network) != NULL;
}

enum reconcile_funds
reconcile_look(struct reconcile *r, const char *payer,
    const struct reconcile_price *price, int64_t wait_ms)
{
	struct chain *chain = chain_of(r, price->network);
	struct eth_address asset, holder;
	struct u256 amount, held;

	if (chain == NULL || eth_address_parse(&asset, price->asset) != ST_OK ||
	    eth_address_parse(&holder, payer) != ST_OK ||
	    u256_parse(&amount, price->amount) != ST_OK ||
	    chain_held(chain, &asset, &holder, io_now_ms() + wait_ms, &held) !=
		ST_OK)
		return RECONCILE_UNREAD;
	return u256_cmp(&held, &amount) < 0 ? RECONCILE_SHORT
					    : RECONCILE_ENOUGH;
}
