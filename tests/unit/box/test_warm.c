/* What a program can see must be the same whether its interpreter was waiting
 * for it or was started for it, but for what is listed here. */
#include "warm_fixture.h"

#include "base/own.h"

static char *
view_text(const char *name)
{
	char path[64];
	char *text;

	(void)snprintf(path, sizeof(path), "tests/unit/box/views/%s", name);
	assert_int_equal(io_read_path(path, 1u << 20, &text, NULL), ST_OK);
	return text;
}

/* ---- views ---- */

static struct outcome
look(const struct server *s, const char *runtime, const char *view, bool module)
{
	struct job_file other = { .path = WORD("other.mjs"),
		.data = WORD("export const a = 1"),
		.len = 18 };
	OWN_FREE char *text = view_text(view);
	struct outcome o = { 0 };
	struct job j = make_job(s, runtime, text);

	if (module) {
		j.entry = j.runtime->entry_module;
		j.files = &other;
		j.n_files = 1;
	}
	j.stdin_data = WORD("what is read");
	j.stdin_len = strlen(j.stdin_data);
	run_job(&o, s, &j);
	free(j.source);
	check_end(&o, ST_OK, 0, 0);
	return o;
}

/* The line of text that begins like this one up to ": "; NULL: none. */
static const char *
line_like(const char *text, const char *line)
{
	size_t key = strcspn(line, ":") + 1;

	while (text != NULL) {
		if (strncmp(text, line, key) == 0)
			return text;
		text = strchr(text, '\n');
		if (text != NULL)
			text++;
	}
	return NULL;
}

static bool
listed(const char *const *list, const char *line)
{
	size_t key = strcspn(line, ":\n");

	for (; *list != NULL; list++) {
		if (strlen(*list) == key && strncmp(*list, line, key) == 0)
			return true;
	}
	return false;
}

/* Lines of a that are not in b; those that may differ must. */
static size_t
differences(const char *a, const char *b, const char *const *may)
{
	const char *line = a, *other;
	size_t bad = 0, len;
	bool same;

	while (*line != '\0') {
		len = strcspn(line, "\n");
		other = line_like(b, line);
		same = other != NULL && strcspn(other, "\n") == len &&
		       strncmp(line, other, len) == 0;
		if (same == listed(may, line)) {
			print_error("%s %.*s\n   but %.*s\n",
			    same ? "no difference:" : "differs:",
			    (int)(len > 1500 ? 1500 : len), line,
			    other == NULL ? 7 : (int)strcspn(other, "\n"),
			    other == NULL ? "nothing" : other);
			bad++;
		}
		line += len + (line[len] == '\n');
	}
	return bad;
}

static void
compare(
    const char *runtime, const char *view, bool module, const char *const *may)
{
	struct outcome warm, cold;
	struct server s;
	size_t bad;

	start(&s, runtime, 2);
	await_warm(&s, runtime, at_rest(&s, runtime));
	warm = look(&s, runtime, view, module);
	server_stop(&s);
	start(&s, NULL, 0);
	cold = look(&s, runtime, view, module);
	server_stop(&s);
	/* It took no start. */
	assert_true(warm.r.start_us < 1000);
	assert_true(cold.r.start_us > 1000);
	assert_true(warm.out.len > 1000);
	bad = differences(buf_cstr(&warm.out), buf_cstr(&cold.out), may) +
	      differences(buf_cstr(&cold.out), buf_cstr(&warm.out), may);
	assert_string_equal(buf_cstr(&warm.err), buf_cstr(&cold.err));
	outcome_free(&warm);
	outcome_free(&cold);
	assert_int_equal(bad, 0);
}

/* The objects of the start-up are frozen (gc.freeze()), so gc does not list
 * them. */
static void
python_sees_the_same(void **state)
{
	static const char *const may[] = { "gc", "objects", NULL };

	(void)state;
	compare("python3", "view.py", false, may);
}

/* What a console.log() needs is loaded from the beginning; the variable that
 * made node look for the hook has left its room, zeroed, at the end of the
 * block that the kernel shows; a worker loads again what the main thread did.
 */
static void
node_sees_the_same(void **state)
{
	static const char *const may[] = { "loaded", "environ block",
		"worker cache", NULL };

	(void)state;
	compare("node", "view.cjs", false, may);
}

static void
node_modules_see_the_same(void **state)
{
	static const char *const may[] = { "loaded", "environ block", NULL };

	(void)state;
	compare("node", "view.mjs", true, may);
}

/* The environment's room as above; and what sourcing any file does to bash. */
static void
bash_sees_the_same(void **state)
{
	static const char *const may[] = { "environ block", "pipes",
		"set BASH_ARGC", "set SECONDS", NULL };

	(void)state;
	compare("bash", "view.sh", false, may);
}

