/* Sites by their locations' parameters: found again, judged, and never more
 * than there is room for. */
#include "web/sites.h"

#include "site_fixture.h"

#include <stdio.h>

#define KEPT 256 /* web/sites.c */

static struct sites_loan
lend(struct fixture *x, const char *const pairs[][2], size_t n)
{
	struct sites_loan loan;
	struct site_params p;

	site_params_init(&p);
	for (size_t i = 0; i < n; i++)
		site_params_add(&p, pairs[i][0], pairs[i][1]);
	assert_int_equal(sites_with(&loan, x->sites, &p, "a test"), ST_OK);
	site_params_free(&p);
	return loan;
}

/* A site of its own by its public URL. */
static struct sites_loan
lend_number(struct fixture *x, unsigned n)
{
	char url[64];

	snprintf(url, sizeof(url), "https://h%u.example", n);
	return lend(
	    x, (const char *const[][2]){ { "TOLLBOX_PUBLIC_URL", url } }, 1);
}

static void
same_again(void **state)
{
	struct fixture *x = *state;
	const struct site *again = NULL;
	struct sites_loan none = lend(x, NULL, 0);
	struct sites_loan one = lend_number(x, 1);
	struct sites_loan same = lend_number(x, 1);
	struct sites_loan two = lend_number(x, 2);

	assert_ptr_equal(none.site, x->site);
	assert_ptr_equal(one.site, same.site);
	assert_ptr_not_equal(one.site, two.site);
	assert_string_equal(two.site->conf.public_url, "https://h2.example");
	assert_string_equal(two.site->did, "did:web:h2.example");
	assert_int_equal(sites_default(&again, x->sites), ST_OK);
	assert_ptr_equal(again, x->site);
	sites_return(&none);
	sites_return(&one);
	assert_null(one.site);
	sites_return(&one);
	sites_return(&same);
	sites_return(&two);
}

static void
judged(void **state)
{
	static const struct {
		const char *pairs[2][2];
		size_t n;
		const char *says;
	} table[] = {
		{ { { "TOLLBOX_PAY_TO", "nonsense" } }, 1, "TOLLBOX_PAY_TO" },
		{ { { "TOLLBOX_PAY_TO", "" } }, 1, "TOLLBOX_PAY_TO" },
		{ { { "TOLLBOX_STATE_DIR", "/tmp" } }, 1,
		    "TOLLBOX_STATE_DIR cannot be set by a location" },
		{ { { "TOLLBOX_PRIECS", "small=1" } }, 1,
		    "TOLLBOX_PRIECS cannot be set" },
		/* Even where both are the same. */
		{ { { "TOLLBOX_TIERS", "small" },
		      { "TOLLBOX_TIERS", "small" } },
		    2, "TOLLBOX_TIERS is given twice" },
		{ { { "TOLLBOX_FACILITATOR", "nobody" } }, 1,
		    "there is no [facilitator:nobody]" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct sites_loan l = lend(x, table[i].pairs, table[i].n);

		assert_int_equal(l.site->broken.st, ST_FORMAT);
		if (strstr(l.site->broken.message, table[i].says) == NULL)
			fail_msg("%zu: %s", i, l.site->broken.message);
		sites_return(&l);
	}
}

/* Sites without end: those in use stay as they are, of the others the one used
 * last before all others goes. */
static void
bounded(void **state)
{
	struct fixture *x = *state;
	struct sites_loan held = lend_number(x, 0);
	struct sites_loan often = lend_number(x, 1);
	const struct site *often_at = often.site;

	sites_return(&often);
	for (unsigned i = 2; i < 20 * KEPT; i++) {
		struct sites_loan l = lend_number(x, i);

		sites_return(&l);
		often = lend_number(x, 1);
		assert_ptr_equal(often.site, often_at);
		sites_return(&often);
	}
	assert_string_equal(held.site->conf.public_url, "https://h0.example");
	assert_ptr_equal(lend(x, NULL, 0).site, x->site);
	sites_return(&held);
}

/* More in use than are kept: all are served. */
static void
all_in_use(void **state)
{
	static struct sites_loan loans[KEPT + 50];
	struct fixture *x = *state;
	char url[64];

	for (unsigned i = 0; i < KEPT + 50; i++)
		loans[i] = lend_number(x, i);
	for (unsigned i = 0; i < KEPT + 50; i++) {
		snprintf(url, sizeof(url), "https://h%u.example", i);
		assert_string_equal(loans[i].site->conf.public_url, url);
		sites_return(&loans[i]);
	}
}

/* What is without measure is refused, not cut. */
static void
over_long(void **state)
{
	static char value[70000];
	struct fixture *x = *state;
	struct sites_loan loan;
	struct site_params p;

	memset(value, 'x', sizeof(value) - 1);
	site_params_init(&p);
	site_params_add(&p, "TOLLBOX_PAY_TO", value);
	assert_int_equal(sites_with(&loan, x->sites, &p, "a test"), ST_TOO_BIG);
	assert_null(loan.site);
	sites_return(&loan);
	site_params_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    same_again, fixture_make, fixture_drop),
		cmocka_unit_test_setup_teardown(
		    judged, fixture_make, fixture_drop),
		cmocka_unit_test_setup_teardown(
		    bounded, fixture_make, fixture_drop),
		cmocka_unit_test_setup_teardown(
		    all_in_use, fixture_make, fixture_drop),
		cmocka_unit_test_setup_teardown(
		    over_long, fixture_make, fixture_drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
