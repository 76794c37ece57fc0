#include "base/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/conf_table.h"
#include "base/conf_value.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/own.h"

#define SECRET_BYTES ((size_t)8192)

/* A secret file, and the setting that its text fills. */
struct secret {
	const char *path;
	const char *where; /* for messages: section and key */
	mode_t closed_to;  /* who must not be able to read it */
	bool coded;	   /* kept as base64: it has many lines */
	void *section;
	const struct conf_table_key *key;
};

/* The whole file, NUL-terminated; the caller wipes it. */
static enum status
read_private(char **text, size_t *len, const struct secret *s, struct fault *f)
{
	OWN_FD int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat sb;
	enum status st;

	if (fd < 0 || fstat(fd, &sb) != 0)
		return fault_set(
		    f, ST_IO, "%s: %s: %s", s->where, s->path, strerror(errno));
	if (!S_ISREG(sb.st_mode) || (sb.st_mode & s->closed_to) != 0)
		return fault_set(f, ST_FORMAT,
		    "%s: %s must be a file that others may not read "
		    "(chmod 600)",
		    s->where, s->path);
	st = io_read_file(fd, SECRET_BYTES, text, len);
	if (st != ST_OK)
		return fault_set(
		    f, st, "%s: %s: cannot be read", s->where, s->path);
	return ST_OK;
}

static enum status
keep_line(const struct secret *s, char *text, size_t len, struct fault *why)
{
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	if (memchr(text, '\0', len) != NULL && strlen(text) + 1 < len)
		return fault_set(why, ST_FORMAT, "must hold one line");
	return conf_value_set(s->section, s->key, text, why);
}

static enum status
keep_coded(
    const struct secret *s, const char *text, size_t len, struct fault *why)
{
	struct buf coded;
	enum status st;

	buf_init(&coded, SECRET_BYTES * 2);
	hex_base64(&coded, text, len);
	st = buf_status(&coded);
	if (st == ST_OK)
		st = conf_value_set(s->section, s->key, buf_cstr(&coded), why);
	if (coded.data != NULL)
		explicit_bzero(coded.data, coded.cap);
	buf_free(&coded);
	return st;
}

static enum status
read_secret(const struct secret *s, struct fault *f)
{
	struct fault why = { .st = ST_BUG };
	char *text = NULL;
	size_t len = 0;
	enum status st;

	if (s->path == NULL)
		return ST_OK;
	st = read_private(&text, &len, s, f);
	if (st != ST_OK || text == NULL)
		return st == ST_OK ? ST_BUG : st;
	st = s->coded ? keep_coded(s, text, len, &why)
		      : keep_line(s, text, len, &why);
	explicit_bzero(text, len);
	free(text);
	if (st == ST_FORMAT)
		return fault_set(
		    f, st, "%s: %s %s", s->where, s->path, why.message);
	return st;
}

static enum status
read_of_facilitator(struct conf_facilitator *n, const char *key,
    const char *path, bool coded, struct fault *f)
{
	char where[96];
	const struct secret s = {
		.path = path,
		.where = where,
		.closed_to = S_IRWXO,
		.coded = coded,
		.section = n,
		.key = conf_table_key(CONF_TABLE_FACILITATOR, key),
	};

	snprintf(
	    where, sizeof(where), "[facilitator:%s] %s_file", n->name, key);
	return read_secret(&s, f);
}

/* It may be a wallet's: no group either. */
static enum status
read_offer_key(struct conf *c, struct fault *f)
{
	const struct secret s = {
		.path = c->offer_signing_key_file,
		.where = "[service] offer_signing_key_file",
		.closed_to = S_IRWXG | S_IRWXO,
		.section = c,
		.key = conf_table_key(CONF_TABLE_SERVICE, "offer_signing_key"),
	};

	return read_secret(&s, f);
}

enum status
conf_secrets(struct conf *c, struct fault *f)
{
	enum status st = read_offer_key(c, f);

	for (size_t i = 0; i < c->n_facilitators && st == ST_OK; i++) {
		struct conf_facilitator *n = &c->facilitators[i];

		st = read_of_facilitator(
		    n, "auth_header", n->auth_header_file, false, f);
		if (st == ST_OK)
			st = read_of_facilitator(
			    n, "cdp_key", n->cdp_key_file, true, f);
	}
	return st;
}