static void
r_sees_the_same(void **state)
{
	static const char *const may[] = { NULL };

	(void)state;
	compare("r", "view.R", false, may);
}

/* ---- what it does ---- */

static const struct {
	const char *runtime;
	bool module;
	const char *source;
} programs[] = {
	{ "python3", false, "def f():\n    g()\ndef g():\n    1 / 0\nf()" },
	{ "python3", false, "print(1)\nif True\n  x" },
	{ "python3", false, "# -*- coding: latin-1 -*-\nprint('\xe9')" },
	{ "python3", false, "print('a'); '\xff'" },
	{ "python3", false, "import sys; print('x'); sys.exit(7)" },
	{ "python3", false, "import sys; sys.exit('words')" },
	{ "python3", false,
	    "import os, signal; print(1, flush=True); "
	    "os.kill(os.getpid(), signal.SIGTERM)" },
	{ "python3", false,
	    "import sys; print(sys.stdin.read().split()); "
	    "print(sys.stdin.buffer.raw.read())" },
	{ "python3", false,
	    "import atexit, os\natexit.register(print, 'last')\n"
	    "class A:\n  def __del__(self): print('gone')\n"
	    "a = A(); a.me = a; b = A()\nos.b = A()" },
	{ "python3", false,
	    "import subprocess, sys\nprint(subprocess.run([sys.executable, "
	    "'-c', 'import sys, os; print(os.getpid() > 2, len(sys.modules), "
	    "sys.flags, dict(os.environ))'], capture_output=True))" },
	{ "python3", false,
	    "import multiprocessing as m\nif __name__ == '__main__':\n"
	    "  m.set_start_method('spawn')\n  p = m.Process(target=print, "
	    "args=('child',)); p.start(); p.join(); print(p.exitcode)" },
	{ "python3", false,
	    "import threading, time, os\nthreading.Thread(target=time.sleep, "
	    "args=(9,), daemon=True).start()\nprint('main'); "
	    "threading.Thread(target=lambda: (time.sleep(.1), "
	    "print('late', flush=True), os._exit(5))).start()" },
	{ "node", false, "function f() { null.x }\nf()" },
	{ "node", false, "let x = ;" },
	{ "node", false, "throw 'text'" },
	{ "node", false, "Promise.reject(new Error('lost'))" },
	{ "node", false, "console.log('x'); process.exit(7)" },
	{ "node", false, "process.on('exit', (c) => console.log('bye', c))" },
	{ "node", false,
	    "console.log(1); process.kill(process.pid, 'SIGTERM'); "
	    "setTimeout(() => {}, 9999)" },
	{ "node", false,
	    "console.log(require('fs').readFileSync(0, 'utf8').split(' '))" },
	{ "node", false,
	    "process.stdin.on('data', (d) => console.log(String(d)))"
	    ".on('end', () => console.log('end'))" },
	{ "node", false,
	    "const n = 1 << 17; require('fs').writeSync(1, 'x'.repeat(n)); "
	    "process.stdout.write('y'.repeat(n), () => process.exit(3))" },
	{ "node", false,
	    "const c = require('child_process').fork(__filename, ['c']);"
	    "if (process.argv[2]) { process.send([process.execArgv, "
	    "Object.keys(require.cache)]); process.disconnect(); c.kill() } "
	    "else c.on('message', (m) => console.log(m))" },
	{ "node", false,
	    "process.nextTick(() => console.log(2)); setImmediate(() => "
	    "console.log(4)); Promise.resolve().then(() => console.log(3)); "
	    "console.log(1)" },
	{ "node", true, "await null; null.x" },
	{ "node", true, "import './missing.mjs'" },
	{ "node", true, "export const x = ;" },
	{ "node", true,
	    "console.log(await new Promise((ok) => setTimeout(ok, 10, 'a'))); "
	    "process.exitCode = 4" },
	{ "bash", false, "f() { g; }\ng() { nothing-like-this; }\nf" },
	{ "bash", false, "echo 1\nif true; then\n" },
	{ "bash", false, "echo x; exit 7" },
	{ "bash", false, "echo x; kill -TERM $$; sleep 9" },
	{ "bash", false, "read -r a b; echo $b $a; cat" },
	{ "bash", false, "trap 'echo bye $?' EXIT; set -e; false; echo no" },
	{ "bash", false, "echo $SECONDS $LINENO; bash -c 'echo $0 $- $SHLVL'" },
	{ "bash", false,
	    "echo a | { read x; echo $x; }; echo ${PIPESTATUS[@]}" },
	{ "bash", false, "(sleep 5; echo late) & echo done" },
	{ "r", false, "f <- function() stop('no'); f()" },
	{ "r", false, "cat('a\\n'); x <- (" },
	{ "r", false, "cat('x\\n'); quit(status = 7)" },
	{ "r", false, "cat('x\\n'); tools::pskill(Sys.getpid(), 15)" },
	{ "r", false, "print(readLines(file('stdin'))); warning('careful')" },
	{ "r", false, "print(summary(lm(dist ~ speed, cars)))" },
	{ "r", false, ".Last <- function() cat('last\\n'); x <- 1" },
	{ "r", false,
	    "cat(system2('/usr/lib/R/bin/exec/R', c('--no-echo', '-e', "
	    "shQuote('cat(Sys.getpid() > 2, search())')), stdout = TRUE))" },
};

