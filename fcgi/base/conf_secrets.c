#include "base/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/conf_table.h"
#include "base/conf_value.h"
#include "base/io.h"
#include "base/own.h"

#define SECRET_BYTES 8192

static enum status
read_secret(struct conf_facilitator *n, struct fault *f)
{
	const struct conf_table_key *k =
	    conf_table_key(CONF_TABLE_FACILITATOR, "auth_header");
	const char *path = n->auth_header_file;
	OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct fault why = { .st = ST_BUG };
	struct stat sb;
	char *text = NULL;
	size_t len = 0;
	enum status st;

	if (fd < 0 || fstat(fd, &sb) != 0)
		return fault_set(f, ST_IO,
		    "[facilitator:%s] auth_header_file: %s: %s", n->name, path,
		    strerror(errno));
	if (!S_ISREG(sb.st_mode) || (sb.st_mode & S_IRWXO) != 0)
		return fault_set(f, ST_FORMAT,
		    "[facilitator:%s] auth_header_file: %s must be a file that "
		    "others may not read (chmod 600)",
		    n->name, path);
	st = io_read_file(fd, SECRET_BYTES, &text, &len);
	if (st != ST_OK)
		return fault_set(f, st,
		    "[facilitator:%s] auth_header_file: %s: cannot be read",
		    n->name, path);
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	st = memchr(text, '\0', len) == NULL || strlen(text) + 1 >= len
		 ? conf_value_set(n, k, text, &why)
		 : fault_set(&why, ST_FORMAT, "must be one header line");
	explicit_bzero(text, len);
	free(text);
	if (st == ST_FORMAT)
		return fault_set(f, st,
		    "[facilitator:%s] auth_header_file: %s %s", n->name, path,
		    why.message);
	return st;
}

enum status
conf_secrets(struct conf *c, struct fault *f)
{
	for (size_t i = 0; i < c->n_facilitators; i++) {
		enum status st;

		if (c->facilitators[i].auth_header_file == NULL)
			continue;
		st = read_secret(&c->facilitators[i], f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}
