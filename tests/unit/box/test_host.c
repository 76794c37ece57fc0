#include "box/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "box/host_shared.h"

/* A word that may stand where the settings own their text. */
#define W(text) ((char[]){ text })

static char folder[] = "/tmp/test_host.XXXXXX";
static char init_path[64];
static char root_path[64];
static char weak_path[64];

static char name_a[] = "a";
static char name_b[] = "b";
static char entry[] = "main";
static char *true_command[] = { W("/usr/bin/true"), W("{entry}"), NULL };
static char *false_command[] = { W("/usr/bin/false"), NULL };
static char *missing_command[] = { W("/usr/bin/nothing-there"), NULL };
static char *relative_command[] = { W("true"), NULL };
static char *no_command[] = { NULL };
static char *bash_command[] = { W("/usr/bin/bash"), W("{entry}"), NULL };
static char *own_command[] = { W("/usr/bin/own"), W("--version"), NULL };
/* There on the host, but not inside. */
static char *outside_command[] = { init_path, NULL };

#define MOST 40
#define ATTACKS 9
static struct host_line lines[MOST];
static size_t n_lines;

static void
keep(void *ctx, const struct host_line *line)
{
	assert_ptr_equal(ctx, lines);
	assert_true(n_lines < MOST);
	lines[n_lines++] = *line;
}

static const struct host_line *
line_of(const char *what)
{
	for (size_t i = 0; i < n_lines; i++) {
		if (strcmp(lines[i].what, what) == 0)
			return &lines[i];
	}
	return NULL;
}

