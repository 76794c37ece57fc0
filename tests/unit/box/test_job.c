#include "box/job.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/wire.h"

/* A job in fresh memory, as a dialect makes it. */
static struct job
full_job(void)
{
	struct job j = { .entry = "main.py" };

	j.source = strdup("print(1)\n");
	j.source_len = 9;
	j.n_files = 2;
	j.files = calloc(2, sizeof(*j.files));
	j.files[0].path = strdup("a/b.bin");
	j.files[0].data = malloc(4);
	memcpy(j.files[0].data, "x\0y", 4);
	j.files[0].len = 3;
	j.files[1].path = strdup("empty");
	j.files[1].data = strdup("");
	j.n_args = 2;
	j.args = calloc(2, sizeof(*j.args));
	j.args[0] = strdup("");
	j.args[1] = strdup("-v");
	j.n_env = 1;
	j.env = calloc(1, sizeof(*j.env));
	j.env[0] = strdup("K=v=w");
	j.stdin_data = malloc(6);
	memcpy(j.stdin_data, "in\0\n\xff", 6);
	j.stdin_len = 5;
	return j;
}

static const uint8_t *
map(int fd, uint64_t len)
{
	struct stat s;
	void *p;

	assert_int_equal(fstat(fd, &s), 0);
	assert_int_equal(s.st_size, len);
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void
expect(const uint8_t *image, size_t len, size_t *at, enum wire_kind kind,
    const char *path, const char *data, size_t data_len)
{
	struct wire_record r;

	assert_int_equal(wire_next(&r, image, len, at), 1);
	assert_int_equal(r.kind, kind);
	assert_int_equal(r.path_len, strlen(path));
	assert_memory_equal(r.path, path, r.path_len);
	assert_int_equal(r.data_len, data_len);
	assert_memory_equal(r.data, data, data_len);
}

static void
the_image(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	struct job j = full_job();
	struct wire_record r;
	uint64_t len, stdin_at;
	const uint8_t *image;
	size_t at = 0;
	int fd;

	(void)state;
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_OK);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & seals, seals);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	image = map(fd, len);
	expect(image, len, &at, WIRE_FILE, "main.py", "print(1)\n", 9);
	expect(image, len, &at, WIRE_FILE, "a/b.bin", "x\0y", 3);
	expect(image, len, &at, WIRE_FILE, "empty", "", 0);
	expect(image, len, &at, WIRE_ARG, "", "", 0);
	expect(image, len, &at, WIRE_ARG, "", "-v", 2);
	expect(image, len, &at, WIRE_ENV, "", "K=v=w", 5);
	assert_int_equal(at + WIRE_RECORD_HEAD, stdin_at);
	expect(image, len, &at, WIRE_STDIN, "", "in\0\n\xff", 5);
	assert_int_equal(wire_next(&r, image, len, &at), 0);
	assert_memory_equal(image + stdin_at, "in\0\n\xff", 5);
	munmap((void *)(uintptr_t)image, len);
	close(fd);
	job_free(&j);
}

/* The helper, and what stdin's place is then. */
static void
an_image_with_wishes(void **state)
{
	char *does[] = { (char[]){ "evaluate" }, NULL };
	struct conf_runtime runtime = { .helper_text = (char[]){ "aGkK" },
		.helper_does = does };
	struct job j = full_job();
	struct wire_record r;
	uint64_t len, stdin_at;
	const uint8_t *image;
	size_t at = 0;
	int fd;

	(void)state;
	assert_true(job_offers(&runtime, "evaluate"));
	assert_false(job_offers(&runtime, "figures"));
	assert_int_equal(job_flags(&j), 0);
	j.runtime = &runtime;
	j.evaluate = true;
	j.wants_outputs = true;
	j.n_outputs = 1;
	j.outputs = calloc(1, sizeof(*j.outputs));
	j.outputs[0] = strdup("*.txt");
	assert_int_equal(job_flags(&j), WIRE_JOB_EVALUATE | WIRE_JOB_OUTPUTS);
	assert_true(job_hooked(&j));
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_OK);
	image = map(fd, len);
	for (int i = 0; i < 6; i++)
		assert_int_equal(wire_next(&r, image, len, &at), 1);
	expect(image, len, &at, WIRE_OUTPUT, "", "*.txt", 5);
	expect(image, len, &at, WIRE_HELPER, "", "hi\n", 3);
	assert_int_equal(at + WIRE_RECORD_HEAD, stdin_at);
	munmap((void *)(uintptr_t)image, len);
	close(fd);

	runtime.helper_text = NULL;
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_FORMAT);
	assert_int_equal(fd, -1);
	runtime.helper_text = (char[]){ "a" };
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_FORMAT);
	job_free(&j);
}

static void
the_least_image(void **state)
{
	struct job j = { .entry = "main.sh" };
	struct wire_record r;
	uint64_t len, stdin_at;
	const uint8_t *image;
	size_t at = 0;
	int fd;

	(void)state;
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_OK);
	assert_int_equal(len, WIRE_RECORD_HEAD + 7);
	assert_int_equal(stdin_at, len);
	image = map(fd, len);
	expect(image, len, &at, WIRE_FILE, "main.sh", "", 0);
	assert_int_equal(wire_next(&r, image, len, &at), 0);
	munmap((void *)(uintptr_t)image, len);
	close(fd);
}

static void
a_big_image(void **state)
{
	struct job j = { .entry = "main.py" };
	uint64_t len, stdin_at;
	const uint8_t *image;
	int fd;

	(void)state;
	j.stdin_len = LIMITS_STDIN;
	j.stdin_data = malloc(j.stdin_len);
	memset(j.stdin_data, 'z', j.stdin_len);
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_OK);
	assert_int_equal(len, 2 * WIRE_RECORD_HEAD + 7 + j.stdin_len);
	image = map(fd, len);
	assert_memory_equal(image + stdin_at, j.stdin_data, j.stdin_len);
	munmap((void *)(uintptr_t)image, len);
	close(fd);
	job_free(&j);
}

static void
no_room_for_the_image(void **state)
{
	struct job j = full_job();
	struct rlimit before, small;
	uint64_t len, stdin_at;
	int fd = 7;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 20;
	sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(job_image(&fd, &len, &stdin_at, &j), ST_IO);
	assert_int_equal(fd, -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	job_free(&j);
}

static void
free_twice(void **state)
{
	struct job j = full_job(), zero = { 0 };

	(void)state;
	job_free(&j);
	assert_memory_equal(&j, &zero, sizeof(j));
	job_free(&j);
	job_free(&zero);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_image),
		cmocka_unit_test(an_image_with_wishes),
		cmocka_unit_test(the_least_image),
		cmocka_unit_test(a_big_image),
		cmocka_unit_test(no_room_for_the_image),
		cmocka_unit_test(free_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
