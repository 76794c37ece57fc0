/* How runs end, and what they bring: real sandboxes, see boxer_fixture.h. */
#include "boxer_fixture.h"

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

/* ---- ends ---- */

static void
hello(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	run_source(&o, &server, "python3",
	    "import sys\nprint('out')\nprint('err', file=sys.stderr)\n", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "out\n");
	assert_string_equal(buf_cstr(&o.err), "err\n");
	assert_string_equal(o.r.text, "");
	assert_true(o.r.duration_us > 1000 && o.r.duration_us < 5000000);
	assert_true(o.r.start_us > 1000 && o.r.start_us < 5000000);
	assert_true(o.r.cpu_us > 1000 && o.r.cpu_us < 5000000);
	assert_true(
	    o.r.max_memory_bytes > MIB && o.r.max_memory_bytes < 128 * MIB);
	assert_int_equal(o.r.lost[0] + o.r.lost[1], 0);

	run_source(&o, &server, "node",
	    "console.log('out'); console.error('err');", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "out\n");
	assert_string_equal(buf_cstr(&o.err), "err\n");

	run_source(&o, &server, "bash", "echo out; echo err >&2", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "out\n");
	assert_string_equal(buf_cstr(&o.err), "err\n");
	outcome_free(&o);
}

static void
exit_codes_and_signals(void **state)
{
	static const struct {
		const char *source;
		enum status status;
		int exit_code;
		int sig;
	} rows[] = {
		{ "exit 0", ST_OK, 0, 0 },
		{ "exit 1", ST_EXECUTION_RUNTIME_ERROR, 1, 0 },
		{ "exit 137", ST_EXECUTION_RUNTIME_ERROR, 137, 0 },
		{ "exit 139", ST_EXECUTION_RUNTIME_ERROR, 139, 0 },
		{ "exit 255", ST_EXECUTION_RUNTIME_ERROR, 255, 0 },
		{ "kill -SEGV $$", ST_EXECUTION_RUNTIME_ERROR, -1, SIGSEGV },
		{ "kill -KILL $$", ST_EXECUTION_RUNTIME_ERROR, -1, SIGKILL },
		/* Were it PID 1, that would do nothing (fault 7). */
		{ "kill -TERM $$; sleep 5", ST_EXECUTION_RUNTIME_ERROR, -1,
		    SIGTERM },
		{ "syntax (", ST_EXECUTION_RUNTIME_ERROR, 2, 0 },
	};
	struct outcome o = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_source(&o, &server, "bash", rows[i].source, NULL);
		check_end(&o, rows[i].status, rows[i].exit_code, rows[i].sig);
	}
	/* A stopped main process is not an ended one. */
	run_source(&o, &server, "bash",
	    "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 5", NULL);
	check_end(&o, ST_EXECUTION_RUNTIME_ERROR, 5, 0);
	outcome_free(&o);
}

static void
a_child_holds_the_output(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	run_source(&o, &server, "bash", "sleep 300 & echo done", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "done\n");
	assert_true(o.ms < 8000);
	run_source(&o, &server, "bash",
	    "(while :; do echo x; sleep 0.1; done) & exit 0", NULL);
	check_end(&o, ST_OK, 0, 0);
	assert_true(o.ms < 8000);
	outcome_free(&o);
	await_quiet(&server);
}

