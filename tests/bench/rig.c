#include "unit/box/warm_fixture.h"

#include "account.h"
#include "plain.h"
#include "rig.h"
#include "say.h"

#define HELLO "hello\n"
#define CALM_MS 60000
#define COLD "-cold"

/* The same runtime once more: its name is all that makes it another, and it
 * has no pool. */
struct rig {
	struct server server;
	const char *name;
	char cold[WIRE_NAME];
	const struct conf_runtime *with[2]; /* without a pool, with one */
	const char *entry;
	char *source;
	struct plain *plain;
	struct account *account;
};

static const struct {
	const char *name;
	const char *runtime;
	bool module; /* the file is an ES module */
} hellos[] = {
	{ "python3", "python3", false },
	{ "node", "node", false },
	{ "node.mjs", "node", true },
	{ "bash", "bash", false },
	{ "r", "r", false },
};
#define HELLOS (sizeof(hellos) / sizeof(hellos[0]))

static struct rig *open_rig;
static pid_t owner;

const char *
rig_way_name(enum rig_way way)
{
	static const char *const names[RIG_WAYS] = { "bare", "bwrap", "cold",
		"warm" };

	return names[way];
}

const char *
rig_name(size_t i)
{
	return i < HELLOS ? hellos[i].name : NULL;
}

/* ---- opening ---- */

/* Whatever ended the bench, no boxer and no group of it is left. */
static void
clear(void)
{
	if (open_rig == NULL || getpid() != owner)
		return;
	plain_close(open_rig->plain);
	account_close(open_rig->account);
	kill(open_rig->server.pid, SIGTERM);
	(void)server_wait(&open_rig->server);
	server_clear(&open_rig->server);
	open_rig = NULL;
}

static const char *
memory_limit(const struct rig *r)
{
	switch (r->server.kind) {
	case CGROUP_V1:
		return "cgroup1";
	case CGROUP_V2:
		return "cgroup2";
	case CGROUP_NONE:
		break;
	}
	return "meter";
}

static void
add_cold_twin(struct rig *r, const struct conf_runtime *warm)
{
	struct conf *c = &r->server.conf;
	struct conf_runtime *twin = &c->runtimes[c->n_runtimes];

	if (c->n_runtimes == CONF_RUNTIMES)
		say_stop("too many runtimes for one more");
	(void)snprintf(r->cold, sizeof(r->cold), "%s" COLD, warm->name);
	*twin = *warm;
	twin->name = r->cold;
	twin->pool = 0;
	c->n_runtimes++;
	r->with[0] = twin;
	r->with[1] = warm;
}

struct rig *
rig_open(const char *name)
{
	struct rig *r = calloc(1, sizeof(*r));
	const struct conf_runtime *warm;
	const struct passwd *pw;
	size_t i = 0;

	while (i < HELLOS && strcmp(hellos[i].name, name) != 0)
		i++;
	if (r == NULL || i == HELLOS)
		say_stop("no hello world is called %s", name);
	if (shipped == NULL && load_shipped(NULL) != 0)
		say_stop("the runtimes as shipped cannot be read");
	warm = conf_runtime(shipped, hellos[i].runtime);
	if (warm == NULL || warm->hello == NULL)
		say_stop("runtime %s is not installed", hellos[i].runtime);
	r->name = hellos[i].name;
	r->entry = hellos[i].module ? warm->entry_module : warm->entry;
	r->source = warm->hello;
	prepare(&r->server, warm->name, warm->pool);
	r->server.conf.max_runs = 64;
	r->server.conf.memory_bytes = 16384 * MIB;
	add_cold_twin(r, conf_runtime(&r->server.conf, warm->name));
	server_start(&r->server);
	pw = getpwnam(RUN_USER);
	r->plain = plain_open(
	    warm, r->entry, r->source, settings.bwrap, pw->pw_uid, pw->pw_gid);
	if (owner == 0)
		(void)atexit(clear);
	owner = getpid();
	open_rig = r;
	r->account =
	    account_open(r->server.kind, r->server.name, r->server.pid);
	say_open("rig", name);
	say_text("memoryLimit", memory_limit(r));
	say_end();
	return r;
}

void
rig_close(struct rig *r)
{
	clear();
	free(r);
}

