/* Is what the gate asks for sound? Private to run.c. */
#ifndef RUN_CHECK_H
#define RUN_CHECK_H

#include <stdbool.h>

#include "base/conf.h"
#include "base/wire.h"

/* Strings end inside, runtime and entry file are known (*runtime and *entry,
 * of c), the limits are sane. */
bool run_check_ask(const struct conf_runtime **runtime, const char **entry,
    const struct wire_reserve *ask, const struct conf *c);

/* Is fd a job image, which nobody can change any more, as m describes it? */
bool run_check_job(const struct wire_job *m, int fd);

#endif
