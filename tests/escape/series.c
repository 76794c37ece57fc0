#include "unit/box/boxer_fixture.h"

#include <glob.h>
#include <regex.h>
#include <sys/stat.h>

#include "series.h"

/* ---- one run ---- */

/* All repetitions of one program. */
struct series {
	const struct server *server;
	const struct case_step *s;
	pthread_mutex_t lock;
	long next;
	int again;   /* runs that were only too slow */
	char **said; /* where they must be distinct */
	bool bad;
	char why[SERIES_WHY];
};

/* text with {i} and {mark} put in. */
static char *
filled(const char *text, long i, const char *mark)
{
	struct buf b;
	char number[24];
	char *out;

	buf_init(&b, 16 * MIB);
	(void)snprintf(number, sizeof(number), "%ld", i);
	while (*text != '\0') {
		if (strncmp(text, "{i}", 3) == 0) {
			buf_add(&b, number, strlen(number));
			text += 3;
		} else if (strncmp(text, "{mark}", 6) == 0) {
			buf_add(&b, mark, strlen(mark));
			text += 6;
		} else {
			buf_add(&b, text++, 1);
		}
	}
	out = strdup(buf_cstr(&b));
	buf_free(&b);
	return out;
}

/* Does a process of this host bear the mark? */
static bool
is_marked(const char *mark)
{
	static const char *const where[] = { "cmdline", "comm" };
	char path[300], text[4096];
	DIR *d = opendir("/proc");
	bool found = false;
	struct dirent *e;
	ssize_t n;
	int fd;

	for (e = readdir(d); e != NULL && !found; e = readdir(d)) {
		if (strtol(e->d_name, NULL, 10) <= 0)
			continue;
		for (size_t i = 0; i < 2 && !found; i++) {
			(void)snprintf(path, sizeof(path), "/proc/%s/%s",
			    e->d_name, where[i]);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			n = fd < 0 ? 0 : read(fd, text, sizeof(text));
			if (fd >= 0)
				close(fd);
			found = n > 0 &&
				memmem(text, (size_t)n, mark, strlen(mark));
		}
	}
	closedir(d);
	return found;
}

static unsigned
end_of(const struct outcome *o)
{
	static const struct {
		enum status st;
		unsigned end;
	} ends[] = {
		{ ST_OK, CASE_OK },
		{ ST_SANDBOX_TIMEOUT, CASE_TIMEOUT },
		{ ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, CASE_MEMORY },
		{ ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, CASE_OUTPUT },
		{ ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED, CASE_NETWORK },
		{ ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL,
		    CASE_DENIAL },
	};

	if (o->r.status == (uint32_t)ST_EXECUTION_RUNTIME_ERROR)
		return o->r.signal != 0 ? CASE_SIGNAL : CASE_ERROR;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (o->r.status == (uint32_t)ends[i].st)
			return ends[i].end;
	}
	return CASE_OTHER;
}

static bool
matches(const char *regex, const char *text)
{
	regex_t re;
	bool yes;

	if (regcomp(&re, regex, REG_EXTENDED | REG_NOSUB) != 0)
		return false;
	yes = regexec(&re, text, 0, NULL, 0) == 0;
	regfree(&re);
	return yes;
}

static bool __attribute__((format(printf, 2, 3)))
wrong(char why[SERIES_WHY], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, SERIES_WHY, fmt, ap);
	va_end(ap);
	return false;
}

/* How often in all its repetitions a program is run once more that was too
 * slow, and nothing else: the load below does not tell of a host that stood
 * still just now. What holds a program up itself does so each time. */
#define SLOW_AGAIN 2

/* How much longer things may take for what else this host has to do. */
static double
stretch(void)
{
	double load = 0, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);

	if (getloadavg(&load, 1) != 1 || load <= cores)
		return 1;
	return load / cores;
}

static bool
is_too_slow(const struct outcome *o, const struct case_want *w)
{
	return w->ms_below != 0 &&
	       (double)o->ms >= (double)w->ms_below * stretch();
}

/* The numbers. */
static bool
measures_fit(
    struct outcome *o, const struct case_want *w, long i, char why[SERIES_WHY])
{
	long exit_code = w->exit < 0 ? i : w->exit;
	long cpu = (long)(o->r.cpu_us / 1000);

