#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

/* Whole line, its end included. One write(2) of this size to a pipe is not
 * torn apart by other writers (PIPE_BUF is 4096). */
#define LINE_BYTES 2048

static const char cut_mark[3] = { '.', '.', '.' };

static const char *log_role = "tollbox";
static enum log_level log_most = LOG_LEVEL_INFO;
static bool log_journal;

static const struct {
	const char *name;
	int priority; /* of syslog(3), as journald reads it in <N> */
} levels[LOG_LEVEL_MAX] = {
	[LOG_LEVEL_ERR] = { "err", 3 },
	[LOG_LEVEL_WARN] = { "warn", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

/* A terminal inside somebody's systemd session inherits JOURNAL_STREAM too,
 * so it only counts if it names the stderr we have (systemd.exec(5)). */
static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char ours[64];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
		return false;
	snprintf(ours, sizeof(ours), "%" PRIuMAX ":%" PRIuMAX,
	    (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, ours) == 0;
}

void
log_open(const char *role, enum log_level most)
{
	log_role = role;
	log_most = most;
	log_journal = stderr_is_journal();
}

/* "<N>" or the time, then "role: level: ". Gives its length. */
static size_t
put_head(char *line, size_t cap, enum log_level level)
{
	char when[40] = "";
	struct timespec now;
	struct tm tm;
	int n;

	if (log_journal) {
		n = snprintf(line, cap, "<%d>%s: %s: ", levels[level].priority,
		    log_role, levels[level].name);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		gmtime_r(&now.tv_sec, &tm);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
		n = snprintf(line, cap, "%s.%03ldZ %s: %s: ", when,
		    now.tv_nsec / 1000000, log_role, levels[level].name);
	}
	if (n < 0)
		return 0;
	return (size_t)n < cap ? (size_t)n : cap - 1;
}

/* Append text to the line of at bytes, escaped, as far as it fits in cap; what
 * does not fit is marked. Gives the new length. */
static size_t
put_text(char *line, size_t at, size_t cap, const char *text, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const size_t mark = sizeof(cut_mark);
	size_t i = 0, step;
	uint32_t cp;

	while (i < len) {
		step = utf8_next(&cp, text + i, len - i);
		if (step == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
			/* Control characters (C1 too: terminals obey them)
			 * byte by byte, so that nothing is lost. */
			if (cap - at < 4 + mark)
				break;
			line[at++] = '\\';
			line[at++] = 'x';
			line[at++] = digits[(uint8_t)text[i] >> 4];
			line[at++] = digits[(uint8_t)text[i] & 15];
			i++;
			continue;
		}
		if (cap - at < step + mark)
			break;
		memcpy(line + at, text + i, step);
		at += step;
		i += step;
	}
	if (i < len) {
		memcpy(line + at, cut_mark, mark);
		at += mark;
	}
	return at;
}

void
log_write(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	char text[LINE_BYTES], line[LINE_BYTES];
	size_t len;
	ssize_t n;
	va_list ap;

	if (level > log_most || level >= LOG_LEVEL_MAX)
		return;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	len = put_head(line, sizeof(line) / 4, level);
	len = put_text(line, len, sizeof(line) - 1, text, strlen(text));
	line[len++] = '\n';
	do {
		n = write(STDERR_FILENO, line, len);
	} while (n < 0 && errno == EINTR);
	errno = saved;
}
