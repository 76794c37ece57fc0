/*
 * INI text to calls, line by line and strictly. The only user of libinih.
 * Private to conf*.c. Not thread-safe: libinih's switches are global.
 */
#ifndef CONF_FILE_H
#define CONF_FILE_H

#include <stddef.h>

#include "base/status.h"

/* key and value are NULL at a section's header. section is "" before the
 * first one. What it puts into f is completed with file and line here. */
typedef enum status (*conf_file_fn)(void *ctx, unsigned line,
    const char *section, const char *key, const char *value, struct fault *f);

/* Call fn for each header and each setting of text. Comments are whole lines
 * beginning with ; or #. Refused with path and line (ST_FORMAT): a line that
 * is nothing of this, begins with a blank, is over-long, or holds control
 * characters. The first failure, here or of fn, ends it. */
enum status conf_file_parse(const char *text, size_t len, const char *path,
    conf_file_fn fn, void *ctx, struct fault *f)
    __attribute__((warn_unused_result));

#endif
