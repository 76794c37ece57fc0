#include "box/verdict.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "box/filter.h"

/* The kernel charges in batches, so it refuses a little before the limit: up
 * to a huge page and what its per-CPU caches hold. */
#define WALL_SLACK (8u << 20)

typedef unsigned long long number; /* what %llu takes */

static void __attribute__((format(printf, 2, 3)))
say(struct wire_result *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(out->text, sizeof(out->text), fmt, ap);
	va_end(ap);
}

/* Ended by a limit: what the program did in its last moments is chance. */
static void
limited(struct wire_result *out, enum status st)
{
	out->status = (uint32_t)st;
	out->exit_code = -1;
	out->signal = 0;
}

static uint64_t
cpu_limit_us(const struct verdict_evidence *ev)
{
	return ev->limits.timeout_ms * 1000 * ev->cores;
}

/*
 * The kernel killed for memory. At the run's own limit that is the program's
 * doing. Far below it the whole host was short of memory, and that is ours.
 */
static bool
hit_wall(const struct verdict_evidence *ev)
{
	return ev->oom_kills > 0 &&
	       (ev->wall_hits > 0 ||
		   ev->memory_peak + WALL_SLACK >= ev->memory_wall);
}

static bool
over_time(const struct verdict_evidence *ev)
{
	if (ev->stop == VERDICT_STOP_TIME && !ev->reported)
		return true;
	/* Stopped for time, but it had ended in time: that race is decided in
	 * the program's favour. */
	return ev->duration_us > ev->limits.timeout_ms * 1000;
}

static bool
over_cpu(const struct verdict_evidence *ev)
{
	return ev->stop == VERDICT_STOP_CPU || ev->cpu_us > cpu_limit_us(ev);
}

static void
by_limit_of_memory(struct wire_result *out, const struct verdict_evidence *ev)
{
	if (ev->stop == VERDICT_STOP_MEMORY) {
		limited(out, ST_EXECUTION_MEMORY_LIMIT_EXCEEDED);
		say(out,
		    "memory limit of %llu bytes exceeded: %llu bytes in use "
		    "other than files",
		    (number)ev->limits.memory_bytes, (number)ev->memory_used);
		return;
	}
	/* A killed child leaves the main process its own end. */
	out->status = ST_EXECUTION_MEMORY_LIMIT_EXCEEDED;
	if (out->signal == SIGKILL)
		out->signal = 0;
	say(out,
	    "memory limit of %llu bytes exceeded: the run reached %llu bytes, "
	    "files of at most %llu bytes included",
	    (number)ev->limits.memory_bytes,
	    (number)(ev->memory_peak > 0 ? ev->memory_peak : ev->memory_wall),
	    (number)ev->limits.work_bytes);
}

static void
by_limit_of_output(struct wire_result *out, const struct verdict_evidence *ev)
{
	uint64_t seen = ev->limits.output_bytes + ev->lost[0] + ev->lost[1];

	limited(out, ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED);
	say(out, "output limit of %llu bytes exceeded: at least %llu written",
	    (number)ev->limits.output_bytes, (number)seen);
}

static void
by_limit_of_cpu(struct wire_result *out, const struct verdict_evidence *ev)
{
	limited(out, ST_SANDBOX_TIMEOUT);
	say(out, "CPU time limit of %llu ms exceeded: %llu ms used",
	    (number)cpu_limit_us(ev) / 1000, (number)ev->cpu_us / 1000);
}

static void
by_limit_of_time(struct wire_result *out, const struct verdict_evidence *ev)
{
	limited(out, ST_SANDBOX_TIMEOUT);
	say(out, "time limit of %llu ms exceeded: ran for %llu ms",
	    (number)ev->limits.timeout_ms, (number)ev->duration_us / 1000);
}

/* An engine with a limit of its own, which V8 derives from the host's memory,
 * aborts where that one is reached first. */
static bool
gave_up(const struct wire_result *out, const struct verdict_evidence *ev)
{
	return out->signal == SIGABRT &&
	       ev->memory_used >= ev->limits.memory_bytes / 4 * 3;
}

static const char *
times(uint32_t n)
{
	return n == 1 ? "time" : "times";
}

