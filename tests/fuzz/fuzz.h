/*
 * What the targets share: an assertion that holds in every build, an input that
 * is used up piece by piece, and a count of descriptors.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As assert(3), but in every build. */
#define must(holds) ((holds) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #holds))

static inline void __attribute__((noreturn))
fuzz_fail(const char *file, int line, const char *what)
{
	(void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	abort();
}

/* What is left of the input. Past its end there are zeros. */
struct input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t
input_byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

/* Fill out; what the input lacks is zero. */
static inline void
input_fill(struct input *in, void *out, size_t len)
{
	size_t n = len < in->left ? len : in->left;

	memset(out, 0, len);
	memcpy(out, in->at, n);
	in->at += n;
	in->left -= n;
}

/* At most len bytes that stay in the input; how many there were. */
static inline size_t
input_take(struct input *in, const uint8_t **out, size_t len)
{
	size_t n = len < in->left ? len : in->left;

	*out = in->at;
	in->at += n;
	in->left -= n;
	return n;
}

#define FUZZ_FDS 128

/* Descriptors that are open, below a number that no target comes near. */
static inline size_t
fuzz_fds(void)
{
	size_t n = 0;

	for (int fd = 0; fd < FUZZ_FDS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
