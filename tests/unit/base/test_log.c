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

/* The one line behind its head, from the role on; the head is checked. */
static const char *
body(const char *line)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dddZ ";

	for (size_t i = 0; i < sizeof(shape) - 1; i++) {
		if (shape[i] == 'd')
			assert_in_range(line[i], '0', '9');
		else
			assert_int_equal(line[i], shape[i]);
	}
	return line + sizeof(shape) - 1;
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
