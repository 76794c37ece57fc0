/* The part of `tollbox check` about what the service keeps on disk. */
#ifndef CHECK_STATE_H
#define CHECK_STATE_H

#include <stdbool.h>

struct conf;

/* State folder and keys: whose they are, who may read them, and is there room
 * for the answers' budget? Makes nothing. A line for each by check_say(). */
void check_state(bool *all, const struct conf *c);

#endif
