/* What /proc/PID/status says of a process of this host, proc(5). */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/status.h"

#define PROCESS_NAME 16 /* TASK_COMM_LEN, its NUL included */

struct process {
	char name[PROCESS_NAME];
	uid_t uid; /* the real one */
	pid_t parent;
	bool first; /* PID 1 of a namespace of its own */
	bool dead;  /* nobody has reaped it yet */
};

/* ST_NOT_FOUND: it is no more, or not ours to see. All else, a lack of
 * descriptors above all, says nothing of it. */
enum status process_look(struct process *out, pid_t pid);

#endif
