#include "parts.h"
#include "rig.h"
#include "say.h"

static void
one(const struct rig *r, const char *name, int round, enum rig_way way)
{
	struct rig_time t;

	/* What the one before left to do is not to be paid by this one. */
	rig_calm(r);
	rig_hello(&t, r, way);
	say_open(round == 0 ? "first" : "latency", name);
	say_text("way", rig_way_name(way));
	say_number("round", round);
	say_number("us", t.us);
	say_number("startUs", t.start_us);
	say_number("programUs", t.program_us);
	say_end();
}

void
latency(const char *name, int rounds)
{
	struct rig *r = rig_open(name);

	/* Forwards and backwards, so that each way follows each other one. */
	for (int round = 0; round <= rounds; round++) {
		for (int i = 0; i < RIG_WAYS; i++) {
			int at = (round / 2 + i) % RIG_WAYS;

			one(r, name, round,
			    (enum rig_way)(
				round % 2 == 0 ? at : RIG_WAYS - 1 - at));
		}
	}
	rig_close(r);
}
