#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/io.h"
#include "parts.h"
#include "rig.h"
#include "say.h"

#define MIB (1ull << 20)
/* At least so long beside each, so that it gets to do its worst. */
#define BESIDE_US 2000000
#define HOSTILE_MS 3000

static const struct hostile {
	const char *name;
	const char *runtime;
	const char *source;
} hostiles[] = {
	{ "yes", "bash", "yes" },
	{ "yes, unread", "bash", "yes >/dev/null" },
	{ "busy loop", "python3", "while True: pass" },
	{ "fork bomb", "bash", ":(){ :|:& };:\nwhile :; do :; done" },
	{ "fork bomb, deaf", "python3",
	    "import os, signal\n"
	    "for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):\n"
	    "    signal.signal(s, signal.SIG_IGN)\n"
	    "while True:\n"
	    "    try: os.fork()\n"
	    "    except OSError: pass\n" },
	{ "memory: heap", "python3",
	    "x = []\nwhile True: x.append(bytearray(1 << 20))" },
	{ "memory: shared mapping", "python3",
	    "import mmap\nm = mmap.mmap(-1, 1 << 30)\n"
	    "for i in range(0, len(m), 4096): m[i] = 1" },
	{ "memory: memfd", "python3",
	    "import os\nheld = []\nwhile True:\n"
	    "    fd = os.memfd_create('m')\n    held.append(fd)\n"
	    "    os.write(fd, bytes(8 << 20))" },
	{ "memory: tmpfs", "python3",
	    "f = open('/tmp/fill', 'wb', buffering=0)\n"
	    "while True:\n"
	    "    try: f.write(bytes(1 << 20))\n"
	    "    except OSError: f.truncate(0); f.seek(0)" },
	{ "inodes", "python3",
	    "n = 0\nwhile True:\n"
	    "    try: open(f'/tmp/{n}', 'w').close(); n += 1\n"
	    "    except OSError: pass" },
	{ "10 000 files", "python3",
	    "for i in range(10000): open(f'f{i}', 'w').close()" },
	{ "hanging writer", "bash",
	    "(while :; do echo x; sleep 0.1; done) &\n"
	    "exec 1>&- 2>&-\nwhile :; do sleep 0.1; done" },
	{ "daemonised children", "python3",
	    "import os, time\nfor i in range(20):\n"
	    "    if os.fork() == 0:\n"
	    "        os.setsid()\n"
	    "        if os.fork() == 0:\n"
	    "            for fd in (0, 1, 2): os.close(fd)\n"
	    "            while True: pass\n"
	    "        os._exit(0)\n"
	    "time.sleep(1)" },
};
#define HOSTILES (sizeof(hostiles) / sizeof(hostiles[0]))

static const struct limits hostile_limits = { .timeout_ms = HOSTILE_MS,
	.memory_bytes = 256 * MIB,
	.output_bytes = MIB,
	.work_bytes = 64 * MIB };

struct beside {
	const struct rig *r;
	const struct hostile *h;
	atomic_bool over;
	const char *code; /* of the first that ended */
	int runs;
};

/* One after the other, so that there is always one. */
static void *
hostile_thread(void *arg)
{
	struct beside *b = arg;
	const char *code;

	do {
		code = rig_other(
		    b->r, b->h->runtime, b->h->source, &hostile_limits);
		if (b->runs++ == 0)
			b->code = code;
	} while (!atomic_load(&b->over));
	return NULL;
}

static void
hellos(const struct rig *r, const char *name, const char *against, int times,
    int64_t at_least_us)
{
	int64_t begin = io_now_us();
	struct rig_time t;

	for (int i = 0; i < times || io_now_us() - begin < at_least_us; i++) {
		rig_warm(r);
		rig_hello(&t, r, RIG_WARM);
		say_open("neighbour", name);
		say_text("against", against);
		say_number("us", t.us);
		say_number("startUs", t.start_us);
		say_number("programUs", t.program_us);
		say_end();
	}
}

static void
beside(
    const struct rig *r, const char *name, const struct hostile *h, int times)
{
	struct beside b = { .r = r, .h = h };
	pthread_t thread;

	if (pthread_create(&thread, NULL, hostile_thread, &b) != 0)
		say_stop("no more threads");
	hellos(r, name, h->name, times, BESIDE_US);
	atomic_store(&b.over, true);
	pthread_join(thread, NULL);
	say_open("hostile", name);
	say_text("against", h->name);
	say_text("code", b.code);
	say_number("runs", b.runs);
	say_end();
}

void
neighbour(const char *name, int times)
{
	struct rig *r = rig_open(name);

	for (size_t i = 0; i < HOSTILES; i++) {
		rig_calm(r);
		hellos(r, name, "", times, 0);
		beside(r, name, &hostiles[i], times);
	}
	rig_calm(r);
	hellos(r, name, "", times, 0);
	rig_close(r);
}
