/* In the place of prlimit(2) in a sandbox-init that sets no limits: see what
 * holds without them. Its own header is left out, because every libc has
 * another type for the second argument. */
#include <sys/types.h>

int prlimit(pid_t pid, int what, const void *limit, void *old);

int
prlimit(pid_t pid, int what, const void *limit, void *old)
{
	(void)pid;
	(void)what;
	(void)limit;
	(void)old;
	return 0;
}
