/*
 * A sandbox-init that says anything at any time, with anything attached: one
 * cell (box/cell.c) from its start to its end, with its timers, driven by the
 * input. In place of a sandbox there is a socket pair (cell_scene.h).
 *
 * What must hold: one end, which comes within the deadlines; nothing is left
 * open; no run is called started that was not released; and the verdict is one
 * that the gate takes (box/client.c) and that fits what was measured.
 */
#include "cell_scene.h"

#include <sys/mman.h>

#include "base/wire.h"

#define TIMEOUT_MS 1000
/* All stays in a state that there are, one after the other. */
#define LIFE_US 90000000

/* ---- the owner ---- */

static void
on_ready(void *ctx)
{
	(void)ctx;
	must(w.ready++ == 0 && w.ended == 0 && !w.loaded);
}

static void
on_started(void *ctx)
{
	(void)ctx;
	must(w.loaded && w.started++ == 0 && w.ended == 0);
}

/* What box/client.c takes as an answer. */
static void
check_result(const struct wire_result *r)
{
	bool by_itself = r->exit_code >= 0 || r->signal > 0;

	must(r->exit_code >= -1 && r->exit_code <= 255);
	must(r->signal >= 0 && r->signal <= 64);
	must(r->exit_code < 0 || r->signal == 0);
	must(memchr(r->text, '\0', sizeof(r->text)) != NULL);
	must((r->status == ST_OK) == (r->text[0] == '\0'));
	switch (r->status) {
	case ST_OK:
		must(r->exit_code == 0);
		break;
	case ST_SANDBOX_TIMEOUT:
	case ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED:
		must(!by_itself);
		break;
	case ST_EXECUTION_MEMORY_LIMIT_EXCEEDED:
		break;
	case ST_EXECUTION_RUNTIME_ERROR:
	case ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED:
	case ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL:
		must(by_itself && r->exit_code != 0);
		break;
	default:
		abort();
	}
	must(r->duration_us <= (uint64_t)(w.now_us - w.opened_us));
}

static void
on_ended(void *ctx)
{
	struct verdict_evidence ev;
	struct wire_result r;
	enum status st = cell_outcome(&ev, w.cell), judged;

	(void)ctx;
	must(w.ended++ == 0);
	must(st == ST_OK || st == ST_SANDBOX_SETUP_FAILED ||
	     st == ST_SANDBOX_INVALID_REQUEST);
	/* Its files did fit, so it may not say otherwise any more. */
	must(st != ST_SANDBOX_INVALID_REQUEST || w.started == 0);
	must(!ev.reported || w.started == 1);
	judged = verdict_judge(&r, &ev);
	must(judged == ST_OK || judged == ST_SANDBOX_SETUP_FAILED);
	if (st == ST_OK && w.started == 1 && judged == ST_OK)
		check_result(&r);
}

/* ---- what the input does ---- */