static void
copy(const char *from_path, const char *to_path)
{
	int from = open(from_path, O_RDONLY | O_CLOEXEC);
	int to = open(to_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	char chunk[65536];
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	for (n = read(from, chunk, sizeof(chunk)); n > 0;
	     n = read(from, chunk, sizeof(chunk)))
		assert_int_equal(write(to, chunk, (size_t)n), n);
	close(from);
	close(to);
}

/* The sandbox-init of this build, where the run user can reach it. */
static int
setup(void **state)
{
	char self[512], command[1200], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	assert_true(n > 0);
	self[n] = '\0';
	/* BUILD/tests/unit/box/test_host */
	for (int i = 0; i < 4; i++) {
		slash = strrchr(self, '/');
		assert_non_null(slash);
		*slash = '\0';
	}
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	snprintf(init_path, sizeof(init_path), "%s/init", folder);
	snprintf(command, sizeof(command), "%s/sandbox-init", self);
	if (access(command, X_OK) < 0)
		fail_msg("%s is not built", command);
	copy(command, init_path);
	snprintf(root_path, sizeof(root_path), "%s/test_root", folder);
	snprintf(weak_path, sizeof(weak_path), "%s/bwrap", folder);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	unlink(init_path);
	return rmdir(folder);
}

/* All that is read of the settings. nobody is there on every host. */
static char bwrap_path[] = "/usr/bin/bwrap";
static char run_user[] = "nobody";
static char automatic[] = "auto";
static char meter[] = "meter";

static struct conf
settings(char **command)
{
	struct conf c = { .bwrap = bwrap_path,
		.init = init_path,
		.run_user = run_user,
		.memory_limit = meter,
		.n_runtimes = 1 };

	c.runtimes[0] = (struct conf_runtime){
		.name = name_a, .entry = entry, .command = command
	};
	return c;
}

static bool
check(const struct conf *c)
{
	n_lines = 0;
	return host_check(c, keep, lines);
}

static void
expect(const char *what, bool ok, const char *part)
{
	const struct host_line *line = line_of(what);

	if (line == NULL)
		fail_msg("no line about %s", what);
	else if (line->ok != ok || strstr(line->text, part) == NULL)
		fail_msg("%s: %d, %s", what, line->ok, line->text);
}

static void
all_is_well(void **state)
{
	struct conf c = settings(true_command);

	(void)state;
	if (!check(&c)) {
		for (size_t i = 0; i < n_lines; i++)
			print_error("%d %s: %s\n", lines[i].ok, lines[i].what,
			    lines[i].text);
		fail();
	}
	assert_int_equal(n_lines, 9 + ATTACKS);
	for (size_t i = 9; i < n_lines; i++) {
		assert_string_equal(lines[i].what, "attack");
		assert_non_null(strstr(lines[i].text, ": refused"));
	}
	expect("kernel", true, "Linux ");
	expect("memory limit", true, "meter");
	expect("bubblewrap", true, "/usr/bin/bwrap, bubblewrap ");
	expect("sandbox-init", true, init_path);
	expect("user namespaces", true, "ran /usr/bin/true in ");
	expect("runtime", true, "a: ran an empty program in ");
}

static void
each_runtime_is_judged(void **state)
{
	struct conf c = settings(missing_command);

	(void)state;
	c.n_runtimes = 2;
	c.runtimes[1] = (struct conf_runtime){
		.name = name_b, .entry = entry, .command = true_command
	};
	assert_false(check(&c));
	assert_int_equal(n_lines, 10 + ATTACKS);
	assert_string_equal(lines[8].what, "runtime");
	assert_false(lines[8].ok);
	assert_string_equal(lines[9].what, "runtime");
	assert_true(lines[9].ok);
	expect("runtime", false, "a: /usr/bin/nothing-there: No such file");
}

static void
runtimes_that_do_not_run(void **state)
{
	struct conf c = settings(false_command);

	(void)state;
	assert_false(check(&c));
	expect("runtime", false, "an empty program ended with exit status 1");
	c = settings(relative_command);
	assert_false(check(&c));
	expect("runtime", false, "absolute path");
	c = settings(no_command);
	assert_false(check(&c));
	expect("runtime", false, "absolute path");
	c = settings(outside_command);
	assert_false(check(&c));
	expect("runtime", false, "outside /usr: add its folder to binds");
	c.n_runtimes = 0;
	assert_false(check(&c));
	expect("runtime", false, "there is none");
}

static char *const hellos[] = { W("echo hello"), W("echo hi"),
	W("echo hello; echo more >&2"), W("echo hello; exit 3"),
	W("echo oh; kill -9 $$") };

/* The hello of a runtime must say it, and end well. */
static void
a_hello(void **state)
{
	static const char *const parts[] = { "a: said hello in ",
		"a: its hello ended with exit status 0 and said \"hi\"",
		"exit status 0 and said \"hello\"", "exit status 3",
		"its hello ended with signal 9 and said \"oh\"" };
	struct conf c = settings(bash_command);

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		c.runtimes[0].hello = hellos[i];
		assert_int_equal(check(&c), i == 0);
		expect("runtime", i == 0, parts[i]);
	}
}

/* ---- a root file system of its own ---- */

static const char *
in_root(const char *path)
{
	static char whole[256];

	(void)snprintf(whole, sizeof(whole), "%s%s", root_path, path);
	return whole;
}

