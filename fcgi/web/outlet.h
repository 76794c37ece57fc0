/*
 * The way out of an answer: FastCGI records of standard output, sent to the web
 * server. libfcgi's own writer waits without end, and a reader that takes
 * nothing would keep a thread, or stop the run whose live answer it is.
 */
#ifndef OUTLET_H
#define OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* How long outlet_drain() waits for a reader that takes nothing, and for one
 * that takes a little now and then. */
#define OUTLET_STALL_MS 10000
#define OUTLET_DRAIN_MS 60000

/* How many may wait for their readers at a time, and how much memory their
 * answers may take meanwhile. When one comes that is too many or too much, the
 * one whose reader has taken nothing for longest is cut off, if that is
 * OUTLET_CUT_MS or more: its answer is kept and can be had again, and a thread
 * or memory is free for who reads. */
#define OUTLET_WAITING 32
#define OUTLET_BYTES ((size_t)256 << 20)
#define OUTLET_CUT_MS 200

struct outlet {
	struct outlet *next; /* of those that wait */
	bool cut;
	int64_t moved_ms; /* when its reader took something */
	int fd;		  /* borrowed */
	uint16_t id;
	/* Of the answer that its thread keeps while it waits; to be set by who
	 * lets it wait, where it is more than what outlet_send() is given. */
	size_t held;
	bool gone;	    /* the web server is, or takes nothing more */
	struct buf pending; /* records */
	size_t sent;	    /* of pending */
};

/* Nothing is sent yet. id: the request's number on this connection. */
void outlet_open(struct outlet *o, int fd, uint16_t id);
void outlet_free(struct outlet *o);

/* Queue bytes of the answer. Callers bound what is queued: they add more only
 * when outlet_push() says that nothing is left. */
void outlet_put(struct outlet *o, const void *data, size_t len);

/* Send what can be sent now. True when nothing is left and more would be
 * welcome; false while something is left, and for good when the web server is
 * gone. */
bool outlet_push(struct outlet *o);

/* Send all of it, waiting at most OUTLET_STALL_MS for each step forward and
 * never beyond deadline_ms (io_now_ms); who takes longer counts as gone. True
 * when nothing is left. */
bool outlet_drain(struct outlet *o, int64_t deadline_ms);

/* Queue and send what may be long, in pieces, waiting as outlet_drain(). True
 * when nothing is left. */
bool outlet_send(
    struct outlet *o, const void *data, size_t len, int64_t deadline_ms);

#endif