#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

/* Run all programs of a runtime, one after the other. */
static void
run_all(struct outcome *o, const char *runtime, bool warm)
{
	struct server s;
	struct job j;

	start(&s, warm ? runtime : NULL, 1);
	for (size_t i = 0; i < PROGRAMS; i++) {
		if (strcmp(programs[i].runtime, runtime) != 0)
			continue;
		if (warm)
			await_warm(&s, runtime, at_rest(&s, runtime));
		j = make_job(&s, runtime, programs[i].source);
		if (programs[i].module)
			j.entry = j.runtime->entry_module;
		j.stdin_data = WORD("1 2\n3");
		j.stdin_len = strlen(j.stdin_data);
		run_job(&o[i], &s, &j);
		free(j.source);
		assert_int_equal(o[i].st, ST_OK);
		assert_int_equal(o[i].r.start_us < 1000, warm);
	}
	server_stop(&s);
}

static void
check_same(const struct outcome *warm, const struct outcome *cold)
{
	assert_string_equal(buf_cstr(&warm->out), buf_cstr(&cold->out));
	assert_string_equal(buf_cstr(&warm->err), buf_cstr(&cold->err));
	assert_int_equal(warm->r.status, cold->r.status);
	assert_int_equal(warm->r.exit_code, cold->r.exit_code);
	assert_int_equal(warm->r.signal, cold->r.signal);
	assert_string_equal(warm->r.text, cold->r.text);
	assert_true(warm->out.len + warm->err.len > 0);
}

static void
it_ends_the_same(void **state)
{
	static const char *const runtimes[] = { "python3", "node", "bash",
		"r" };
	struct outcome warm[PROGRAMS] = { 0 }, cold[PROGRAMS] = { 0 };

	(void)state;
	for (size_t r = 0; r < sizeof(runtimes) / sizeof(runtimes[0]); r++) {
		run_all(warm, runtimes[r], true);
		run_all(cold, runtimes[r], false);
	}
	for (size_t i = 0; i < PROGRAMS; i++) {
		print_message(
		    "%s: %.60s\n", programs[i].runtime, programs[i].source);
		check_same(&warm[i], &cold[i]);
		outcome_free(&warm[i]);
		outcome_free(&cold[i]);
	}
}

/* Nothing random is shared by those that were made the same way (fault 55). */
static void
chance_is_not_shared(void **state)
{
	static const struct {
		const char *runtime;
		const char *source;
	} all[] = { { "python3", "import random, uuid; print(random.random(), "
				 "uuid.uuid4(), hash('x'), id(object()))" },
		{ "node", "console.log(Math.random(), crypto.randomUUID())" },
		{ "bash", "echo $RANDOM $RANDOM $SRANDOM" },
		{ "r", "cat(runif(2), tempfile(), sample(1e6, 2))" } };
	struct outcome o = { 0 };
	struct server s;
	char *seen[8];

	(void)state;
	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		start(&s, all[k].runtime, 2);
		for (int i = 0; i < 8; i++) {
			run_source(&o, &s, all[k].runtime, all[k].source, NULL);
			check_end(&o, ST_OK, 0, 0);
			seen[i] = strdup(buf_cstr(&o.out));
			for (int j = 0; j < i; j++)
				assert_string_not_equal(seen[i], seen[j]);
		}
		for (int i = 0; i < 8; i++)
			free(seen[i]);
		server_stop(&s);
	}
	outcome_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_sees_the_same),
		cmocka_unit_test(node_sees_the_same),
		cmocka_unit_test(node_modules_see_the_same),
		cmocka_unit_test(bash_sees_the_same),
		cmocka_unit_test(r_sees_the_same),
		cmocka_unit_test(it_ends_the_same),
		cmocka_unit_test(chance_is_not_shared),
	};

	return cmocka_run_group_tests(tests, load_shipped, free_shipped);
}