static void
make_file(const char *path)
{
	int fd = open(in_root(path), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void
an_own_root(void **state)
{
	static const char *const folders[] = { "", "/usr", "/usr/bin", "/etc" };
	static const char *const files[] = { "/etc/passwd", "/etc/group",
		"/etc/hosts", "/etc/nsswitch.conf" };
	struct conf c = settings(own_command);

	(void)state;
	c.runtimes[0].rootfs = root_path;
	assert_false(check(&c));
	expect("runtime", false, "test_root: No such file");
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(mkdir(in_root(folders[i]), 0755), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_false(check(&c));
		expect("runtime", false, "over: touch ");
		expect("runtime", false, files[i]);
		make_file(files[i]);
	}
	assert_false(check(&c));
	expect("runtime", false, "/usr/bin/own: No such file");
	/* An absolute link inside leads to where it does in there. */
	copy("/sbin/ldconfig", in_root("/usr/bin/ldconfig"));
	assert_int_equal(
	    symlink("/usr/bin/ldconfig", in_root("/usr/bin/own")), 0);
	assert_true(check(&c));
	expect("runtime", true, "a: ran an empty program");
	/* And what the host has there is not seen. */
	c.runtimes[0].command = true_command;
	assert_false(check(&c));
	expect("runtime", false, "test_root/usr/bin/true: No such file");
	c.runtimes[0].command = own_command;
	assert_int_equal(chmod(root_path, 0700), 0);
	assert_false(check(&c));
	expect("runtime", false, "test_root: Permission denied");
	expect("runtime", false, "let nobody read it");
	assert_int_equal(chmod(root_path, 0755), 0);
	unlink(in_root("/usr/bin/own"));
	unlink(in_root("/usr/bin/ldconfig"));
	for (size_t i = 0; i < 4; i++)
		unlink(in_root(files[i]));
	for (size_t i = 4; i > 0; i--)
		assert_int_equal(rmdir(in_root(folders[i - 1])), 0);
}

/* ---- walls ---- */

static const struct host_line *
attack(const char *which)
{
	for (size_t i = 0; i < n_lines; i++) {
		if (strcmp(lines[i].what, "attack") == 0 &&
		    strncmp(lines[i].text, which, strlen(which)) == 0)
			return &lines[i];
	}
	fail_msg("no attack %s", which);
	return NULL;
}

/* A bubblewrap that leaves walls out and puts a window in. */
static const char weak_bwrap[] =
    "#!/usr/bin/python3\n"
    "import os, sys\n"
    "argv = sys.argv\n"
    "if '--args' in argv:\n"
    "    at = argv.index('--args') + 1\n"
    "    text = os.read(int(argv[at]), 1 << 20)\n"
    "    text = text.replace(b'--unshare-net\\0', b'')\n"
    "    text = text.replace(b'--remount-ro\\0/\\0',\n"
    "        b'--dir\\0/window\\0')\n"
    "    fd = os.memfd_create('args', 0)\n"
    "    os.write(fd, text)\n"
    "    os.lseek(fd, 0, 0)\n"
    "    argv[at] = str(fd)\n"
    "os.execve('/usr/bin/bwrap', argv, {})\n";

static void
attacks_that_succeed(void **state)
{
	static const char *const open_ones[] = { "reach a network: it could (",
		"write outside its folders: it could (/x); ",
		"read what is not its own: it could (/window); " };
	struct conf c = settings(true_command);
	size_t wrong = 0;
	FILE *f;

	(void)state;
	f = fopen(weak_path, "w");
	assert_non_null(f);
	assert_true(fputs(weak_bwrap, f) >= 0);
	fclose(f);
	assert_int_equal(chmod(weak_path, 0755), 0);
	c.bwrap = weak_path;
	assert_false(check(&c));
	for (size_t i = 0; i < 3; i++)
		assert_false(attack(open_ones[i])->ok);
	for (size_t i = 0; i < n_lines; i++)
		wrong += !lines[i].ok;
	assert_int_equal(wrong, 3);
	unlink(weak_path);
}

static void
the_memory_wall(void **state)
{
	struct conf c = settings(true_command);
	enum cgroup_kind found = cgroup_detect();
	const struct host_line *line;

	(void)state;
	assert_true(check(&c));
	assert_null(line_of("memory wall")); /* the meter is none */
	c.memory_limit = automatic;
	assert_int_equal(check(&c), found != CGROUP_NONE);
	line = line_of("memory wall");
	if (found == CGROUP_NONE) {
		assert_null(line);
		return;
	}
	assert_non_null(line);
	assert_true(line->ok);
	if (found == CGROUP_V1 || strstr(line->text, "not tried") == NULL)
		expect("memory wall", true, "was ended by the kernel");
}

/* Each count is advised where this host's is less, and none is a failure. */
static void
what_runs_share(void **state)
{
	static const struct {
		const char *path;
		const char *advice;
		long most; /* that is too little; 0 is no limit */
	} all[] = {
		{ "/proc/sys/fs/epoll/max_user_watches",
		    "fs.epoll.max_user_watches=1000000000", 999999999 },
		{ "/proc/sys/fs/pipe-user-pages-soft",
		    "fs.pipe-user-pages-soft=0", LONG_MAX },
		{ "/proc/sys/fs/inotify/max_user_instances",
		    "fs.inotify.max_user_instances=8192", 8191 },
	};
	const struct host_line *line;
	struct host_line one;
	bool few, any = false;

	(void)state;
	host_shared_tell(&one, CGROUP_NONE);
	assert_true(one.ok);
	assert_non_null(strstr(one.text, "as they are"));
	host_shared_tell(&one, CGROUP_V2);
	assert_true(one.ok);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		long n = host_shared_number(all[i].path, -1);

		few = n > 0 && n <= all[i].most;
		any = any || few;
		assert_int_equal(strstr(one.text, all[i].advice) != NULL, few);
	}
	assert_int_equal(
	    strstr(one.text, "/etc/sysctl.d/tollbox.conf: ") != NULL, any);
	assert_int_equal(strstr(one.text, "more than") != NULL, !any);
	assert_int_equal(host_shared_number("/proc/sys/no/such", 7), 7);
	n_lines = 0;
	check(&(struct conf){ .bwrap = missing_command[0],
	    .init = missing_command[0],
	    .run_user = run_user,
	    .memory_limit = meter });
	line = line_of("shared by runs");
	assert_non_null(line);
	assert_true(line->ok);
}

/* Where they are part of a run's memory, that is to be their bound. */
static void
what_waits_in_sockets_of_runs(void **state)
{
	struct host_line line;
	char wanted[192];
	uint64_t pages = 1ull << 38;

	(void)state;
	assert_false(host_shared_sockets(&line, CGROUP_NONE, 1ull << 50));
	assert_false(host_shared_sockets(&line, CGROUP_V1, 1ull << 50));
	assert_true(host_shared_sockets(&line, CGROUP_V2, 1 << 20));
	assert_true(line.ok);
	assert_non_null(strstr(line.text, "come before"));
	/* More than any host has. */
	assert_true(host_shared_sockets(
	    &line, CGROUP_V2, pages * (uint64_t)sysconf(_SC_PAGESIZE)));
	assert_true(line.ok);
	(void)snprintf(wanted, sizeof(wanted),
	    "/etc/sysctl.d/tollbox.conf: net.ipv4.tcp_mem=%llu %llu %llu, "
	    "net.ipv4.udp_mem=%llu %llu %llu",
	    (unsigned long long)pages, (unsigned long long)pages,
	    (unsigned long long)pages, (unsigned long long)pages,
	    (unsigned long long)pages, (unsigned long long)pages);
	assert_non_null(strstr(line.text, wanted));
}

static void
pieces_that_are_missing(void **state)
{
	struct conf c = settings(true_command);

	(void)state;
	c.bwrap = missing_command[0];
	c.init = missing_command[0];
	assert_false(check(&c));
	expect("bubblewrap", false, "No such file");
	expect("bubblewrap", false, "install the package bubblewrap");
	expect("sandbox-init", false, "No such file");
	/* Nothing is tried with pieces missing. */
	assert_null(line_of("user namespaces"));
	assert_null(line_of("runtime"));

	c = settings(true_command);
	c.bwrap = true_command[0];
	assert_false(check(&c));
	expect("bubblewrap", false, "is not bubblewrap 0.8 or newer");

	/* An init that is none: the sandbox starts and says nothing. */
	c = settings(true_command);
	c.init = true_command[0];
	assert_false(check(&c));
	expect("user namespaces", false, "start the sandbox");
	assert_null(line_of("runtime"));
}

static void
the_run_user(void **state)
{
	static char nobody_there[] = "no-such-user-here";
	static char root[] = "root";
	struct conf c = settings(true_command);

	(void)state;
	if (geteuid() != 0)
		skip();
	c.run_user = nobody_there;
	assert_false(check(&c));
	expect("run user", false, "useradd --system");
	c.run_user = root;
	assert_false(check(&c));
	expect("run user", false, "is root");
	assert_null(line_of("user namespaces"));
}

static void
the_mechanism(void **state)
{
	static char two[] = "cgroup2", one[] = "cgroup1";
	struct conf c = settings(true_command);
	enum cgroup_kind found = cgroup_detect(), kind;
	struct fault f = { 0 };

	(void)state;
	/* Nothing weaker is ever chosen unasked. */
	assert_int_equal(host_mechanism(&kind, &c, &f), ST_OK);
	assert_int_equal(kind, CGROUP_NONE);
	c.memory_limit = automatic;
	assert_int_equal(host_mechanism(&kind, &c, &f),
	    found == CGROUP_NONE ? ST_REFUSED : ST_OK);
	assert_int_equal(kind, found);
	c.memory_limit = two;
	assert_int_equal(host_mechanism(&kind, &c, &f),
	    found == CGROUP_V2 ? ST_OK : ST_REFUSED);
	if (found != CGROUP_V2)
		assert_non_null(strstr(f.message, "cgroup2 is asked for"));
	c.memory_limit = one;
	assert_int_equal(host_mechanism(&kind, &c, &f),
	    found == CGROUP_V1 ? ST_OK : ST_REFUSED);
	assert_int_equal(kind, found == CGROUP_V1 ? CGROUP_V1 : CGROUP_NONE);
}

/* ---- a check that is killed ---- */

#define KILLS 12
#define KILL_STEP_US 15000

static bool
has_group(pid_t pid)
{
	static const char *const tops[] = { "/sys/fs/cgroup/memory",
		"/sys/fs/cgroup/pids", "/sys/fs/cgroup" };
	bool any = false;
	char path[64];

	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/check-%d", tops[i], (int)pid);
		any = any || access(path, F_OK) == 0;
	}
	return any;
}

