/* What a site takes, by what facilitators offer: several assets, versions, a
 * second facilitator, and who settles a payment. */
#include "web/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../pay/x402_help.h"
#include "base/conf.h"
#include "web/sites.h"

#define SOLANA "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"
#define MINT "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU"
#define SELLER "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"
#define USDC "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
#define SECOND "0x0000000000000000000000000000000000007001"
#define EVM_KIND(v, n)                                                         \
	"{\"x402Version\":" v ",\"scheme\":\"exact\",\"network\":\"" n "\"}"
#define SOLANA_KIND(who)                                                       \
	"{\"x402Version\":2,\"scheme\":\"exact\",\"network\":\"" SOLANA        \
	"\",\"extra\":{\"feePayer\":\"" who "\"}}"

static const char text[] =
    "[site]\npublic_url = https://api.example.com\n"
    "pay_to = 0x70997970c51812dc3a010c7d01b50e0d17dc79c8\n"
    "accepts = evm sol\nfacilitator = one\n"
    "[facilitator:one]\nurl = http://127.0.0.1:1\nfallback = two\n"
    "[facilitator:two]\nurl = http://127.0.0.1:1\n"
    "[asset:evm]\nnetwork = eip155:84532\nasset = " USDC "\n"
    "asset_name = USDC\nasset_version = 2\n"
    "[asset:sol]\nnetwork = " SOLANA "\nasset = " MINT "\npay_to = " SELLER
    "\nasset_decimals = 9\n"
    "[tier:small]\nprice = $0.001\n"
    "[runtime:py]\nentry = main.py\ncommand = /usr/bin/python3 {entry}\n";

/* Two of one network, each with a facilitator of its own. */
static const char twice[] =
    "[site]\npublic_url = https://api.example.com\n"
    "pay_to = 0x70997970c51812dc3a010c7d01b50e0d17dc79c8\n"
    "accepts = second evm sol\nfacilitator = one\n"
    "[facilitator:one]\nurl = http://127.0.0.1:1\n"
    "[facilitator:two]\nurl = http://127.0.0.1:1\nfallback = one\n"
    "[asset:evm]\nnetwork = eip155:84532\nasset = " USDC "\n"
    "asset_name = USDC\nasset_version = 2\nfacilitator = two\n"
    "[asset:second]\nnetwork = eip155:84532\nasset = " SECOND "\n"
    "asset_name = USDC\nasset_version = 2\n"
    "[asset:sol]\nnetwork = " SOLANA "\nasset = " MINT "\npay_to = " SELLER
    "\nasset_decimals = 9\nfacilitator = two\n"
    "[tier:small]\nprice = $0.001\n"
    "[runtime:py]\nentry = main.py\ncommand = /usr/bin/python3 {entry}\n";

struct fixture {
	struct conf *conf;
	struct sites *sites;
	const struct site *site;
	struct facilitator *one, *two;
};

static int
setup_with(void **state, const char *settings)
{
	static struct fixture x;
	struct fault f = { .st = ST_OK };

	if (conf_parse(&x.conf, settings, &f) != ST_OK)
		fail_msg("%s", f.message);
	assert_int_equal(sites_open(&x.sites, x.conf, NULL), ST_OK);
	assert_int_equal(sites_default(&x.site, x.sites), ST_OK);
	if (x.site->broken.st != ST_OK)
		fail_msg("%s", x.site->broken.message);
	x.one = sites_facilitator(x.sites, "one");
	x.two = sites_facilitator(x.sites, "two");
	assert_null(sites_facilitator(x.sites, "three"));
	*state = &x;
	return 0;
}

static int
setup(void **state)
{
	return setup_with(state, text);
}

static int
setup_twice(void **state)
{
	return setup_with(state, twice);
}

static int
teardown(void **state)
{
	struct fixture *x = *state;

	sites_close(x->sites);
	conf_free(x->conf);
	return 0;
}

