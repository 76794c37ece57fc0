/* The seccomp filter of the program (sandbox-facts.md 8). The only user of
 * libseccomp. */
#ifndef FILTER_H
#define FILTER_H

#include "base/status.h"

/* Write the filter as a BPF program into a fresh sealed memfd, at offset 0.
 * Each reader needs an open file description of its own (filter_reopen()).
 * It asks PID 1 about calls that tell why a program may fail (init_watch.c);
 * where somebody outside listens to such questions of this process already, it
 * refuses the same calls and asks nobody. */
enum status filter_make(int *fd) __attribute__((warn_unused_result));
/* Another open file description of it, offset 0; -1 on failure. */
int filter_reopen(int fd);

/* A system call's name for a message; "?" for a number that has none. Not for
 * more than one thread at a time. */
const char *filter_call(int nr);

#endif
