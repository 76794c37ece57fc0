/*
 * sandbox-init: PID 1 of one sandbox and one job. Static, links only libc and
 * base/wire.c. It runs none of the caller's code itself, but the program has
 * its uid; what that cannot do to it stands in init.c.
 */
#ifndef INIT_H
#define INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"

/* What went wrong and in which step (a literal of ours). */
struct init_trouble {
	int error; /* errno */
	const char *step;
};

/* Record errno's value and the step; gives false. */
bool init_trouble(struct init_trouble *t, const char *step, int error);

/* Monotonic, as io_now_us() of the boxer reads it. */
uint64_t init_now_us(void);

/* ---- init_files.c ---- */

/* Write every file of the image below /box, which must be the working
 * directory, with its folders. False with t: ENOSPC or EDQUOT if they do not
 * fit. */
bool init_files_write(const uint8_t *image, size_t len, struct init_trouble *t);

/* Has /box or /tmp no room left for a byte or a file? */
bool init_files_full(void);

/* ---- init_start.c ---- */

struct init_program {
	int in; /* its descriptors 0, 1, 2; closed by init_start() */
	int out;
	int err;
	char *const *command; /* what image's arguments are appended to */
	struct limits limits;
	unsigned cores;
};

/* Read the seccomp filter, before any code of the caller's runs. */
bool init_start_filter(int fd, struct init_trouble *t);

/* Start the program with the arguments and variables of the image. Gives its
 * pid once it is executing, *started_us being when it was released; or -1 with
 * t, and nothing runs. */
pid_t init_start(const struct init_program *p, const uint8_t *image, size_t len,
    uint64_t *started_us, struct init_trouble *t);

#endif
