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
#define JSON_END                                                               \
	4 /* what must fit behind the last value, and the line's end           \
	   */

static const char cut_mark[3] = { '.', '.', '.' };

static const char *log_role = "tollbox";
static enum log_level log_most = LOG_LEVEL_INFO;
static bool log_journal;
static enum log_form log_form;

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

void
log_set_form(enum log_form form)
{
	log_form = form;
}

/* A line on its way. */
struct line {
	char text[LINE_BYTES];
	size_t len;
};

static void add(struct line *l, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What is ours and short. Too long for cap: cut. */
static void
add(struct line *l, size_t cap, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, cap - l->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	l->len += (size_t)n;
	if (l->len >= cap)
		l->len = cap - 1;
}

/* As RFC 3339 has it, in UTC. */
static void
now_text(char out[40])
{
	struct timespec now;
	struct tm tm;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	n = strftime(out, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, 40 - n, ".%03ldZ", now.tv_nsec / 1000000);
}

/* "<N>" or the time, then "role: level: ". */
static void
put_head(struct line *l, enum log_level level)
{
	const size_t cap = sizeof(l->text) / 4;
	char when[40];

	now_text(when);
	if (log_journal)
		add(l, cap, "<%d>", levels[level].priority);
	if (log_form == LOG_FORM_JSON)
		add(l, cap, "{\"time\":\"%s\",\"level\":\"%s\",\"role\":\"%s\"",
		    when, levels[level].name, log_role);
	else
		add(l, cap, "%s%s%s: %s: ", log_journal ? "" : when,
		    log_journal ? "" : " ", log_role, levels[level].name);
}

/* "\\x1b" of two digits, "\\u001b" of four. Gives its length. */
static size_t
put_hex(char out[8], uint32_t value, unsigned digits)
{
	static const char hex[] = "0123456789abcdef";

	out[0] = '\\';
	out[1] = digits == 2 ? 'x' : 'u';
	for (unsigned i = 0; i < digits; i++)
		out[2 + i] = hex[value >> 4 * (digits - 1 - i) & 15];
	return 2 + digits;
}

/* One character of text as it may stand in a line of this form: how many bytes
 * went to out (8 at most), and *step how many of text they are for. */
static size_t
escape(char out[8], size_t *step, const char *text, size_t len, bool json)
{
	uint32_t cp = 0;

	*step = utf8_next(&cp, text, len);
	if (*step == 0 && json) {
		*step = 1;
		return put_hex(out, 0xfffd, 4);
	}
	/* Control characters, C1 too: terminals obey them. In text byte by
	 * byte, so that nothing is lost. */
	if (*step == 0 || cp < 0x20 || (cp >= 0x7f && cp < 0xa0)) {
		if (json)
			return put_hex(out, cp, 4);
		*step = 1;
		return put_hex(out, (uint8_t)text[0], 2);
	}
	if (json && (text[0] == '"' || text[0] == '\\')) {
		out[0] = '\\';
		out[1] = text[0];
		return 2;
	}
	memcpy(out, text, *step);
	return *step;
}

/* Append text, escaped, as far as it fits in cap; what does not fit is
 * marked. */
static void
put_text(struct line *l, size_t cap, const char *text, bool json)
{
	const size_t len = strlen(text);
	char out[8];
	size_t i = 0, step, n;

	while (i < len) {
		n = escape(out, &step, text + i, len - i, json);
		if (l->len + n + sizeof(cut_mark) > cap)
			break;
		memcpy(l->text + l->len, out, n);
		l->len += n;
		i += step;
	}
	if (i < len) {
		memcpy(l->text + l->len, cut_mark, sizeof(cut_mark));
		l->len += sizeof(cut_mark);
	}
}

/* The end of the line, and out with it. */
static void
send_line(struct line *l)
{
	ssize_t n;

	l->text[l->len++] = '\n';
	do {
		n = write(STDERR_FILENO, l->text, l->len);
	} while (n < 0 && errno == EINTR);
}

void
log_write(enum log_level level, const char *fmt, ...)
{
	const bool json = log_form == LOG_FORM_JSON;
	int saved = errno;
	char text[LINE_BYTES];
	struct line l = { .len = 0 };
	va_list ap;

	if (level > log_most || level >= LOG_LEVEL_MAX)
		return;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 0)
		text[0] = '\0';
	va_end(ap);
	put_head(&l, level);
	if (json)
		add(&l, sizeof(l.text), ",\"message\":\"");
	put_text(&l, sizeof(l.text) - JSON_END, text, json);
	if (json)
		add(&l, sizeof(l.text), "\"}");
	send_line(&l);
	errno = saved;
}

/* ---- lines of fields ---- */

/* Could a reader take it for more than one value, or for none? */
static bool
needs_quotes(const char *text)
{
	return text[0] == '\0' || strpbrk(text, " \"=\\") != NULL ||
	       strcmp(text, "-") == 0;
}

static void
put_value(struct line *l, size_t cap, const struct log_field *f, bool json)
{
	bool quotes = f->kind == LOG_TEXT && f->text != NULL &&
		      (json || needs_quotes(f->text));

	if (f->kind == LOG_NUMBER)
		add(l, cap, "%" PRId64, f->number);
	else if (f->text == NULL)
		add(l, cap, "%s", json ? "null" : "-");
	else if (quotes)
		add(l, cap, "\"");
	if (f->kind == LOG_TEXT && f->text != NULL)
		put_text(l, cap, f->text, quotes);
	if (quotes)
		add(l, cap, "\"");
}

static void
put_field(struct line *l, size_t cap, const struct log_field *f, bool first)
{
	const bool json = log_form == LOG_FORM_JSON;

	if (f->kind == LOG_GROUP) {
		add(l, cap, json ? ",\"%s\":{" : " %s:", f->name);
		return;
	}
	if (json)
		add(l, cap, "%s\"%s\":", first ? "" : ",", f->name);
	else
		add(l, cap, " %s=", f->name);
	put_value(l, cap, f, json);
}

void
log_event(enum log_level level, const char *event,
    const struct log_field *fields, size_t n)
{
	const bool json = log_form == LOG_FORM_JSON;
	int saved = errno;
	struct line l = { .len = 0 };
	bool group = false;

	if (level > log_most || level >= LOG_LEVEL_MAX)
		return;
	put_head(&l, level);
	add(&l, sizeof(l.text), json ? ",\"event\":\"%s\"" : "%s", event);
	for (size_t i = 0; i < n; i++) {
		bool first = i > 0 && fields[i - 1].kind == LOG_GROUP;
		size_t before = l.len;

		put_field(&l, sizeof(l.text) - JSON_END, &fields[i], first);
		/* Full: without this one, and so without those behind it. */
		if (l.len >= sizeof(l.text) - JSON_END - 1) {
			l.len = before;
			break;
		}
		group = group || fields[i].kind == LOG_GROUP;
	}
	if (json)
		add(&l, sizeof(l.text), group ? "}}" : "}");
	send_line(&l);
	errno = saved;
}
