/*
 * What a sandbox uses, asked of /proc: the meter where no cgroup bounds a run
 * (memory_limit = meter). It sees what processes map. It does not see memfds
 * and sockets that nobody maps, nor what comes and goes between two looks; so
 * it must be asked for by name. Private to box.
 */
#ifndef METER_H
#define METER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

struct meter_use {
	uint64_t memory; /* bytes now, other than files on disk */
	uint64_t cpu_us; /* of the live tree and what it has waited for */
};

/* Sum over the process init (host pid) and all below it. Looks more closely,
 * and slowly, only where the cheap sum is over enough bytes. ST_OK;
 * ST_NOT_FOUND if init is gone; ST_TOO_BIG for more processes than a run can
 * have. */
enum status meter_use(struct meter_use *out, pid_t init, uint64_t enough)
    __attribute__((warn_unused_result));

#endif
