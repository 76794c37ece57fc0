#include "box/root.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"

static char top[] = "/tmp/test_root.XXXXXX";

static const char *
at(const char *path)
{
	static char whole[256];

	(void)snprintf(whole, sizeof(whole), "%s%s", top, path);
	return whole;
}

static int
setup(void **state)
{
	static const char *const folders[] = { "/usr", "/usr/bin", "/lib",
		"/etc" };
	int fd;

	(void)state;
	assert_non_null(mkdtemp(top));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		assert_int_equal(mkdir(at(folders[i]), 0755), 0);
	assert_int_equal(symlink("usr/bin", at("/bin")), 0);
	assert_int_equal(symlink("/usr/bin/tool", at("/etc/absolute")), 0);
	assert_int_equal(symlink("../../../../etc/up", at("/etc/up")), 0);
	assert_int_equal(
	    symlink("../../../../../etc/passwd", at("/etc/out")), 0);
	fd = open(at("/usr/bin/tool"), O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int
teardown(void **state)
{
	static const char *const files[] = { "/bin", "/etc/absolute", "/etc/up",
		"/etc/out", "/usr/bin/tool" };
	static const char *const folders[] = { "/usr/bin", "/usr", "/lib",
		"/etc", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		unlink(at(files[i]));
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		rmdir(at(folders[i]));
	return access(top, F_OK) == 0;
}

static void
what_stands_there(void **state)
{
	struct root r;

	(void)state;
	assert_int_equal(root_look(&r, top), ST_OK);
	for (size_t i = 0; i < ROOT_TOPS; i++) {
		if (strcmp(root_tops[i], "/bin") == 0)
			assert_string_equal(r.link[i], "usr/bin");
		else if (access(at(root_tops[i]), F_OK) == 0)
			assert_string_equal(r.link[i], "");
		else
			assert_null(r.link[i]);
	}
	root_free(&r);
	/* Freed, it holds nothing. */
	root_free(&r);
	assert_int_equal(root_look(&r, at("/none")), ST_IO);
	assert_int_equal(root_look(&r, at("/usr/bin/tool")), ST_IO);
	for (size_t i = 0; i < ROOT_TOPS; i++)
		assert_null(r.link[i]);
}

/* The file that path leads to inside is the tool. */
static void
expect_tool(const char *path)
{
	struct stat a, b;
	int fd = root_open(top, path);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(stat(at("/usr/bin/tool"), &b), 0);
	assert_true(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
	close(fd);
}

static void
links_stay_inside(void **state)
{
	int fd;

	(void)state;
	expect_tool("/usr/bin/tool");
	expect_tool("/bin/tool");
	expect_tool("/etc/absolute");
	expect_tool("/../../usr/bin/tool");
	assert_int_equal(root_open(top, "/etc/up"), -1);
	/* It is there on the host, and not in here. */
	assert_int_equal(root_open(top, "/etc/out"), -1);
	assert_int_equal(root_open(at("/none"), "/bin/tool"), -1);
	fd = root_open(NULL, "/etc/passwd");
	assert_true(fd >= 0);
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stands_there),
		cmocka_unit_test(links_stay_inside),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, setup, teardown);
}
