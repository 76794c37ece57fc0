/*
 * The gate and the boxer as processes: the program executed anew by super, as
 * root, with nothing but the descriptors below and its settings in the first
 * one. Nothing is inherited from super's memory.
 */
#ifndef ROLE_H
#define ROLE_H

#include "base/conf.h"
#include "base/status.h"

/* Numbers of descriptors, besides 0 and 1 (nothing) and 2 (the log). */
enum role_fd {
	ROLE_FD_CONF = 3, /* sealed: what conf_write() made */
	ROLE_FD_LIFE = 4,

	ROLE_FD_GATE_BOXER = 5,
	ROLE_FD_GATE_CONTROL = 6,
	ROLE_FD_GATE_READY = 7,
	ROLE_FD_GATE_LISTEN = 8,
	ROLE_FD_GATE_TCP = 9, /* only if there is TCP */

	ROLE_FD_BOXER_GATE = 5,
	ROLE_FD_BOXER_INIT = 6
};

#define ROLE_GATE "gate"
#define ROLE_BOXER "boxer"

/* Run as the role argv[1] until it is done; argv[2] and [3] are the uid and
 * gid to become. ST_OK after an orderly end; else the failure (ST_REFUSED also
 * when super did not start this), logged. */
enum status role_run(int argc, char **argv) __attribute__((warn_unused_result));

/* Log from now on as role, in the form and as talkative as c asks for. */
void role_log(const char *role, const struct conf *c);

#endif
