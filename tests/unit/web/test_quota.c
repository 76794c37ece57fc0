/* What a payer is told who has to wait. */
#include "web/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct conf conf = { .address_rate = 600,
	.verify_rate = 600,
	.payer_rate = 600,
	.payer_runs = 1,
	.max_runs = 1 };

/* Only of a payment that is not on record is it known that nothing was. */
static void
charged(void **state)
{
	const struct http_request q = { .remote_addr = "192.0.2.1" };
	struct quota *k = NULL;
	struct fault f = { .st = ST_OK };

	(void)state;
	assert_int_equal(quota_open(&k, &conf, 2), ST_OK);
	assert_int_equal(quota_stranger(k, &q, &f), ST_OK);
	assert_int_equal(quota_stranger(k, &q, &f), ST_SERVICE_BUSY);
	assert_non_null(strstr(f.message, "nothing was charged"));
	assert_int_equal(quota_stranger(k, NULL, &f), ST_SERVICE_BUSY);
	assert_null(strstr(f.message, "charged"));
	assert_non_null(strstr(f.message, "do not sign a new one"));
	quota_stranger_leave(k, &q, false);
	assert_int_equal(quota_stranger(k, NULL, &f), ST_OK);
	quota_stranger_leave(k, NULL, false);
	quota_close(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
