/*
 * Patterns for paths: in a component * is any run of characters, ? one, [a-z]
 * one of a set, [!a-z] one of no set; a component ** is any number of folders,
 * and at the end everything below. What begins with a dot is matched only by a
 * dot. sandbox-init links this file too: it allocates nothing.
 */
#ifndef WILD_H
#define WILD_H

#include <stdbool.h>
#include <stddef.h>

/* Does pattern match path? Both are well-formed UTF-8 without NUL, and
 * wire_path_ok() holds for both. A pattern that is the path itself matches,
 * whatever it holds. The time is bounded by the product of the lengths. */
bool wild_match(
    const char *pattern, size_t pattern_len, const char *path, size_t len);

#endif
