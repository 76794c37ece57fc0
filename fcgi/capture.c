#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/own.h"

static bool
start(pid_t *pid, const char *program, char *const *argv, int to)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:"
			     "/usr/bin:/sbin:/bin";
	char *const environment[] = { path, NULL };
	posix_spawn_file_actions_t files;
	bool ok;

	if (posix_spawn_file_actions_init(&files) != 0)
		return false;
	ok = posix_spawn_file_actions_addopen(
		 &files, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
	     posix_spawn_file_actions_adddup2(&files, to, STDOUT_FILENO) == 0 &&
	     posix_spawn_file_actions_addopen(
		 &files, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
	     posix_spawn(pid, program, &files, NULL, argv, environment) == 0;
	posix_spawn_file_actions_destroy(&files);
	return ok;
}

static enum status
read_all(struct buf *out, int fd, int64_t deadline_ms)
{
	char block[16384];

	for (;;) {
		enum status st = io_wait(fd, POLLIN, deadline_ms);
		ssize_t n;

		if (st != ST_OK)
			return st;
		n = read(fd, block, sizeof(block));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ST_IO;
		if (n == 0)
			return ST_OK;
		buf_add(out, block, (size_t)n);
		if (buf_status(out) != ST_OK)
			return buf_status(out);
	}
}

enum status
capture_output(char **out, const char *program, char *const *argv, size_t max,
    uint64_t wait_ms)
{
	OWN_BUF struct buf text;
	OWN_FD int from = -1;
	int ends[2];
	int end = 0;
	pid_t pid = 0;
	enum status st;
	bool started;

	*out = NULL;
	buf_init(&text, max);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return ST_IO;
	from = ends[0];
	started = start(&pid, program, argv, ends[1]);
	close(ends[1]);
	if (!started)
		return ST_IO;
	st = read_all(&text, from, io_now_ms() + (int64_t)wait_ms);
	if (st != ST_OK)
		kill(pid, SIGKILL);
	while (waitpid(pid, &end, 0) < 0 && errno == EINTR)
		;
	if (st == ST_OK && (!WIFEXITED(end) || WEXITSTATUS(end) != 0))
		st = ST_REFUSED;
	if (st != ST_OK)
		return st;
	buf_addc(&text, '\0');
	*out = buf_take(&text, NULL);
	return *out == NULL ? ST_NOMEM : ST_OK;
}
