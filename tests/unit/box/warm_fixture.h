/* A boxer with the runtimes as shipped, and their pools. */
#ifndef WARM_FIXTURE_H
#define WARM_FIXTURE_H

#include "boxer_fixture.h"

static struct conf *shipped;

/* ---- runs ---- */

static inline int
load_shipped(void **state)
{
	char dir[PATH_MAX], variable[PATH_MAX + 64];
	char *environment[] = { variable, NULL };
	struct fault f = { 0 };

	(void)state;
	assert_non_null(getcwd(dir, sizeof(dir)));
	(void)snprintf(variable, sizeof(variable),
	    "TOLLBOX_RUNTIMES_DIR=%s/sandbox-scripts", dir);
	if (conf_load(&shipped, NULL, environment, &f) != ST_OK)
		fail_msg("%s", f.message);
	return 0;
}

static inline int
free_shipped(void **state)
{
	(void)state;
	conf_free(shipped);
	return 0;
}

/* Settings for a boxer with a pool of this runtime alone; NULL: of none. */
static inline void
prepare(struct server *s, const char *pooled, uint64_t pool)
{
	memset(s, 0, sizeof(*s));
	s->conf = settings;
	memcpy(s->conf.runtimes, shipped->runtimes, sizeof(shipped->runtimes));
	s->conf.n_runtimes = shipped->n_runtimes;
	s->conf.pool_bytes = shipped->pool_bytes;
	for (size_t i = 0; i < s->conf.n_runtimes; i++) {
		if (pooled == NULL ||
		    strcmp(s->conf.runtimes[i].name, pooled) != 0)
			s->conf.runtimes[i].pool = 0;
		else
			s->conf.runtimes[i].pool = pool;
	}
}

static inline void
start(struct server *s, const char *pooled, uint64_t pool)
{
	prepare(s, pooled, pool);
	server_start(s);
}

static inline void
count(const struct server *s, const char *runtime, uint32_t *warm,
    uint32_t *starting)
{
	struct wire_state ws;

	*warm = *starting = 0;
	assert_int_equal(client_state(s->client, &ws), ST_OK);
	for (uint32_t i = 0; i < ws.n_pools; i++) {
		if (strcmp(ws.pools[i].runtime, runtime) != 0)
			continue;
		*warm = ws.pools[i].warm;
		*starting = ws.pools[i].starting;
	}
}

static inline void
await_warm(const struct server *s, const char *runtime, uint32_t want)
{
	uint32_t warm = 0, starting = 0;

	for (int i = 0; i < 3000; i++) {
		count(s, runtime, &warm, &starting);
		if (warm == want && starting == 0)
			return;
		usleep(10000);
	}
	fail_msg("%s: %u warm and %u starting instead of %u", runtime, warm,
	    starting, want);
}

/* How many are warm when nothing was asked of it yet: one for each entry. */
static inline uint32_t
at_rest(const struct server *s, const char *runtime)
{
	return conf_runtime(&s->conf, runtime)->entry_module == NULL ? 1 : 2;
}

#endif
