/* The table of dialects, and what a site offers of it. */
#include "web/dialect.h"

#include "site_fixture.h"

#include "base/json.h"
#include "web/member_schema.h"

static const struct json_caps caps = { .depth = 16, .values = 1024 };

static void
is_object(const char *text)
{
	struct cJSON *v = NULL;
	struct fault f = { .st = ST_OK };
	struct buf b;

	assert_non_null(text);
	buf_init(&b, 1u << 20);
	member_schema_json(&b, text);
	if (json_parse(&v, buf_cstr(&b), b.len, &caps, &f) != ST_OK)
		fail_msg("%s in: %s", f.message, text);
	assert_true(json_is_object(v));
	json_free(v);
	buf_free(&b);
}

/* Every row is whole, found by its path, and told apart from the others. */
static void
rows(void **state)
{
	(void)state;
	for (size_t i = 0; dialects[i] != NULL; i++) {
		const struct dialect *d = dialects[i];

		assert_ptr_equal(dialect_of(d->path), d);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(d->name, dialects[k]->name);
		assert_non_null(d->put);
		assert_non_null(d->summary);
		if (d->rpc)
			continue;
		is_object(d->answer_schema);
		assert_true(d->put_example != NULL || d->body_example != NULL);
		is_object(d->answer_example);
		assert_true(d->form->n_members > 0);
		for (size_t k = 0; k < d->form->n_members; k++)
			assert_non_null(d->form->members[k].take);
	}
	assert_null(dialect_of("/quote"));
	assert_null(dialect_of(""));
}

/* The example is one: it is read, and costs what the base price is. */
static void
examples(void **state)
{
	struct fixture *x = *state;

	for (size_t i = 0; dialects[i] != NULL; i++) {
		const struct dialect *d = dialects[i];
		const struct site_tier *t = NULL;
		struct fault f = { .st = ST_OK };
		struct job j;
		struct buf b;

		buf_init(&b, 65536);
		dialect_put_example(&b, d, x->site);
		if (request_read(&j, &t, d->form, x->site, buf_cstr(&b), b.len,
			false, &f) != ST_OK)
			fail_msg("%s: %s", d->name, f.message);
		buf_free(&b);
		assert_ptr_equal(t, request_base(d->form, x->site));
		job_free(&j);
	}
}

/* A flat price is the dialect's, at the route that the settings know. */
static void
flat(void **state)
{
	struct fixture *x = *state;
	const struct conf *c = x->conf;

	for (size_t i = 0; dialects[i] != NULL; i++) {
		const struct dialect *d = dialects[i];
		const struct conf_dialect *row = NULL;

		assert_true(dialect_offered(d, x->site));
		for (size_t k = 0; k < c->n_dialects; k++)
			if (strcmp(c->dialects[k].name, d->name) == 0)
				row = &c->dialects[k];
		if (row == NULL) {
			assert_null(d->form->flat);
			continue;
		}
		assert_string_equal(row->route, d->path);
		assert_string_equal(d->form->flat, d->name);
		assert_string_equal(
		    request_base(d->form, x->site)->name, d->name);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows),
		cmocka_unit_test(examples),
		cmocka_unit_test(flat),
	};

	return cmocka_run_group_tests(tests, fixture_make, fixture_drop);
}
