/*
 * The supervisor: starts as root, keeps what needs root, starts the gate and
 * the boxer without any of it, starts them again when they end, and drains. It
 * never reads a byte that a client sent.
 */
#ifndef SUPER_H
#define SUPER_H

#include "base/conf.h"
#include "base/status.h"

/* Serve with c (loaded, taken; its secret files are read here) until SIGTERM or
 * SIGINT; at SIGHUP read path and environment again. ST_OK after an orderly
 * end; else why it could not start, logged: not root, something missing in c,
 * on the host or of the users, already running, or a part that did not come
 * up. */
enum status super_serve(struct conf *c, const char *path,
    char *const *environment) __attribute__((warn_unused_result));

#endif
