/*
 * Is the wall clock to be believed? Set beside one that nobody sets, it may
 * only run: when it has jumped, what it says is old may not be old.
 */
#ifndef STEADY_H
#define STEADY_H

#include <stdbool.h>
#include <stdint.h>

#define STEADY_JUMP_S 600  /* within this a clock is only being set right */
#define STEADY_HOLD_S 3600 /* a new time kept for so long is right */

struct steady {
	int64_t offset_s; /* wall clock less running clock at the last look */
	int64_t since_s;  /* running clock at the last jump */
	bool doubt;
};

/* Both clocks in seconds; running is CLOCK_BOOTTIME's. What they say at first
 * is believed. */
void steady_begin(struct steady *s, int64_t wall_s, int64_t running_s);
/* To be called every minute or so. False: the wall clock has jumped, and not
 * kept to its new time for long enough yet. */
bool steady_look(struct steady *s, int64_t wall_s, int64_t running_s);

#endif
