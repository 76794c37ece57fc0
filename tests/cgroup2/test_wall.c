/* What holds runs where the kernel has cgroup v2: real sandboxes, see
 * boxer_fixture.h. Only for the test machine. */
#include "boxer_fixture.h"

#include <sys/stat.h>

static struct server server;

static int
setup(void **state)
{
	(void)state;
	server.conf = settings;
	server_start(&server);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	server_stop(&server);
	return 0;
}

/* The instance's folder, or a file in it. */
static const char *
path_of(const char *file)
{
	static char path[PLACE_PATH + 300];
	struct place p;

	assert_int_equal(place_find(&p, CGROUP_V2, server.name), ST_OK);
	(void)snprintf(path, sizeof(path), "%s/%s", p.dir[0], file);
	return path;
}

static uid_t
owner_of(const char *file)
{
	struct stat sb;

	if (stat(path_of(file), &sb) < 0)
		fail_msg("%s: %s", path_of(file), strerror(errno));
	return sb.st_uid;
}

/* A number in a file of the instance, behind key or (NULL) alone. */
static uint64_t
number_of(const char *file, const char *key)
{
	char line[128];
	size_t len = key == NULL ? 0 : strlen(key);
	FILE *f = fopen(path_of(file), "r");

	if (f == NULL)
		fail_msg("%s: %s", path_of(file), strerror(errno));
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (key != NULL && strncmp(line, key, len) != 0)
			continue;
		fclose(f);
		return strtoull(line + len, NULL, 10);
	}
	fail_msg("%s: no %s", path_of(file), key == NULL ? "number" : key);
	return 0;
}

static void
the_mechanism(void **state)
{
	(void)state;
	assert_int_equal(server.kind, CGROUP_V2);
}

/* The boxer may make groups and move processes; what bounds the instance as a
 * whole, and who may be bounded, stays root's. */
static void
what_is_delegated(void **state)
{
	uid_t uid = getpwnam(RUN_USER)->pw_uid;
	char path[64], text[512] = "", tail[64];
	FILE *f;

	(void)state;
	assert_int_equal(owner_of("."), uid);
	assert_int_equal(owner_of("cgroup.procs"), uid);
	assert_int_equal(owner_of("cgroup.subtree_control"), uid);
	assert_int_equal(owner_of("memory.max"), 0);
	assert_int_equal(owner_of("pids.max"), 0);
	assert_int_equal(owner_of("cgroup.kill"), 0);
	assert_int_equal(owner_of("../cgroup.procs"), 0);

	/* It sits inside the tree, or it could not move a process in it. */
	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)server.pid);
	(void)snprintf(tail, sizeof(tail), "/%s/main\n", server.name);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_int_equal(strncmp(text, "0::", 3), 0);
	assert_non_null(strstr(text, tail));
}

/* A number in a file of this group. */
static uint64_t
in_group(const char *name, const char *what)
{
	char file[400];

	(void)snprintf(file, sizeof(file), "%s/%s", name, what);
	return number_of(file, NULL);
}

/* Name of the only group of a run, once n processes are in it. */
static void
await_group(char name[300], uint64_t n)
{
	struct dirent *e;
	DIR *d;

	for (int i = 0; i < 1000; i++) {
		d = opendir(path_of("."));
		assert_non_null(d);
		name[0] = '\0';
		for (e = readdir(d); e != NULL; e = readdir(d)) {
			if (strncmp(e->d_name, PLACE_RUN, 4) == 0)
				(void)snprintf(name, 300, "%s", e->d_name);
		}
		closedir(d);
		if (name[0] != '\0' && in_group(name, "pids.current") >= n)
			return;
		usleep(10000);
	}
	fail_msg("no run of %d processes is to be seen", (int)n);
}

static void *
run_sleeper(void *arg)
{
	struct limits l = usual;

	l.memory_bytes = 96 * MIB;
	l.work_bytes = 32 * MIB;
	run_source(arg, &server, "bash", "sleep 3; exit 7", &l);
	return NULL;
}

static void
limits_in_force(void **state)
{
	struct outcome o = { 0 };
	char name[300];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_sleeper, &o), 0);
	/* bubblewrap, PID 1, bash, sleep */
	await_group(name, 4);
	assert_true(in_group(name, "memory.max") ==
		    96 * MIB + 32 * MIB + LIMITS_EXTRA_BYTES);
	assert_int_equal(in_group(name, "memory.swap.max"), 0);
	/* Else one hungry process would take PID 1 and its report along. */
	assert_int_equal(in_group(name, "memory.oom.group"), 0);
	assert_true(in_group(name, "pids.max") >= LIMITS_TASKS);
	assert_true(in_group(name, "pids.max") < 2 * LIMITS_TASKS);
	pthread_join(thread, NULL);
	check_end(&o, ST_EXECUTION_RUNTIME_ERROR, 7, 0);
	await_quiet(&server);
	outcome_free(&o);
}

/* Memory that the meter does not see, so that only the kernel can stop it, in
 * a child that is the largest process: full buffers of sockets. */
#define FILL_SOCKETS                                                           \
	"import os, socket\n"                                                  \
	"def fill():\n"                                                        \
	"    held = [bytearray(4 << 20)]\n"                                    \
	"    for n in range(120):\n"                                           \
	"        held += socket.socketpair()\n"                                \
	"        for end in held[-2:]:\n"                                      \
	"            end.setblocking(False)\n"                                 \
	"            try:\n"                                                   \
	"                while True: end.send(b'x' * 32768)\n"                 \
	"            except BlockingIOError: pass\n"

static void
the_wall_kills_one(void **state)
{
	static const char source[] =
	    FILL_SOCKETS "pid = os.fork()\n"
			 "if pid == 0:\n"
			 "    fill()\n"
			 "    os._exit(0)\n"
			 "print(os.waitpid(pid, 0)[1], flush=True)\n";
	struct limits l = usual;
	struct outcome o = { 0 };
	uint64_t before, after;

	(void)state;
	l.memory_bytes = 16 * MIB;
	l.work_bytes = MIB;
	before = number_of("memory.events", "oom_kill ");
	run_source(&o, &server, "python3", source, &l);
	after = number_of("memory.events", "oom_kill ");
	/* The program lives on, was told, and the run is over its limit. */
	check_end(&o, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "9\n");
	assert_true(after == before + 1);
	await_quiet(&server);

	/* The same in the main process: its end is the limit's doing. */
	run_source(&o, &server, "python3", FILL_SOCKETS "fill()\n", &l);
	check_end(&o, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0);
	await_quiet(&server);
	outcome_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mechanism),
		cmocka_unit_test(what_is_delegated),
		cmocka_unit_test(limits_in_force),
		cmocka_unit_test(the_wall_kills_one),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
