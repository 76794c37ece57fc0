/* The pool of warm sandboxes: who gets one, how many there are, and that what
 * goes wrong with them is nobody's loss. */
#include "warm_fixture.h"

/* gate hook of its own, in base64: os._exit(1) before it is ready; and the same
 * after a second. */
static char exits[] = "X19pbXBvcnRfXygnb3MnKS5fZXhpdCgxKQo=";
static char exits_late[] =
    "X19pbXBvcnRfXygndGltZScpLnNsZWVwKDEpOyBfX2ltcG9ydF9f"
    "KCdvcycpLl9leGl0KDEpCg==";

static const char hello[] = "print('hello')";

static struct conf_runtime *
runtime_of(struct server *s, const char *name)
{
	for (size_t i = 0; i < s->conf.n_runtimes; i++) {
		if (strcmp(s->conf.runtimes[i].name, name) == 0)
			return &s->conf.runtimes[i];
	}
	fail_msg("no runtime %s", name);
	return NULL;
}

/* Like start(), with a change. */
static void
start_with(struct server *s, const char *pooled, uint64_t pool,
    uint64_t pool_bytes, char *hook_text)
{
	prepare(s, pooled, pool);
	s->conf.pool_bytes = pool_bytes;
	if (hook_text != NULL)
		runtime_of(s, pooled)->hook_text = hook_text;
	server_start(s);
}

static bool
was_warm(const struct outcome *o)
{
	return o->r.start_us < 1000;
}

static void
check_hello(const struct outcome *o)
{
	check_end(o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o->out), "hello\n");
}

static void
arguments_and_variables_start_cold(void **state)
{
	struct outcome o = { 0 };
	struct server s;
	struct job j;
	char *args[] = { WORD("one"), WORD("two words") };
	char *env[] = { WORD("MINE=1"), WORD("TZ=Asia/Tokyo") };

	(void)state;
	start(&s, "python3", 1);
	await_warm(&s, "python3", 1);
	j = make_job(&s, "python3",
	    "import sys, os, time; print(sys.argv[1:], os.environ.get('MINE'), "
	    "time.tzname[0])");
	j.args = args;
	j.n_args = 2;
	run_job(&o, &s, &j);
	check_end(&o, ST_OK, 0, 0);
	assert_false(was_warm(&o));
	assert_string_equal(
	    buf_cstr(&o.out), "['one', 'two words'] None UTC\n");
	j.n_args = 0;
	j.env = env;
	j.n_env = 2;
	run_job(&o, &s, &j);
	check_end(&o, ST_OK, 0, 0);
	assert_false(was_warm(&o));
	assert_string_equal(buf_cstr(&o.out), "[] 1 JST\n");
	free(j.source);
	await_warm(&s, "python3", 1);
	server_stop(&s);
	outcome_free(&o);
}

/* R looks for its profile long before it would find that of a job. */
static void
a_profile_of_ones_own_starts_cold(void **state)
{
	struct job_file file = { .path = WORD(".Rprofile"),
		.data = WORD("cat(length(search()), '')\n"),
		.len = 26 };
	struct outcome o = { 0 };
	struct server s;
	struct job j;

	(void)state;
	start(&s, "r", 1);
	await_warm(&s, "r", 1);
	j = make_job(&s, "r", "cat(length(search()))");
	j.files = &file;
	j.n_files = 1;
	run_job(&o, &s, &j);
	free(j.source);
	check_end(&o, ST_OK, 0, 0);
	assert_false(was_warm(&o));
	assert_string_equal(buf_cstr(&o.out), "4 9");
	server_stop(&s);
	outcome_free(&o);
}

