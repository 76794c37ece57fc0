/* A location's settings made ready: what is refused, how addresses are
 * spelled, which tier holds what. */
#include "web/sites.h"

#include "site_fixture.h"

#include <stdio.h>
#include <stdlib.h>

/* The settings of the fixture with one line of [site] replaced. */
static void
with_line(struct fixture *x, const char *key, const char *value)
{
	struct fault f = { .st = ST_OK };
	const char *at = strstr(fixture_text, key);
	const char *rest;
	struct buf b;

	assert_non_null(at);
	rest = strchr(at, '\n');
	buf_init(&b, 8192);
	buf_add(&b, fixture_text, (size_t)(at - fixture_text));
	buf_addf(&b, "%s = %s", key, value);
	buf_adds(&b, rest);
	if (conf_parse(&x->conf, buf_cstr(&b), &f) != ST_OK)
		fail_msg("settings: %s", f.message);
	buf_free(&b);
	assert_int_equal(sites_open(&x->sites, x->conf, NULL), ST_OK);
	assert_int_equal(sites_default(&x->site, x->sites), ST_OK);
}

static void
drop(struct fixture *x)
{
	sites_close(x->sites);
	conf_free(x->conf);
}

static void
addresses(void **state)
{
	static const struct {
		const char *pay_to;
		const char *says; /* NULL: taken */
	} table[] = {
		{ "0x70997970C51812dc3A010C7d01b50e0d17dc79C8", NULL },
		{ "0x70997970c51812dc3a010c7d01b50e0d17dc79c8", NULL },
		/* One character mistyped, and one letter's case. */
		{ "0x70997970C51812dc3A010C7d01b50e0d17dc79C7", "mistyped" },
		{ "0x70997970c51812dc3A010C7d01b50e0d17dc79C8", "mistyped" },
		{ "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "contract" },
		{ "0x036cbd53842c5426634e7929541ec2318f3dcf7e", "contract" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct fixture x;

		with_line(&x, "pay_to", table[i].pay_to);
		if (table[i].says == NULL) {
			assert_int_equal(x.site->broken.st, ST_OK);
			assert_string_equal(x.site->accepts[0].pay_to,
			    "0x70997970C51812dc3A010C7d01b50e0d17dc79C8");
		} else {
			assert_int_not_equal(x.site->broken.st, ST_OK);
			assert_non_null(
			    strstr(x.site->broken.message, table[i].says));
		}
		drop(&x);
	}
}

static void
smallest_tier(void **state)
{
	struct fixture *x = *state;
	struct limits l = x->site->tiers[0].limits;

	assert_string_equal(site_tier(x->site, &l)->name, "small");
	l.output_bytes++;
	assert_string_equal(site_tier(x->site, &l)->name, "medium");
	l.work_bytes = x->site->max.work_bytes;
	assert_string_equal(site_tier(x->site, &l)->name, "large");
	l.work_bytes++;
	assert_null(site_tier(x->site, &l));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test_setup_teardown(
		    smallest_tier, fixture_make, fixture_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