static void
a_daemon_does_not_escape(void **state)
{
	static const char source[] =
	    "import os, signal, time\n"
	    "for s in range(1, 65):\n"
	    "    try: signal.signal(s, signal.SIG_IGN)\n"
	    "    except (OSError, ValueError): pass\n"
	    "if os.fork() == 0:\n"
	    "    os.setsid()\n"
	    "    if os.fork() == 0:\n"
	    "        os.closerange(0, 3)\n"
	    "    while True: time.sleep(0.05)\n"
	    "time.sleep(60)\n";
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.timeout_ms = 500;
	run_source(&o, &server, "python3", source, &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	/* The answer says that all is gone, so look at once. */
	assert_int_equal(programs_left(&server), 0);
	outcome_free(&o);
}

/* ---- time ---- */

static void
a_sleeper(void **state)
{
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.timeout_ms = 400;
	run_source(&o, &server, "python3",
	    "import time\nprint('a', flush=True)\ntime.sleep(60)\n", &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	/* What came before the kill is kept (fault 28). */
	assert_string_equal(buf_cstr(&o.out), "a\n");
	/* Not before the limit, and far from the program's own end. */
	assert_true(o.r.duration_us > 400000 && o.r.duration_us < 8000000);
	assert_true(o.r.cpu_us < 300000);
	assert_non_null(strstr(o.r.text, "time limit of 400 ms"));
	assert_true(o.ms < 10000);
	run_source(&o, &server, "node", "setTimeout(()=>{}, 60000)", &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	outcome_free(&o);
}

static void
a_burner(void **state)
{
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.timeout_ms = 600;
	run_source(&o, &server, "python3", "while True: pass\n", &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	/* Four that share the work: the tree is over long before the clock. */
	l.timeout_ms = 2000;
	run_source(&o, &server, "python3",
	    "import os\nfor i in range(3): os.fork()\nwhile True: pass\n", &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	/* On a machine that others load, the clock may come first. */
	if (o.r.duration_us < 2000000) {
		assert_non_null(strstr(o.r.text, "CPU time limit of 2000 ms"));
		assert_true(o.r.cpu_us > 2000000 && o.r.cpu_us < 2400000);
	}
	/* SIGXCPU caught is no way out. */
	l.timeout_ms = 300;
	run_source(&o, &server, "python3",
	    "import signal\nsignal.signal(signal.SIGXCPU, lambda *a: None)\n"
	    "while True: pass\n",
	    &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	outcome_free(&o);
}

/* ---- output ---- */

static void
exactly_the_output(void **state)
{
	static const char source[] =
	    "import os\n"
	    "n = %d\n"
	    "while n > 0: n -= os.write(1 + n %% 2, b'x' * min(n, 997))\n";
	char text[256];
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.output_bytes = 100000;
	(void)snprintf(text, sizeof(text), source, 100000);
	run_source(&o, &server, "python3", text, &l);
	check_end(&o, ST_OK, 0, 0);
	assert_int_equal(o.out.len + o.err.len, 100000);
	assert_int_equal(o.r.lost[0] + o.r.lost[1], 0);

	(void)snprintf(text, sizeof(text), source, 100001);
	run_source(&o, &server, "python3", text, &l);
	check_end(&o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
	assert_int_equal(o.out.len + o.err.len, 100000);
	assert_int_equal(o.r.lost[0] + o.r.lost[1], 1);
	assert_non_null(strstr(o.r.text, "at least 100001"));

	/* One write across the limit is cut in the middle (fault 30). */
	l.output_bytes = 4096;
	run_source(&o, &server, "python3",
	    "import os, time\nos.write(1, b'y' * 10000)\ntime.sleep(60)\n", &l);
	check_end(&o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
	assert_int_equal(o.out.len, 4096);
	assert_true(o.r.lost[0] == 10000 - 4096 && o.r.lost[1] == 0);
	assert_true(o.ms < 8000);
	outcome_free(&o);
}

static uint64_t
rss_of(pid_t pid)
{
	char path[64];
	unsigned long pages = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

static void
floods(void **state)
{
	struct limits l = usual;
	struct outcome o = { 0 };
	uint64_t before;

	(void)state;
	run_source(&o, &server, "bash", "yes", NULL);
	check_end(&o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
	assert_int_equal(o.out.len, MIB);
	assert_true(o.ms < 8000);
	/* Which of the two floods is first is chance; the words before are
	 * not. */
	run_source(&o, &server, "bash", "echo; echo >&2; yes & yes >&2", NULL);
	check_end(&o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
	assert_int_equal(o.out.len + o.err.len, MIB);
	assert_true(o.out.len > 0 && o.err.len > 0);

	/* A slow reader stops the program, not the boxer; and nothing of what
	 * it does not take piles up there. */
	before = rss_of(server.pid);
	o.slow_ms = 50;
	l.timeout_ms = 700;
	l.output_bytes = 16 * MIB;
	run_source(&o, &server, "bash", "yes", &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	assert_true(o.out.len > 100000 && o.out.len < 4 * MIB);
	assert_int_equal(o.r.lost[0], 0);
	assert_true(rss_of(server.pid) < before + MIB);
	outcome_free(&o);
}

static void
the_last_output_is_there(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	for (int i = 0; i < 40; i++) {
		run_source(&o, &server, "bash",
		    "printf '%060000d' 7; printf '%03000d' 7 >&2; exit 3",
		    NULL);
		check_end(&o, ST_EXECUTION_RUNTIME_ERROR, 3, 0);
		assert_int_equal(o.out.len, 60000);
		assert_int_equal(o.err.len, 3000);
	}
	outcome_free(&o);
}

/* ---- stdin ---- */

static void
stdin_all_ways(void **state)
{
	const size_t len = 10 * MIB;
	struct outcome o = { 0 };
	struct job j;

	(void)state;
	j = make_job(&server, "python3",
	    "import sys\n"
	    "d = sys.stdin.buffer.read()\n"
	    "sys.stdout.buffer.write(d)\n");
	j.stdin_data = malloc(len);
	assert_non_null(j.stdin_data);
	for (size_t i = 0; i < len; i++)
		j.stdin_data[i] = (char)(i * 2654435761u >> 13);
	j.stdin_len = len;
	j.limits.output_bytes = 12 * MIB;
	run_job(&o, &server, &j);
	check_end(&o, ST_OK, 0, 0);
	assert_int_equal(o.out.len, len);
	assert_memory_equal(o.out.data, j.stdin_data, len);

	/* Not read at all (fault 34a). */
	free(j.source);
	j.source = strdup("pass\n");
	j.source_len = strlen(j.source);
	run_job(&o, &server, &j);
	check_end(&o, ST_OK, 0, 0);

	/* Much is written before the first byte is read (34c). */
	free(j.source);
	j.source = strdup("import os, sys\n"
			  "os.write(1, b'o' * (1 << 20))\n"
			  "print(len(sys.stdin.buffer.read()))\n");
	j.source_len = strlen(j.source);
	run_job(&o, &server, &j);
	check_end(&o, ST_OK, 0, 0);
	assert_non_null(strstr(buf_cstr(&o.out) + MIB, "10485760\n"));

	/* None given: the end at once (34d), and no byte added (34e). */
	j.stdin_len = 0;
	free(j.source);
	j.source = strdup("import sys\nprint(repr(sys.stdin.read()))\n");
	j.source_len = strlen(j.source);
	run_job(&o, &server, &j);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "''\n");
	memcpy(j.stdin_data, "abc", 3);
	j.stdin_len = 3;
	run_job(&o, &server, &j);
	assert_string_equal(buf_cstr(&o.out), "'abc'\n");
	free(j.source);
	free(j.stdin_data);
	outcome_free(&o);
}

/* ---- memory ---- */

static void
memory_bombs(void **state)
{
	static const char *const bombs[] = {
		"l = []\nwhile True: l.append(bytearray(1 << 20))\n",
		/* shared mappings, memfds, the sum over children */
		"import mmap, time\nm = mmap.mmap(-1, 300 << 20)\n"
		"for i in range(0, len(m), 4096): m[i] = 1\ntime.sleep(60)\n",
		"import os, time\n"
		"f = os.memfd_create('x')\n"
		"g = os.memfd_create('y')\n"
		"for i in range(100):\n"
		"    os.write(f, b'x' * (1 << 20))\n"
		"    os.write(g, b'x' * (1 << 20))\n"
		"time.sleep(60)\n",
		"import os, time\n"
		"for i in range(8):\n"
		"    if os.fork() == 0:\n"
		"        b = bytearray(20 << 20)\n"
		"        for i in range(0, len(b), 4096): b[i] = 1\n"
		"        time.sleep(60)\n"
		"        os._exit(0)\n"
		"time.sleep(60)\n",
	};
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.memory_bytes = 64 * MIB;
	l.work_bytes = 128 * MIB;
	for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
		run_source(&o, &server, "python3", bombs[i], &l);
		check_end(&o, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0);
		assert_non_null(strstr(o.r.text, "67108864"));
		assert_true(o.ms < 9000);
	}
	run_source(&o, &server, "node",
	    "const a=[]; for(;;) a.push(new Array(1e6).fill(1));", &l);
	check_end(&o, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED, -1, 0);
	outcome_free(&o);
}

static void
an_oom_killed_child(void **state)
{
	static const char source[] =
	    "import os\n"
	    "pid = os.fork()\n"
	    "if pid == 0:\n"
	    "    import mmap\n"
	    "    m = mmap.mmap(-1, 400 << 20)\n"
	    "    m.write(b'x' * (400 << 20)) if False else None\n"
	    "    step = b'x' * (8 << 20)\n"
	    "    while True: m.write(step)\n"
	    "print(os.waitpid(pid, 0)[1])\n";
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	/* So small and so fast that the kernel comes before the meter. */
	l.memory_bytes = 64 * MIB;
	l.work_bytes = MIB;
	run_source(&o, &server, "python3", source, &l);
	assert_int_equal(o.st, ST_OK);
	assert_int_equal(o.r.status, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED);
	if (o.r.exit_code == 0)
		assert_string_equal(buf_cstr(&o.out), "9\n");
	else
		assert_int_equal(o.r.exit_code, -1);
	outcome_free(&o);
}

static void
files_are_not_memory(void **state)
{
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.memory_bytes = 64 * MIB;
	l.work_bytes = 128 * MIB;
	/* Twice the memory limit in files is fine, one more is ENOSPC. */
	run_source(&o, &server, "python3",
	    "import os, errno, time\n"
	    "n = 0\n"
	    "for place in ('/box/a', '/tmp/b', '/dev/shm/c'):\n"
	    "    f = os.open(place, os.O_CREAT | os.O_WRONLY)\n"
	    "    for i in range(40):\n"
	    "        os.write(f, b'x' * (1 << 20))\n"
	    "        n += 1\n"
	    "time.sleep(0.2)\n"
	    "try:\n"
	    "    for i in range(20): n += os.write(f, b'x' * (1 << 20)) >> 20\n"
	    "except OSError as e:\n"
	    "    print(n, errno.errorcode[e.errno])\n",
	    &l);
	check_end(&o, ST_OK, 0, 0);
	assert_non_null(strstr(buf_cstr(&o.out), "ENOSPC"));
	assert_true(strtol(buf_cstr(&o.out), NULL, 10) >= 80);
	outcome_free(&o);
}

static void
a_refused_allocation_is_the_programs(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	run_source(&o, &server, "python3",
	    "try: bytearray(1 << 46)\n"
	    "except MemoryError: print('no')\n",
	    NULL);
	check_end(&o, ST_OK, 0, 0);
	outcome_free(&o);
}

/* ---- processes ---- */

static void
fork_bombs(void **state)
{
	struct limits l = usual;
	struct outcome o = { 0 };

	(void)state;
	l.timeout_ms = 1500;
	run_source(&o, &server, "bash", ":(){ :|:& };:\nsleep 60", &l);
	assert_int_equal(o.st, ST_OK);
	assert_true(o.ms < 10000);
	run_source(&o, &server, "python3",
	    "import os, time\n"
	    "while True:\n"
	    "    try: os.fork()\n"
	    "    except OSError: time.sleep(0.01)\n",
	    &l);
	check_end(&o, ST_SANDBOX_TIMEOUT, -1, 0);
	assert_true(o.ms < 10000);
	assert_int_equal(programs_left(&server), 0);
	/* The next one is served as ever. */
	run_source(&o, &server, "bash", "echo ok", NULL);
	check_end(&o, ST_OK, 0, 0);
	outcome_free(&o);
}

struct parallel {
	pthread_t thread;
	int code;
	struct outcome o;
};

static void *
run_parallel(void *arg)
{
	struct parallel *p = arg;
	char text[128];

	(void)snprintf(text, sizeof(text),
	    "(sleep 0.01 &); (sleep 0.02 &); sleep 0.1; echo %d; exit %d",
	    p->code, p->code);
	run_source(&p->o, &server, "bash", text, NULL);
	return NULL;
}

static void
eight_at_once(void **state)
{
	struct parallel p[8] = { 0 };
	char text[16];

	(void)state;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 8; i++) {
			p[i].code = round * 8 + i + 1;
			assert_int_equal(pthread_create(&p[i].thread, NULL,
					     run_parallel, &p[i]),
			    0);
		}
		for (int i = 0; i < 8; i++)
			pthread_join(p[i].thread, NULL);
		for (int i = 0; i < 8; i++) {
			check_end(
			    &p[i].o, ST_EXECUTION_RUNTIME_ERROR, p[i].code, 0);
			(void)snprintf(text, sizeof(text), "%d\n", p[i].code);
			assert_string_equal(buf_cstr(&p[i].o.out), text);
		}
	}
	for (int i = 0; i < 8; i++)
		outcome_free(&p[i].o);
}

static void *
run_over(void *arg)
{
	struct parallel *p = arg;
	struct limits l = usual;

	l.output_bytes = 1024;
	run_source(&p->o, &server, "bash", "printf '%02000d' 1; exit 0", &l);
	return NULL;
}

/* Killed and ended by itself in the same moment (fault 31): always the same
 * answer. */
static void
over_and_out(void **state)
{
	struct parallel p[8] = { 0 };

	(void)state;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 8; i++)
			assert_int_equal(
			    pthread_create(&p[i].thread, NULL, run_over, &p[i]),
			    0);
		for (int i = 0; i < 8; i++)
			pthread_join(p[i].thread, NULL);
		for (int i = 0; i < 8; i++) {
			check_end(
			    &p[i].o, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, -1, 0);
			assert_int_equal(p[i].o.out.len, 1024);
			assert_int_equal(p[i].o.r.lost[0], 976);
		}
	}
	for (int i = 0; i < 8; i++)
		outcome_free(&p[i].o);
}

/* ---- files, arguments, set-up ---- */

static void
files_args_env(void **state)
{
	static char data[] = "of a file";
	static char path[] = "sub/data.txt";
	char *args[] = { WORD("one"), WORD("two words") };
	char *env[] = { WORD("NAME=value") };
	struct job_file file = {
		.path = path, .data = data, .len = sizeof(data) - 1
	};
	struct outcome o = { 0 };
	struct job j;

	(void)state;
	j = make_job(
	    &server, "bash", "cat sub/data.txt; echo \" $# $2 $NAME\"");
	j.files = &file;
	j.n_files = 1;
	j.args = args;
	j.n_args = 2;
	j.env = env;
	j.n_env = 1;
	run_job(&o, &server, &j);
	check_end(&o, ST_OK, 0, 0);
	assert_string_equal(buf_cstr(&o.out), "of a file 2 two words value\n");
	free(j.source);
	outcome_free(&o);
}

static void
files_that_do_not_fit(void **state)
{
	static char path[] = "big";
	struct job_file file = { .path = path, .len = 2 * MIB };
	struct outcome o = { 0 };
	struct job j;

	(void)state;
	j = make_job(&server, "bash", "echo ran");
	file.data = calloc(1, file.len + 1);
	assert_non_null(file.data);
	j.files = &file;
	j.n_files = 1;
	j.limits.work_bytes = MIB;
	run_job(&o, &server, &j);
	assert_int_equal(o.st, ST_SANDBOX_INVALID_REQUEST);
	assert_non_null(strstr(o.f.message, "workDirBytes"));
	assert_false(o.started);
	free(file.data);
	free(j.source);
	outcome_free(&o);
}

static void
a_runtime_that_is_missing(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	run_source(&o, &server, "missing", "x", NULL);
	assert_int_equal(o.st, ST_SANDBOX_SETUP_FAILED);
	assert_false(o.started);
	outcome_free(&o);
}

static void
what_the_program_inherits(void **state)
{
	struct outcome o = { 0 };

	(void)state;
	run_source(&o, &server, "python3",
	    "import os\n"
	    "print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:4])\n"
	    "print(open('/proc/self/oom_score_adj').read().strip())\n"
	    "s = open('/proc/self/status').read()\n"
	    "for k in ('SigIgn', 'SigBlk', 'Seccomp:', 'NoNewPrivs'):\n"
	    "    print([l for l in s.split('\\n') if l.startswith(k)][0])\n"
	    "n = [int(l.split()[1]) for f in ('self', '1')\n"
	    "    for l in open(f'/proc/{f}/status')\n"
	    "    if l.startswith('Seccomp_filters:')]\n"
	    "print('filters', n[0] - n[1], n[1] > 0)\n"
	    "print(open('/proc/1/environ', 'rb').read()\n"
	    "    if os.access('/proc/1/environ', os.R_OK) else 'closed')\n",
	    NULL);
	check_end(&o, ST_OK, 0, 0);
	/* The fourth is the folder itself; python ignores SIGPIPE and XFSZ. */
	assert_string_equal(buf_cstr(&o.out),
	    "[0, 1, 2, 3]\n1000\n"
	    "SigIgn:\t0000000001001000\nSigBlk:\t0000000000000000\n"
	    "Seccomp:\t2\nNoNewPrivs:\t1\nfilters 1 True\nclosed\n");
	outcome_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hello),
		cmocka_unit_test(exit_codes_and_signals),
		cmocka_unit_test(a_child_holds_the_output),
		cmocka_unit_test(a_daemon_does_not_escape),
		cmocka_unit_test(a_sleeper),
		cmocka_unit_test(a_burner),
		cmocka_unit_test(exactly_the_output),
		cmocka_unit_test(floods),
		cmocka_unit_test(the_last_output_is_there),
		cmocka_unit_test(stdin_all_ways),
		cmocka_unit_test(memory_bombs),
		cmocka_unit_test(an_oom_killed_child),
		cmocka_unit_test(files_are_not_memory),
		cmocka_unit_test(a_refused_allocation_is_the_programs),
		cmocka_unit_test(fork_bombs),
		cmocka_unit_test(eight_at_once),
		cmocka_unit_test(over_and_out),
		cmocka_unit_test(files_args_env),
		cmocka_unit_test(files_that_do_not_fit),
		cmocka_unit_test(a_runtime_that_is_missing),
		cmocka_unit_test(what_the_program_inherits),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
