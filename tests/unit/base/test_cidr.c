/* Addresses and blocks of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cidr.h"

static void
forms(void **state)
{
	static const char *const good[] = { "10.0.0.0/8", "10.1.2.3",
		"0.0.0.0/0", "255.255.255.255/32", "::/0", "::1",
		"2001:db8::/32", "::ffff:10.0.0.0/104", "fe80::1/128" };
	static const char *const bad[] = {
		"", "/", "10", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8",
		"10.0.0.0/8/8", "10.0.0.0/ 8", "10.0.0.0/-1", "010.0.0.1",
		"1.2.3.4.5", "::1/129", "2001:db8::1/32", "::1%eth0", "host",
		"10.0.0.0/0008",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dd"
	};
	struct cidr c;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (cidr_parse(&c, good[i]) != ST_OK)
			fail_msg("refused: %s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (cidr_parse(&c, bad[i]) != ST_FORMAT)
			fail_msg("taken: %s", bad[i]);
}

static void
having(void **state)
{
	static const struct {
		const char *block, *address;
		bool has;
	} table[] = {
		{ "10.0.0.0/8", "10.255.0.1", true },
		{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", true },
		{ "10.64.0.0/10", "10.127.255.255", true },
		{ "10.64.0.0/10", "10.128.0.0", false },
		{ "0.0.0.0/0", "203.0.113.9", true },
		{ "0.0.0.0/0", "2001:db8::1", false },
		{ "::/0", "203.0.113.9", true },
		{ "2001:db8::/33", "2001:db8:7fff::", true },
		{ "2001:db8::/33", "2001:db8:8000::", false },
		{ "192.0.2.1", "192.0.2.1", true },
		{ "192.0.2.1", "192.0.2.2", false },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "10.0.0.0/8", "10.1.0.0/16", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct cidr a, b;

		assert_int_equal(cidr_parse(&a, table[i].block), ST_OK);
		assert_int_equal(cidr_parse(&b, table[i].address), ST_OK);
		if (cidr_has(&a, &b) != table[i].has)
			fail_msg("%s, %s", table[i].block, table[i].address);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(having),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