	if (w->has_exit && o->r.exit_code != exit_code)
		return wrong(why, "exit %d, not %ld; stderr '%.200s'",
		    o->r.exit_code, exit_code, buf_cstr(&o->err));
	if (w->signal != 0 && o->r.signal != w->signal)
		return wrong(why, "signal %d, not %ld", o->r.signal, w->signal);
	if (w->cpu_below != 0 && cpu >= w->cpu_below)
		return wrong(
		    why, "%ld ms of CPU, not below %ld", cpu, w->cpu_below);
	if (w->cpu_above != 0 && cpu <= w->cpu_above)
		return wrong(
		    why, "%ld ms of CPU, not above %ld", cpu, w->cpu_above);
	if (w->has_bytes && o->out.len != (size_t)w->bytes)
		return wrong(why, "%zu bytes, not %ld", o->out.len, w->bytes);
	return true;
}

static bool
fits(struct outcome *o, const struct case_want *w, long i, char why[SERIES_WHY])
{
	const char *out = buf_cstr(&o->out), *err = buf_cstr(&o->err);
	char got[80], wanted[80];
	unsigned end = end_of(o);

	if (o->st != ST_OK)
		return wrong(why, "%s %s", status_name(o->st), o->f.message);
	if ((end & w->ends) == 0)
		return wrong(why,
		    "%s, not %s: exit %d, signal %d, '%s', stderr '%.200s'",
		    case_ends(got, end), case_ends(wanted, w->ends),
		    o->r.exit_code, o->r.signal, o->r.text, err);
	if ((end == CASE_OK) != (o->r.text[0] == '\0'))
		return wrong(why, "message '%s'", o->r.text);
	if (!measures_fit(o, w, i, why))
		return false;
	if (w->out != NULL && !matches(w->out, out))
		return wrong(why, "stdout '%.300s'", out);
	if (w->err != NULL && !matches(w->err, err))
		return wrong(why, "stderr '%.300s'", err);
	if (w->text != NULL && !matches(w->text, o->r.text))
		return wrong(why, "message '%s'", o->r.text);
	return true;
}

/* ---- the host's files ---- */

#define LARGE (1 << 20)

/* Forget what is in the large files of that name, but for what some process
 * has mapped. A program cannot: what it forgets, others would miss. */
static void
forget(const char *pattern)
{
	struct stat st;
	glob_t g = { 0 };
	int fd;

	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		if (stat(g.gl_pathv[i], &st) < 0 || !S_ISREG(st.st_mode) ||
		    st.st_size < LARGE)
			continue;
		fd = open(g.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
	}
	globfree(&g);
}

struct colder {
	const char *pattern;
	bool stop;
	pthread_t thread;
};

static void *
colder_thread(void *arg)
{
	struct colder *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		forget(c->pattern);
		usleep(50000);
	}
	return NULL;
}

/* One run of the program and what is to be said of it; slow: it is nothing but
 * too slow. */
static bool
run_once(struct series *all, long i, char why[SERIES_WHY], bool *slow)
{
	static long runs;
	const struct case_step *s = all->s;
	struct colder colder = { .pattern = s->cold };
	struct outcome o = { 0 };
	struct job_file extra;
	char mark[16];
	struct job j;
	char *source, *file;
	bool good;

	/* Short: the kernel keeps 15 letters of a thread's name. */
	(void)snprintf(mark, sizeof(mark), "mk%ld-%d",
	    __atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED),
	    (int)getpid() % 10000);
	j = make_job(all->server, s->runtime, "");
	free(j.source);
	source = filled(s->source, i, mark);
	j.source = source;
	j.source_len = strlen(source);
	j.limits = s->limits;
	j.stdin_data = s->stdin_data;
	j.stdin_len = s->stdin_len;
	file = s->file == NULL ? NULL : malloc(s->file_len + 1);
	if (file != NULL) {
		memset(file, 'x', s->file_len);
		extra = (struct job_file){ s->file, file, s->file_len };
		j.files = &extra;
		j.n_files = 1;
	}
	if (s->cold != NULL)
		forget(s->cold);
	if (s->cold_always)
		assert_int_equal(pthread_create(&colder.thread, NULL,
				     colder_thread, &colder),
		    0);
	run_job(&o, all->server, &j);
	if (s->cold_always) {
		__atomic_store_n(&colder.stop, true, __ATOMIC_RELEASE);
		pthread_join(colder.thread, NULL);
	}
	good = fits(&o, &s->want, i, why);
	if (good && strstr(s->source, "{mark}") != NULL && is_marked(mark))
		good = wrong(why, "a process is left");
	*slow = good && is_too_slow(&o, &s->want);
	if (*slow)
		good = wrong(why, "%lld ms, not below %ld", (long long)o.ms,
		    s->want.ms_below);
	if (all->said != NULL) {
		free(all->said[i - 1]);
		all->said[i - 1] = strdup(buf_cstr(&o.out));
	}
	free(source);
	free(file);
	outcome_free(&o);
	return good;
}

