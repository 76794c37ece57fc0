/*
 * The faults of sandbox-faults.md, each against a real boxer with the runtimes
 * as they are shipped.
 *
 *	faults [options] RUNTIMES_DIR CASE...
 *	-j N      cases at the same time (3)
 *	-l N      passes; from the second on nothing may grow
 *	-w LAYER  without cgroup or rlimits (TOLLBOX_TEST_INIT then names a
 *		  sandbox-init that sets none): only the cases that hold
 *		  without it
 *	-c        no warm sandboxes
 *	-s        a runtime that is not installed is no failure
 *	-v        name what passes, too
 *
 * Prints "ok NAME [runtime]" or "FAIL NAME [runtime]: why" a program, and at
 * the end 'N passed, N failed'.
 */
#include "unit/box/boxer_fixture.h"

#include <mntent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "case.h"
#include "series.h"

#define SECRET "planted-in-the-service"

static struct {
	int parallel;
	int passes;
	unsigned without;
	bool cold;
	bool may_skip;
	bool verbose;
} opt = { .parallel = 3, .passes = 1 };

#define CASES 200

static struct server server;
static char folder[] = "/tmp/faults.XXXXXX";
static struct conf *loaded; /* what settings is a copy of */
static struct case_file *cases[CASES], *aside[CASES];
static size_t n_cases, n_aside;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t next_case;
static int passed, failed, skipped;

static void __attribute__((format(printf, 3, 4)))
say(bool good, const char *name, const char *fmt, ...)
{
	char text[SERIES_WHY + 100];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&lock);
	if (good)
		passed++;
	else
		failed++;
	if (!good || opt.verbose)
		printf("%s %s %s\n", good ? "ok  " : "FAIL", name, text);
	(void)fflush(stdout);
	pthread_mutex_unlock(&lock);
}

/* ---- cases ---- */

static void
step_run(const struct case_file *c, const struct case_step *s)
{
	char why[SERIES_WHY];
	bool good = series_run(&server, s, why);

	say(good, c->name, "[%s] line %d%s%s", s->runtime, s->line,
	    good ? "" : ": ", why);
}

static bool
installed(const char *runtime)
{
	const struct conf_runtime *r = conf_runtime(&server.conf, runtime);

	return r != NULL && access(r->command[0], X_OK) == 0;
}

struct beside {
	const struct case_file *c;
	const struct case_step *s;
};

static void *
beside_thread(void *arg)
{
	struct beside *b = arg;

	step_run(b->c, b->s);
	return NULL;
}

static void
case_run(const struct case_file *c)
{
	struct beside b[CASE_STEPS];
	pthread_t threads[CASE_STEPS];
	size_t n = 0;

	for (size_t i = 0; i < c->n_steps; i++) {
		const struct case_step *s = &c->steps[i];

		if (!installed(s->runtime)) {
			if (!opt.may_skip)
				say(false, c->name, "[%s] is not installed",
				    s->runtime);
			skipped += opt.may_skip;
		} else if (s->beside) {
			b[n] = (struct beside){ c, s };
			pthread_create(&threads[n], NULL, beside_thread, &b[n]);
			n++;
		} else {
			step_run(c, s);
		}
	}
	while (n > 0)
		pthread_join(threads[--n], NULL);
}

static void *
case_thread(void *arg)
{
	struct case_file *c;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (next_case < n_cases && cases[next_case]->alone)
			next_case++;
		c = next_case < n_cases ? cases[next_case++] : NULL;
		pthread_mutex_unlock(&lock);
		if (c == NULL)
			return NULL;
		case_run(c);
	}
}

static void
pass(void)
{
	pthread_t threads[16];
	int n = opt.parallel > 16 ? 16 : opt.parallel;

	next_case = 0;
	for (int t = 0; t < n; t++)
		pthread_create(&threads[t], NULL, case_thread, NULL);
	for (int t = 0; t < n; t++)
		pthread_join(threads[t], NULL);
	for (size_t i = 0; i < n_cases; i++) {
		if (cases[i]->alone)
			case_run(cases[i]);
	}
}

/* ---- the service ---- */

static long
field_of(pid_t pid, const char *file, const char *key)
{
	char path[64], line[256];
	long n = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, strlen(key)) == 0)
			n = strtol(line + strlen(key), NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return n;
}

