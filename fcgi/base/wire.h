/*
 * The messages between gate, boxer and sandbox-init, and the job image. All
 * over SOCK_SEQPACKET, so a message is whole or it is not there. sandbox-init
 * links this file too: it allocates nothing and includes only libc.
 *
 * gate -> boxer, common socket:  WIRE_RESERVE with the job's own socket
 * boxer -> gate, job socket:     WIRE_RESERVED | WIRE_REFUSED
 * gate -> boxer, job socket:     WIRE_JOB with the job image (sealed memfd)
 * boxer -> gate, job socket:     WIRE_STARTED | WIRE_REFUSED, then WIRE_CHUNK
 *				  any number of times, then WIRE_RESULT
 * init -> boxer, control socket: WIRE_INIT_READY
 * boxer -> init, control socket: WIRE_INIT_WARM (not for a cold start)
 * init -> boxer, control socket: WIRE_INIT_WARMED
 * boxer -> init, control socket: WIRE_INIT_JOB with the job image
 * init -> boxer, control socket: WIRE_INIT_STARTED, WIRE_INIT_REPORT, and if
 *				  the job asked for extras WIRE_INIT_EXTRAS;
 *				  at any point before the report
 *				  WIRE_INIT_FAILED instead of the next
 *
 * Who reads checks length, type and ranges: a peer may be an attacker's.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

#define WIRE_CHUNK_BYTES 32768
#define WIRE_NAME 32
#define WIRE_TEXT 256

enum wire_type {
	WIRE_RESERVE = 1,
	WIRE_RESERVED,
	WIRE_REFUSED,
	WIRE_JOB,
	WIRE_STARTED,
	WIRE_CHUNK,
	WIRE_RESULT,
	WIRE_STATE_ASK, /* gate asks for pool and queue, common socket */
	WIRE_STATE,
	WIRE_INIT_READY,
	WIRE_INIT_JOB,
	WIRE_INIT_STARTED,
	WIRE_INIT_REPORT,
	WIRE_INIT_FAILED,
	WIRE_INIT_WARM,	  /* boxer: start the interpreter up to its gate */
	WIRE_INIT_WARMED, /* init: it waits there */
	WIRE_INIT_EXTRAS, /* init: what the job asked for beside its output */
	WIRE_TYPE_MAX
};

struct wire_reserve {
	uint32_t type;
	uint32_t wait_ms; /* longest stay in boxer's queue */
	struct limits limits;
	char runtime[WIRE_NAME];
	char entry[WIRE_NAME]; /* entry file's name: fixed at interpreter start
				*/
	uint32_t plain;	   /* 0: the job brings args or env (cold start only) */
	uint32_t hooked;   /* 1: the job brings a WIRE_HELPER, which needs the
			    * interpreter at its gate: no cold start */
	uint32_t stranger; /* 1: its payer has never paid, and may not be able
			    * to: the others take turns with them */
	uint32_t zero;	   /* fills it up */
};

/* Why a job was refused, or could not start: an enum status (SERVICE_BUSY,
 * SANDBOX_UNAVAILABLE, SANDBOX_SETUP_FAILED) and a text without secrets. */
struct wire_refused {
	uint32_t type;
	uint32_t status;
	char text[WIRE_TEXT];
};

struct wire_simple { /* RESERVED, STARTED, STATE_ASK */
	uint32_t type;
};

/* Start the interpreter up to its gate. */
enum wire_gate {
	WIRE_GATE_FDS,	/* pipes at WIRE_GATE_GO and WIRE_GATE_READY */
	WIRE_GATE_FIFO, /* FIFOs WIRE_GATE_FIFO_GO and _READY; also, the empty
			 * entry file is there already */
	WIRE_GATE_MAX
};
#define WIRE_GATE_GO 198    /* read one byte: go, or WIRE_GATE_HELP */
#define WIRE_GATE_READY 199 /* one byte written there: it waits */
/* What a helper writes the value to: a memfd that sandbox-init reads when all
 * is over. Only with WIRE_GATE_FDS. */
#define WIRE_GATE_VALUE 197
/* In place of the byte that lets go: up to the end follow the helper's text and
 * what it needs, each with a NUL behind it: the most bytes of a value, the
 * job's flags, the number of arguments, these, the variables. */
#define WIRE_GATE_HELP 'H'
/* Where a helper draws figures to. */
#define WIRE_FIGURES "/tmp/.figures"
#define WIRE_GATE_FIFO_GO "/tmp/.go"
#define WIRE_GATE_FIFO_READY "/tmp/.ready"
#define WIRE_HOOK_ENV 128

struct wire_init_warm {
	uint32_t type;
	uint32_t gate;	/* enum wire_gate */
	uint32_t value; /* 1: its hook expects WIRE_GATE_VALUE */
	char entry[WIRE_NAME];
	char env[WIRE_HOOK_ENV]; /* NAME=value for the hook alone, or "" */
};

struct wire_job {
	uint32_t type;
	uint32_t flags; /* WIRE_JOB_* */
	uint64_t image_len;
	uint64_t stdin_at; /* offset and length of stdin inside the image */
	uint64_t stdin_len;
};

struct wire_chunk {
	uint32_t type;
	uint32_t stream; /* 1 stdout, 2 stderr */
	uint32_t len;
	uint8_t data[WIRE_CHUNK_BYTES]; /* sent: only len of it */
};

