/* What the handlers of one gate process share. Lives as long as the process;
 * each member is thread-safe by itself. */
#ifndef CONTEXT_H
#define CONTEXT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct conf;
struct flight;
struct keyring;
struct ledger;
struct quota;
struct reconcile;
struct room;
struct sites;

struct context {
	const struct conf *conf;
	uint64_t started; /* Unix seconds */
	struct keyring *keys;
	struct sites *sites;
	struct ledger *ledger;
	struct client *boxer;
	struct flight *flight;
	struct quota *quota;
	struct reconcile *reconcile;
	_Atomic uint64_t body_bytes; /* held by all requests together */
	struct room *room;	     /* of answers that must be kept */
	/* Threads that work on payments, but for those that wait for a twin in
	 * flight, and how many may: the rest stay free for what is answered at
	 * once. */
	_Atomic size_t paying;
	size_t max_paying;
};

#endif
