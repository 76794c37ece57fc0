/*
 * A body of POST /execute or /quote, any bytes. What is taken keeps every rule
 * of api.md section 2 and makes an image that sandbox-init can read; what is
 * refused is the client's fault and says why; and both routes give one price.
 */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "../unit/web/site_fixture.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "web/request.h"

static const struct site *site;
static void *fixture;

static void
leave(void)
{
	(void)fixture_drop(&fixture);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	must(fixture_make(&fixture) == 0);
	site = ((const struct fixture *)fixture)->site;
	must(atexit(leave) == 0);
	return 0;
}

static void
check_files(const struct job *j)
{
	size_t total = 0, entry = strlen(j->entry);

	must(j->n_files <= LIMITS_FILES);
	for (size_t i = 0; i < j->n_files; i++) {
		const char *path = j->files[i].path;

		must(wire_path_ok(path, strlen(path)));
		must(utf8_valid(path, strlen(path)));
		must(j->files[i].data[j->files[i].len] == '\0');
		must(i == 0 || strcmp(j->files[i - 1].path, path) < 0);
		must(strncmp(path, j->entry, entry) != 0 ||
		     (path[entry] != '\0' && path[entry] != '/'));
		total += j->files[i].len;
	}
	must(total <= LIMITS_FILES_BYTES);
	must(j->source_len + total <= j->limits.work_bytes);
}

static void
check_words(const struct job *j)
{
	size_t total = 0;

	must(j->n_args <= LIMITS_ARGS && j->n_env <= LIMITS_ENV);
	must(j->n_outputs <= LIMITS_OUTPUTS);
	for (size_t i = 0; i < j->n_args; i++)
		total += strlen(j->args[i]) + 1;
	must(total <= LIMITS_ARGS_BYTES);
	total = 0;
	for (size_t i = 0; i < j->n_env; i++) {
		must(strchr(j->env[i], '=') > j->env[i]);
		must(strncmp(j->env[i], "LD_", 3) != 0);
		must(strncmp(j->env[i], "PYTHON", 6) != 0);
		must(strncmp(j->env[i], "NODE_OPTIONS=", 13) != 0);
		total += strlen(j->env[i]) + 1;
	}
	must(total <= LIMITS_ENV_BYTES);
	for (size_t i = 0; i < j->n_outputs; i++)
		must(wire_path_ok(j->outputs[i], strlen(j->outputs[i])));
}

static void
check_limits(const struct job *j, const struct site_tier *tier)
{
	struct request_range r[REQUEST_LIMITS];
	const uint64_t has[REQUEST_LIMITS] = { j->limits.timeout_ms,
		j->limits.memory_bytes, j->limits.output_bytes,
		j->limits.work_bytes };
	const uint64_t holds[REQUEST_LIMITS] = { tier->limits.timeout_ms,
		tier->limits.memory_bytes, tier->limits.output_bytes,
		tier->limits.work_bytes };

	request_ranges(r, site, j->runtime);
	for (size_t i = 0; i < REQUEST_LIMITS; i++)
		must(has[i] >= r[i].min && has[i] <= r[i].max &&
		     has[i] <= holds[i]);
}

/* Every part is in the image once, and it ends where it should. */
static void
check_image(const struct job *j)
{
	size_t n[WIRE_KIND_MAX] = { 0 }, at = 0;
	struct wire_record r;
	uint64_t len, stdin_at;
	const uint8_t *image;
	void *map;
	int fd, rc;

	/* The fixture's runtimes have no helper to put in. */
	if (job_hooked(j))
		return;
	must(job_image(&fd, &len, &stdin_at, j) == ST_OK);
	map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	must(map != MAP_FAILED);
	image = map;
	for (rc = wire_next(&r, image, len, &at); rc == 1;
	     rc = wire_next(&r, image, len, &at))
		n[r.kind]++;
	must(rc == 0 && n[WIRE_FILE] == j->n_files + 1);
	must(n[WIRE_ARG] == j->n_args && n[WIRE_ENV] == j->n_env);
	must(n[WIRE_OUTPUT] == j->n_outputs);
	must(stdin_at <= len && j->stdin_len <= len - stdin_at);
	must(j->stdin_len == 0 ||
	     memcmp(image + stdin_at, j->stdin_data, j->stdin_len) == 0);
	must(munmap(map, len) == 0);
	close(fd);
}

static void
check_job(const struct job *j, const struct site_tier *tier)
{
	must(j->source != NULL && j->source_len <= LIMITS_SOURCE);
	must(j->stdin_len <= LIMITS_STDIN && j->runtime != NULL);
	must(strcmp(j->entry, j->runtime->entry) == 0 ||
	     strcmp(j->entry, j->runtime->entry_module) == 0);
	check_files(j);
	check_words(j);
	check_limits(j, tier);
	check_image(j);
}

static void
check_refusal(const struct job *j, const struct site_tier *tier, enum status st,
    const struct fault *f)
{
	const struct status_api *api = status_api(st);

	must(f->st == st && f->message[0] != '\0');
	must(utf8_valid(f->message, strlen(f->message)));
	must(api->http == 400 && !api->billable);
	must(tier == NULL && j->source == NULL && j->files == NULL &&
	     j->args == NULL && j->env == NULL && j->outputs == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *body = (const char *)data;
	const struct site_tier *run_tier, *quote_tier, *price;
	struct fault f = { .st = ST_OK }, quote_f = { .st = ST_OK };
	struct job run, quote;
	enum status st, quote_st;

	st = request_read(
	    &run, &run_tier, &request_native, site, body, size, false, &f);
	if (st == ST_OK)
		check_job(&run, run_tier);
	else
		check_refusal(&run, run_tier, st, &f);
	quote_st = request_read(&quote, &quote_tier, &request_native, site,
	    body, size, true, &quote_f);
	if (quote_st == ST_OK)
		check_limits(&quote, quote_tier);
	else
		check_refusal(&quote, quote_tier, quote_st, &quote_f);
	price = request_price(&request_native, site, body, size);
	must(price != NULL && (quote_st != ST_OK || price == quote_tier));
	if (st == ST_OK)
		must(quote_st == ST_OK && run_tier == quote_tier);
	job_free(&run);
	job_free(&quote);
	return 0;
}
