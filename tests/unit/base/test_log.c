#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* What was written to stderr since capture(). */
static char caught[1 << 20];
static FILE *sink;
static int real_stderr;

static void
capture(void)
{
	sink = tmpfile();
	assert_non_null(sink);
	assert_true(fcntl(fileno(sink), F_SETFL, O_APPEND) == 0);
	real_stderr = dup(STDERR_FILENO);
	assert_true(dup2(fileno(sink), STDERR_FILENO) >= 0);
}

static const char *
release(void)
{
	ssize_t n;

	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	n = pread(fileno(sink), caught, sizeof(caught) - 1, 0);
	fclose(sink);
	assert_true(n >= 0);
	caught[n] = '\0';
	return caught;
}

/* What stands behind the time that line begins with. */
static const char *
time_end(const char *line)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ";

	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		if (shape[i] == 'd')
			assert_in_range(line[i], '0', '9');
		else
			assert_int_equal(line[i], shape[i]);
	}
	return line + sizeof(shape) - 1;
}

/* The one line behind its head, from the role on; the head is checked. */
static const char *
body(const char *line)
{
	line = time_end(line);
	assert_int_equal(*line, ' ');
	return line + 1;
}

static void
line_has_time_role_and_level(void **state)
{
	(void)state;
	capture();
	unsetenv("JOURNAL_STREAM");
	log_open("gate", LOG_LEVEL_DEBUG);
	log_warn("%s failed: %d", "open", 13);
	assert_string_equal(body(release()), "gate: warn: open failed: 13\n");
}

static void
levels_are_filtered(void **state)
{
	(void)state;
	capture();
	log_open("boxer", LOG_LEVEL_WARN);
	log_info("%s", "not this");
	log_debug("%s", "nor this");
	log_err("%s", "this");
	assert_string_equal(body(release()), "boxer: err: this\n");
}

static void
journal_gets_a_priority(void **state)
{
	char ours[64];
	struct stat st;

	(void)state;
	capture();
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", ours, 1);
	log_open("super", LOG_LEVEL_DEBUG);
	log_err("a");
	log_warn("b");
	log_info("c");
	log_debug("d");
	assert_string_equal(release(),
	    "<3>super: err: a\n<4>super: warn: b\n"
	    "<6>super: info: c\n<7>super: debug: d\n");
}

static void
journal_of_another_is_not_ours(void **state)
{
	(void)state;
	capture();
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_open("super", LOG_LEVEL_INFO);
	log_info("x");
	assert_string_equal(body(release()), "super: info: x\n");
	unsetenv("JOURNAL_STREAM");
}

static void
a_text_cannot_forge_a_line(void **state)
{
	(void)state;
	capture();
	log_open("gate", LOG_LEVEL_INFO);
	log_info("%s", "a\nb\r\x1b[31m\x7f\tc");
	assert_string_equal(
	    body(release()), "gate: info: a\\x0ab\\x0d\\x1b[31m\\x7f\\x09c\n");
}

static void
bytes_that_are_no_utf8_are_escaped(void **state)
{
	(void)state;
	capture();
	/* Good UTF-8 stays; C1 controls, overlong, surrogate, cut do not. */
	log_info("%s",
	    "\xc3\xa4\xf0\x9f\x98\x80 \xc2\x9b \xc0\x8a \xed\xa0\x80 "
	    "\xff \xe2\x82");
	assert_string_equal(body(release()),
	    "gate: info: \xc3\xa4\xf0\x9f\x98\x80 \\xc2\\x9b \\xc0\\x8a "
	    "\\xed\\xa0\\x80 \\xff \\xe2\\x82\n");
}

static void
long_lines_are_cut_and_marked(void **state)
{
	static char text[5000];
	const char *line;
	size_t len;

	(void)state;
	/* Plain, all escaped, and a code point across the border. */
	for (int kind = 0; kind < 3; kind++) {
		memset(text, kind == 1 ? '\n' : 'y', sizeof(text) - 1);
		for (size_t i = 1; kind == 2 && i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 4);
		capture();
		log_info("%s", text);
		line = release();
		len = strlen(line);
		assert_in_range(len, 2000, 2048);
		assert_string_equal(line + len - 4, "...\n");
		assert_ptr_equal(strchr(line, '\n'), line + len - 1);
		body(line);
	}
	/* The longest that is not cut holds no mark. */
	memset(text, 'y', sizeof(text));
	text[1900] = '\0';
	capture();
	log_info("%s", text);
	line = release();
	assert_null(strstr(line, "..."));
	assert_non_null(strstr(line, text));
}

static void
errno_is_kept(void **state)
{
	(void)state;
	capture();
	close(STDERR_FILENO); /* so that write(2) sets EBADF */
	errno = ENOSPC;
	log_err("x");
	assert_int_equal(errno, ENOSPC);
	release();
}

static void *
chatter(void *arg)
{
	for (int i = 0; i < 500; i++)
		log_info("%s", (const char *)arg);
	return NULL;
}

