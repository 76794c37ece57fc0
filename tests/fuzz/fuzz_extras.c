/*
 * extras_read() over any image, and the collector's patterns over any bytes:
 * whatever a sandbox hands over, what is taken keeps to the rules, and nothing
 * is read beyond its end. The first bytes say what the job asked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/wild.h"
#include "base/wire.h"
#include "box/extras.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where bytes go that need only be there. */
static volatile uint8_t last_byte;

static void
must(int holds)
{
	if (!holds)
		abort();
}

/* Sorted, without doubles, of good paths; gives what they hold together. */
static uint64_t
check_files(const struct extras_file *list, size_t n, uint64_t room)
{
	uint64_t sum = 0;
	char last[8192] = "";

	must(n <= LIMITS_OUTPUTS);
	for (size_t i = 0; i < n; i++) {
		const struct extras_file *f = &list[i];
		char path[8192];

		must(wire_path_ok(f->path, f->path_len));
		must(utf8_valid(f->path, f->path_len));
		memcpy(path, f->path, f->path_len);
		path[f->path_len] = '\0';
		must(strcmp(last, path) < 0);
		memcpy(last, path, f->path_len + 1);
		if (f->data == NULL) {
			must(f->size > room - sum);
			continue;
		}
		/* Every byte of it is there. */
		for (uint64_t k = 0; k < f->size; k++)
			last_byte = f->data[k];
		sum += f->size;
		must(sum <= room);
	}
	return sum;
}

static void
image(const uint8_t *data, size_t size, uint32_t flags, uint64_t room)
{
	struct extras x;
	uint64_t sum;

	if (extras_read(&x, data, size, flags, room) != ST_OK) {
		must(x.value == EXTRAS_VALUE_NONE && x.n_files == 0 &&
		     x.n_figures == 0);
		return;
	}
	must(x.text_len <= room);
	must(x.value == EXTRAS_VALUE_NONE || (flags & WIRE_JOB_EVALUATE) != 0);
	must(x.value != EXTRAS_VALUE_THROWN || (flags & WIRE_JOB_TELL) != 0);
	must(x.n_files == 0 || (flags & WIRE_JOB_OUTPUTS) != 0);
	must(x.n_figures == 0 || (flags & WIRE_JOB_FIGURES) != 0);
	sum = 0;
	for (size_t i = 0; i < x.n_figures; i++)
		sum += x.figures[i].size;
	must(sum <= room);
	sum += check_files(x.files, x.n_files, room);
	must(sum <= room);
	/* With all its heads it is no longer than is allowed, unless figures
	 * that are none came with it. */
	if ((flags & WIRE_JOB_FIGURES) == 0)
		must(size <= extras_most(room));
}

static void
pattern(const char *text, size_t size)
{
	const char *end = memchr(text, '\0', size);
	size_t n = end == NULL ? size : (size_t)(end - text);
	const char *path = end == NULL ? text : end + 1;
	size_t len = end == NULL ? size : size - n - 1;

	if (n == 0 || len == 0 || n > 300 || len > 300 ||
	    !wire_path_ok(text, n) || !wire_path_ok(path, len))
		return;
	(void)wild_match(text, n, path, len);
	must(wild_match(path, len, path, len));
	if (path[0] != '.' && memmem(path, len, "/.", 2) == NULL)
		must(wild_match("**", 2, path, len));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3)
		return 0;
	image(data + 3, size - 3, data[0] & 15u,
	    data[1] | (uint64_t)data[2] << 8);
	pattern((const char *)data + 3, size - 3);
	return 0;
}