static bool
run_one(struct series *all, long i, char why[SERIES_WHY])
{
	bool slow;

	while (!run_once(all, i, why, &slow)) {
		if (!slow || __atomic_add_fetch(
				 &all->again, 1, __ATOMIC_RELAXED) > SLOW_AGAIN)
			return false;
		printf("again [%s] line %d: %s\n", all->s->runtime,
		    all->s->line, why);
	}
	return true;
}

/* ---- many ---- */

static void *
series_thread(void *arg)
{
	struct series *all = arg;
	char why[SERIES_WHY];
	long i;

	for (;;) {
		pthread_mutex_lock(&all->lock);
		i = all->bad ? all->s->repeat : all->next++;
		pthread_mutex_unlock(&all->lock);
		if (i >= all->s->repeat)
			return NULL;
		if (run_one(all, i + 1, why))
			continue;
		pthread_mutex_lock(&all->lock);
		if (!all->bad)
			(void)snprintf(
			    all->why, SERIES_WHY, "(%ld) %.370s", i + 1, why);
		all->bad = true;
		pthread_mutex_unlock(&all->lock);
	}
}

static bool
all_distinct(const struct series *all, char why[SERIES_WHY])
{
	for (long i = 0; i < all->s->repeat; i++) {
		for (long k = 0; k < i; k++) {
			if (strcmp(all->said[i], all->said[k]) == 0)
				return wrong(why,
				    "runs %ld and %ld both said "
				    "'%.100s'",
				    k + 1, i + 1, all->said[i]);
		}
	}
	return true;
}

/* ---- what the kernel keeps ---- */

static const char *const kept[] = { "net_namespace", "user_namespace",
	"pid_namespace", "uts_namespace" };
#define KEPT (sizeof(kept) / sizeof(kept[0]))

/* How many of each this host's kernel holds; only root may know. */
static bool
count_kept(long n[KEPT], char why[SERIES_WHY])
{
	char path[100], text[64];
	ssize_t len;
	int fd;

	for (size_t i = 0; i < KEPT; i++) {
		(void)snprintf(
		    path, sizeof(path), "/sys/kernel/slab/%s/objects", kept[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		if (len <= 0)
			return wrong(why, "%s cannot be read", path);
		text[len] = '\0';
		n[i] = strtol(text, NULL, 10);
	}
	return true;
}

/* The kernel frees a namespace some time after its last process, and other
 * tests make some of their own meanwhile: so wait, and a quarter of one a run
 * is not yet too much. */
static bool
is_let_go(const long before[KEPT], long runs, char why[SERIES_WHY])
{
	long now[KEPT];
	size_t i;

	for (int round = 0; round < 300; round++) {
		if (!count_kept(now, why))
			return false;
		for (i = 0; i < KEPT && now[i] <= before[i] + runs / 4; i++)
			;
		if (i == KEPT)
			return true;
		usleep(200000);
	}
	return wrong(why, "%ld runs left the kernel %ld of %s, before %ld",
	    runs, now[i], kept[i], before[i]);
}

bool
series_run(const struct server *server, const struct case_step *s,
    char why[SERIES_WHY])
{
	struct series all = { .server = server, .s = s };
	size_t n = (size_t)s->repeat;
	pthread_t threads[32];
	long together = s->together > 32 ? 32 : s->together;
	long before[KEPT];

	pthread_mutex_init(&all.lock, NULL);
	if (s->want.distinct)
		all.said = calloc(n, sizeof(char *));
	if (s->want.let_go && !count_kept(before, why))
		return false;
	for (long t = 0; t < together; t++)
		pthread_create(&threads[t], NULL, series_thread, &all);
	for (long t = 0; t < together; t++)
		pthread_join(threads[t], NULL);
	if (!all.bad && all.said != NULL)
		all.bad = !all_distinct(&all, all.why);
	if (!all.bad && s->want.let_go)
		all.bad = !is_let_go(before, s->repeat, all.why);
	for (size_t i = 0; all.said != NULL && i < n; i++)
		free(all.said[i]);
	free(all.said);
	(void)snprintf(why, SERIES_WHY, "%s", all.why);
	return !all.bad;
}
