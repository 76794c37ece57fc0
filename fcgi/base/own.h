/*
 * Ownership by scope: a variable declared with one of these attributes is
 * released when it goes out of scope, unless it was handed on before.
 */
#ifndef OWN_H
#define OWN_H

#include <stdlib.h>
#include <unistd.h>

static inline void
own_free_ptr(void *p)
{
	free(*(void **)p);
}

static inline void
own_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Free with free(3) at the end of the scope. NULL is fine. */
#define OWN_FREE __attribute__((cleanup(own_free_ptr)))
/* Close at the end of the scope. -1 means none. */
#define OWN_FD __attribute__((cleanup(own_close_fd)))

/* Hand a descriptor on: gives its number and leaves -1 behind. */
static inline int
own_steal_fd(int *fd)
{
	int n = *fd;

	*fd = -1;
	return n;
}

/* Hand a pointer on: gives it and leaves NULL behind. */
#define OWN_STEAL(p)                                                           \
	__extension__({                                                        \
		__typeof__(p) own_tmp_ = (p);                                  \
		(p) = NULL;                                                    \
		own_tmp_;                                                      \
	})

#endif
