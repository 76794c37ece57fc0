/*
 * What all sandboxes of a boxer have in common, made once: the seccomp filter,
 * the small files of /etc, the runtimes' binds with their globs expanded.
 */
#ifndef STAGE_H
#define STAGE_H

#include "base/conf.h"
#include "base/status.h"
#include "box/bwrap.h"

struct stage;

/* c is borrowed and must live as long. ST_OK, ST_NOMEM, ST_IO, ST_FORMAT (a
 * bind that may not be bound; logged). */
enum status stage_open(struct stage **out, const struct conf *c)
    __attribute__((warn_unused_result));
void stage_close(struct stage *s); /* NULL is fine */

/* Complete p, of which all above "Filled in by stage_dress()" is set: binds,
 * and fresh descriptors (each sandbox needs file descriptions of its own,
 * sandbox-facts.md 11.1). ST_OK, and stage_undress() closes them once bwrap is
 * started; else nothing is left open. p->runtime must be one of c's. */
enum status stage_dress(struct bwrap_policy *p, const struct stage *s)
    __attribute__((warn_unused_result));
void stage_undress(struct bwrap_policy *p);

#endif