/* A failed program was refused something. That need not be why it failed, but
 * is what its author wants to know first. */
static void
refused(
    struct wire_result *out, const struct verdict_evidence *ev, const char *end)
{
	const struct wire_seen *seen = &ev->seen;

	if (seen->network > 0) {
		out->status = ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED;
		say(out,
		    "there is no network: the program tried to reach it %u "
		    "%s, and it %s",
		    seen->network, times(seen->network), end);
		return;
	}
	out->status = ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL;
	if (seen->denied > 0)
		say(out,
		    "the sandbox refused a system call %u %s, %s first, and it "
		    "%s",
		    seen->denied, times(seen->denied),
		    filter_call(seen->first_denied), end);
	else if (seen->writes > 0)
		say(out,
		    "the program tried to write outside /box and /tmp %u %s, "
		    "and it %s",
		    seen->writes, times(seen->writes), end);
	else
		say(out, "the sandbox refused a foreign system call: it %s",
		    end);
}

static void
by_itself(struct wire_result *out, const struct verdict_evidence *ev)
{
	const char *name,
	    *full = ev->box_full ? "; no room was left for files" : "";
	char end[96];

	if (out->signal == 0 && out->exit_code == 0) {
		out->status = ST_OK;
		return;
	}
	name = sigabbrev_np(out->signal);
	if (out->signal == 0)
		(void)snprintf(end, sizeof(end), "ended with exit code %d%s",
		    out->exit_code, full);
	else
		(void)snprintf(end, sizeof(end),
		    "was ended by signal %d (SIG%s)%s", out->signal,
		    name == NULL ? "?" : name, full);
	if (gave_up(out, ev)) {
		out->status = ST_EXECUTION_MEMORY_LIMIT_EXCEEDED;
		say(out,
		    "the program %s with %llu bytes in use other than files, "
		    "of a memory limit of %llu",
		    end, (number)ev->memory_used,
		    (number)ev->limits.memory_bytes);
		return;
	}
	/* SIGSYS is the filter's answer to a foreign system call interface. */
	if (ev->seen.network > 0 || ev->seen.denied > 0 ||
	    ev->seen.writes > 0 || out->signal == SIGSYS) {
		refused(out, ev, end);
		return;
	}
	out->status = ST_EXECUTION_RUNTIME_ERROR;
	say(out, "the program %s", end);
}

static enum status
ours(struct wire_result *out, const char *why)
{
	limited(out, ST_SANDBOX_SETUP_FAILED);
	say(out, "%s", why);
	return ST_SANDBOX_SETUP_FAILED;
}

static uint32_t
capped(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

enum status
verdict_judge(struct wire_result *out, const struct verdict_evidence *ev)
{
	memset(out, 0, sizeof(*out));
	out->type = WIRE_RESULT;
	out->exit_code = -1;
	out->duration_us = ev->duration_us;
	out->start_us = ev->start_us;
	out->cpu_us = ev->cpu_us;
	out->max_memory_bytes =
	    ev->memory_peak > 0 ? ev->memory_peak : ev->memory_used;
	out->lost[0] = capped(ev->lost[0]);
	out->lost[1] = capped(ev->lost[1]);
	if (ev->reported && WIFEXITED(ev->wait_status))
		out->exit_code = WEXITSTATUS(ev->wait_status);
	else if (ev->reported && WIFSIGNALED(ev->wait_status))
		out->signal = WTERMSIG(ev->wait_status);

	if (ev->oom_kills > 0 && !hit_wall(ev))
		return ours(out, "the host ran out of memory");
	if (ev->stop == VERDICT_STOP_OUTPUT)
		by_limit_of_output(out, ev);
	else if (ev->stop == VERDICT_STOP_MEMORY || hit_wall(ev))
		by_limit_of_memory(out, ev);
	else if (over_cpu(ev))
		by_limit_of_cpu(out, ev);
	else if (over_time(ev))
		by_limit_of_time(out, ev);
	else if (!ev->reported || (out->exit_code < 0 && out->signal == 0))
		return ours(out, "the sandbox ended without a report");
	else
		by_itself(out, ev);
	return ST_OK;
}