/* Wherever it was, the next one finds and ends what it left. */
static void
killed_checks(void **state)
{
	struct conf c = settings(true_command);
	pid_t pid[KILLS];

	(void)state;
	c.memory_limit = automatic;
	for (unsigned i = 0; i < KILLS; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (pid[i] == 0) {
			(void)check(&c);
			_exit(0);
		}
		usleep(i * KILL_STEP_US);
		assert_int_equal(kill(pid[i], SIGKILL), 0);
		assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
	}
	assert_true(check(&c));
	/* A number that is another's by now may not be taken for dead. */
	for (unsigned i = 0; i < KILLS; i++) {
		if (kill(pid[i], 0) < 0 && errno == ESRCH)
			assert_false(has_group(pid[i]));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_well),
		cmocka_unit_test(each_runtime_is_judged),
		cmocka_unit_test(runtimes_that_do_not_run),
		cmocka_unit_test(a_hello),
		cmocka_unit_test(an_own_root),
		cmocka_unit_test(attacks_that_succeed),
		cmocka_unit_test(the_memory_wall),
		cmocka_unit_test(what_runs_share),
		cmocka_unit_test(what_waits_in_sockets_of_runs),
		cmocka_unit_test(pieces_that_are_missing),
		cmocka_unit_test(the_run_user),
		cmocka_unit_test(the_mechanism),
		cmocka_unit_test(killed_checks),
	};

	log_open("test", LOG_LEVEL_ERR);
	return cmocka_run_group_tests(tests, setup, teardown);
}