static void
threads_do_not_mix_lines(void **state)
{
	char text[2][301];
	pthread_t thread[2];
	const char *line, *rest;
	size_t seen[2] = { 0, 0 };

	(void)state;
	capture();
	for (size_t i = 0; i < 2; i++) {
		memset(text[i], i == 0 ? 'a' : 'b', 300);
		text[i][300] = '\0';
		assert_int_equal(
		    pthread_create(&thread[i], NULL, chatter, text[i]), 0);
	}
	for (size_t i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	for (line = release(); *line != '\0'; line = rest + 301) {
		size_t who;

		rest = body(line) + strlen("gate: info: ");
		who = rest[0] == 'b';
		assert_memory_equal(rest, text[who], 300);
		assert_int_equal(rest[300], '\n');
		seen[who]++;
	}
	assert_int_equal(seen[0], 500);
	assert_int_equal(seen[1], 500);
}

/* The one line behind its time, which is checked. */
static const char *
json_line(void)
{
	static const char head[] = "{\"time\":\"";
	const char *line = release();

	assert_memory_equal(line, head, sizeof(head) - 1);
	return time_end(line + sizeof(head) - 1);
}

static void
json_is_one_object_a_line(void **state)
{
	(void)state;
	log_open("gate", LOG_LEVEL_INFO);
	log_set_form(LOG_FORM_JSON);
	capture();
	log_warn("%s", "a \"b\" \\ \n\x7f \xc2\x9b \xff \xc3\xa4");
	assert_string_equal(json_line(),
	    "\",\"level\":\"warn\",\"role\":\"gate\",\"message\":\"a "
	    "\\\"b\\\" \\\\ \\u000a\\u007f \\u009b \\ufffd \xc3\xa4\"}\n");
	log_set_form(LOG_FORM_TEXT);
}

static void
long_json_stays_an_object(void **state)
{
	static char text[5000];
	const char *line;
	size_t len;

	(void)state;
	log_set_form(LOG_FORM_JSON);
	for (int kind = 0; kind < 3; kind++) {
		memset(text, kind == 1 ? '"' : 'y', sizeof(text) - 1);
		for (size_t i = 1; kind == 2 && i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 4);
		capture();
		log_info("%s", text);
		line = release();
		len = strlen(line);
		assert_in_range(len, 2000, 2048);
		assert_string_equal(line + len - 6, "...\"}\n");
	}
	log_set_form(LOG_FORM_TEXT);
}

static const struct log_field fields[] = {
	{ .name = "id", .text = "abc-1" },
	{ .name = "tx", .text = "a b=c \"d\"\n" },
	{ .name = "payer", .text = NULL },
	{ .name = "dash", .text = "-" },
	{ "http", LOG_NUMBER, NULL, 200 },
	{ .name = "us", .kind = LOG_GROUP },
	{ "read", LOG_NUMBER, NULL, 5 },
	{ "run", LOG_NUMBER, NULL, -1 },
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static void
fields_as_text(void **state)
{
	(void)state;
	capture();
	log_event(LOG_LEVEL_INFO, "run", fields, N_FIELDS);
	assert_string_equal(body(release()),
	    "gate: info: run id=abc-1 tx=\"a b=c \\\"d\\\"\\u000a\" payer=- "
	    "dash=\"-\" http=200 us: read=5 run=-1\n");
	capture();
	log_event(LOG_LEVEL_DEBUG, "run", fields, N_FIELDS);
	assert_string_equal(release(), "");
}

static void
fields_as_json(void **state)
{
	(void)state;
	log_set_form(LOG_FORM_JSON);
	capture();
	log_event(LOG_LEVEL_INFO, "run", fields, N_FIELDS);
	assert_string_equal(json_line(),
	    "\",\"level\":\"info\",\"role\":\"gate\",\"event\":\"run\","
	    "\"id\":\"abc-1\",\"tx\":\"a b=c \\\"d\\\"\\u000a\",\"payer\":null,"
	    "\"dash\":\"-\",\"http\":200,\"us\":{\"read\":5,\"run\":-1}}\n");
	log_set_form(LOG_FORM_TEXT);
}

/* Whatever does not fit is left out whole, in either form. */
static void
long_events_lose_their_last_fields(void **state)
{
	static char text[4000];
	struct log_field f[3] = { { .name = "first", .text = "x" },
		{ .name = "long", .text = text },
		{ .name = "last", .text = "y" } };
	const char *line;

	(void)state;
	for (size_t len = 1900; len < 2100; len++) {
		for (int form = LOG_FORM_TEXT; form <= LOG_FORM_JSON; form++) {
			memset(text, 'z', len);
			text[len] = '\0';
			log_set_form((enum log_form)form);
			capture();
			log_event(LOG_LEVEL_INFO, "e", f, 3);
			line = release();
			assert_in_range(strlen(line), 40, 2048);
			assert_non_null(strstr(line, "first"));
			if (form == LOG_FORM_JSON)
				assert_string_equal(
				    line + strlen(line) - 3, "\"}\n");
			if (len > 2048)
				assert_null(strstr(line, "last"));
		}
	}
	log_set_form(LOG_FORM_TEXT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_has_time_role_and_level),
		cmocka_unit_test(levels_are_filtered),
		cmocka_unit_test(journal_gets_a_priority),
		cmocka_unit_test(journal_of_another_is_not_ours),
		cmocka_unit_test(a_text_cannot_forge_a_line),
		cmocka_unit_test(bytes_that_are_no_utf8_are_escaped),
		cmocka_unit_test(long_lines_are_cut_and_marked),
		cmocka_unit_test(errno_is_kept),
		cmocka_unit_test(threads_do_not_mix_lines),
		cmocka_unit_test(json_is_one_object_a_line),
		cmocka_unit_test(long_json_stays_an_object),
		cmocka_unit_test(fields_as_text),
		cmocka_unit_test(fields_as_json),
		cmocka_unit_test(long_events_lose_their_last_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
