/* The gate process: accepts FastCGI requests on threads and answers them. */
#ifndef GATE_H
#define GATE_H

#include "base/conf.h"
#include "base/status.h"

/* Descriptors that super hands over. All taken. */
struct gate_fds {
	int listen;	/* FastCGI, unix socket */
	int listen_tcp; /* FastCGI over TCP, -1: none */
	int boxer;	/* SEQPACKET pair to the boxer */
	int life;	/* read end: EOF means super is gone, so stop */
	int control;	/* SEQPACKET from super: each message carries one
			 * descriptor, the pair's end to a new boxer */
	int ready;	/* write end: one byte is written once we accept */
};

/* Serve until SIGTERM or SIGHUP (stop accepting, finish what runs, ST_OK; after
 * SIGHUP the sockets are left to the next gate) or until life ends. Runs as the
 * service user, already without privileges. */
enum status gate_serve(const struct conf *c, const struct gate_fds *fds)
    __attribute__((warn_unused_result));

#endif
