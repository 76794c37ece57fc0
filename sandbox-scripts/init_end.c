/*
 * How this works. After its last instruction a process takes the kernel
 * milliseconds to take apart. So the end is noted where it begins: in the call
 * exit_group() of the main process, which the filter shows to PID 1
 * (init_watch.c). It waits there until it is killed with all that is left,
 * other threads and other processes, right before the report. That all have
 * stopped the boxer finds out for itself, and answers; it does not have to wait
 * for the memory to be free.
 */
#include "init.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pid_t main_pid;
static bool peak_wanted;
static struct init_end end;

void
init_end_watch(pid_t pid, bool peak)
{
	main_pid = pid;
	peak_wanted = peak;
}

uint64_t
init_end_cpu_us(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 ||
	    clock_gettime(clock, &used) < 0)
		return 0;
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* The most memory that it had at a time. */
static uint64_t
peak_bytes(pid_t pid)
{
	char path[32], text[4096], *at;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, "\nVmHWM:");
	return at == NULL ? 0 : strtoull(at + 7, NULL, 10) * 1024;
}

static bool
of_main(pid_t tid)
{
	char path[64];

	if (tid == main_pid)
		return true;
	(void)snprintf(
	    path, sizeof(path), "/proc/%d/task/%d", (int)main_pid, (int)tid);
	return access(path, F_OK) == 0;
}

void
init_end_note(pid_t tid, uint64_t code)
{
	if (main_pid == 0 || end.noted || !of_main(tid))
		return;
	end.noted = true;
	end.at_us = init_now_us();
	end.wait_status = (int)(code & 0xff) << 8;
	end.cpu_us = init_end_cpu_us(main_pid);
	if (peak_wanted)
		end.max_rss_bytes = peak_bytes(main_pid);
}

const struct init_end *
init_end(void)
{
	return end.noted ? &end : NULL;
}
