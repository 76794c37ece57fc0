/*
 * The sources of settings, weakest first: shipped values, runtime folders, the
 * file, the environment. Each sets what no stronger one has set, so their
 * order here is free. Private to conf*.c.
 */
#ifndef CONF_LOAD_H
#define CONF_LOAD_H

#include "base/conf.h"

/* All: ST_OK; ST_FORMAT, ST_IO or ST_NOT_FOUND with f; ST_NOMEM. */

/* Shipped values of the sections without a NAME (the others get theirs when
 * they are made). */
enum status conf_load_shipped(struct conf *c)
    __attribute__((warn_unused_result));

enum status conf_load_file(struct conf *c, const char *path, struct fault *f)
    __attribute__((warn_unused_result));

/* What conf_write() made: internal keys are allowed too. */
enum status conf_load_text(struct conf *c, const char *text, struct fault *f)
    __attribute__((warn_unused_result));

enum status conf_load_environment(struct conf *c, char *const *environment,
    struct fault *f) __attribute__((warn_unused_result));

/* Every NAME/runtime.conf below c->runtimes_dir. */
enum status conf_load_folders(struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

/* What "0 = from the host" means. */
void conf_load_host(struct conf *c);

#endif