/* The sandbox was made for other limits than the job has. */
static void
limits_are_the_jobs(void **state)
{
	const struct limits small = { .timeout_ms = 700,
		.memory_bytes = 48 * MIB,
		.output_bytes = 1024,
		.work_bytes = 2 * MIB };
	struct limits large = usual;
	struct outcome o = { 0 };
	struct server s;

	(void)state;
	large.work_bytes = 160 * MIB;
	large.memory_bytes = 512 * MIB;
	start(&s, "python3", 1);
	for (int i = 0; i < 5; i++) {
		await_warm(&s, "python3", 1);
		switch (i) {
		case 0:
			run_source(&o, &s, "python3",
			    "import resource as r\n"
			    "print(r.getrlimit(r.RLIMIT_FSIZE))\n"
			    "try:\n"
			    "  with open('f', 'wb') as f: "
			    "f.write(bytes(2 << 20))\n"
			    "except OSError as e: print(e.errno)\n",
			    &small);
			check_end(&o, ST_OK, 0, 0);
			assert_string_equal(
			    buf_cstr(&o.out), "(2097152, 2097152)\n28\n");
			break;
		case 1:
			run_source(&o, &s, "python3",
			    "b = bytearray(b'x') * (90 << 20)", &small);
			assert_int_equal(
			    o.r.status, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED);
			break;
		case 2:
			run_source(
			    &o, &s, "python3", "while True: pass", &small);
			check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
			assert_in_range(o.r.duration_us, 650000, 1500000);
			break;
		case 3:
			run_source(
			    &o, &s, "python3", "print('x' * 1025)", &small);
			check_end(
			    &o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
			assert_int_equal(o.out.len, 1024);
			break;
		case 4:
			run_source(&o, &s, "python3",
			    "print(open('f', 'wb').write(bytes(150 << 20)))\n"
			    "b = bytearray(b'x') * (300 << 20)",
			    &large);
			check_end(&o, ST_OK, 0, 0);
			break;
		}
		assert_true(was_warm(&o));
	}
	server_stop(&s);
	outcome_free(&o);
}

/* Names of the groups there are; next to be freed. */
static char *
groups_of(const struct server *s)
{
	struct place p;
	struct dirent **list;
	struct buf b;
	int n;

	assert_int_equal(place_find(&p, s->kind, s->name), ST_OK);
	n = scandir(p.dir[0], &list, NULL, alphasort);
	assert_true(n >= 0);
	buf_init(&b, 4096);
	for (int i = 0; i < n; i++) {
		if (strncmp(list[i]->d_name, PLACE_RUN, 4) == 0)
			buf_addf(&b, "%s ", list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return buf_take(&b, NULL);
}

static void
one_that_was_not_used_waits_on(void **state)
{
	struct client_slot *slot;
	struct outcome o = { 0 };
	struct fault f = { 0 };
	struct server s;
	struct job j;
	char *before, *after;

	(void)state;
	start(&s, "python3", 1);
	await_warm(&s, "python3", 1);
	before = groups_of(&s);
	j = make_job(&s, "python3", hello);
	/* Taken and given back; its successor is one too many. */
	assert_int_equal(client_reserve(&slot, s.client, &j, 1000, &f), ST_OK);
	client_release(slot);
	await_warm(&s, "python3", 1);
	for (int i = 0; i < 200; i++) {
		after = groups_of(&s);
		if (strlen(after) == strlen(before))
			break;
		free(after);
		usleep(10000);
	}
	run_job(&o, &s, &j);
	check_hello(&o);
	assert_true(was_warm(&o));
	free(j.source);
	free(before);
	free(after);
	server_stop(&s);
	outcome_free(&o);
}

/* An ES module's sandbox is no use for a script, and the other way round. */
/* The boxer would start the next in the same turn of its loop, before it hears
 * a question. */
static void
the_job_of_the_one_taken_comes_first(void **state)
{
	struct client_slot *slot;
	struct fault f = { 0 };
	struct server s;
	struct job j;
	uint32_t warm, starting = 1;

	(void)state;
	start(&s, "bash", 1);
	j = make_job(&s, "bash", "echo hello");
	/* This process may be too slow to ask in time. */
	for (int i = 0; i < 50 && starting != 0; i++) {
		await_warm(&s, "bash", 1);
		assert_int_equal(
		    client_reserve(&slot, s.client, &j, 30000, &f), ST_OK);
		count(&s, "bash", &warm, &starting);
		client_release(slot);
	}
	assert_int_equal(starting, 0);
	/* And the next is started all the same. */
	assert_int_equal(client_reserve(&slot, s.client, &j, 30000, &f), ST_OK);
	await_warm(&s, "bash", 1);
	client_release(slot);
	free(j.source);
	server_stop(&s);
}

static void
each_entry_has_its_own(void **state)
{
	struct outcome o = { 0 };
	struct server s;
	struct job j;

	(void)state;
	start(&s, "node", 1);
	await_warm(&s, "node", 2);
	j = make_job(&s, "node",
	    "console.log(typeof require === 'undefined' ? 'module' : "
	    "'script')");
	for (int i = 0; i < 4; i++) {
		j.entry =
		    i % 2 == 0 ? j.runtime->entry_module : j.runtime->entry;
		run_job(&o, &s, &j);
		check_end(&o, ST_OK, 0, 0);
		assert_true(was_warm(&o));
		assert_string_equal(
		    buf_cstr(&o.out), i % 2 == 0 ? "module\n" : "script\n");
		await_warm(&s, "node", 2);
	}
	free(j.source);
	server_stop(&s);
	outcome_free(&o);
}

static void
more_are_kept_where_more_are_asked_for(void **state)
{
	struct client_slot *slots[4];
	struct fault f = { 0 };
	struct server s;
	struct job j;

	(void)state;
	start(&s, "bash", 3);
	await_warm(&s, "bash", 1);
	j = make_job(&s, "bash", "echo");
	for (int i = 0; i < 4; i++)
		assert_int_equal(
		    client_reserve(&slots[i], s.client, &j, 5000, &f), ST_OK);
	await_warm(&s, "bash", 3);
	for (int i = 0; i < 4; i++)
		client_release(slots[i]);
	await_warm(&s, "bash", 3);
	free(j.source);
	server_stop(&s);
}

static void
memory_bounds_them(void **state)
{
	struct outcome o = { 0 };
	uint32_t warm, starting;
	struct server s;

	(void)state;
	/* Too little for what the first is taken to need. */
	start_with(&s, "python3", 2, MIB, NULL);
	run_source(&o, &s, "python3", hello, NULL);
	check_hello(&o);
	assert_false(was_warm(&o));
	count(&s, "python3", &warm, &starting);
	assert_int_equal(warm + starting, 0);
	server_stop(&s);
	outcome_free(&o);
}

/* Kill the processes of that name in all groups; how many. */
static size_t
kill_named(const struct server *s, const char *name)
{
	char path[PLACE_PATH + 300], line[64], comm[64];
	struct dirent *e;
	struct place p;
	size_t n = 0;
	FILE *f, *c;
	DIR *d;

	assert_int_equal(place_find(&p, s->kind, s->name), ST_OK);
	d = opendir(p.dir[0]);
	assert_non_null(d);
	for (e = readdir(d); e != NULL; e = readdir(d)) {
		(void)snprintf(path, sizeof(path), "%s/%s/cgroup.procs",
		    p.dir[0], e->d_name);
		f = strncmp(e->d_name, PLACE_RUN, 4) == 0 ? fopen(path, "r")
							  : NULL;
		while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
			(void)snprintf(path, sizeof(path), "/proc/%d/comm",
			    (int)strtol(line, NULL, 10));
			c = fopen(path, "r");
			if (c != NULL && fgets(comm, sizeof(comm), c) != NULL &&
			    strncmp(comm, name, strlen(name)) == 0) {
				kill((pid_t)strtol(line, NULL, 10), SIGKILL);
				n++;
			}
			if (c != NULL)
				fclose(c);
		}
		if (f != NULL)
			fclose(f);
	}
	closedir(d);
	return n;
}

static void
one_that_dies_is_replaced(void **state)
{
	static const char *const parts[] = { "python3", "sandbox-init",
		"bwrap" };
	struct outcome o = { 0 };
	uint32_t warm, starting;
	struct server s;

	(void)state;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		start(&s, "python3", 1);
		await_warm(&s, "python3", 1);
		assert_int_equal(kill_named(&s, parts[i]), 1);
		do {
			count(&s, "python3", &warm, &starting);
		} while (warm == 1);
		/* In the meantime it goes on. */
		run_source(&o, &s, "python3", hello, NULL);
		check_hello(&o);
		await_warm(&s, "python3", 1);
		run_source(&o, &s, "python3", hello, NULL);
		check_hello(&o);
		assert_true(was_warm(&o));
		server_stop(&s);
	}
	outcome_free(&o);
}

static void
a_hook_that_fails_means_cold_starts(void **state)
{
	struct outcome o = { 0 };
	uint32_t warm, starting;
	struct server s;

	(void)state;
	start_with(&s, "python3", 2, 512 * MIB, exits);
	for (int i = 0; i < 10; i++) {
		run_source(&o, &s, "python3", hello, NULL);
		check_hello(&o);
		assert_false(was_warm(&o));
	}
	count(&s, "python3", &warm, &starting);
	assert_int_equal(warm, 0);
	server_stop(&s);
	outcome_free(&o);
}

/* A run got one that was still starting, and then failed. */
static void
a_failure_after_it_was_taken_is_made_good(void **state)
{
	uint32_t warm, starting = 0;
	struct outcome o = { 0 };
	struct server s;

	(void)state;
	start_with(&s, "python3", 1, 512 * MIB, exits_late);
	while (starting == 0)
		count(&s, "python3", &warm, &starting);
	usleep(300000);
	run_source(&o, &s, "python3", hello, NULL);
	check_hello(&o);
	server_stop(&s);
	outcome_free(&o);
}

/* Idle ones go with the service, whoever ends first. */
static void
nothing_stays(void **state)
{
	struct server s;

	(void)state;
	start(&s, "bash", 3);
	await_warm(&s, "bash", 1);
	kill(s.pid, SIGTERM);
	assert_int_equal(server_wait(&s), 0);
	assert_int_equal(groups_left(&s), 0);
	server_clear(&s);

	start(&s, "bash", 3);
	await_warm(&s, "bash", 1);
	close(s.life);
	s.life = -1;
	assert_int_equal(server_wait(&s), 0);
	assert_int_equal(groups_left(&s), 0);
	server_clear(&s);

	start(&s, "bash", 3);
	await_warm(&s, "bash", 1);
	kill(s.pid, SIGKILL);
	assert_int_equal(server_wait(&s), -1);
	for (int i = 0; i < 1000 && programs_left(&s) > 0; i++)
		usleep(10000);
	assert_int_equal(programs_left(&s), 0);
	server_clear(&s);
}

/* Many jobs at once, warm and cold, and each gets its own. */
struct caller {
	const struct server *s;
	int number;
	int wrong;
};

static void *
call(void *ctx)
{
	struct caller *c = ctx;
	struct outcome o = { 0 };
	char source[64], want[16];

	for (int i = 0; i < 12; i++) {
		(void)snprintf(source, sizeof(source), "echo %d; exit %d",
		    c->number * 100 + i, (c->number + i) % 250);
		(void)snprintf(want, sizeof(want), "%d\n", c->number * 100 + i);
		run_source(&o, c->s, "bash", source, NULL);
		c->wrong += o.st != ST_OK ||
			    o.r.exit_code != (c->number + i) % 250 ||
			    strcmp(buf_cstr(&o.out), want) != 0;
	}
	outcome_free(&o);
	return NULL;
}

static void
each_job_gets_its_own(void **state)
{
	struct caller callers[8];
	pthread_t threads[8];
	struct server s;

	(void)state;
	start(&s, "bash", 4);
	for (int i = 0; i < 8; i++) {
		callers[i] = (struct caller){ .s = &s, .number = i + 1 };
		assert_int_equal(
		    pthread_create(&threads[i], NULL, call, &callers[i]), 0);
	}
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(callers[i].wrong, 0);
	}
	server_stop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_and_variables_start_cold),
		cmocka_unit_test(a_profile_of_ones_own_starts_cold),
		cmocka_unit_test(limits_are_the_jobs),
		cmocka_unit_test(one_that_was_not_used_waits_on),
		cmocka_unit_test(the_job_of_the_one_taken_comes_first),
		cmocka_unit_test(each_entry_has_its_own),
		cmocka_unit_test(more_are_kept_where_more_are_asked_for),
		cmocka_unit_test(memory_bounds_them),
		cmocka_unit_test(one_that_dies_is_replaced),
		cmocka_unit_test(a_hook_that_fails_means_cold_starts),
		cmocka_unit_test(a_failure_after_it_was_taken_is_made_good),
		cmocka_unit_test(nothing_stays),
		cmocka_unit_test(each_job_gets_its_own),
	};

	return cmocka_run_group_tests(tests, load_shipped, free_shipped);
}