static size_t
lines_of(pid_t pid, const char *file)
{
	char path[64], line[4096];
	size_t n = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		n++;
	if (f != NULL)
		fclose(f);
	return n;
}

static size_t
zombies_of(pid_t parent)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char state[64];
	size_t n = 0;
	pid_t pid;

	for (e = readdir(d); e != NULL; e = readdir(d)) {
		pid = (pid_t)strtol(e->d_name, NULL, 10);
		if (pid <= 0 || field_of(pid, "status", "PPid:") != parent)
			continue;
		(void)snprintf(state, sizeof(state), "State:\tZ");
		n += field_of(pid, "status", state) >= 0;
	}
	closedir(d);
	return n;
}

static size_t
entries_of(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

/* What must be the same after every pass. */
struct state {
	size_t fds;
	size_t mounts;
	size_t here; /* files in the service's folder */
	size_t shm;
	long rss_kib;
};

/* No run, no sandbox on its way, no zombie; false after 10 s. */
static bool
settle(struct state *out)
{
	struct wire_state ws;
	bool quiet = false;

	for (int i = 0; i < 200 && !quiet; i++) {
		usleep(50000);
		quiet = client_state(server.client, &ws) == ST_OK &&
			ws.running == 0 && zombies_of(server.pid) == 0;
		for (uint32_t p = 0; quiet && p < ws.n_pools; p++)
			quiet = ws.pools[p].starting == 0;
	}
	out->fds = fds_of(server.pid);
	out->mounts = lines_of(server.pid, "mountinfo");
	out->here = entries_of(".");
	out->shm = entries_of("/dev/shm");
	out->rss_kib = field_of(server.pid, "status", "VmRSS:");
	return quiet;
}

/* A pool that was fuller before is no leak, nor is the allocator's slack. */
#define FDS_SLACK 60
#define RSS_SLACK_KIB 8192

static void
compare_always(const struct state *a, const struct state *b)
{
	say(b->mounts == a->mounts, "fault-40-mounts", "%zu, then %zu",
	    a->mounts, b->mounts);
	say(b->here == a->here, "fault-44-files-in-the-service's-folder",
	    "%zu, then %zu", a->here, b->here);
	say(b->shm == a->shm, "fault-42-files-in-/dev/shm", "%zu, then %zu",
	    a->shm, b->shm);
}

/* Once all has been used. */
static void
compare_growth(const struct state *a, const struct state *b, int passes)
{
	say(b->fds <= a->fds + FDS_SLACK, "descriptors",
	    "%zu, then %zu after %d", a->fds, b->fds, passes);
	say(b->rss_kib <= a->rss_kib + a->rss_kib / 4 + RSS_SLACK_KIB,
	    "fault-19-memory-of-the-service", "%ld KiB, then %ld after %d",
	    a->rss_kib, b->rss_kib, passes);
}

/* Faults of the service that no program can show. */
static void
about_the_service(void)
{
	long score = field_of(server.pid, "oom_score_adj", "");

	say(score < 1000, "fault-20-oom-score", "of the service: %ld", score);
	say(field_of(server.pid, "status", "Uid:") != 0, "fault-24-not-as-root",
	    "%ld", field_of(server.pid, "status", "Uid:"));
}

static void
serve(const char *runtimes)
{
	char path[PATH_MAX], *here = realpath(runtimes, NULL);
	struct fault f = { 0 };
	FILE *text;

	/* Nothing else is in it, and what comes is seen. */
	if (here == NULL || mkdtemp(folder) == NULL || chdir(folder) < 0 ||
	    chmod(folder, 0755) < 0)
		exit(2);
	(void)snprintf(path, sizeof(path), "%s/conf", folder);
	text = fopen(path, "w");
	fprintf(text, "[sandbox]\nruntimes_dir = %s\n", here);
	if (opt.without == CASE_CGROUP)
		fprintf(text, "memory_limit = meter\n");
	if (opt.cold)
		fprintf(text, "pool_bytes = 0\n");
	fclose(text);
	if (conf_load(&loaded, path, (char *[]){ NULL }, &f) != ST_OK) {
		fprintf(stderr, "%s\n", f.message);
		exit(2);
	}
	free(here);
	settings = *loaded;
	server.conf = settings;
	server.conf.max_runs = 8;
	server.conf.memory_bytes = 16384 * MIB;
	setenv("SECRET", SECRET, 1);
	server_start(&server);
	(void)unlink("conf");
}

static void
stop(void)
{
	int code;

	kill(server.pid, SIGTERM);
	code = server_wait(&server);
	say(code == 0, "the service ends", "%d", code);
	say(groups_left(&server) == 0, "fault-23-groups-left", "%zu",
	    groups_left(&server));
	server_clear(&server);
	conf_free(loaded);
	say(rmdir(folder) == 0, "fault-44-folder", "%s", folder);
}

static void
options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "j:l:w:csv")) != -1) {
		switch (c) {
		case 'j':
			opt.parallel = (int)strtol(optarg, NULL, 10);
			break;
		case 'l':
			opt.passes = (int)strtol(optarg, NULL, 10);
			break;
		case 'w':
			opt.without = strcmp(optarg, "cgroup") == 0
					  ? CASE_CGROUP
					  : CASE_RLIMITS;
			break;
		case 'c':
			opt.cold = true;
			break;
		case 's':
			opt.may_skip = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind < 2)
		exit(2);
}

