/* What comes back beside the output, through a real boxer and the shipped
 * runtimes: values, files, figures. What native callers can ask for is tested
 * through the whole service (tests/blackbox/55-extras.mjs); here is what they
 * cannot: figures, and where the sandbox comes from. */
#include "boxer_fixture.h"

#include "base/own.h"
#include "box/extras.h"

static struct conf *shipped;

static int
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

static int
free_shipped(void **state)
{
	(void)state;
	conf_free(shipped);
	return 0;
}

static void
start(struct server *s, uint64_t pool)
{
	memset(s, 0, sizeof(*s));
	s->conf = settings;
	memcpy(s->conf.runtimes, shipped->runtimes, sizeof(shipped->runtimes));
	s->conf.n_runtimes = shipped->n_runtimes;
	s->conf.pool_bytes = shipped->pool_bytes;
	for (size_t i = 0; i < s->conf.n_runtimes; i++)
		s->conf.runtimes[i].pool = pool;
	server_start(s);
}

/* A run, and the extras image as it came. */
struct finding {
	struct outcome o;
	int times; /* that extras came */
	struct buf image;
	struct extras x;
};

static void
on_extras(void *ctx, const uint8_t *image, size_t len)
{
	struct finding *f = ctx;

	f->times++;
	buf_add(&f->image, image, len);
}

static void
start_of(void *ctx)
{
	on_start(&((struct finding *)ctx)->o);
}

static void
chunk_of(void *ctx, int stream, const uint8_t *data, size_t len)
{
	on_chunk(&((struct finding *)ctx)->o, stream, data, len);
}

static void
find(struct finding *f, const struct server *s, const struct job *j)
{
	struct client_slot *slot;

	memset(f, 0, sizeof(*f));
	buf_init(&f->o.out, 64 * MIB);
	buf_init(&f->o.err, 64 * MIB);
	buf_init(&f->image, 64 * MIB);
	f->o.st = client_reserve(&slot, s->client, j, 30000, &f->o.f);
	if (f->o.st == ST_OK) {
		client_extras(slot, on_extras);
		f->o.st = client_run(
		    slot, j, start_of, chunk_of, f, &f->o.r, &f->o.f);
	}
	if (f->times > 0)
		assert_int_equal(extras_read(&f->x, f->image.data, f->image.len,
				     job_flags(j), j->limits.output_bytes),
		    ST_OK);
}

static void
forget(struct finding *f)
{
	outcome_free(&f->o);
	buf_free(&f->image);
}

static void
check_value(const struct finding *f, const char *text)
{
	check_end(&f->o, ST_OK, 0, 0);
	assert_int_equal(f->times, 1);
	if (f->x.text_len != strlen(text) ||
	    memcmp(f->x.text, text, f->x.text_len) != 0)
		fail_msg("'%.*s' instead of '%s'; %s", (int)f->x.text_len,
		    f->x.text, text, buf_cstr(&f->o.err));
}

/* ---- the sandbox ---- */

/* Whether there is a pool, whether there is something in it, and whether the
 * job brings what else needs a cold start: the hook is there for the helper. */
static void
a_value_warm_or_not(void **state)
{
	char *args[] = { WORD("one"), NULL }, *env[] = { WORD("K=v"), NULL };
	static const char *const sources[] = {
		"import sys, os\n[sys.argv[1:], os.environ.get('K')]",
		"[process.argv.slice(2), process.env.K ?? null];"
	};
	static const char *const runtimes[] = { "python3", "node" };

	(void)state;
	for (uint64_t pool = 0; pool <= 1; pool++) {
		struct server s;

		start(&s, pool);
		for (size_t i = 0; i < 8; i++) {
			struct job j =
			    make_job(&s, runtimes[i % 2], sources[i % 2]);
			struct finding f;

			j.evaluate = true;
			if (i >= 4) {
				j.args = args;
				j.n_args = 1;
				j.env = env;
				j.n_env = 1;
			}
			find(&f, &s, &j);
			check_value(
			    &f, i >= 4 ? "[[\"one\"],\"v\"]" : "[[],null]");
			forget(&f);
			free(j.source);
		}
		server_stop(&s);
	}
}

/* For people: the value as text, whatever it is; what was thrown, where that
 * ended the program; and it is all on stderr as ever. */