static void
learn(struct facilitator *f, const char *kinds)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"kinds\":[%s]}", kinds);
	assert_int_equal(facilitator_learn(f, body, strlen(body)), ST_OK);
}

/* Five calls that cannot be sent. */
static void
bring_down(struct facilitator *f)
{
	for (int i = 0; i < 5; i++) {
		struct facilitator_answer a;

		assert_false(facilitator_down(f));
		assert_int_equal(facilitator_settle(f, "{}", 2, &a), ST_OK);
		assert_int_equal(a.verdict, FACILITATOR_NOT_SENT);
		facilitator_answer_free(&a);
	}
	assert_true(facilitator_down(f));
}

static void
what_is_sold(void **state)
{
	struct fixture *x = *state;
	const struct site_tier *t = &x->site->tiers[0];
	struct x402_requirement req[ACCEPT_MAX];
	char lack[256], amount[U256_TEXT];

	/* Never reached: nothing. */
	assert_int_equal(site_requirements(req, x->site, t), 0);
	assert_int_equal(site_requirements_all(req, x->site, t), 2);
	accept_lack(lack, &x->site->accepts[0]);
	assert_non_null(strstr(lack, "one has not said yet"));
	/* Each element for itself, each version for itself. */
	learn(x->one, SOLANA_KIND("A"));
	assert_int_equal(site_requirements(req, x->site, t), 1);
	assert_string_equal(req[0].network, SOLANA);
	assert_string_equal(req[0].pay_to, SELLER);
	assert_string_equal(req[0].extra, "\"feePayer\":\"A\"");
	assert_false(req[0].not_v2);
	assert_true(req[0].not_v1);
	u256_text(amount, &req[0].amount);
	assert_string_equal(amount, "1000000");
	accept_lack(lack, &x->site->accepts[0]);
	assert_non_null(strstr(lack, "offers no x402 exact on eip155:84532"));
	accept_lack(lack, &x->site->accepts[1]);
	assert_string_equal(lack, "");
	/* The second facilitator stands in. */
	learn(x->two, EVM_KIND("1", "base-sepolia"));
	assert_int_equal(site_requirements(req, x->site, t), 2);
	assert_true(req[0].not_v2);
	assert_false(req[0].not_v1);
	/* What EVM payments carry is the token's alone. */
	learn(x->one, "{\"x402Version\":2,\"scheme\":\"exact\",\"network\":"
		      "\"eip155:84532\",\"extra\":{\"feePayer\":\"A\"}}");
	assert_int_equal(site_requirements(req, x->site, t), 1);
	assert_string_equal(req[0].network, "eip155:84532");
	assert_string_equal(
	    req[0].pay_to, "0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
	assert_false(req[0].not_v2);
	assert_null(req[0].extra);
	u256_text(amount, &req[0].amount);
	assert_string_equal(amount, "1000");
	/* A circuit that opens takes no offer away. */
	bring_down(x->one);
	assert_int_equal(site_requirements(req, x->site, t), 1);
}

/* A payment that says it accepted this and that. */
static struct x402_payment
payment(const char *network, const char *asset, const char *extra)
{
	static char copies[5][256];
	struct x402_payment p = { .version = 2,
		.scheme = copies[0],
		.network = copies[1],
		.asset = copies[2],
		.extra = copies[3] };

	snprintf(copies[0], 256, "exact");
	snprintf(copies[1], 256, "%s", network);
	snprintf(copies[2], 256, "%s", asset);
	snprintf(copies[3], 256, "%s", extra);
	return p;
}

static void
who_settles(void **state)
{
	struct fixture *x = *state;
	struct x402_payment p = payment(
	    "eip155:84532", "0x036cbd53842c5426634e7929541ec2318f3dcf7e", "{}");
	struct facilitator *other = NULL;
	struct accept_choice c;
	struct fault f = { .st = ST_OK };

	accept_choose(&c, &p, x->site->accepts, x->site->n_accepts);
	assert_ptr_equal(c.accept, &x->site->accepts[0]);
	assert_null(accept_facilitator(&c, 2, &other, &f));
	assert_int_equal(f.st, ST_PAYMENT_FACILITATOR_UNAVAILABLE);
	learn(x->one, EVM_KIND("2", "eip155:84532"));
	learn(x->two, EVM_KIND("2", "eip155:84532"));
	assert_ptr_equal(accept_facilitator(&c, 2, &other, &f), x->one);
	assert_ptr_equal(other, x->two);
	assert_null(accept_facilitator(&c, 1, &other, &f));
	bring_down(x->one);
	assert_ptr_equal(accept_facilitator(&c, 2, &other, &f), x->two);
	assert_null(other);
	bring_down(x->two);
	assert_null(accept_facilitator(&c, 2, &other, &f));
}

/* Only the facilitator whose fee payer was signed for can settle it, however
 * long ago it was told. */
static void
extras_bind(void **state)
{
	struct fixture *x = *state;
	const struct accept *sol = &x->site->accepts[1];
	struct facilitator *other = NULL;
	struct accept_choice c;
	struct x402_requirement req;
	struct x402_payment p;
	struct fault f;
	static const struct {
		const char *extra, *held;
		bool one;
	} table[] = {
		{ "{\"feePayer\":\"A\"}", "\"feePayer\":\"A\"", true },
		{ "{\"feePayer\":\"B\",\"x\":1}", "\"feePayer\":\"B\"", true },
		{ "{\"feePayer\":\"C\"}", "\"feePayer\":\"C\"", false },
	};

	learn(x->one, SOLANA_KIND("A"));
	learn(x->one, SOLANA_KIND("B"));
	learn(x->two, SOLANA_KIND("C"));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		p = payment(SOLANA, MINT, table[i].extra);
		accept_choose(&c, &p, x->site->accepts, x->site->n_accepts);
		assert_ptr_equal(c.accept, sol);
		accept_chosen(&req, &c, 1000);
		assert_string_equal(req.extra, table[i].held);
		assert_ptr_equal(accept_facilitator(&c, 2, &other, &f),
		    table[i].one ? x->one : x->two);
		assert_null(other);
	}
	/* Letter case is part of a name here; a stranger's fee payer, too. */
	p = payment(SOLANA, "4ZMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
	    "{\"feePayer\":\"A\"}");
	accept_choose(&c, &p, x->site->accepts, x->site->n_accepts);
	accept_chosen(&req, &c, 1000);
	assert_int_equal(x402_pick(&p, &req, 1), 1);
	p = payment(SOLANA, MINT, "{\"feePayer\":\"D\"}");
	accept_choose(&c, &p, x->site->accepts, x->site->n_accepts);
	assert_ptr_equal(c.accept, sol);
	accept_chosen(&req, &c, 1000);
	assert_string_equal(req.extra, "\"feePayer\":\"B\"");
	assert_int_equal(x402_pick(&p, &req, 1), 1);
}

