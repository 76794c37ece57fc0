#include "box/stage.h"

#include <dirent.h>
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

#include "base/io.h"
#include "box/root.h"

/* A word that may stand where the settings own their text. */
#define W(text) ((char[]){ text })

static char plain[] = "plain";
static char bound[] = "bound";
static char *command[] = { W("/bin/true"), NULL };
static char folder[] = "/tmp/test_stage.XXXXXX";

static size_t
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static int
setup(void **state)
{
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (const char *const *name =
		 (const char *const[]){ "lib1", "lib2", "other", NULL };
	     *name != NULL; name++) {
		snprintf(path, sizeof(path), "%s/%s", folder, *name);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	return 0;
}

static int
teardown(void **state)
{
	char path[64];

	(void)state;
	for (const char *const *name =
		 (const char *const[]){ "/lib1", "/lib2", "/other", "", NULL };
	     *name != NULL; name++) {
		snprintf(path, sizeof(path), "%s%s", folder, *name);
		assert_int_equal(rmdir(path), 0);
	}
	return 0;
}

static struct conf *
one_conf(char **binds)
{
	static struct conf c;

	c = (struct conf){ .n_runtimes = 2 };
	c.runtimes[0] =
	    (struct conf_runtime){ .name = plain, .command = command };
	c.runtimes[1] = (struct conf_runtime){
		.name = bound, .command = command, .binds = binds
	};
	return &c;
}

/* A policy as the boxer has it before the dressing. */
static struct bwrap_policy
policy(const struct conf_runtime *r)
{
	int fd = io_move_high(open("/dev/null", O_RDWR | O_CLOEXEC));

	assert_true(fd >= BWRAP_FD_MIN);
	return (struct bwrap_policy){ .bwrap = "/bin/bwrap",
		.runtime = r,
		.entry = "main.x",
		.init = fd,
		.control = fd,
		.in = fd,
		.out = fd,
		.err = fd,
		.status = -1 };
}

static void
globs_are_expanded(void **state)
{
	char none[64], libs[64], other[64], want[64];
	char *binds[] = { none, libs, other, NULL };
	struct conf *c = one_conf(binds);
	struct bwrap_policy p;
	struct stage *s;

	(void)state;
	snprintf(none, sizeof(none), "%s/none*", folder);
	snprintf(libs, sizeof(libs), "%s/lib?", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	assert_int_equal(stage_open(&s, c), ST_OK);
	p = policy(&c->runtimes[1]);
	assert_int_equal(stage_dress(&p, s), ST_OK);
	assert_non_null(p.binds);
	for (int i = 0; i < 2; i++) {
		snprintf(want, sizeof(want), "%s/lib%d", folder, i + 1);
		assert_true(strcmp(p.binds[0], want) == 0 ||
			    strcmp(p.binds[1], want) == 0);
	}
	assert_string_equal(p.binds[2], other);
	assert_null(p.binds[3]);
	stage_undress(&p);
	/* The runtime without binds has none. */
	close(p.init);
	p = policy(&c->runtimes[0]);
	assert_int_equal(stage_dress(&p, s), ST_OK);
	assert_true(p.binds == NULL || p.binds[0] == NULL);
	stage_undress(&p);
	close(p.init);
	stage_close(s);
}

/* With a root file system of its own, binds are looked for in there. */
static void
a_root_of_its_own(void **state)
{
	char *binds[] = { W("/lib?"), W("/etc*"), NULL };
	struct conf *c = one_conf(binds);
	struct bwrap_policy p;
	struct stage *s;
	char want[64];

	(void)state;
	c->runtimes[1].rootfs = folder;
	assert_int_equal(stage_open(&s, c), ST_OK);
	p = policy(&c->runtimes[1]);
	assert_int_equal(stage_dress(&p, s), ST_OK);
	assert_non_null(p.root);
	for (size_t i = 0; i < ROOT_TOPS; i++)
		assert_null(p.root->link[i]); /* it holds none of them */
	for (int i = 0; i < 2; i++) {
		snprintf(want, sizeof(want), "%s/lib%d", folder, i + 1);
		assert_true(strcmp(p.binds[0], want) == 0 ||
			    strcmp(p.binds[1], want) == 0);
	}
	assert_null(p.binds[2]); /* and nothing of the host's /etc */
	stage_undress(&p);
	close(p.init);
	p = policy(&c->runtimes[0]);
	assert_int_equal(stage_dress(&p, s), ST_OK);
	assert_null(p.root);
	stage_undress(&p);
	close(p.init);
	stage_close(s);
	c->runtimes[1].rootfs = W("/nonexistent/root");
	assert_int_equal(stage_open(&s, c), ST_IO);
}

static void
each_has_files_of_its_own(void **state)
{
	struct conf *c = one_conf(NULL);
	struct bwrap_policy a, b;
	struct stage *s;
	char *first, *second, *args;
	size_t n, m;

	(void)state;
	assert_int_equal(stage_open(&s, c), ST_OK);
	a = policy(&c->runtimes[0]);
	b = a;
	assert_int_equal(stage_dress(&a, s), ST_OK);
	assert_int_equal(stage_dress(&b, s), ST_OK);
	assert_int_equal(io_read_file(a.filter, 1 << 16, &first, &n), ST_OK);
	assert_int_equal(io_read_file(b.filter, 1 << 16, &second, &m), ST_OK);
	assert_true(n > 1000 && n == m);
	assert_memory_equal(first, second, n);
	free(first);
	free(second);
	for (int e = 0; e < BWRAP_ETC_MAX; e++) {
		assert_int_equal(
		    io_read_file(a.etc[e], 4096, &first, &n), ST_OK);
		assert_string_equal(first, bwrap_etc_text((enum bwrap_etc)e));
		free(first);
		assert_int_equal(lseek(b.etc[e], 0, SEEK_CUR), 0);
		assert_int_equal(fcntl(b.etc[e], F_GETFD), FD_CLOEXEC);
	}
	/* The arguments name the descriptors of this policy. */
	assert_int_equal(io_read_file(b.args, 1 << 16, &args, &n), ST_OK);
	assert_string_equal(args, "--unshare-user");
	for (size_t at = 0; at < n; at += strlen(args + at) + 1) {
		if (strcmp(args + at, "--file") != 0)
			continue;
		at += sizeof("--file");
		assert_int_equal(strtol(args + at, NULL, 10), b.etc[0]);
		break;
	}
	free(args);
	stage_undress(&a);
	stage_undress(&b);
	stage_undress(&b);
	close(a.init);
	stage_close(s);
}

static void
nothing_is_left_open(void **state)
{
	char *wild[] = { W("/"), NULL };
	struct conf *c = one_conf(wild);
	size_t before = open_fds();
	struct bwrap_policy p = policy(&c->runtimes[1]);
	struct stage *s;

	(void)state;
	assert_int_equal(stage_open(&s, c), ST_OK);
	assert_int_equal(stage_dress(&p, s), ST_FORMAT);
	assert_int_equal(p.args, -1);
	assert_int_equal(p.filter, -1);
	stage_close(s);
	stage_close(NULL);
	close(p.init);
	assert_int_equal(open_fds(), before);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(globs_are_expanded),
		cmocka_unit_test(a_root_of_its_own),
		cmocka_unit_test(each_has_files_of_its_own),
		cmocka_unit_test(nothing_is_left_open),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
