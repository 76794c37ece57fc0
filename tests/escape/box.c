/*
 * Plays the boxer for one run: starts a sandbox with the real policy, filter,
 * sandbox-init and work folders, gives it one job, passes its output on and
 * tells on stderr how it ended:
 *
 *	box: exit N | box: signal N, and then
 *	box: ms N cpu_us N rss N full N gone N
 *	box: seen network N writes N denied N first CALL
 * or	box: failed STEP: ERROR, disk full N, gone N | box: no report, gone N
 *
 *	box [options] INIT SOURCE ENTRY COMMAND...
 *	-t MS     time limit          -w BYTES  work folder
 *	-a ARG    argument            -e N=V    variable
 *	-f NAME=FILE  a further file, a copy of FILE
 *	-i TEXT   stdin               -b PATH   further bind
 *	-l LAYER  leave out filter, userns or remount
 *	-k        let descriptors that are open here through to bubblewrap
 *	-j HOW    a boxer that misbehaves: hangup, nofd, unsealed, longer,
 *		  twice, forgets (enum how)
 *
 * Ends with 0 if the sandbox reported, whatever the program did.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/wire.h"
#include "box/filter.h"
#include "box/job.h"
#include "box/stage.h"
#include "box/work.h"

#define MANY 300
#define SLACK_MS 5000

/* How the job is handed over and the run ended. */
enum how {
	HOW_WELL,
	HOW_HANGUP,   /* not at all */
	HOW_NOFD,     /* without the image */
	HOW_UNSEALED, /* with one that may still change */
	HOW_LONGER,   /* with a length that is not the image's */
	HOW_TWICE,    /* with a second message when the program runs */
	HOW_FORGETS,  /* and nobody ends the run at its deadline */
	HOW_MAX
};

static const char *const hows[HOW_MAX] = { "well", "hangup", "nofd", "unsealed",
	"longer", "twice", "forgets" };

struct options {
	struct job job;
	struct conf conf;
	struct job_file files[MANY];
	char *args[MANY];
	char *env[MANY];
	char *binds[MANY];
	size_t n_binds;
	const char *init;
	unsigned leave_out;
	enum how how;
	bool keep;
};

/* One run. */
struct box {
	struct bwrap_policy policy;
	int control; /* our ends */
	int in;
	int out[2];
	int status;
	pid_t monitor;
	pid_t init;
	int pidfd;
};

__attribute__((noreturn)) static void
die(const char *what)
{
	fprintf(stderr, "box: %s: %s\n", what, strerror(errno));
	exit(3);
}

static unsigned
layer(const char *name)
{
	if (strcmp(name, "filter") == 0)
		return BWRAP_LAYER_FILTER;
	if (strcmp(name, "userns") == 0)
		return BWRAP_LAYER_USERNS;
	if (strcmp(name, "remount") == 0)
		return BWRAP_LAYER_REMOUNT;
	errno = EINVAL;
	die(name);
}

static enum how
how_named(const char *name)
{
	for (int h = 0; h < HOW_MAX; h++) {
		if (strcmp(name, hows[h]) == 0)
			return (enum how)h;
	}
	errno = EINVAL;
	die(name);
}

static void
add_file(struct job *j, char *text)
{
	struct job_file *f = &j->files[j->n_files++];
	char *equals = strrchr(text, '=');

	if (equals == NULL)
		exit(2);
	*equals = '\0';
	f->path = text;
	if (io_read_path(equals + 1, LIMITS_FILES_BYTES, &f->data, &f->len) !=
	    ST_OK)
		die(equals + 1);
}

static void
parse(struct options *o, int argc, char **argv)
{
	struct conf_runtime *r = &o->conf.runtimes[0];
	struct job *j = &o->job;
	int c;

	j->files = o->files;
	j->args = o->args;
	j->env = o->env;
	j->limits = (struct limits){ 10000, 256u << 20, 1u << 20, 64u << 20 };
	while ((c = getopt(argc, argv, "+t:w:a:e:f:i:b:l:j:k")) != -1) {
		switch (c) {
		case 't':
			j->limits.timeout_ms = strtoull(optarg, NULL, 10);
			break;
		case 'w':
			j->limits.work_bytes = strtoull(optarg, NULL, 10);
			break;
		case 'a':
			j->args[j->n_args++] = optarg;
			break;
		case 'e':
			j->env[j->n_env++] = optarg;
			break;
		case 'f':
			add_file(j, optarg);
			break;
		case 'i':
			j->stdin_data = optarg;
			j->stdin_len = strlen(optarg);
			break;
		case 'b':
			o->binds[o->n_binds++] = optarg;
			break;
		case 'l':
			o->leave_out |= layer(optarg);
			break;
		case 'j':
			o->how = how_named(optarg);
			break;
		case 'k':
			o->keep = true;
			break;
		default:
			exit(2);
		}
	}
	if (argc - optind < 4)
		exit(2);
	o->init = argv[optind];
	if (io_read_path(argv[optind + 1], LIMITS_SOURCE, &j->source,
		&j->source_len) != ST_OK)
		die(argv[optind + 1]);
	r->name = argv[optind + 2];
	r->entry = argv[optind + 2];
	r->command = argv + optind + 3;
	r->binds = o->binds;
	o->conf.n_runtimes = 1;
	j->entry = r->entry;
	j->runtime = r;
}

