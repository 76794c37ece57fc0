/* UTF-8: checking what comes in, mending what goes out. */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* True if all of it is well-formed (no surrogates, nothing over U+10FFFF,
 * no overlong form). */
bool utf8_valid(const char *s, size_t len);

/* The code point that s begins with and the length of its well-formed form,
 * 1 to 4; 0 (and U+FFFD) if s is empty or begins with no such form. */
size_t utf8_next(uint32_t *cp, const char *s, size_t len);

/* Number of bytes at the very end of s, 0 to 3, that begin a code point but
 * do not finish it: what a stream holds back until more arrives. */
size_t utf8_incomplete(const char *s, size_t len);

/* Append s with every maximal ill-formed part replaced by one U+FFFD (the
 * WHATWG decoder's rule). With cut, the data ends where a limit cut it: an
 * incomplete code point at the very end is then dropped instead (api.md
 * section 4). */
void utf8_mend(struct buf *out, const void *s, size_t len, bool cut);

/* Number of code points in well-formed s. */
size_t utf8_length(const char *s, size_t len);

#endif
