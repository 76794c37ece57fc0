/* openapi.json, .well-known/x402, llms.txt and the bazaar extension: what they
 * are at sites of several settings, and that a full buffer is told. Their
 * content is judged by tests/blackbox/12-discovery.mjs. */
#include "web/openapi.h"

#include "site_fixture.h"

#include "base/json.h"
#include "web/bazaar.h"
#include "web/dialect.h"
#include "web/guide.h"
#include "web/manifest.h"

static const struct json_caps caps = { .depth = 32, .values = 65536 };

static void
put_bazaars(struct buf *out, const struct site *s)
{
	struct dialect tool = *dialects[0];

	tool.rpc = true;
	buf_addc(out, '[');
	for (size_t i = 0; dialects[i] != NULL; i++) {
		json_sep(out);
		bazaar_put(out, dialects[i], s);
		json_sep(out);
		bazaar_put_v1(out, dialects[i], s);
	}
	json_sep(out);
	bazaar_put(out, &tool, s);
	buf_addc(out, ']');
}

static const struct document {
	void (*put)(struct buf *out, const struct site *s);
	bool json;
} documents[] = {
	{ openapi_put, true },
	{ manifest_put, true },
	{ put_bazaars, true },
	{ guide_put, false },
	{ guide_put_brief, false },
};
#define N_DOCUMENTS (sizeof(documents) / sizeof(documents[0]))

static void
sound(const struct site *s)
{
	for (size_t i = 0; i < N_DOCUMENTS; i++) {
		struct cJSON *v = NULL;
		struct fault f = { .st = ST_OK };
		struct buf out;

		buf_init(&out, 1u << 20);
		documents[i].put(&out, s);
		assert_int_equal(buf_status(&out), ST_OK);
		assert_true(out.len > 0);
		if (documents[i].json &&
		    json_parse(&v, buf_cstr(&out), out.len, &caps, &f) != ST_OK)
			fail_msg("%s in %s", f.message, buf_cstr(&out));
		json_free(v);
		buf_free(&out);
	}
}

/* Each site is whole, whatever it leaves out. */
static void
sites_differ(void **state)
{
	static char mail[] = "me@example.com", bash[] = "bash", node[] = "node",
		    quote[] = "/quote";
	static char *of_node[] = { node, NULL }, *of_bash[] = { bash, NULL };
	static char *of_quote[] = { quote, NULL };
	struct fixture *x = *state;
	struct site s = *x->site;

	sound(&s);
	s.conf.runtimes = of_node;
	sound(&s);
	s.conf.runtimes = of_bash; /* which the fixture does not know */
	sound(&s);
	s.conf.routes = of_quote;
	sound(&s);
	s = *x->site;
	s.n_tiers = 1;
	s.conf.name = NULL;
	s.conf.contact = mail;
	sound(&s);
}

/* A document that does not fit is an error, at whatever byte it ends. */
static void
full(void **state)
{
	struct fixture *x = *state;

	for (size_t i = 0; i < N_DOCUMENTS; i++) {
		struct buf whole;

		buf_init(&whole, 1u << 20);
		documents[i].put(&whole, x->site);
		for (size_t most = 1; most < whole.len; most += 97) {
			struct buf out;

			buf_init(&out, most);
			documents[i].put(&out, x->site);
			assert_int_equal(buf_status(&out), ST_TOO_BIG);
			buf_free(&out);
		}
		buf_free(&whole);
	}
}

/* Catalogues read no more of it, however much a site accepts. */
static void
brief(void **state)
{
	struct fixture *x = *state;
	struct site s = *x->site;
	struct buf out;

	for (size_t i = 0; i < ACCEPT_MAX; i++)
		s.accepts[i] = s.accepts[0];
	s.n_accepts = ACCEPT_MAX;
	buf_init(&out, GUIDE_BYTES);
	guide_put_brief(&out, &s);
	assert_in_range(out.len, 500, GUIDE_BRIEF);
	buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_differ),
		cmocka_unit_test(full),
		cmocka_unit_test(brief),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_drop);
}
