/*
 * Where the sandboxes of one runtime and one entry file wait for jobs: how many
 * are wanted there, what one needs, and when to try again after a failure. A
 * value; pool.c fills and empties it. Private to pool.c.
 */
#ifndef SHELF_H
#define SHELF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/conf.h"
#include "box/hook.h"

struct shelf {
	const struct conf_runtime *runtime;
	const char *entry;
	struct hook hook;
	uint64_t want;	   /* sandboxes on it */
	uint64_t bytes;	   /* that one needs */
	uint64_t failures; /* in a row */
	int64_t retry_us;  /* not before */
	int64_t short_us;  /* when it was short last, or wanted one less */
};

/* For a runtime that has a hook. ST_OK, and shelf_free(); ST_FORMAT (a hook
 * that is none, logged), ST_NOMEM. */
enum status shelf_init(struct shelf *s, const struct conf_runtime *runtime,
    const char *entry) __attribute__((warn_unused_result));
void shelf_free(struct shelf *s);

/* A sandbox of it is ready and has taken so many bytes; 0: not known. */
void shelf_succeeded(struct shelf *s, uint64_t bytes);
/* One could not be started, or died while it waited. */
void shelf_failed(struct shelf *s);

/* A job was there and found the last one, or none. */
void shelf_short(struct shelf *s);
/* Time has passed: what was wanted in a rush is not wanted for ever. */
void shelf_calm(struct shelf *s, int64_t now_us);

/* When time will change something; 0: it will not. */
int64_t shelf_alarm_us(const struct shelf *s, int64_t now_us);

#endif