static void
told(void **state)
{
	static const struct {
		const char *runtime, *source;
		enum extras_value value;
		const char *name, *message; /* text alone is in message */
	} table[] = {
		{ "python3", "[1, 'a']", EXTRAS_VALUE_REPR, NULL, "[1, 'a']" },
		{ "python3", "'x'", EXTRAS_VALUE_REPR, NULL, "'x'" },
		{ "python3", "None", EXTRAS_VALUE_NONE, NULL, NULL },
		{ "node", "'x'", EXTRAS_VALUE_REPR, NULL, "'x'" },
		{ "node", "({ a: [1], b: 'c' })", EXTRAS_VALUE_REPR, NULL,
		    "{ a: [ 1 ], b: 'c' }" },
		{ "python3", "print(2)\n1/0", EXTRAS_VALUE_THROWN,
		    "ZeroDivisionError", "division by zero" },
		{ "python3",
		    "def f():\n  raise KeyError('ä\\0') from ValueError(1)\n"
		    "f()\nx = 1",
		    EXTRAS_VALUE_THROWN, "KeyError", "'ä\\x00'" },
		{ "python3", "x = (", EXTRAS_VALUE_THROWN, "SyntaxError",
		    "'(' was never closed (main.py, line 1)" },
		{ "python3",
		    "class E(Exception):\n  def __str__(self): return 5\n"
		    "raise E('x')",
		    EXTRAS_VALUE_THROWN, "E", "" },
		{ "python3", "1\nimport sys\nsys.exit(3)", EXTRAS_VALUE_NONE,
		    NULL, NULL },
		{ "node", "null.x", EXTRAS_VALUE_THROWN, "TypeError",
		    "Cannot read properties of null (reading 'x')" },
		{ "node", "let x = ;", EXTRAS_VALUE_THROWN, "SyntaxError",
		    "Unexpected token ';'" },
		{ "node", "import fs from 'fs';\nthrow new RangeError('r\\0')",
		    EXTRAS_VALUE_THROWN, "RangeError", "r\xef\xbf\xbd" },
		{ "node", "Promise.reject(new Error('later'));\n5",
		    EXTRAS_VALUE_THROWN, "Error", "later" },
		{ "node", "throw { a: 1 }", EXTRAS_VALUE_THROWN, "Uncaught",
		    "{ a: 1 }" },
		{ "node",
		    "process.on('uncaughtException', () => {});\n"
		    "setImmediate(() => { throw new Error('caught') });\n7",
		    EXTRAS_VALUE_REPR, NULL, "7" },
	};
	struct server s;

	(void)state;
	start(&s, 1);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct job j = make_job(&s, table[i].runtime, table[i].source);
		struct finding f, plain;
		const char *text;
		size_t left;

		find(&plain, &s, &j);
		j.evaluate = true;
		j.tell = true;
		find(&f, &s, &j);
		/* Nothing else is different. */
		assert_int_equal(f.o.r.exit_code, plain.o.r.exit_code);
		assert_string_equal(f.o.r.text, plain.o.r.text);
		assert_string_equal(buf_cstr(&f.o.out), buf_cstr(&plain.o.out));
		assert_string_equal(buf_cstr(&f.o.err), buf_cstr(&plain.o.err));
		if (f.x.value != table[i].value)
			fail_msg("%s: %d '%.*s' %s", table[i].source, f.x.value,
			    (int)f.x.text_len, f.x.text, buf_cstr(&f.o.err));
		text = f.x.text;
		left = f.x.text_len;
		if (table[i].name != NULL) {
			size_t n = strlen(table[i].name) + 1;

			assert_true(n <= left);
			assert_string_equal(text, table[i].name);
			text += n;
			left -= n;
		}
		if (f.x.value == EXTRAS_VALUE_THROWN) {
			size_t n = strlen(table[i].message) + 1;

			assert_true(n <= left);
			assert_string_equal(text, table[i].message);
			text += n;
			left -= n;
			/* A NUL is another character there. */
			if (strstr(table[i].message, "\xef\xbf\xbd") == NULL &&
			    memmem(f.o.err.data, f.o.err.len, text, left) ==
				NULL)
				fail_msg("'%.*s' is not in '%s'", (int)left,
				    text, buf_cstr(&f.o.err));
		} else if (table[i].message != NULL) {
			assert_int_equal(left, strlen(table[i].message));
			assert_memory_equal(text, table[i].message, left);
		}
		forget(&f);
		forget(&plain);
		free(j.source);
	}
	server_stop(&s);
}

/* A folder that the job brings is there, and empty. */
static void
a_folder(void **state)
{
	char *outputs[] = { WORD("outputs/**"), NULL };

	(void)state;
	for (uint64_t pool = 0; pool <= 1; pool++) {
		struct server s;
		struct finding f;
		struct job j;

		start(&s, pool);
		j = make_job(&s, "bash",
		    "ls -A outputs; mkdir outputs/d; echo x >outputs/d/y");
		j.folder = "outputs";
		j.wants_outputs = true;
		j.outputs = outputs;
		j.n_outputs = 1;
		find(&f, &s, &j);
		check_end(&f.o, ST_OK, 0, 0);
		assert_int_equal(f.o.out.len, 0);
		assert_int_equal(f.x.n_files, 1);
		assert_memory_equal(f.x.files[0].path, "outputs/d/y", 11);
		forget(&f);
		free(j.source);
		server_stop(&s);
	}
}