/* Which of several a payment of version 1 is for, its signature tells; where
 * that tells nothing (a smart wallet's), it is what the 402 offers. */
static void
version_1_is_for_what_it_was_signed_for(void **state)
{
	struct fixture *x = *state;
	const struct accept *second = &x->site->accepts[0];
	const struct accept *evm = &x->site->accepts[1];
	struct x402_payment p = help_plain(1);
	struct x402_payment wallet = help_payment(1, A_S "1b", A_S "1b00");
	struct x402_payment named = help_payment(2, USDC, SECOND);
	struct accept_choice c;

	assert_string_equal(second->asset, SECOND);
	for (int offered = 0; offered < 2; offered++) {
		accept_choose(&c, &p, x->site->accepts, x->site->n_accepts);
		assert_ptr_equal(c.accept, evm);
		assert_ptr_equal(c.by, x->two);
		assert_ptr_equal(c.fallback, x->one);
		accept_choose(
		    &c, &wallet, x->site->accepts, x->site->n_accepts);
		assert_ptr_equal(c.accept, second);
		/* One that names its asset means that, whatever was signed. */
		accept_choose(&c, &named, x->site->accepts, x->site->n_accepts);
		assert_ptr_equal(c.accept, second);
		learn(x->one, EVM_KIND("1", "base-sepolia"));
		learn(x->two, EVM_KIND("1", "base-sepolia"));
	}
	x402_payment_free(&p);
	x402_payment_free(&wallet);
	x402_payment_free(&named);
}

