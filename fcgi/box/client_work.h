/* A slot, and what is said where the boxer fails: shared by client*.c only. */
#ifndef CLIENT_WORK_H
#define CLIENT_WORK_H

#include "base/status.h"
#include "base/wire.h"
#include "box/client.h"

struct client_slot {
	int sock;
	client_idle_fn on_idle; /* NULL: none */
	client_extras_fn on_extras;
};

/* The boxer is gone, or as good as that. The log is told what was being done
 * and how it failed; sets f and gives its status. */
enum status client_gone(const char *doing, enum status why, struct fault *f);
/* What a refusal means to the caller; a code that the boxer has no business
 * to give is an error of ours. Sets f and gives its status. */
enum status client_refused(const struct wire_refused *m, struct fault *f);

#endif
