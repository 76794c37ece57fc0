/* Does JavaScript text need ES-module semantics (api.md section 2: `import`,
 * `export` or top-level await)? A scanner, not a parser: comments, strings,
 * templates and regular expressions are skipped, braces are counted. */
#ifndef ESM_H
#define ESM_H

#include <stdbool.h>
#include <stddef.h>

bool esm_is_module(const char *src, size_t len);

#endif
