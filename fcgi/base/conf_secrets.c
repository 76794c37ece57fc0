#include "base/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/conf_table.h"
#include "base/conf_value.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/own.h"

#define SECRET_BYTES ((size_t)8192)

/* One secret file: which setting names it, where its text goes. */
struct secret {
	const char *key;      /* "auth_header_file" */
	const char *text_key; /* "auth_header" */
	bool coded;	      /* kept as base64: it has many lines */
};

/* The whole file, NUL-terminated; the caller wipes it. */
static enum status
read_private(char **text, size_t *len, const struct conf_facilitator *n,
    const struct secret *s, const char *path, struct fault *f)
{
	OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;
	enum status st;

	if (fd < 0 || fstat(fd, &sb) != 0)
		return fault_set(f, ST_IO, "[facilitator:%s] %s: %s: %s",
		    n->name, s->key, path, strerror(errno));
	if (!S_ISREG(sb.st_mode) || (sb.st_mode & S_IRWXO) != 0)
		return fault_set(f, ST_FORMAT,
		    "[facilitator:%s] %s: %s must be a file that others may "
		    "not read (chmod 600)",
		    n->name, s->key, path);
	st = io_read_file(fd, SECRET_BYTES, text, len);
	if (st != ST_OK)
		return fault_set(f, st,
		    "[facilitator:%s] %s: %s: cannot be read", n->name, s->key,
		    path);
	return ST_OK;
}

static enum status
keep_line(struct conf_facilitator *n, const struct conf_table_key *k,
    char *text, size_t len, struct fault *why)
{
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	if (memchr(text, '\0', len) != NULL && strlen(text) + 1 < len)
		return fault_set(why, ST_FORMAT, "must be one header line");
	return conf_value_set(n, k, text, why);
}

static enum status
keep_coded(struct conf_facilitator *n, const struct conf_table_key *k,
    const char *text, size_t len, struct fault *why)
{
	struct buf coded;
	enum status st;

	buf_init(&coded, SECRET_BYTES * 2);
	hex_base64(&coded, text, len);
	st = buf_status(&coded);
	if (st == ST_OK)
		st = conf_value_set(n, k, buf_cstr(&coded), why);
	if (coded.data != NULL)
		explicit_bzero(coded.data, coded.cap);
	buf_free(&coded);
	return st;
}

static enum status
read_secret(struct conf_facilitator *n, const struct secret *s,
    const char *path, struct fault *f)
{
	const struct conf_table_key *k =
	    conf_table_key(CONF_TABLE_FACILITATOR, s->text_key);
	struct fault why = { .st = ST_BUG };
	char *text = NULL;
	size_t len = 0;
	enum status st;

	if (path == NULL)
		return ST_OK;
	st = read_private(&text, &len, n, s, path, f);
	if (st != ST_OK || text == NULL)
		return st == ST_OK ? ST_BUG : st;
	st = s->coded ? keep_coded(n, k, text, len, &why)
		      : keep_line(n, k, text, len, &why);
	explicit_bzero(text, len);
	free(text);
	if (st == ST_FORMAT)
		return fault_set(f, st, "[facilitator:%s] %s: %s %s", n->name,
		    s->key, path, why.message);
	return st;
}

enum status
conf_secrets(struct conf *c, struct fault *f)
{
	static const struct secret header = { "auth_header_file", "auth_header",
		false };
	static const struct secret key = { "cdp_key_file", "cdp_key", true };

	for (size_t i = 0; i < c->n_facilitators; i++) {
		struct conf_facilitator *n = &c->facilitators[i];
		enum status st =
		    read_secret(n, &header, n->auth_header_file, f);

		if (st == ST_OK)
			st = read_secret(n, &key, n->cdp_key_file, f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}
