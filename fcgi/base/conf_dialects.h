/*
 * The dialects that have one flat price: what each is, as shipped. Private to
 * conf*.c.
 */
#ifndef CONF_DIALECTS_H
#define CONF_DIALECTS_H

#include "base/conf.h"

/* Add them all (api.md section 8). ST_OK, ST_NOMEM. */
enum status conf_dialects_ship(struct conf *c)
    __attribute__((warn_unused_result));

/* May a section [dialect:NAME] be there? Else f lists those that may. */
enum status conf_dialects_known(const struct conf *c, const char *name,
    struct fault *f) __attribute__((warn_unused_result));

/* No tier has a dialect's name: prices and receipts tell them apart by it.
 * ST_OK or ST_FORMAT with f. */
enum status conf_dialects_check(const struct conf *c, struct fault *f)
    __attribute__((warn_unused_result));

/* Log which of them the host's memory cannot hold. */
void conf_dialects_note(const struct conf *c);

#endif
