/* What goes into `extensions` of a 402, as far as a header has room. */
#include "web/extensions.h"

#include "site_fixture.h"

#include "base/json.h"
#include "web/dialect.h"

static const struct json_caps caps = { .depth = 32, .values = 4096 };

#define MOST ACCEPT_MAX

/* Which parts there are, as "offers identifier bazaar". */
static void
parts(char out[64], const struct buf *text)
{
	struct cJSON *v = NULL;

	assert_int_equal(
	    json_parse(&v, buf_cstr(text), text->len, &caps, NULL), ST_OK);
	snprintf(out, 64, "%s%s%s",
	    json_get(v, "offer-receipt") != NULL ? "offers " : "",
	    json_get(v, "payment-identifier") != NULL ? "identifier " : "",
	    json_get(v, "bazaar") != NULL ? "bazaar" : "");
	json_free(v);
}

static void
put(struct buf *v2, struct buf *v1, struct fixture *x, size_t n, size_t room)
{
	struct x402_requirement req[MOST];
	const struct extensions_sale sale = {
		.site = x->site,
		.dialect = dialect_of("/execute"),
		.req = req,
		.n = n,
		.resource_url = "https://api.example.com/execute",
		.now = 1740672100,
	};

	for (size_t i = 0; i < n; i++)
		assert_int_equal(
		    site_requirements(&req[i], x->site, &x->site->tiers[0]), 1);
	buf_clear(v2);
	buf_clear(v1);
	extensions_put_required(v2, v1, &sale, room);
	assert_int_equal(buf_status(v2), ST_OK);
	assert_int_equal(buf_status(v1), ST_OK);
}

/* Offers give way first, then what catalogues read; the identifier, which
 * keeps from paying twice, never does. The body has no such limit. */
static void
room(void **state)
{
	struct fixture *x = *state;
	struct buf v2, v1;
	char told[64];
	size_t whole, without;

	buf_init(&v2, 1u << 20);
	buf_init(&v1, 1u << 20);
	put(&v2, &v1, x, 1, SIZE_MAX);
	parts(told, &v2);
	assert_string_equal(told, "offers identifier bazaar");
	whole = v2.len;
	put(&v2, &v1, x, 1, whole);
	assert_int_equal(v2.len, whole);
	put(&v2, &v1, x, 1, whole - 1);
	parts(told, &v2);
	assert_string_equal(told, "identifier bazaar");
	without = v2.len;
	put(&v2, &v1, x, 1, without);
	assert_int_equal(v2.len, without);
	put(&v2, &v1, x, 1, without - 1);
	parts(told, &v2);
	assert_string_equal(told, "identifier ");
	put(&v2, &v1, x, 1, 0);
	parts(told, &v2);
	assert_string_equal(told, "identifier ");
	parts(told, &v1);
	assert_string_equal(told, "offers ");
	put(&v2, &v1, x, MOST, 6000);
	parts(told, &v2);
	assert_string_equal(told, "identifier bazaar");
	buf_free(&v2);
	buf_free(&v1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_drop);
}