/* A job that asks for nothing gets nothing. */
static void
only_who_asks(void **state)
{
	char *outputs[] = { WORD("x"), NULL };
	struct server s;
	struct finding f;
	struct job j;

	(void)state;
	start(&s, 0);
	j = make_job(&s, "python3", "open('x', 'w')\n1");
	find(&f, &s, &j);
	check_end(&f.o, ST_OK, 0, 0);
	assert_int_equal(f.times, 0);
	forget(&f);
	j.wants_outputs = true;
	j.outputs = outputs;
	j.n_outputs = 1;
	find(&f, &s, &j);
	check_end(&f.o, ST_OK, 0, 0);
	assert_int_equal(f.times, 1);
	assert_int_equal(f.x.value, EXTRAS_VALUE_NONE);
	assert_int_equal(f.x.n_files, 1);
	forget(&f);
	free(j.source);
	server_stop(&s);
}

/* A runtime without a hook cannot run a helper, and says so. */
static void
no_hook_no_helper(void **state)
{
	struct server s = { .conf = settings };
	struct finding f;
	struct job j;

	(void)state;
	server_start(&s);
	j = make_job(&s, "python3", "1");
	j.evaluate = true;
	find(&f, &s, &j);
	assert_int_equal(f.o.st, ST_SANDBOX_UNAVAILABLE);
	assert_false(f.o.started);
	forget(&f);
	free(j.source);
	server_stop(&s);
}

/* ---- figures ---- */

static void
check_png(const struct extras_file *f)
{
	static const uint8_t magic[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a,
		'\n' };

	assert_true(f->size > 200);
	assert_memory_equal(f->data, magic, sizeof(magic));
}

static void
draw(struct finding *f, const char *runtime, const char *source, size_t want)
{
	struct server s;
	struct job j;

	start(&s, 0);
	j = make_job(&s, runtime, source);
	j.figures = true;
	j.limits.timeout_ms = 60000;
	find(f, &s, &j);
	check_end(&f->o, ST_OK, 0, 0);
	if (f->x.n_figures != want)
		fail_msg("%zu figures instead of %zu: %s", f->x.n_figures, want,
		    buf_cstr(&f->o.err));
	for (size_t i = 0; i < want; i++)
		check_png(&f->x.figures[i]);
	assert_int_equal(f->o.err.len, 0);
	free(j.source);
	server_stop(&s);
}

/* Shown, shown two at once, and not shown at all; nothing is said of it. */
static void
figures_of_matplotlib(void **state)
{
	struct finding f;

	(void)state;
	draw(&f, "python3",
	    "import matplotlib.pyplot as plt\n"
	    "plt.plot([1, 2, 3]); plt.show()\n"
	    "plt.figure(); plt.bar([1], [2]); plt.figure(); plt.show()\n"
	    "plt.plot([3, 2]); print(plt.get_fignums())\n",
	    4);
	assert_string_equal(buf_cstr(&f.o.out), "[1]\n");
	forget(&f);
}

static void
figures_of_a_backend_that_was_chosen(void **state)
{
	struct finding f;

	(void)state;
	draw(&f, "python3",
	    "import matplotlib\nmatplotlib.use('svg')\n"
	    "import matplotlib.pyplot as plt\nplt.plot([1])\n"
	    "print(matplotlib.get_backend())",
	    1);
	assert_string_equal(buf_cstr(&f.o.out), "svg\n");
	forget(&f);
}

static void
figures_of_r(void **state)
{
	struct finding f;

	(void)state;
	draw(&f, "r",
	    "plot(1:3)\nhist(c(1, 2))\ninvisible(dev.off())\n"
	    "barplot(1:2)\ncat(list.files(), '\\n')",
	    3);
	assert_string_equal(buf_cstr(&f.o.out), "main.R \n");
	forget(&f);
}

/* What else lies in the folder, or stands in its place, is no figure. */
static void
figures_forged(void **state)
{
	struct finding f;

	(void)state;
	draw(&f, "python3",
	    "import os\nos.chdir('/tmp/.figures')\n"
	    "open('a.png', 'w').write('none')\n"
	    "os.symlink('/etc/passwd', 'b.png')\n"
	    "os.mkfifo('c.png')\nos.mkdir('d.png')\n"
	    "open('big.png', 'wb').truncate(1 << 25)\n",
	    0);
	forget(&f);
	draw(&f, "python3",
	    "import os\nos.rmdir('/tmp/.figures')\n"
	    "os.symlink('/box', '/tmp/.figures')\n"
	    "open('a.png', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' * 9)",
	    0);
	forget(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_warm_or_not),
		cmocka_unit_test(told),
		cmocka_unit_test(a_folder),
		cmocka_unit_test(only_who_asks),
		cmocka_unit_test(no_hook_no_helper),
		cmocka_unit_test(figures_of_matplotlib),
		cmocka_unit_test(figures_of_a_backend_that_was_chosen),
		cmocka_unit_test(figures_of_r),
		cmocka_unit_test(figures_forged),
	};

	return cmocka_run_group_tests(tests, load_shipped, free_shipped);
}