/* The number of the one that a 402 offers on that network in version 1. */
static size_t
offered_v1(const struct fixture *x, const char *network)
{
	struct x402_requirement req[ACCEPT_MAX];
	size_t i, n = site_requirements_all(req, x->site, &x->site->tiers[0]);

	for (i = 0; i < n; i++) {
		(void)accept_requirement(&req[i], &x->site->accepts[i], 1000);
		if (x402_put_fits(req, i, 1) &&
		    strcmp(req[i].network, network) == 0)
			break;
	}
	return i;
}

/* What a 402 offers to version 1 is what a payment of version 1 buys, from a
 * facilitator that settles it. */
static void
version_1_buys_what_is_offered_there(void **state)
{
	struct fixture *x = *state;
	struct x402_payment wallet = help_payment(1, A_S "1b", A_S "1b00");
	struct x402_payment sol = payment(SOLANA, MINT, "{}");
	struct facilitator *other = NULL;
	struct accept_choice c;
	struct fault f;

	/* The first of the network cannot be had in version 1. */
	learn(x->one, EVM_KIND("2", "eip155:84532"));
	learn(x->two, EVM_KIND("1", "base-sepolia"));
	accept_choose(&c, &wallet, x->site->accepts, x->site->n_accepts);
	assert_int_equal(offered_v1(x, "eip155:84532"), 1);
	assert_ptr_equal(c.accept, &x->site->accepts[1]);
	assert_ptr_equal(accept_facilitator(&c, 1, &other, &f), x->two);
	/* The second facilitator alone has it. */
	sol.version = 1;
	sol.asset = NULL;
	sol.extra = NULL;
	learn(x->one, "{\"x402Version\":1,\"scheme\":\"exact\",\"network\":"
		      "\"solana-devnet\",\"extra\":{\"feePayer\":\"A\"}}");
	learn(x->two, SOLANA_KIND("C"));
	accept_choose(&c, &sol, x->site->accepts, x->site->n_accepts);
	assert_int_equal(offered_v1(x, SOLANA), 2);
	assert_ptr_equal(c.accept, &x->site->accepts[2]);
	assert_string_equal(c.extra_v1, "\"feePayer\":\"A\"");
	assert_ptr_equal(accept_facilitator(&c, 1, &other, &f), x->one);
	x402_payment_free(&wallet);
}

/* Where it is accepted no more, the nearest stands in. */
static void
what_is_gone_is_near(void **state)
{
	struct fixture *x = *state;
	const struct accept *list = x->site->accepts;
	struct accept_choice c;

	accept_find(&c, "eip155:84532", USDC, list, x->site->n_accepts);
	assert_ptr_equal(c.accept, &list[1]);
	accept_find(&c, SOLANA, USDC, list, x->site->n_accepts);
	assert_ptr_equal(c.accept, &list[2]);
	accept_find(&c, "eip155:1", USDC, list, x->site->n_accepts);
	assert_ptr_equal(c.accept, &list[0]);
}

#define TWICE(f) cmocka_unit_test_setup_teardown(f, setup_twice, teardown)
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_is_sold),
		T(who_settles),
		T(extras_bind),
		TWICE(version_1_is_for_what_it_was_signed_for),
		TWICE(version_1_buys_what_is_offered_there),
		TWICE(what_is_gone_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
