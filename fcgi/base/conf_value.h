/*
 * A setting between its text and its place in a struct, by its row of the
 * table. Private to conf*.c.
 */
#ifndef CONF_VALUE_H
#define CONF_VALUE_H

#include "base/buf.h"
#include "base/conf_table.h"

#define CONF_VALUE_BYTES 32000 /* longest text of a value: a helper's */

/* Set the value; the old one is released. section is the struct that row k's
 * offset counts from. ST_OK; ST_FORMAT with what is wrong as f's whole text;
 * ST_NOMEM. On failure the old value stays. */
enum status conf_value_set(void *section, const struct conf_table_key *k,
    const char *text, struct fault *f) __attribute__((warn_unused_result));

/* Append the value as text that conf_value_set() takes; nothing if there is
 * none. */
void conf_value_put(
    struct buf *out, const void *section, const struct conf_table_key *k);

/* Is there a value? Numbers always have one; prices when not 0. */
bool conf_value_there(const void *section, const struct conf_table_key *k);

/* Copy the value to another struct, whose place holds none yet. ST_OK or
 * ST_NOMEM. */
enum status conf_value_copy(void *to, const void *from,
    const struct conf_table_key *k) __attribute__((warn_unused_result));

/* Release; the place then holds none. */
void conf_value_free(void *section, const struct conf_table_key *k);

void conf_value_free_words(char **words); /* NULL is fine */

#endif
