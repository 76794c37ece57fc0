/*
 * CPU time of everything that a way needs, as the kernel's cgroups count it to
 * the nanosecond, whoever waited for whom: the bench and what it starts, the
 * boxer, every process of its sandboxes.
 */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <sys/types.h>

#include "box/cgroup.h"

struct account;

/* Move this process into a group of its own below those of boxer's instance
 * name, so that what it starts is counted there too. NULL: nothing counts
 * here. */
struct account *account_open(
    enum cgroup_kind kind, const char *name, pid_t boxer);
/* Back out again, before the instance is removed. NULL is fine. */
void account_close(struct account *a);

/* Seconds so far; NaN if a is NULL. */
double account_s(const struct account *a);

#endif
