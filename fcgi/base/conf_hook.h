/*
 * The text of the runtimes' hooks and helpers: read where the files may be
 * read, since the run user may not. Private to conf*.c.
 */
#ifndef CONF_HOOK_H
#define CONF_HOOK_H

#include "base/conf.h"

/* Fill hook_text and helper_text of every runtime that has them. ST_OK;
 * ST_FORMAT, ST_IO or ST_NOT_FOUND with f. */
enum status conf_hook_load(struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

#endif
