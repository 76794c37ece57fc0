#include "box/bwrap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "box/root.h"

/* A word that may stand where the settings own their text. */
#define W(text) ((char[]){ text })

static char *strange_command[] = { W("/usr/bin/R"), W("--file={entry}"),
	W("{entry}{entry}"), W("a{entry"), W("{entry}b{entry}c"), NULL };
static char *no_equals[] = { W("A=1"), W("B"), NULL };
static char *no_name[] = { W("=1"), NULL };
static char *nothing[] = { NULL };
static char python_name[] = "python3";
static char python_entry[] = "main.py";
static char *python_command[] = { W("/usr/bin/python3"), W("{entry}"), NULL };
static char *python_env[] = { W("A=1"), W("EMPTY="), W("WITH=a=b"), NULL };
static char *python_binds[] = { W("/etc/python3.11"), W("/opt/lib"), NULL };

static struct conf_runtime
python(void)
{
	return (struct conf_runtime){ .name = python_name,
		.entry = python_entry,
		.command = python_command,
		.env = python_env };
}

static struct bwrap_policy
policy(const struct conf_runtime *r)
{
	return (struct bwrap_policy){ .bwrap = "/usr/bin/bwrap",
		.runtime = r,
		.entry = "main.py",
		.init = 64,
		.control = 65,
		.in = 66,
		.out = 67,
		.err = 68,
		.status = 69,
		.binds = python_binds,
		.filter = 70,
		.etc = { 71, 72, 73, 74 },
		.args = 75 };
}

/* Compare NUL-separated words with a list. */
static void
expect_words(const struct buf *b, const char *const *want)
{
	size_t at = 0, i = 0;

	for (; at < b->len; i++) {
		assert_non_null(want[i]);
		assert_string_equal((const char *)b->data + at, want[i]);
		at += strlen(want[i]) + 1;
	}
	assert_null(want[i]);
	assert_int_equal(at, b->len);
}

static const char *const whole[] = { "--unshare-user", "--unshare-pid",
	"--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup",
	"--die-with-parent", "--new-session", "--as-pid-1", "--hostname",
	"sandbox", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL",
	"--disable-userns", "--json-status-fd", "69", "--clearenv", "--setenv",
	"PATH", "/usr/bin:/bin", "--setenv", "HOME", "/box", "--setenv", "LANG",
	"C.UTF-8", "--setenv", "TZ", "UTC", "--setenv", "TMPDIR", "/tmp",
	"--setenv", "A", "1", "--setenv", "EMPTY", "", "--setenv", "WITH",
	"a=b", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
	"--symlink", "usr/sbin", "/sbin", "--symlink", "usr/lib", "/lib",
	"--symlink", "usr/lib64", "/lib64", "--dir", "/etc", "--symlink",
	"/usr/share/zoneinfo/Etc/UTC", "/etc/localtime", "--ro-bind-try",
	"/etc/alternatives", "/etc/alternatives", "--ro-bind-try",
	"/etc/ld.so.cache", "/etc/ld.so.cache", "--perms", "0444", "--file",
	"71", "/etc/passwd", "--perms", "0444", "--file", "72", "/etc/group",
	"--perms", "0444", "--file", "73", "/etc/hosts", "--perms", "0444",
	"--file", "74", "/etc/nsswitch.conf", "--ro-bind", "/etc/python3.11",
	"/etc/python3.11", "--ro-bind", "/opt/lib", "/opt/lib", "--proc",
	"/proc", "--dev", "/dev", "--dir", "/box", "--dir", "/tmp", "--chdir",
	"/box", "--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro",
	"/", NULL };

static void
the_exact_list(void **state)
{
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 16);
	assert_int_equal(bwrap_args(&b, &p), ST_OK);
	expect_words(&b, whole);
	buf_free(&b);
}

/* The whole list without the n words that end before `until`. */
static void
expect_without(const struct bwrap_policy *p, size_t n, const char *until)
{
	const char *want[sizeof(whole) / sizeof(whole[0])] = { NULL };
	size_t i = 0, j = 0;
	struct buf b;

	while (whole[i] != NULL && strcmp(whole[i], until) != 0)
		want[j++] = whole[i++];
	j -= n;
	for (; whole[i] != NULL; i++)
		want[j++] = whole[i];
	for (; j < sizeof(want) / sizeof(want[0]); j++)
		want[j] = NULL;
	buf_init(&b, 1 << 16);
	assert_int_equal(bwrap_args(&b, p), ST_OK);
	expect_words(&b, want);
	buf_free(&b);
}

