/*
 * A runtime's own root file system (its key rootfs), which its sandboxes show
 * instead of the host's /usr and /etc. Private to box.
 */
#ifndef ROOT_H
#define ROOT_H

#include "base/status.h"

/* The folders of it that are shown, "/usr" first. */
#define ROOT_TOPS 9
extern const char *const root_tops[ROOT_TOPS];

/* What stands at each of root_tops. */
struct root {
	char *link[ROOT_TOPS]; /* NULL: nothing; "": a folder; else a link's
				* text */
};

/* Look at the root file system at path. ST_OK, and *out for root_free();
 * ST_IO, logged; ST_NOMEM. */
enum status root_look(struct root *out, const char *path)
    __attribute__((warn_unused_result));
/* A zeroed one is fine. */
void root_free(struct root *r);

/* Open, only to name it (O_PATH), what path leads to for those who have root
 * as their "/" (NULL: the host's own); or -1 with errno. */
int root_open(const char *root, const char *path);

#endif
