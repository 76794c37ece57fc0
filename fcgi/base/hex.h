/* Strict hexadecimal and base64, both ways, length-checked. */
#ifndef HEX_H
#define HEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

/* out gets 2 * len characters in lower case and a NUL. */
void hex_encode(char *out, const uint8_t *in, size_t len);

/* Exactly 2 * len hex digits (no 0x) and then the end. ST_OK or ST_FORMAT. */
enum status hex_decode(uint8_t *out, size_t len, const char *in)
    __attribute__((warn_unused_result));

/* The same with a required "0x" in front. */
enum status hex_decode0x(uint8_t *out, size_t len, const char *in)
    __attribute__((warn_unused_result));

/* Standard alphabet, padded, one line (x402.md 1.10). */
void hex_base64(struct buf *out, const void *in, size_t len);
/* URL alphabet, unpadded (JOSE). */
void hex_base64url(struct buf *out, const void *in, size_t len);

/* Standard or URL alphabet, padding optional but right if present, no blanks
 * or line ends, unused bits zero (x402.md 1.5). ST_OK, ST_FORMAT, or the
 * status of out. */
enum status hex_unbase64(struct buf *out, const char *in, size_t len)
    __attribute__((warn_unused_result));

#endif