static void
layers_left_out(void **state)
{
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);

	(void)state;
	p.leave_out = BWRAP_LAYER_USERNS;
	expect_without(&p, 1, "--json-status-fd");
	p.leave_out = BWRAP_LAYER_REMOUNT;
	expect_without(&p, 6, "none");
	p.leave_out = BWRAP_LAYER_FILTER;
	expect_without(&p, 0, "none");
	p.leave_out = 0;
	p.status = -1;
	expect_without(&p, 2, "--clearenv");
	p = policy(&r);
	p.binds = NULL;
	expect_without(&p, 6, "--proc");
}

static void
the_argv(void **state)
{
	static const char *const want[] = { "/usr/bin/bwrap", "--args", "75",
		"--", "/proc/self/fd/64", "65", "66", "67", "68", "70",
		"/usr/bin/R", "--file=main.R", "main.Rmain.R", "a{entry",
		"main.Rbmain.Rc" };
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);
	char **argv;

	(void)state;
	r.command = strange_command;
	p.entry = "main.R";
	assert_int_equal(bwrap_argv(&argv, &p), ST_OK);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_string_equal(argv[i], want[i]);
	assert_null(argv[sizeof(want) / sizeof(want[0])]);
	free(argv);

	p.leave_out = BWRAP_LAYER_FILTER;
	assert_int_equal(bwrap_argv(&argv, &p), ST_OK);
	assert_string_equal(argv[9], "-");
	assert_string_equal(argv[10], "/usr/bin/R");
	free(argv);
}

static void
the_descriptors(void **state)
{
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);
	int fds[BWRAP_FDS], seen[12] = { 0 };
	size_t n;

	(void)state;
	assert_int_equal(bwrap_fds(fds, &p), BWRAP_FDS);
	for (size_t i = 0; i < BWRAP_FDS; i++) {
		assert_in_range(fds[i], 64, 75);
		seen[fds[i] - 64]++;
	}
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(seen[i], 1);
	p.status = -1;
	n = bwrap_fds(fds, &p);
	assert_int_equal(n, BWRAP_FDS - 1);
	for (size_t i = 0; i < n; i++)
		assert_int_not_equal(fds[i], 69);
}

static void
low_descriptors_refused(void **state)
{
	struct conf_runtime r = python();
	struct buf b;
	char **argv;

	(void)state;
	for (int which = 0; which < 5; which++) {
		struct bwrap_policy p = policy(&r);
		int *member[] = { &p.init, &p.out, &p.args,
			&p.etc[BWRAP_ETC_HOSTS], &p.filter };

		*member[which] = which == 0 ? -1 : BWRAP_FD_MIN - 1;
		buf_init(&b, 1 << 16);
		assert_int_equal(bwrap_args(&b, &p), ST_FORMAT);
		assert_int_equal(bwrap_argv(&argv, &p), ST_FORMAT);
		assert_null(argv);
		buf_free(&b);
	}
}

static void
wild_binds_refused(void **state)
{
	static const char *const bad[] = { "", "/", "//", "etc", "./etc",
		"/etc/", "/etc//x", "/.", "/..", "/etc/..", "/etc/../x",
		"/./etc", "/etc/." };
	static const char *const fine[] = { "/etc", "/etc/python3.11", "/.a",
		"/..a", "/a/...", "/opt/x y" };
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);
	char text[32];
	char *binds[] = { text, NULL };
	struct buf b;

	(void)state;
	p.binds = binds;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strncpy(text, bad[i], sizeof(text) - 1);
		buf_init(&b, 1 << 16);
		assert_int_equal(bwrap_args(&b, &p), ST_FORMAT);
		buf_free(&b);
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++) {
		strncpy(text, fine[i], sizeof(text) - 1);
		buf_init(&b, 1 << 16);
		assert_int_equal(bwrap_args(&b, &p), ST_OK);
		buf_free(&b);
	}
}

static char rootfs[] = "/srv/own";
static char *root_binds[] = { W("/srv/own/etc/x"), W("/srv/own/var/y"), NULL };