/* ---- start ---- */

static int
high(int fd)
{
	fd = fd < 0 ? -1 : io_move_high(fd);
	if (fd < 0)
		die("descriptor");
	return fd;
}

/* A pair of any kind: the sandbox's end and ours. */
static void
pair(int ends[2], int *inner, int *outer, bool inner_reads)
{
	*inner = high(ends[inner_reads ? 0 : 1]);
	*outer = high(ends[inner_reads ? 1 : 0]);
}

static void
open_ends(struct box *b)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		die("socketpair");
	pair(ends, &b->policy.control, &b->control, true);
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pair(ends, &b->policy.in, &b->in, true);
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pair(ends, &b->policy.out, &b->out[0], false);
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pair(ends, &b->policy.err, &b->out[1], false);
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe");
	pair(ends, &b->policy.status, &b->status, false);
}

static void
exec_bwrap(const struct bwrap_policy *p, char **argv, bool keep)
{
	char *none[] = { NULL };
	int fds[BWRAP_FDS], null = open("/dev/null", O_RDWR);
	size_t n = bwrap_fds(fds, p);
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (score < 0 || write(score, "1000", 4) != 4)
		die("oom_score_adj");
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0)
		die("/dev/null");
	if (!keep && close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		die("close_range");
	for (size_t i = 0; i < n; i++)
		fcntl(fds[i], F_SETFD, 0);
	execve(argv[0], argv, none);
	die(argv[0]);
}

static void
start(struct box *b, const struct options *o)
{
	struct stage *stage;
	char **argv;

	open_ends(b);
	b->policy.bwrap = "/usr/bin/bwrap";
	b->policy.runtime = o->job.runtime;
	b->policy.entry = o->job.entry;
	b->policy.leave_out = o->leave_out;
	b->policy.init = high(open(o->init, O_RDONLY | O_CLOEXEC));
	if (stage_open(&stage, &o->conf) != ST_OK ||
	    stage_dress(&b->policy, stage) != ST_OK ||
	    bwrap_argv(&argv, &b->policy) != ST_OK)
		die("stage");
	b->monitor = fork();
	if (b->monitor < 0)
		die("fork");
	if (b->monitor == 0)
		exec_bwrap(&b->policy, argv, o->keep);
	stage_undress(&b->policy);
	stage_close(stage);
	free(argv);
	close(b->policy.control);
	close(b->policy.in);
	close(b->policy.out);
	close(b->policy.err);
	close(b->policy.status);
	close(b->policy.init);
}

/* The host's number of PID 1, from bubblewrap. */
static void
learn_init(struct box *b)
{
	static const char mark[] = "\"child-pid\": ";
	char text[1024] = "", *at;
	ssize_t n = read(b->status, text, sizeof(text) - 1);

	at = n > 0 ? strstr(text, mark) : NULL;
	if (at == NULL)
		die("no word from bubblewrap");
	b->init = (pid_t)strtol(at + sizeof(mark) - 1, NULL, 10);
	b->pidfd = (int)syscall(SYS_pidfd_open, b->init, 0);
	if (b->pidfd < 0)
		die("pidfd_open");
}

static void
expect_ready(struct box *b)
{
	struct wire_simple m;
	size_t len;

	if (io_wait(b->control, POLLIN, io_now_ms() + SLACK_MS) != ST_OK ||
	    io_recv_msg(b->control, &m, sizeof(m), &len, NULL, 0) != ST_OK ||
	    len != sizeof(m) || m.type != WIRE_INIT_READY)
		die("not ready");
}

/* A copy that anyone may still write to. */
static int
unsealed(int image, uint64_t len)
{
	int fd = memfd_create("unsealed", MFD_CLOEXEC);
	off_t at = 0;

	if (fd < 0 || sendfile(fd, image, &at, len) != (ssize_t)len)
		die("unsealed");
	close(image);
	return fd;
}

static void
give_job(struct box *b, const struct options *o)
{
	struct wire_init_job m = {
		.type = WIRE_INIT_JOB, .cores = 1, .limits = o->job.limits
	};
	uint64_t stdin_at;
	int image;

	if (o->how == HOW_HANGUP) {
		shutdown(b->control, SHUT_WR);
		return;
	}
	if (job_image(&image, &m.image_len, &stdin_at, &o->job) != ST_OK)
		die("job");
	if (o->how == HOW_UNSEALED)
		image = unsealed(image, m.image_len);
	if (o->how == HOW_LONGER)
		m.image_len++;
	if (io_send_msg(b->control, &m, sizeof(m),
		o->how == HOW_NOFD ? -1 : image, 0) != ST_OK)
		die("job");
	close(image);
}

