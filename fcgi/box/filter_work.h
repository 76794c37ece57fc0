/* What the filter's files share. Private to filter. */
#ifndef FILTER_WORK_H
#define FILTER_WORK_H

#include <seccomp.h>
#include <stdbool.h>
#include <stdint.h>

/* The kernel takes these arguments as 32 bits and ignores what is above
 * (sandbox-faults.md 49). */
#define LOW32 0xffffffffu

/* Add a rule for call nr with n comparisons. 0, or libseccomp's negative errno,
 * which is logged. */
int filter_add(scmp_filter_ctx ctx, uint32_t action, int nr, unsigned n,
    const struct scmp_arg_cmp *cmp);

/* Refuse what of internet sockets would make the kernel look for a module;
 * asked: through PID 1. As filter_add(). */
int filter_net_add(scmp_filter_ctx ctx, bool asked);

#endif