/* What does not hold without a layer is only kept: what nobody holds is a leak
 * to a sanitizer, in the service too, which is a child of ours. */
static void
take(struct case_file *c)
{
	if ((c->holds_without & opt.without) == opt.without)
		cases[n_cases++] = c;
	else
		aside[n_aside++] = c;
}

/* Is path the folder, or in it? */
static bool
is_in(const char *path, const char *folder_path)
{
	char *real = realpath(path, NULL);
	size_t len = strlen(folder_path);
	bool yes;

	yes = real != NULL && strncmp(real, folder_path, len) == 0 &&
	      (real[len] == '/' || real[len] == '\0');
	free(real);
	return yes;
}

/* Is what the suite itself reads on this mount? */
static bool
is_needed(const char *mounted, int argc, char **argv)
{
	const char *init = getenv("TOLLBOX_TEST_INIT");
	bool yes = is_in(".", mounted) || is_in("/proc/self/exe", mounted) ||
		   (init != NULL && is_in(init, mounted));

	for (int i = optind; i < argc && !yes; i++)
		yes = is_in(argv[i], mounted);
	return yes;
}

/* Take what others mounted below /tmp out of our view: it would be kept from
 * them for as long as we run, after they unmounted it. */
static void
let_go_of_others(int argc, char **argv)
{
	static char mounted[1000][PATH_MAX];
	FILE *f = setmntent("/proc/self/mounts", "r");
	struct mntent *m;
	size_t n = 0;

	while (f != NULL && n < 1000 && (m = getmntent(f)) != NULL) {
		if (strncmp(m->mnt_dir, "/tmp/", 5) == 0)
			(void)snprintf(
			    mounted[n++], PATH_MAX, "%s", m->mnt_dir);
	}
	if (f != NULL)
		(void)endmntent(f);
	/* The last first. What went away by itself is no matter. */
	while (n > 0) {
		n--;
		if (!is_needed(mounted[n], argc, argv))
			(void)umount2(mounted[n], MNT_DETACH | UMOUNT_NOFOLLOW);
	}
}

/* What others on this host mount, or leave in /dev/shm, is none of our leaks:
 * what the service could leave there, it leaves in our own view. */
static void
apart(int argc, char **argv)
{
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV,
		"mode=1777") < 0) {
		perror("faults: a view of our own on the host's mounts");
		exit(2);
	}
	let_go_of_others(argc, argv);
}

int
main(int argc, char **argv)
{
	struct state before, first, last;
	const char *runtimes;

	options(argc, argv);
	apart(argc, argv);
	runtimes = argv[optind++];
	for (; optind < argc && n_cases + n_aside < CASES; optind++)
		take(case_read(argv[optind]));
	serve(runtimes);
	(void)settle(&before);
	for (int i = 1; i <= opt.passes; i++) {
		pass();
		say(settle(i == 1 ? &first : &last), "fault-05-zombies",
		    "or runs that do not end, pass %d", i);
		compare_always(&before, i == 1 ? &first : &last);
		if (i > 1)
			compare_growth(&first, &last, i);
	}
	about_the_service();
	stop();
	printf("%d passed, %d failed", passed, failed);
	if (skipped > 0)
		printf(", %d skipped", skipped);
	printf("\n");
	return failed == 0 ? 0 : 1;
}
