/*
 * A sandbox tried for real: an empty program run under the whole policy, by
 * the user that runs are for. What the host lacks shows here and nowhere else
 * so surely. Private to box.
 */
#ifndef TRIAL_H
#define TRIAL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/conf.h"
#include "base/status.h"

/* Run r's interpreter (NULL: /usr/bin/true) on an empty entry file as uid and
 * gid: in a forked child that gives up being root, within 10 s. ST_OK and *ms;
 * ST_REFUSED, the step that failed and what it said in f. */
enum status trial_run(uint64_t *ms, const struct conf *c,
    const struct conf_runtime *r, uid_t uid, gid_t gid, struct fault *f)
    __attribute__((warn_unused_result));

#endif
