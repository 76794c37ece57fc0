/* IP addresses and blocks of them ("10.0.0.0/8", "2001:db8::/32"), both
 * families in one form. Pure. */
#ifndef CIDR_H
#define CIDR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* IPv4 stands in its place among IPv6 (::ffff:0:0/96), however it is written.
 */
struct cidr {
	uint8_t b[16];
	unsigned bits; /* of the 128 that count */
};

/* One address, or a block whose further bits are zero. ST_OK or ST_FORMAT. */
enum status cidr_parse(struct cidr *out, const char *text)
    __attribute__((warn_unused_result));

/* Is the whole of b in a? */
bool cidr_has(const struct cidr *a, const struct cidr *b);

bool cidr_ipv4(const struct cidr *c);

#endif