/* How a run ended, as verdict.c judged it from what was measured. */
struct wire_result {
	uint32_t type;
	uint32_t status;      /* ST_OK or one of the program's own ends */
	int32_t exit_code;    /* -1: none */
	int32_t signal;	      /* 0: none, or ended by our limit */
	uint64_t duration_us; /* release to end */
	uint64_t start_us;    /* reserve to ready: sandbox start-up */
	uint64_t cpu_us;
	uint64_t max_memory_bytes;
	uint32_t lost[2];     /* stdout, stderr lost bytes (truncated) */
	char text[WIRE_TEXT]; /* error.message, empty when completed */
	uint64_t extras_len;  /* of the extras image that comes with it, or 0 */
};

struct wire_state {
	uint32_t type;
	uint32_t queue;
	uint32_t slots;
	uint32_t running;
	uint32_t quarantined;
	uint32_t mechanism; /* 0 cgroup2, 1 cgroup1, 2 meter */
	uint32_t n_pools;
	struct {
		char runtime[WIRE_NAME];
		uint32_t warm;
		uint32_t starting;
	} pools[32];
};

/* How sandbox-init gets hold of the calls that the program's filter tells it
 * of: through a socket at this number, which no program can have. */
#define WIRE_WATCH_FD LIMITS_FILES_OPEN

/* Flags of a job, in wire_job and wire_init_job. */
#define WIRE_JOB_EVALUATE 1u /* the value of the last expression is wanted */
#define WIRE_JOB_OUTPUTS 2u  /* the image holds WIRE_OUTPUT patterns */
#define WIRE_JOB_FIGURES 4u  /* figures that the program draws are wanted */
/* With EVALUATE: the value as the text that people are shown, never as JSON; or
 * the exception that ended the program. */
#define WIRE_JOB_TELL 8u

struct wire_init_job {
	uint32_t type;
	uint32_t cores; /* granted to the run; 0 is taken as 1 */
	uint32_t flags; /* WIRE_JOB_* */
	uint32_t peak;	/* 1: max_rss_bytes is wanted of a main process that
			 * did not have to be waited for */
	uint64_t image_len;
	struct limits limits;
};

/* What the sandbox saw the program try (counts of calls; saturating). Comes
 * with the report. */
struct wire_seen {
	uint32_t network;     /* connect, sendto, … to an address outside */
	uint32_t writes;      /* to a path outside of what is writable */
	uint32_t denied;      /* system calls that the filter refused */
	int32_t first_denied; /* number of the first of these */
};

struct wire_init_report {
	uint32_t type;
	int32_t wait_status; /* raw, of the main process */
	uint64_t started_us; /* CLOCK_MONOTONIC at release */
	uint64_t ended_us;   /* and when the main process had ended */
	uint64_t cpu_us;     /* tree, warm-up subtracted */
	uint64_t max_rss_bytes;
	uint32_t box_full; /* 1: /box or /tmp had no room left at the end */
	uint32_t pad;
	struct wire_seen seen;
};

/* Comes after the report, with the extras image (sealed memfd) attached: what
 * is collected late must not hold up how the run ended. */
struct wire_init_extras {
	uint32_t type;
	uint32_t pad;
	uint64_t len;
};

struct wire_init_failed {
	uint32_t type;
	int32_t error;	    /* errno */
	uint32_t disk_full; /* files did not fit the work dir */
	char step[44];	    /* which step, a literal of ours */
};

/* ---- the job image: a run of records in a sealed memfd ----
 * record = u8 kind, u32 path length, u64 data length, path bytes, data bytes.
 * Little-endian (both ends are one host). First the entry file, then files in
 * any order, args and env in order, at most one stdin. */
enum wire_kind {
	WIRE_FILE = 1, /* path relative to /box */
	WIRE_ARG,      /* no path; data is the argument */
	WIRE_ENV,      /* no path; data is NAME=value */
	WIRE_STDIN,    /* no path */
	WIRE_OUTPUT,   /* no path; data is a path or glob to hand back */
	WIRE_HELPER,   /* no path; text that the hook runs, at the gate */

	/* The extras image, which comes back: same form, sealed memfd made by
	 * sandbox-init. Hostile until checked. */
	WIRE_VALUE_JSON, /* no path; the last expression's value as JSON */
	WIRE_VALUE_REPR, /* no path; or its repr, UTF-8 mended by the reader */
	WIRE_GIVEN,	 /* a file handed back: path, content */
	WIRE_OMITTED,	 /* one that did not fit: path, u64 size */
	WIRE_FIGURE,	 /* a figure drawn: path is a name, data is PNG */
	WIRE_THROWN,	 /* no path; name, message and traceback of what ended
			  * the program, a NUL between; cut at the end */

	WIRE_FOLDER, /* of a job again: path of a folder to make; no data */
	WIRE_KIND_MAX
};
#define WIRE_RECORD_HEAD 13

struct wire_record {
	enum wire_kind kind;
	const char *path; /* not terminated */
	size_t path_len;
	const uint8_t *data;
	size_t data_len;
};

/* Write a record's head. */
void wire_put_head(uint8_t head[WIRE_RECORD_HEAD], enum wire_kind kind,
    size_t path_len, size_t data_len);

/* The record at *at; moves *at behind it. 1: got one; 0: clean end; -1: the
 * image is broken. Points into image. */
int wire_next(
    struct wire_record *out, const uint8_t *image, size_t len, size_t *at);

/* Is path a plain relative path inside /box: no absolute, empty, "." or ".."
 * component, no NUL, at most LIMITS_NAME bytes a component and
 * LIMITS_PATH_DEPTH of them? (api.md section 2; gate asks for the caller's
 * sake, init for its own.) */
bool wire_path_ok(const char *path, size_t len);

#endif
