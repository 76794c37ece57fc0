#include "base/conf_file.h"

#include <ini.h>
#include <stdbool.h>
#include <string.h>

#include "base/conf_value.h"

/* The longest value, its key and some blanks. */
#define LINE_BYTES (CONF_VALUE_BYTES + 96)
#define INI_BYTES (LINE_BYTES + 3) /* libinih wants room for "\r\n\0" */

struct reader {
	const char *text;
	size_t len;
	size_t at;
	unsigned line; /* number of the line handed out last */
	const char *path;
	conf_file_fn fn;
	void *ctx;
	struct fault *f;
	enum status st;
};

static void
refuse(struct reader *r, enum status st, const char *why)
{
	r->st = fault_set(r->f, st, "%s:%u: %s", r->path, r->line, why);
}

static void
call(struct reader *r, const char *section, const char *key, const char *value)
{
	struct fault f = { .st = ST_BUG };

	r->st = r->fn(r->ctx, r->line, section, key, value, &f);
	if (r->st != ST_OK)
		refuse(r, r->st,
		    f.message[0] != '\0' ? f.message : status_name(r->st));
}

/* What is wrong with a line as such, or NULL. */
static const char *
line_wrong(const char *s, size_t len)
{
	if (len > LINE_BYTES)
		return "the line is over-long";
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 127)
			return "the line holds control characters";
	if (s[0] == ' ' || s[0] == '\t')
		for (size_t i = 0; i < len; i++)
			if (s[i] != ' ' && s[i] != '\t')
				return "the line begins with a blank";
	return NULL;
}

/* libinih takes "[site] x" for "[site]", cuts long names, and is silent about
 * headers with nothing below. */
static void
header(struct reader *r, const char *s, size_t len)
{
	char section[64];

	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	if (len < 2 || memchr(s, ']', len) != s + len - 1) {
		refuse(r, ST_FORMAT, "this is no [section]");
		return;
	}
	if (len - 2 >= sizeof(section)) {
		refuse(r, ST_FORMAT, "unknown section");
		return;
	}
	memcpy(section, s + 1, len - 2);
	section[len - 2] = '\0';
	call(r, section, NULL, NULL);
}

/* libinih's reader: one call a line, as its buffer holds any line we pass. */
static char *
read_line(char *str, int num, void *stream)
{
	struct reader *r = stream;
	const char *s = r->text + r->at;
	const char *end;
	const char *why;
	size_t len;

	if (r->st != ST_OK || r->at >= r->len)
		return NULL;
	end = memchr(s, '\n', r->len - r->at);
	len = end != NULL ? (size_t)(end - s) : r->len - r->at;
	r->at += len + (end != NULL);
	r->line++;
	if (len > 0 && s[len - 1] == '\r')
		len--;
	why = line_wrong(s, len);
	if (why != NULL) {
		refuse(r, ST_FORMAT, why);
		return NULL;
	}
	if (s[0] == '[' && len > 0)
		header(r, s, len);
	if (r->st != ST_OK || num < 0 || len + 2 > (size_t)num)
		return NULL;
	memcpy(str, s, len);
	str[len] = '\n';
	str[len + 1] = '\0';
	return str;
}

static int
handle(void *user, const char *section, const char *name, const char *value)
{
	struct reader *r = user;

	call(r, section, name, value);
	return r->st == ST_OK;
}

enum status
conf_file_parse(const char *text, size_t len, const char *path, conf_file_fn fn,
    void *ctx, struct fault *f)
{
	struct reader r = {
		.text = text,
		.len = len,
		.path = path,
		.fn = fn,
		.ctx = ctx,
		.f = f,
		.st = ST_OK,
	};
	int rc;

	/* Debian builds libinih with these as variables. Its own buffer of 200
	 * bytes would tear a longer line in two, and an inline comment would
	 * cut a text with " ;" in it. */
	ini_use_stack = false;
	ini_allow_realloc = false;
	ini_max_line = INI_BYTES;
	ini_initial_alloc = INI_BYTES;
	ini_allow_multiline = false;
	ini_allow_inline_comments = false;
	ini_allow_no_value = false;
	ini_stop_on_first_error = true;
	rc = ini_parse_stream(read_line, &r, handle, &r);
	if (r.st == ST_OK && rc == -2)
		return ST_NOMEM;
	if (r.st == ST_OK && rc != 0)
		refuse(&r, ST_FORMAT,
		    "neither [section] nor key = value nor comment");
	return r.st;
}