static void
send_with(const void *m, size_t len, const int *fds, size_t n)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(3 * sizeof(int))];
	} control = { .bytes = { 0 } };
	const union {
		const void *in;
		void *out;
	} base = { .in = m };
	struct iovec iov = { .iov_base = base.out, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *head;

	if (n > 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		head = CMSG_FIRSTHDR(&msg);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(head), fds, n * sizeof(int));
	}
	/* Fails where the cell has closed, or its queue is full. */
	(void)!sendmsg(w.init, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Attached as the upper half of the operation's byte says. */
static void
say(const void *m, size_t len, unsigned how)
{
	int memfd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int fds[3] = { memfd, w.init, memfd };

	must(memfd >= 0);
	if (w.init >= 0)
		switch (how) {
		case 10:
			send_with(m, len, fds, 1);
			break;
		case 11:
			send_with(m, len, fds, 2);
			break;
		case 12:
			send_with(m, len, fds, 3);
			break;
		case 13: /* what tells of its own end */
			send_with(m, len, fds + 1, 1);
			break;
		default:
			send_with(m, len, NULL, 0);
		}
	close(memfd);
}

static void
say_simple(enum wire_type type, unsigned how)
{
	const struct wire_simple m = { .type = type };

	say(&m, sizeof(m), how);
}

static void
say_report(struct input *in, unsigned how)
{
	struct wire_init_report m;
	uint8_t sound = input_byte(in);

	input_fill(in, &m, sizeof(m));
	m.type = WIRE_INIT_REPORT;
	if ((sound & 1) != 0)
		m.started_us = (uint64_t)w.now_us - (sound >> 2);
	if ((sound & 2) != 0)
		m.ended_us = (uint64_t)w.now_us;
	say(&m, sizeof(m), how);
}

static void
say_extras(struct input *in, unsigned how)
{
	struct wire_init_extras m;

	input_fill(in, &m, sizeof(m));
	m.type = WIRE_INIT_EXTRAS;
	say(&m, sizeof(m), how);
}

static void
say_failed(struct input *in, unsigned how)
{
	struct wire_init_failed m;

	input_fill(in, &m, sizeof(m));
	m.type = WIRE_INIT_FAILED;
	say(&m, sizeof(m), how);
}

static void
say_anything(struct input *in, unsigned how)
{
	const uint8_t *m;
	size_t n = input_take(in, &m, input_byte(in));

	say(m, n, how);
}

static void
measure(struct input *in)
{
	uint8_t which = input_byte(in);
	uint64_t *const field[8] = { &w.use.memory, &w.use.cpu_us,
		&w.use.memory_peak, &w.use.oom_kills, &w.use.others,
		&w.use.wall_hits };

	if (field[which & 7] != NULL)
		*field[which & 7] = (uint64_t)input_byte(in)
				    << ((which >> 3) * 2);
}

static void
load(struct input *in)
{
	bool waits = cell_waits(w.cell);

	w.loaded = w.loaded || waits;
	cell_load(w.cell, -1, 1, input_byte(in) & 7u);
}

static void
hand_over(struct input *in, const struct cell_hooks *hooks)
{
	const struct limits l = { .timeout_ms = TIMEOUT_MS,
		.memory_bytes = (uint64_t)input_byte(in) << 20,
		.output_bytes = 1 << 20,
		.work_bytes = 1 << 20 };

	if (!w.loaded && w.ended == 0)
		cell_hand_over(w.cell, &l, hooks);
}

static void
reap(void)
{
	if (w.reaped)
		return;
	w.reaped = true;
	must(cell_reaped(w.cell, MONITOR));
}

static void
operate(struct input *in, struct loop *l, const struct cell_hooks *hooks)
{
	uint8_t op = input_byte(in);
	unsigned how = op >> 4;

	switch (op & 15) {
	case 0:
		say_simple(WIRE_INIT_READY, how);
		break;
	case 1:
		say_simple(WIRE_INIT_WARMED, how);
		break;
	case 2:
		say_simple(WIRE_INIT_STARTED, how);
		break;
	case 3:
		say_report(in, how);
		break;
	case 4:
		say_extras(in, how);
		break;
	case 5:
		say_failed(in, how);
		break;
	case 6:
		say_anything(in, how);
		break;
	case 7:
		load(in);
		break;
	case 8:
		cell_stop(w.cell, (enum verdict_stop)(1 + (how & 3)));
		break;
	case 9:
		/* Its own group stays what it is. */
		w.whims = (w.whims & WHIM_GROUP) |
			  (input_byte(in) & ~(unsigned)WHIM_GROUP);
		break;
	case 10:
		measure(in);
		break;
	case 11:
		die();
		break;
	case 12:
		reap();
		break;
	case 13:
		hand_over(in, hooks);
		break;
	case 14:
		if (how > 7)
			end_of(&w.init);
		else
			w.now_us += INT64_C(1) << (3 * how);
		break;
	case 15:
		must(loop_turn(l) == ST_OK);
		break;
	}
}

/* From now on it dies when it is killed, and everything comes to its end by
 * itself; only one that waits for a job may do so for ever. */
static void
finish(struct loop *l)
{
	int64_t until_us = w.now_us + LIFE_US;

	w.whims &= WHIM_GROUP | WHIM_ALONE;
	while (!cell_closed(w.cell)) {
		if (cell_waits(w.cell))
			cell_kill(w.cell);
		must(w.now_us <= until_us);
		must(loop_turn(l) == ST_OK);
		if (w.life < 0 && w.init < 0)
			reap();
	}
	must(w.ended == 1 && !cell_lost(w.cell));
}

static void
check_extras(void)
{
	uint64_t len;
	int fd = cell_extras(w.cell, &len);

	if (fd < 0)
		return;
	must(w.started == 1 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct limits limits = { .timeout_ms = TIMEOUT_MS,
		.memory_bytes = 64 << 20,
		.output_bytes = 1 << 20,
		.work_bytes = 1 << 20 };
	static const struct conf conf = { .cores = 1 };
	static const struct conf_runtime runtime = { .pool = 1 };
	const struct cell_hooks hooks = {
		.ready = on_ready, .started = on_started, .ended = on_ended
	};
	struct hull_host host = { .conf = &conf };
	struct input in = { data, size };
	size_t fds = fuzz_fds();
	struct loop *l;
	uint8_t first = input_byte(&in);
	int pipes[3];

	memset(&w, 0, sizeof(w));
	w.init = w.life = -1;
	w.opened_us = w.now_us = 1000000;
	w.whims = first & WHIM_GROUP;
	must(loop_open(&l) == ST_OK);
	/* A hook is only ever looked at by those above. */
	must(cell_open(&w.cell, pipes, l, &host, &runtime, "main.x", &limits,
		 (first & 2) != 0 ? (const struct hook *)&w : NULL,
		 &hooks) == ST_OK);
	while (in.left > 0)
		operate(&in, l, &hooks);
	finish(l);
	check_extras();
	die();
	cell_free(w.cell);
	loop_close(l);
	must(fuzz_fds() == fds);
	return 0;
}
