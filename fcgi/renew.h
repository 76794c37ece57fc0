/*
 * The settings while the service runs: those in force, those that a reload
 * asks for, and those before it until the new ones have served.
 */
#ifndef RENEW_H
#define RENEW_H

#include <stdbool.h>

#include "base/conf.h"

struct renew {
	const char *path; /* of the file, NULL: none; borrowed, as is: */
	char *const *environment;
	struct conf *now;    /* in force; owned, as are: */
	struct conf *next;   /* NULL: nothing is asked for */
	struct conf *before; /* NULL: those in force have served */
};

/* Read the settings anew, and judge them as a start does. True: `next` is set,
 * in place of one that was asked for before. False: logged why; they cannot
 * serve, or differ in what only a restart can change. Takes as long as a try
 * of each runtime. */
bool renew_ask(struct renew *r);

/* Put `next`, which must be there, in force. */
void renew_take(struct renew *r);

/* Those in force have served: forget the ones before. */
void renew_settle(struct renew *r);

/* Back to the ones before. False if those in force have served. */
bool renew_back(struct renew *r);

/* Free all settings. */
void renew_free(struct renew *r);

#endif
