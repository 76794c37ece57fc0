/* A site made from settings, as the tests of this room need one. */
#ifndef SITE_FIXTURE_H
#define SITE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../pay/keys_fixture.h"
#include "base/conf.h"
#include "web/sites.h"

static const char fixture_text[] =
    "[service]\nmemory_bytes = 4G\n"
    "[site]\n"
    "name = Tollbox\n"
    "public_url = https://api.example.com\n"
    "description = Run code in a sandbox\n"
    "network = eip155:84532\n"
    "asset = 0x036cbd53842c5426634e7929541ec2318f3dcf7e\n"
    "asset_name = USDC\n"
    "asset_version = 2\n"
    "asset_decimals = 6\n"
    "pay_to = 0x70997970c51812dc3a010c7d01b50e0d17dc79c8\n"
    "facilitator = default\n"
    "[facilitator:default]\n"
    "url = http://127.0.0.1:1\n"
    "[tier:small]\nprice = $0.001\ntimeout_ms = 10000\n"
    "memory_bytes = 256M\noutput_bytes = 1M\nwork_bytes = 64M\n"
    "[tier:medium]\nprice = $0.005\ntimeout_ms = 60000\n"
    "memory_bytes = 512M\noutput_bytes = 4M\nwork_bytes = 256M\n"
    "[tier:large]\nprice = $0.02\ntimeout_ms = 300000\n"
    "memory_bytes = 2G\noutput_bytes = 16M\nwork_bytes = 1G\n"
    "[runtime:python3]\n"
    "entry = main.py\n"
    "command = /usr/bin/python3 {entry}\n"
    "env_refused = PYTHON*\n"
    "helper_does = evaluate figures\n"
    "[runtime:node]\n"
    "entry = main.js\n"
    "entry_module = main.mjs\n"
    "command = /usr/bin/node {entry}\n"
    "env_refused = NODE_OPTIONS\n"
    "min_memory = 64M\n";

/* What the facilitator of these settings would say if it were there. */
static const char fixture_kinds[] =
    "{\"kinds\":[{\"x402Version\":1,\"scheme\":\"exact\",\"network\":"
    "\"base-sepolia\"},{\"x402Version\":2,\"scheme\":\"exact\","
    "\"network\":\"eip155:84532\"}]}";

struct fixture {
	struct conf *conf;
	struct keyring *keys;
	struct sites *sites;
	const struct site *site;
};

static int
fixture_make(void **state)
{
	static struct fixture x;
	struct fault f = { .st = ST_OK };

	if (conf_parse(&x.conf, fixture_text, &f) != ST_OK)
		fail_msg("settings: %s", f.message);
	x.keys = keys_well_known(NULL);
	assert_int_equal(sites_open(&x.sites, x.conf, x.keys), ST_OK);
	assert_int_equal(sites_default(&x.site, x.sites), ST_OK);
	if (x.site->broken.st != ST_OK)
		fail_msg("site: %s", x.site->broken.message);
	assert_int_equal(
	    facilitator_learn(sites_facilitator(x.sites, "default"),
		fixture_kinds, strlen(fixture_kinds)),
	    ST_OK);
	*state = &x;
	return 0;
}

static int
fixture_drop(void **state)
{
	struct fixture *x = *state;

	sites_close(x->sites);
	keyring_close(x->keys);
	conf_free(x->conf);
	return 0;
}

#endif
