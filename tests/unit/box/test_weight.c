/* A run that has used much of the CPU makes way for one that has not. */
#include "boxer_fixture.h"

#include <pthread.h>

struct behind {
	struct server *s;
	const char *source;
	struct outcome o;
};

static void *
run_behind(void *arg)
{
	struct behind *b = arg;
	struct limits l = usual;

	l.timeout_ms = 2000;
	run_source(&b->o, b->s, "bash", b->source, &l);
	return NULL;
}

static unsigned
weight_in(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned n = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "%9u", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

/* How many groups of runs weigh so much, in percent of a run. */
static size_t
weighing(const struct server *s, unsigned percent)
{
	unsigned wanted = s->kind == CGROUP_V2 ? percent : percent * 1024 / 100;
	char path[PLACE_PATH + 300];
	struct place p;
	struct dirent *e;
	size_t n = 0;
	DIR *d;

	assert_int_equal(place_find(&p, s->kind, s->name), ST_OK);
	d = opendir(p.dir[p.of[PLACE_CPU]]);
	assert_non_null(d);
	for (e = readdir(d); e != NULL; e = readdir(d)) {
		if (strncmp(e->d_name, PLACE_RUN, 4) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s/%s",
		    p.dir[p.of[PLACE_CPU]], e->d_name,
		    s->kind == CGROUP_V2 ? "cpu.weight" : "cpu.shares");
		n += weight_in(path) == wanted;
	}
	closedir(d);
	return n;
}

/* The most groups at a quarter that were seen while the program ran. */
static size_t
most_light(struct server *s, const char *source)
{
	struct behind b = { .s = s, .source = source };
	struct wire_state ws = { 0 };
	pthread_t thread;
	size_t n, most = 0;
	bool began = false;

	/* The group of the run before may outlive its answer for a moment. */
	for (int i = 0; i < 2000 && weighing(s, 25) > 0; i++)
		usleep(5000);
	assert_int_equal(pthread_create(&thread, NULL, run_behind, &b), 0);
	while (!began || ws.running > 0) {
		assert_int_equal(client_state(s->client, &ws), ST_OK);
		began = began || ws.running > 0;
		n = weighing(s, 25);
		most = n > most ? n : most;
		usleep(5000);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	outcome_free(&b.o);
	return most;
}

static void
a_long_run_weighs_less(void **state)
{
	struct server s = { .conf = settings };
	struct place p;

	(void)state;
	server_start(&s);
	assert_int_equal(place_find(&p, s.kind, s.name), ST_OK);
	/* A host that gives no weights has none to change. */
	if (p.of[PLACE_CPU] < p.n) {
		assert_int_equal(most_light(&s, "while :; do :; done"), 1);
		/* All processes of a run count. */
		assert_int_equal(
		    most_light(&s, "for i in 1 2 3 4; do\n"
				   "while :; do :; done &\ndone\nwait"),
		    1);
		assert_int_equal(most_light(&s, "sleep 1"), 0);
	}
	server_stop(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_run_weighs_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