/* From "--ro-bind /usr" to "--proc" a rootfs takes the host's place. */
static void
own_root(void **state)
{
	static const char *const want[] = { "--ro-bind", "/srv/own/usr", "/usr",
		"--ro-bind", "/srv/own/etc", "/etc", "--symlink", "usr/bin",
		"/bin", "--symlink", "/usr/lib", "/lib", "--ro-bind",
		"/srv/own/lib64", "/lib64", "--ro-bind-data", "71",
		"/etc/passwd", "--ro-bind-data", "72", "/etc/group",
		"--ro-bind-data", "73", "/etc/hosts", "--ro-bind-data", "74",
		"/etc/nsswitch.conf", "--ro-bind", "/srv/own/etc/x", "/etc/x",
		"--ro-bind", "/srv/own/var/y", "/var/y", NULL };
	const struct root root = { .link = { W(""), W(""), W("usr/bin"), NULL,
				       W("/usr/lib"), NULL, W("") } };
	const char *all[sizeof(whole) / sizeof(whole[0])] = { NULL };
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);
	size_t n = 0, i = 0;
	struct buf b;

	(void)state;
	r.rootfs = rootfs;
	p.root = &root;
	p.binds = root_binds;
	for (; strcmp(whole[i + 1], "/usr") != 0; i++)
		all[n++] = whole[i];
	for (size_t k = 0; want[k] != NULL; k++)
		all[n++] = want[k];
	while (strcmp(whole[i], "--proc") != 0)
		i++;
	while (whole[i] != NULL)
		all[n++] = whole[i++];
	buf_init(&b, 1 << 16);
	assert_int_equal(bwrap_args(&b, &p), ST_OK);
	expect_words(&b, all);
	/* A bind that is not of it, and a root that is the host's. */
	buf_clear(&b);
	p.binds = python_binds;
	assert_int_equal(bwrap_args(&b, &p), ST_FORMAT);
	p.binds = NULL;
	r.rootfs[0] = '\0';
	assert_int_equal(bwrap_args(&b, &p), ST_FORMAT);
	r.rootfs[0] = '/';
	buf_free(&b);
}

static void
bad_runtimes_refused(void **state)
{
	struct conf_runtime r = python();
	struct bwrap_policy p = policy(&r);
	struct buf b;
	char **argv;

	(void)state;
	buf_init(&b, 1 << 16);
	r.env = no_equals;
	assert_int_equal(bwrap_args(&b, &p), ST_FORMAT);
	r.env = no_name;
	buf_clear(&b);
	assert_int_equal(bwrap_args(&b, &p), ST_FORMAT);
	r.env = NULL;
	buf_clear(&b);
	assert_int_equal(bwrap_args(&b, &p), ST_OK);
	r.command = nothing;
	assert_int_equal(bwrap_argv(&argv, &p), ST_FORMAT);
	buf_free(&b);
	/* A buffer that is too small is told of, not cut. */
	buf_init(&b, 100);
	assert_int_equal(bwrap_args(&b, &p), ST_TOO_BIG);
	buf_free(&b);
}

static void
etc_tells_nothing(void **state)
{
	(void)state;
	for (int e = 0; e < BWRAP_ETC_MAX; e++) {
		const char *text = bwrap_etc_text((enum bwrap_etc)e);

		assert_memory_equal(
		    bwrap_etc_path((enum bwrap_etc)e), "/etc/", 5);
		assert_true(strlen(text) > 0 && text[strlen(text) - 1] == '\n');
		assert_null(strstr(text, "tollbox"));
	}
	assert_non_null(strstr(bwrap_etc_text(BWRAP_ETC_PASSWD),
	    "sandbox:x:1000:1000:sandbox:/box:/bin/bash\n"));
	assert_non_null(
	    strstr(bwrap_etc_text(BWRAP_ETC_NSSWITCH), "hosts: files dns\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exact_list),
		cmocka_unit_test(layers_left_out),
		cmocka_unit_test(the_argv),
		cmocka_unit_test(the_descriptors),
		cmocka_unit_test(low_descriptors_refused),
		cmocka_unit_test(wild_binds_refused),
		cmocka_unit_test(own_root),
		cmocka_unit_test(bad_runtimes_refused),
		cmocka_unit_test(etc_tells_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
