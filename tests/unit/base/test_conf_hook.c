/* Hooks: their files are read where the settings are, and travel with them. */
#include "conf_fixture.h"

#define HOOKED RUNTIME "hook = hook.x\nhook_at = /etc/x.conf\n"

static void
write_hook(const char *text, size_t len)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "%s/x/hook.x", dir);
	write_file(path, text, len);
}

static void
the_text_travels(void **state)
{
	struct conf *c, *copy;
	struct fault f = { 0 };
	struct buf b;

	(void)state;
	write_runtime("x",
	    HOOKED "hook_env = A=/dev/null\ngate = fifo\npool = 3\n"
		   "cold_files = .a b/c\n");
	write_hook("go\n", 3);
	c = good("", NULL);
	assert_string_equal(c->runtimes[0].hook_text, "Z28K");
	assert_int_equal(c->pool_bytes, 512u << 20);

	/* The boxer has no use for the file's name, the gate for none of it. */
	buf_init(&b, CONF_FILE_BYTES);
	conf_write(&b, c, CONF_BOXER);
	assert_int_equal(conf_parse(&copy, buf_cstr(&b), &f), ST_OK);
	assert_null(copy->runtimes[0].hook);
	assert_string_equal(copy->runtimes[0].hook_text, "Z28K");
	assert_string_equal(copy->runtimes[0].hook_at, "/etc/x.conf");
	assert_string_equal(copy->runtimes[0].hook_env, "A=/dev/null");
	assert_string_equal(copy->runtimes[0].gate, "fifo");
	assert_int_equal(copy->runtimes[0].pool, 3);
	conf_free(copy);
	buf_clear(&b);
	conf_write(&b, c, CONF_GATE);
	assert_int_equal(conf_parse(&copy, buf_cstr(&b), &f), ST_OK);
	assert_null(copy->runtimes[0].hook_text);
	assert_string_equal(copy->runtimes[0].cold_files[1], "b/c");
	conf_free(copy);
	buf_free(&b);
	conf_free(c);
}

static void
an_absolute_path_is_taken_as_it_is(void **state)
{
	char text[300];
	struct conf *c;

	(void)state;
	write_runtime("x", RUNTIME);
	write_hook("other", 5);
	(void)snprintf(text, sizeof(text),
	    "[runtime:y]\n" RUNTIME "hook = %s/x/hook.x\nhook_at = /a\n", dir);
	c = good(text, NULL);
	assert_string_equal(conf_runtime(c, "y")->hook_text, "b3RoZXI=");
	conf_free(c);
}

static void
what_is_wrong_is_said(void **state)
{
	static char much[200000];
	struct conf *c = NULL;
	struct fault f;

	(void)state;
	write_runtime("x", HOOKED);
	assert_int_not_equal(load(&c, "", NULL, &f), ST_OK);
	assert_non_null(strstr(f.message, "hook.x"));
	memset(much, 'x', sizeof(much));
	write_hook(much, sizeof(much));
	assert_int_equal(load(&c, "", NULL, &f), ST_TOO_BIG);
	assert_non_null(strstr(f.message, "too long"));
	write_hook("", 0);
	write_runtime("x", RUNTIME "hook = hook.x\n");
	assert_int_equal(load(&c, "", NULL, &f), ST_FORMAT);
	assert_non_null(strstr(f.message, "hook_at"));
	write_runtime("x", RUNTIME "gate = door\n");
	assert_int_equal(load(&c, "", NULL, &f), ST_FORMAT);
	assert_non_null(strstr(f.message, "fds or fifo"));
	write_runtime("x", RUNTIME "cold_files = ../a\n");
	assert_int_equal(load(&c, "", NULL, &f), ST_FORMAT);
	write_runtime("x", RUNTIME "hook_text = aGk=\n");
	assert_int_equal(load(&c, "", NULL, &f), ST_FORMAT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    the_text_travels, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    an_absolute_path_is_taken_as_it_is, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_is_wrong_is_said, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
