/* Whose request it is, by the connection and by what trusted proxies say. */
#include "web/address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void
names(void **state)
{
	static const struct {
		const char *remote, *forwarded, *name;
		bool limited;
	} table[] = {
		{ "203.0.113.9", NULL, "203.0.113.9", true },
		{ "::ffff:203.0.113.9", NULL, "203.0.113.9", true },
		/* One customer, one name, whatever he picks of his /64. */
		{ "2001:db8:1:2:3:4:5:6", NULL, "2001:db8:1:2::/64", true },
		{ "2001:db8:1:2:ffff::", NULL, "2001:db8:1:2::/64", true },
		{ "2001:db8:1:3::6", NULL, "2001:db8:1:3::/64", true },
		/* A header that no trusted proxy has written is nothing. */
		{ "203.0.113.9", "198.51.100.1", "203.0.113.9", true },
		/* From the right, as far as there is trust. */
		{ "10.0.0.1", "198.51.100.1", "198.51.100.1", true },
		{ "10.0.0.1", "6.6.6.6, 198.51.100.1", "198.51.100.1", true },
		{ "10.0.0.1", "198.51.100.1,10.2.2.2 ,\t10.3.3.3",
		    "198.51.100.1", true },
		{ "2001:db8:ffff::1", "2001:db8:1:2:3::", "2001:db8:1:2::/64",
		    true },
		/* What is no address ends it: the proxy itself is meant. */
		{ "10.0.0.1", "198.51.100.1, unknown", "10.0.0.1", true },
		{ "10.0.0.1", "198.51.100.1,, 10.2.2.2", "10.2.2.2", true },
		{ "10.0.0.1", "10.0.0.0/8", "10.0.0.1", true },
		{ "10.0.0.1", "", "10.0.0.1", true },
		{ "10.0.0.1", " , ", "10.0.0.1", true },
		/* This host itself, but not those who only say so. */
		{ "127.0.0.1", NULL, "127.0.0.1", false },
		{ "::1", NULL, "::/64", false },
		{ "unix:", NULL, "unknown", false },
		{ "", NULL, "unknown", true },
		{ "203.0.113.9", "127.0.0.1", "203.0.113.9", true },
	};
	char *const words[] = { (char[]){ "10.0.0.0/8" },
		(char[]){ "2001:db8:ffff::1" }, NULL };
	struct address_proxies p;
	char name[ADDRESS_TEXT];

	(void)state;
	assert_int_equal(address_proxies_parse(&p, words), ST_OK);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool limited =
		    address_of(name, table[i].remote, table[i].forwarded, &p);

		if (strcmp(name, table[i].name) != 0 ||
		    limited != table[i].limited)
			fail_msg("%zu: %s", i, name);
	}
	address_proxies_free(&p);
	address_proxies_free(&p);
}

/* A list without end costs a bounded look. */
static void
long_lists(void **state)
{
	char *const words[] = { (char[]){ "10.0.0.0/8" }, NULL };
	char *const none[] = { (char[]){ "nonsense" }, NULL };
	char list[20000] = "198.51.100.1";
	char name[ADDRESS_TEXT];
	struct address_proxies p;
	size_t len = strlen(list);

	(void)state;
	while (len + 12 < sizeof(list))
		len += (size_t)snprintf(
		    list + len, sizeof(list) - len, ",10.0.0.1");
	assert_int_equal(address_proxies_parse(&p, words), ST_OK);
	assert_true(address_of(name, "10.0.0.1", list, &p));
	assert_string_equal(name, "10.0.0.1");
	address_proxies_free(&p);
	assert_int_equal(address_proxies_parse(&p, NULL), ST_OK);
	assert_int_equal(address_proxies_parse(&p, none), ST_FORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(long_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
