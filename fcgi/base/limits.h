/* The four limits of a run (api.md section 4) and the fixed ones beside. */
#ifndef LIMITS_H
#define LIMITS_H

#include <stdint.h>

struct limits {
	uint64_t timeout_ms;   /* wall time of the program */
	uint64_t memory_bytes; /* use other than files */
	uint64_t output_bytes; /* stdout and stderr together */
	uint64_t work_bytes;   /* files in /box */
};

/* What a run may be charged beyond memory and files: kernel memory (page
 * tables, stacks, sockets, inodes), bubblewrap, sandbox-init. */
#define LIMITS_EXTRA_BYTES (16ull << 20)

#define LIMITS_TASKS 64	      /* processes and threads of a run */
#define LIMITS_FILES_OPEN 256 /* RLIMIT_NOFILE */
#define LIMITS_INODES 16384

/* What a request may hold (api.md section 2). Bytes unless told otherwise. */
#define LIMITS_BODY (32u << 20)
#define LIMITS_SOURCE (1u << 20)
#define LIMITS_STDIN (16u << 20)
#define LIMITS_FILES 256 /* number */
#define LIMITS_FILES_BYTES (16u << 20)
#define LIMITS_PATH_DEPTH 16
#define LIMITS_NAME 255
#define LIMITS_OUTPUTS 64 /* patterns asked for, and files handed back */
#define LIMITS_ARGS 64	  /* number */
#define LIMITS_ARGS_BYTES (32u << 10)
#define LIMITS_ENV 64 /* number */
#define LIMITS_ENV_BYTES (32u << 10)

#endif
