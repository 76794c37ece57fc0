#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/wire.h"

#define MEMLOCK_BYTES (64u << 10)
#define STACK_BYTES (8u << 20)
#define SIGNALS 1024

/* The filter. One sandbox, one job: it is kept where the child finds it. */
static struct sock_filter instructions[BPF_MAXINSNS];
static struct sock_fprog filter = { .filter = instructions };

bool
init_start_filter(int fd, struct init_trouble *t)
{
	struct stat s;
	size_t size;

	if (fstat(fd, &s) < 0)
		return init_trouble(t, "filter", errno);
	size = (size_t)s.st_size;
	if (size == 0 || size > sizeof(instructions) ||
	    size % sizeof(instructions[0]) != 0 ||
	    pread(fd, instructions, size, 0) != (ssize_t)size)
		return init_trouble(t, "filter", EBADMSG);
	filter.len = (unsigned short)(size / sizeof(instructions[0]));
	return true;
}

/* ---- arguments and environment ---- */

static size_t
list_len(char *const *list)
{
	size_t n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

/* Room for base, all records of one kind and one word more, base filled in; or
 * NULL. */
static char **
list_from(
    char *const *base, enum wire_kind kind, const struct init_image *image)
{
	struct wire_record r;
	size_t at = 0, n = list_len(base) + 1;
	char **list;

	while (wire_next(&r, image->at, image->len, &at) == 1)
		n += r.kind == kind;
	list = calloc(n + 1, sizeof(*list));
	if (list != NULL)
		memcpy(list, base, list_len(base) * sizeof(*list));
	return list;
}

/* Put word, of the form NAME=value, in place of the one with the same name, or
 * at the end. */
static void
set_variable(char **list, char *word)
{
	size_t name = strcspn(word, "=") + 1;

	while (*list != NULL && strncmp(*list, word, name) != 0)
		list++;
	*list = word;
}

static void
set_argument(char **list, char *word)
{
	list[list_len(list)] = word;
}

/* base with the image's records of one kind added by set. NULL: no memory. The
 * words live as long as the process: one job, one exec. */
static char **
extend(char *const *base, enum wire_kind kind, const struct init_image *image,
    void (*set)(char **list, char *word))
{
	char **list = list_from(base, kind, image), *word;
	struct wire_record r;
	size_t at = 0;

	while (list != NULL && wire_next(&r, image->at, image->len, &at) == 1) {
		if (r.kind != kind)
			continue;
		word = strndup((const char *)r.data, r.data_len);
		if (word == NULL) {
			free(list);
			return NULL;
		}
		set(list, word);
	}
	return list;
}

/* ---- in the child ---- */

#ifdef __GLIBC__
typedef __rlimit_resource_t resource;
#else
typedef int resource;
#endif

struct limit {
	resource what;
	rlim_t soft;
	rlim_t hard;
};

static bool
limit_all(pid_t pid, const struct limit *all, size_t n, struct init_trouble *t)
{
	struct rlimit r;

	for (size_t i = 0; i < n; i++) {
		r.rlim_cur = all[i].soft;
		r.rlim_max = all[i].hard;
		if (prlimit(pid, all[i].what, &r, NULL) < 0)
			return init_trouble(t, "limits", errno);
	}
	return true;
}

/* Those that are the same for all jobs, but for the next one. */
static bool
set_limits(struct init_trouble *t)
{
	static const struct limit all[] = {
		{ RLIMIT_NPROC, LIMITS_TASKS, LIMITS_TASKS },
		/* 1, not 0: core(5), "Piping core dumps"; and the filter
		 * keeps the program from lowering it. */
		{ RLIMIT_CORE, 1, 1 },
		{ RLIMIT_MEMLOCK, MEMLOCK_BYTES, MEMLOCK_BYTES },
		{ RLIMIT_MSGQUEUE, 0, 0 },
		{ RLIMIT_SIGPENDING, SIGNALS, SIGNALS },
		{ RLIMIT_RTPRIO, 0, 0 },
		{ RLIMIT_NICE, 0, 0 },
	};
	struct rlimit stack;

	if (getrlimit(RLIMIT_STACK, &stack) < 0)
		return init_trouble(t, "limits", errno);
	stack.rlim_cur = STACK_BYTES;
	if (setrlimit(RLIMIT_STACK, &stack) < 0)
		return init_trouble(t, "limits", errno);
	return limit_all(0, all, sizeof(all) / sizeof(all[0]), t);
}

/* Only after confine(): the kernel measures the descriptors that all sandboxes
 * have on their way through sockets, since they are one user to it, by this
 * limit of who sends one more. Under the program's any program could keep the
 * listener from being sent. */
static bool
limit_files(struct init_trouble *t)
{
	static const struct limit files = { RLIMIT_NOFILE, LIMITS_FILES_OPEN,
		LIMITS_FILES_OPEN };

	return limit_all(0, &files, 1, t);
}

bool
init_start_limit(pid_t pid, const struct wire_init_job *job, uint64_t cpu_us,
    struct init_trouble *t)
{
	/* CPU time is the boxer's to judge; this ends a run that the boxer
	 * forgot. SIGXCPU first, SIGKILL a second later. Whole seconds do for
	 * what was used before, since there is one to spare; so most warm
	 * starts show what cold ones do. */
	rlim_t cores = job->cores == 0 ? 1 : job->cores;
	rlim_t cpu_ms = job->limits.timeout_ms * cores;
	rlim_t cpu = (cpu_ms + 999) / 1000 + cpu_us / 1000000 + 1;
	const struct limit all[] = {
		{ RLIMIT_FSIZE, job->limits.work_bytes,
		    job->limits.work_bytes },
		{ RLIMIT_CPU, cpu, cpu + 1 },
	};

	return limit_all(pid, all, sizeof(all) / sizeof(all[0]), t);
}

/* The boxer ignores SIGPIPE, and what is ignored stays so across exec. By the
 * bare call, because libc's refuses the two signals that it keeps for itself;
 * all zero is the kernel's form of the default. */
static void
reset_signals(void)
{
	const unsigned long dfl[4] = { 0 };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		syscall(SYS_rt_sigaction, sig, dfl, NULL, sizeof(long));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool
confine(struct init_trouble *t)
{
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return init_trouble(t, "no_new_privs", EPERM);
	return filter.len == 0 || init_watch_enter(&filter, t);
}

static bool
hand_over(const struct init_program *p)
{
	if (dup2(INIT_IN, 0) < 0 || dup2(INIT_OUT, 1) < 0 ||
	    dup2(INIT_ERR, 2) < 0 ||
	    syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return false;
	/* Their numbers lie far above all that is open here. */
	return (p->go < 0 || dup2(p->go, WIRE_GATE_GO) >= 0) &&
	       (p->ready < 0 || dup2(p->ready, WIRE_GATE_READY) >= 0) &&
	       (p->value < 0 || dup2(p->value, WIRE_GATE_VALUE) >= 0);
}

/* Become the program; comes back only with t. */
static void
become(const struct init_program *p, char **argv, char **env,
    struct init_trouble *t)
{
	/* A session of its own: kill(0) is for the program alone. */
	setsid();
	if (!hand_over(p)) {
		init_trouble(t, "descriptors", errno);
		return;
	}
	reset_signals();
	if (!set_limits(t) ||
	    (p->job != NULL && !init_start_limit(0, p->job, 0, t)) ||
	    !confine(t) || !limit_files(t))
		return;
	execve(p->command[0], argv, env);
	init_trouble(t, "exec", errno);
}

/* ---- in PID 1 ---- */

/* What the child wrote before it gave up; true if it is executing instead. */
static bool
executing(int pipe_end, struct init_trouble *t)
{
	ssize_t n;

	do {
		n = read(pipe_end, t, sizeof(*t));
	} while (n < 0 && errno == EINTR);
	if (n == 0)
		return true;
	/* Same program, so step points to the same literal. */
	if (n != (ssize_t)sizeof(*t))
		init_trouble(t, "start", n < 0 ? errno : EPROTO);
	return false;
}

/* The two ends of the pipe, closed but for the child that became the
 * program. */
static pid_t
launch(const struct init_program *p, char **argv, char **env,
    uint64_t *started_us, struct init_trouble *t)
{
	int ends[2];
	pid_t pid;
	bool ok;

	if (filter.len > 0 && !init_watch_prepare(t))
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		init_trouble(t, "pipe", errno);
		return -1;
	}
	*started_us = init_now_us();
	pid = fork();
	if (pid == 0) {
		become(p, argv, env, t);
		if (write(ends[1], t, sizeof(*t)) < 0)
			_exit(2);
		_exit(1);
	}
	if (pid < 0)
		init_trouble(t, "fork", errno);
	close(ends[1]);
	ok = pid > 0 && executing(ends[0], t);
	close(ends[0]);
	if (ok && filter.len > 0)
		init_watch_take();
	return ok ? pid : -1;
}

pid_t
init_start(const struct init_program *p, const struct init_image *image,
    uint64_t *started_us, struct init_trouble *t)
{
	char **argv = extend(p->command, WIRE_ARG, image, set_argument);
	char **env = extend(environ, WIRE_ENV, image, set_variable);
	char *extra = p->extra == NULL ? NULL : strdup(p->extra);
	pid_t pid = -1;

	if (argv == NULL || env == NULL || (p->extra != NULL && extra == NULL))
		init_trouble(t, "arguments", ENOMEM);
	else {
		if (extra != NULL)
			set_variable(env, extra);
		pid = launch(p, argv, env, started_us, t);
	}
	/* With these open here the boxer would never read their end. */
	close(INIT_IN);
	close(INIT_OUT);
	close(INIT_ERR);
	free(argv);
	free(env);
	free(extra);
	return pid;
}
