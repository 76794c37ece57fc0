#include "base/conf_hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_table.h"
#include "base/conf_value.h"
#include "base/hex.h"
#include "base/io.h"
#include "base/own.h"

/* In base64 it must be a value. */
#define HOOK_BYTES ((size_t)CONF_VALUE_BYTES / 4 * 3)

/* key is "hook" or "helper", and text_key where what stands in it goes. */
static enum status
load(struct conf_runtime *r, const char *key, const char *text_key,
    const char *path, struct fault *f)
{
	OWN_FREE char *text = NULL;
	struct fault why = { .st = ST_BUG };
	struct buf coded;
	enum status st;
	size_t len = 0;

	st = io_read_path(path, HOOK_BYTES, &text, &len);
	if (st != ST_OK)
		return fault_set(f, st, "[runtime:%s] %s: %s: %s", r->name, key,
		    path, st == ST_TOO_BIG ? "is too long" : "cannot be read");
	buf_init(&coded, CONF_VALUE_BYTES + 8);
	hex_base64(&coded, text, len);
	st = buf_status(&coded);
	if (st == ST_OK)
		st = conf_value_set(r,
		    conf_table_key(CONF_TABLE_RUNTIME, text_key),
		    buf_cstr(&coded), &why);
	buf_free(&coded);
	if (st != ST_OK)
		return fault_set(f, st, "[runtime:%s] %s: %s %s", r->name, key,
		    path, why.message);
	return ST_OK;
}

/* Where a file of the runtime's is; NULL: no memory. */
static char *
path_of(const struct conf *c, const struct conf_runtime *r, const char *file)
{
	char *path;

	if (file[0] == '/')
		return strdup(file);
	if (asprintf(&path, "%s/%s/%s", c->runtimes_dir, r->name, file) < 0)
		return NULL;
	return path;
}

static enum status
load_helper(const struct conf *c, struct conf_runtime *r, struct fault *f)
{
	OWN_FREE char *path = NULL;

	if (r->helper == NULL)
		return ST_OK;
	if (r->hook == NULL || r->helper_does == NULL)
		return fault_set(f, ST_FORMAT,
		    "[runtime:%s] helper needs hook and helper_does", r->name);
	path = path_of(c, r, r->helper);
	if (path == NULL)
		return ST_NOMEM;
	return load(r, "helper", "helper_text", path, f);
}

enum status
conf_hook_load(struct conf *c, struct fault *f)
{
	for (size_t i = 0; i < c->n_runtimes; i++) {
		struct conf_runtime *r = &c->runtimes[i];
		OWN_FREE char *path = NULL;
		enum status st = load_helper(c, r, f);

		if (st != ST_OK)
			return st;
		if (r->hook == NULL)
			continue;
		if (r->hook_at == NULL)
			return fault_set(f, ST_FORMAT,
			    "[runtime:%s] hook needs hook_at", r->name);
		path = path_of(c, r, r->hook);
		if (path == NULL)
			return ST_NOMEM;
		st = load(r, "hook", "hook_text", path, f);
		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}
