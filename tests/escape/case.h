/*
 * A fault of sandbox-faults.md as a file, faults/NN-name.case, or what else
 * is to be held the same way:
 *
 *	title TEXT
 *	alone			no other case at the same time
 *	holds-without WORDS	cgroup, rlimits: it holds without these layers
 *	limits KEY=VALUE...	time (ms) memory output work (bytes, K M G);
 *				what is not named is as shipped
 *	stdin TEXT | stdin-bytes N
 *	file NAME BYTES		a file of that length, all 'x'
 *	cold PATTERN [always]	the host's large files of that name are in no
 *				memory when it starts; always: nor while it runs
 *	repeat N [TOGETHER]	run it N times, so many at once
 *	want END KEY=VALUE...	END: ok error signal timeout memory output
 *				network denial, several with |
 *				exit=N signal=N ms<N cpu<N cpu>N (ms; the first
 *				is stretched by the host's load, and a program
 *				that was only too slow is run again)
 *				bytes=N of stdout; distinct: no two runs of a
 *				repeat print the same; let-go: the kernel has
 *				no more namespaces after a repeat than before
 *	out REGEX | err REGEX | text REGEX	of stdout, stderr, error.message
 *	run RUNTIME [beside]	the program, up to a line ---; beside: while
 *				what follows runs
 *
 * Everything but a program stays as it is for the programs after; "limits",
 * "want" and "repeat" replace what stood before, "want" with its patterns.
 * In a program, {i} is the number of the repetition from 1, {mark} a word that
 * no process may bear when the answer is there.
 */
#ifndef CASE_H
#define CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

#define CASE_STEPS 64

enum case_end {
	CASE_OK = 1,
	CASE_ERROR = 2,
	CASE_SIGNAL = 4,
	CASE_TIMEOUT = 8,
	CASE_MEMORY = 16,
	CASE_OUTPUT = 32,
	CASE_NETWORK = 64,
	CASE_DENIAL = 128,
	CASE_OTHER = 256
};

enum case_layer {
	CASE_CGROUP = 1,
	CASE_RLIMITS = 2
};

struct case_want {
	unsigned ends; /* of enum case_end */
	bool has_exit;
	long exit; /* {i}: -1 */
	long signal;
	long ms_below;
	long cpu_below;
	long cpu_above;
	bool has_bytes;
	long bytes;
	bool distinct;
	bool let_go;
	char *out; /* patterns, or NULL */
	char *err;
	char *text;
};

struct case_step {
	char runtime[32];
	char *source;
	struct limits limits;
	char *stdin_data;
	size_t stdin_len;
	char *file;
	size_t file_len;
	char *cold;
	bool cold_always;
	long repeat;
	long together;
	bool beside;
	struct case_want want;
	int line;
};

struct case_file {
	char name[64]; /* "fault-01-background-child" */
	char *title;
	bool alone;
	unsigned holds_without; /* of enum case_layer */
	struct case_step steps[CASE_STEPS];
	size_t n_steps;
};

/* Read it; a file that is none ends the program. Never freed. */
struct case_file *case_read(const char *path);

/* Names of ends, joined by |. */
const char *case_ends(char out[80], unsigned ends);

#endif