/* A run has one in each hierarchy. */
static size_t
folders_of_a_run(const struct rig *r)
{
	struct place p;

	if (r->server.kind == CGROUP_NONE)
		return 0;
	if (place_find(&p, r->server.kind, r->server.name) != ST_OK)
		say_stop("the boxer's cgroups are gone");
	return p.n;
}

void
rig_calm(const struct rig *r)
{
	const char *runtime = r->with[1]->name;
	uint32_t rest = at_rest(&r->server, runtime), warm, starting;
	size_t folders = folders_of_a_run(r);
	int64_t until = io_now_ms() + CALM_MS;

	while (io_now_ms() < until) {
		count(&r->server, runtime, &warm, &starting);
		say_going();
		if (starting == 0 && warm >= rest &&
		    groups_left(&r->server) == warm * folders)
			return;
		usleep(2000);
	}
	say_stop("%s: no rest within %d s", r->name, CALM_MS / 1000);
}

void
rig_warm(const struct rig *r)
{
	uint32_t warm, starting;
	int64_t until = io_now_ms() + CALM_MS;

	while (io_now_ms() < until) {
		count(&r->server, r->with[1]->name, &warm, &starting);
		say_going();
		if (warm > 0 && starting == 0)
			return;
		usleep(2000);
	}
	say_stop("%s: none is warm within %d s", r->name, CALM_MS / 1000);
}

/* ---- runs ---- */

static void
plain_hello(struct rig_time *out, const struct rig *r, bool wrapped)
{
	struct plain_end end;

	if (!plain_run(&end, r->plain, wrapped))
		say_stop("%s: it could not be started", r->name);
	if (end.wait_status != 0 || strcmp(end.out, HELLO) != 0 ||
	    end.err[0] != '\0')
		say_stop("%s, %s: wait status %d, stdout '%s', stderr '%s'",
		    r->name, wrapped ? "bwrap" : "bare", end.wait_status,
		    end.out, end.err);
	out->us = end.us;
	out->program_us = end.us;
}

static struct job
job_of(const struct conf_runtime *runtime, const char *entry, char *source)
{
	return (struct job){ .runtime = runtime,
		.entry = entry,
		.source = source,
		.source_len = strlen(source),
		.limits = usual };
}

static void
boxer_hello(struct rig_time *out, const struct rig *r, bool warm)
{
	struct job j = job_of(r->with[warm], r->entry, r->source);
	struct outcome o = { 0 };
	int64_t before = io_now_us();

	run_job(&o, &r->server, &j);
	out->us = (double)(io_now_us() - before);
	if (o.st != ST_OK || o.r.status != (uint32_t)ST_OK ||
	    strcmp(buf_cstr(&o.out), HELLO) != 0 || o.err.len != 0)
		say_stop("%s, %s: %s %s %s, stdout '%.200s', stderr '%.200s'",
		    r->name, warm ? "warm" : "cold", status_name(o.st),
		    o.f.message, o.r.text, buf_cstr(&o.out), buf_cstr(&o.err));
	out->start_us = (double)o.r.start_us;
	out->program_us = (double)o.r.duration_us;
	outcome_free(&o);
}

void
rig_hello(struct rig_time *out, const struct rig *r, enum rig_way way)
{
	say_going();
	memset(out, 0, sizeof(*out));
	switch (way) {
	case RIG_BARE:
	case RIG_BWRAP:
		plain_hello(out, r, way == RIG_BWRAP);
		break;
	case RIG_COLD:
	case RIG_WARM:
		boxer_hello(out, r, way == RIG_WARM);
		break;
	case RIG_WAYS:
		break;
	}
}

const char *
rig_other(const struct rig *r, const char *runtime, const char *source,
    const struct limits *limits)
{
	const struct conf_runtime *c = conf_runtime(&r->server.conf, runtime);
	char *text = strdup(source);
	struct outcome o = { 0 };
	enum status end;
	struct job j;

	if (c == NULL || text == NULL)
		say_stop("runtime %s is not installed", runtime);
	/* What the neighbour finds warm is not to be taken by this one. */
	j = job_of(c == r->with[1] ? r->with[0] : c, c->entry, text);
	j.limits = *limits;
	run_job(&o, &r->server, &j);
	if (o.st != ST_OK)
		say_stop("%s: %s", status_name(o.st), o.f.message);
	end = (enum status)o.r.status;
	outcome_free(&o);
	free(text);
	return end == ST_OK ? "completed" : status_api(end)->code;
}

double
rig_cpu_s(const struct rig *r)
{
	return account_s(r->account);
}
