#include "base/steady.h"

#include "base/log.h"

void
steady_begin(struct steady *s, int64_t wall_s, int64_t running_s)
{
	*s = (struct steady){ .offset_s = wall_s - running_s };
}

bool
steady_look(struct steady *s, int64_t wall_s, int64_t running_s)
{
	int64_t offset = wall_s - running_s;
	int64_t by = offset - s->offset_s;

	s->offset_s = offset;
	if (by > STEADY_JUMP_S || by < -STEADY_JUMP_S) {
		log_warn("the clock was set by %lld seconds: nothing is taken "
			 "for old until it has kept its time for %d minutes",
		    (long long)by, STEADY_HOLD_S / 60);
		s->since_s = running_s;
		s->doubt = true;
	}
	if (s->doubt && running_s - s->since_s >= STEADY_HOLD_S)
		s->doubt = false;
	return !s->doubt;
}