/* ---- to the end ---- */

/* Pass on what there is; -1 in *fd at the end of it. */
static void
copy(int *fd, int to)
{
	char chunk[65536];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n > 0 && io_write_all(to, chunk, (size_t)n) == ST_OK)
		return;
	close(*fd);
	*fd = -1;
}

union message {
	uint32_t type;
	struct wire_init_report report;
	struct wire_init_failed failed;
};

/* True while more is to come. */
static bool
hear(struct box *b, const struct options *o, union message *last)
{
	union message m = { 0 };
	size_t len;

	if (io_recv_msg(b->control, &m, sizeof(m), &len, NULL, 0) != ST_OK)
		return false;
	*last = m;
	if (m.type == WIRE_INIT_STARTED && o->how == HOW_TWICE &&
	    io_send_msg(b->control, &m.type, sizeof(m.type), -1, 0) != ST_OK)
		die("second message");
	return m.type == WIRE_INIT_STARTED;
}

/* Until the report, and then until the pipes are empty. */
static void
pump(struct box *b, const struct options *o, union message *last)
{
	int64_t until = io_now_ms() + (int64_t)o->job.limits.timeout_ms;
	struct pollfd p[3];
	bool told = false;

	while (b->control >= 0 || b->out[0] >= 0 || b->out[1] >= 0) {
		for (int i = 0; i < 2; i++)
			p[i] = (struct pollfd){ b->out[i], POLLIN, 0 };
		p[2] = (struct pollfd){ b->control, POLLIN, 0 };
		if (poll(p, 3, 50) < 0)
			die("poll");
		for (int i = 0; i < 2; i++) {
			if (p[i].revents != 0)
				copy(&b->out[i], i + 1);
		}
		if (p[2].revents != 0 && !hear(b, o, last)) {
			close(b->control);
			b->control = -1;
		}
		if (io_now_ms() > until + SLACK_MS) {
			errno = ETIMEDOUT;
			die("never ended");
		}
		if (!told && io_now_ms() > until && b->control >= 0 &&
		    o->how != HOW_FORGETS)
			told = shutdown(b->control, SHUT_WR) == 0;
	}
}

static int
tell(const union message *m, bool gone)
{
	const struct wire_init_report *r = &m->report;

	if (m->type == WIRE_INIT_FAILED) {
		fprintf(stderr, "box: failed %s: %s, disk full %u, gone %d\n",
		    m->failed.step, strerror(m->failed.error),
		    m->failed.disk_full, gone);
		return 0;
	}
	if (m->type != WIRE_INIT_REPORT) {
		fprintf(stderr, "box: no report, gone %d\n", gone);
		return 3;
	}
	if (WIFEXITED(r->wait_status))
		fprintf(stderr, "box: exit %d\n", WEXITSTATUS(r->wait_status));
	else
		fprintf(stderr, "box: signal %d\n", WTERMSIG(r->wait_status));
	fprintf(stderr, "box: ms %llu cpu_us %llu rss %llu full %u gone %d\n",
	    (unsigned long long)(r->ended_us - r->started_us) / 1000,
	    (unsigned long long)r->cpu_us, (unsigned long long)r->max_rss_bytes,
	    r->box_full, gone);
	fprintf(stderr, "box: seen network %u writes %u denied %u first %s\n",
	    r->seen.network, r->seen.writes, r->seen.denied,
	    r->seen.denied > 0 ? filter_call(r->seen.first_denied) : "-");
	return 0;
}

int
main(int argc, char **argv)
{
	static struct options o;
	struct box b = { 0 };
	union message last = { 0 };
	bool gone;

	parse(&o, argc, argv);
	log_open("box", LOG_LEVEL_WARN);
	/* As the boxer is: what it ignores must not reach the program. */
	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	start(&b, &o);
	learn_init(&b);
	expect_ready(&b);
	if (work_mount(b.init, b.pidfd, o.job.limits.work_bytes) != ST_OK)
		die("work folders");
	give_job(&b, &o);
	if (o.job.stdin_len > 0 &&
	    io_write_all(b.in, o.job.stdin_data, o.job.stdin_len) != ST_OK)
		die("stdin");
	close(b.in);
	pump(&b, &o, &last);
	gone = io_wait(b.pidfd, POLLIN, io_now_ms() + SLACK_MS) == ST_OK;
	/* bubblewrap ends last, by itself, and reaps PID 1. */
	if (gone)
		waitpid(b.monitor, NULL, 0);
	else
		kill(b.monitor, SIGKILL);
	return tell(&last, gone);
}
