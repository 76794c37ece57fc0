/*
 * A runtime's own command without Tollbox, on the same program text, as the
 * same user, with the same environment and the same three pipes: bare, and in a
 * plain bubblewrap as a careful person would call it. Thread-safe once open.
 */
#ifndef PLAIN_H
#define PLAIN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/conf.h"

struct plain;

struct plain_end {
	int wait_status;
	double us;     /* from before the pipes are made until it is reaped */
	double cpu_us; /* of the tree, as wait4() tells */
	char out[256]; /* its beginning, a text */
	char err[256];
};

/* Lay source out as file entry of a new folder, for uid and gid. bwrap is that
 * program's path. Ends the bench if it cannot. */
struct plain *plain_open(const struct conf_runtime *r, const char *entry,
    const char *source, const char *bwrap, uid_t uid, gid_t gid);
/* Remove the folder. NULL is fine. */
void plain_close(struct plain *p);

/* Run it to its end, output read to the end. False: it could not be started. */
bool plain_run(struct plain_end *out, const struct plain *p, bool wrapped);

#endif
