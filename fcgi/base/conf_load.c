#include "base/conf_load.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf_dialects.h"
#include "base/conf_file.h"
#include "base/conf_form.h"
#include "base/conf_table.h"
#include "base/conf_value.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"

#define ENV_PREFIX "TOLLBOX_"

/* Give number i of a section its shipped values. */
static enum status
initial(struct conf *c, enum conf_table_section s, size_t i)
{
	void *section = conf_table_struct(c, s, i);

	for (size_t k = 0; k < conf_table_n; k++) {
		const struct conf_table_key *key = &conf_table_keys[k];
		enum status st;

		if (key->section != s || key->initial == NULL)
			continue;
		st = conf_value_set(section, key, key->initial, NULL);
		if (st != ST_OK)
			return st == ST_NOMEM ? st : ST_BUG;
	}
	return ST_OK;
}

enum status
conf_load_shipped(struct conf *c)
{
	for (int s = 0; s < CONF_TABLE_FACILITATOR; s++) {
		enum status st = initial(c, (enum conf_table_section)s, 0);

		if (st != ST_OK)
			return st;
	}
	return ST_OK;
}

/* Set one value unless a stronger source has set it. f gets the reason alone,
 * without the key. */
static enum status
set(struct conf *c, const struct conf_table_key *k, size_t i,
    enum conf_table_source source, unsigned line, const char *value,
    struct fault *f)
{
	struct conf_table_origin *o = &c->origins->at[k - conf_table_keys][i];
	enum status st;

	if (o->source == source && source == CONF_TABLE_ENVIRONMENT)
		return fault_set(f, ST_FORMAT, "is set twice");
	if (o->source == source && source != CONF_TABLE_SHIPPED)
		return fault_set(
		    f, ST_FORMAT, "is set twice, in line %u too", o->line);
	if (o->source > source)
		return ST_OK;
	st = conf_value_set(conf_table_struct(c, k->section, i), k, value, f);
	if (st != ST_OK)
		return st;
	o->source = source;
	o->line = line;
	return ST_OK;
}

/* The section called name, made if it is not there. */
static enum status
instance(size_t *i, struct conf *c, enum conf_table_section s, const char *name,
    struct fault *f)
{
	const char *wrong;
	enum status st;

	*i = 0;
	if (s < CONF_TABLE_FACILITATOR ||
	    conf_table_find(i, c, s, name) == ST_OK)
		return ST_OK;
	if (s == CONF_TABLE_DIALECT)
		return conf_dialects_known(c, name, f);
	wrong = conf_form_name(name);
	if (wrong != NULL)
		return fault_set(f, ST_FORMAT, "[%s:%s] name %s",
		    conf_table_section_name(s), name, wrong);
	st = conf_table_add(i, c, s, name);
	if (st == ST_TOO_BIG)
		return fault_set(f, ST_FORMAT, "too many [%s:…] sections",
		    conf_table_section_name(s));
	return st == ST_OK ? initial(c, s, *i) : st;
}

/* What a file or the environment is being read into. */
struct loading {
	struct conf *conf;
	enum conf_table_source source;
	bool trusted; /* made by conf_write() */
	/* Of a runtime's own file: */
	bool folder;
	size_t runtime;
};

/* One header or setting of a file (conf_file_fn). */
static enum status
take(void *ctx, unsigned line, const char *section, const char *key,
    const char *value, struct fault *f)
{
	struct loading *l = ctx;
	const struct conf_table_key *k;
	enum conf_table_section s = CONF_TABLE_RUNTIME;
	const char *name = NULL;
	struct fault why = { .st = ST_BUG };
	size_t i = l->runtime;
	enum status st;

	if (l->folder) {
		if (section[0] != '\0')
			return fault_set(
			    f, ST_FORMAT, "a runtime.conf has no sections");
	} else {
		if (section[0] == '\0')
			return fault_set(
			    f, ST_FORMAT, "%s is outside of any section", key);
		if (!conf_table_section(&s, &name, section))
			return fault_set(
			    f, ST_FORMAT, "unknown section [%s]", section);
		st = instance(&i, l->conf, s, name, f);
		if (st != ST_OK || key == NULL)
			return st;
	}
	k = conf_table_key(s, key);
	if (k == NULL || ((k->flags & CONF_TABLE_INTERNAL) && !l->trusted))
		return fault_set(f, ST_FORMAT, "unknown key \"%.64s\"", key);
	st = set(l->conf, k, i, l->source, line, value, &why);
	if (st == ST_FORMAT)
		return fault_set(f, st, "%s %s", key, why.message);
	return st;
}

static enum status
load_file(struct loading *l, const char *path, struct fault *f)
{
	OWN_FREE char *text = NULL;
	size_t len = 0;
	enum status st;

	st = io_read_path(path, CONF_FILE_BYTES, &text, &len);
	if (st == ST_TOO_BIG)
		return fault_set(
		    f, ST_FORMAT, "%s: over %u bytes", path, CONF_FILE_BYTES);
	if (st != ST_OK)
		return fault_set(
		    f, st, "%s: cannot be read (%s)", path, status_name(st));
	return conf_file_parse(text, len, path, take, l, f);
}

enum status
conf_load_file(struct conf *c, const char *path, struct fault *f)
{
	struct loading l = { .conf = c, .source = CONF_TABLE_FILE };

	return load_file(&l, path, f);
}

enum status
conf_load_text(struct conf *c, const char *text, struct fault *f)
{
	struct loading l = {
		.conf = c, .source = CONF_TABLE_FILE, .trusted = true
	};

	return conf_file_parse(text, strlen(text), "settings", take, &l, f);
}

/* One variable of ours. value may have blanks around it, as in a file. */
static enum status
take_variable(struct conf *c, const struct conf_table_key *k, size_t i,
    const char *name, const char *value, struct fault *f)
{
	struct fault why = { .st = ST_BUG };
	size_t len;
	char *copy;
	enum status st;

	value += strspn(value, " \t");
	len = strlen(value);
	while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		len--;
	copy = strndup(value, len);
	if (copy == NULL)
		return ST_NOMEM;
	st = set(c, k, i, CONF_TABLE_ENVIRONMENT, 0, copy, &why);
	free(copy);
	if (st == ST_FORMAT)
		return fault_set(
		    f, st, "environment: %s %s", name, why.message);
	return st;
}

/* Names that are not the daemon's: `make run`'s ports, and the tests'. */
static bool
not_ours(const char *name)
{
	return strncmp(name, "TOLLBOX_TEST_", 13) == 0 ||
	       strcmp(name, "TOLLBOX_PORT") == 0 ||
	       strcmp(name, "TOLLBOX_TLS_PORT") == 0;
}

/* The URL of the section called name, which need not be there yet. */
static enum status
take_url(struct conf *c, enum conf_table_section section, const char *name,
    const char *variable, const char *value, struct fault *f)
{
	const char *key = section == CONF_TABLE_CHAIN ? "rpc_url" : "url";
	size_t i = 0;
	enum status st;

	if (value == NULL)
		return ST_OK;
	st = instance(&i, c, section, name, f);
	if (st != ST_OK)
		return st;
	return take_variable(
	    c, conf_table_key(section, key), i, variable, value, f);
}

enum status
conf_load_environment(struct conf *c, char *const *environment, struct fault *f)
{
	const char *facilitator_url = NULL;
	const char *rpc_url = NULL;
	enum status st;

	for (; environment != NULL && *environment != NULL; environment++) {
		const struct conf_table_key *k;
		const char *equals = strchr(*environment, '=');
		char name[64];
		size_t len;

		if (equals == NULL ||
		    strncmp(*environment, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
			continue;
		len = (size_t)(equals - *environment);
		if (len >= sizeof(name))
			return fault_set(f, ST_FORMAT,
			    "environment: unknown name %.*s", (int)len,
			    *environment);
		memcpy(name, *environment, len);
		name[len] = '\0';
		if (not_ours(name))
			continue;
		if (strcmp(name, "TOLLBOX_FACILITATOR_URL") == 0) {
			facilitator_url = equals + 1;
			continue;
		}
		if (strcmp(name, "TOLLBOX_RPC_URL") == 0) {
			rpc_url = equals + 1;
			continue;
		}
		k = conf_table_env(name);
		if (k == NULL)
			return fault_set(
			    f, ST_FORMAT, "environment: unknown name %s", name);
		st = take_variable(c, k, 0, name, equals + 1, f);
		if (st != ST_OK)
			return st;
	}
	/* Last: TOLLBOX_FACILITATOR may say which one. */
	st = take_url(c, CONF_TABLE_FACILITATOR, c->site.facilitator,
	    "TOLLBOX_FACILITATOR_URL", facilitator_url, f);
	return st == ST_OK ? take_url(c, CONF_TABLE_CHAIN, "default",
				 "TOLLBOX_RPC_URL", rpc_url, f)
			   : st;
}

/* What "0 = from the host" means. */
void
conf_load_host(struct conf *c)
{
	const struct conf_table_key *runs =
	    conf_table_key(CONF_TABLE_SERVICE, "max_runs");
	const struct conf_table_key *memory =
	    conf_table_key(CONF_TABLE_SERVICE, "memory_bytes");

	if (c->max_runs == 0) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);

		c->max_runs = 2 * (cores > 0 ? (uint64_t)cores : 1);
		if (c->max_runs > runs->max)
			c->max_runs = runs->max;
		c->origins->at[runs - conf_table_keys][0].source =
		    CONF_TABLE_HOST;
	}
	if (c->memory_bytes == 0) {
		long pages = sysconf(_SC_PHYS_PAGES);
		long page = sysconf(_SC_PAGESIZE);

		if (pages > 0 && page > 0)
			c->memory_bytes = (uint64_t)pages * (uint64_t)page / 2;
		c->origins->at[memory - conf_table_keys][0].source =
		    CONF_TABLE_HOST;
	}
}

/* Is what the runtime starts on this host? With a root file system of its own
 * it is the operator's, who will want to hear of it from `tollbox check`. */
static bool
program_there(const struct conf_runtime *r)
{
	return r->command == NULL || r->command[0][0] != '/' ||
	       r->rootfs != NULL || access(r->command[0], F_OK) == 0;
}

/* Take the last runtime out again and note its name. */
static enum status
drop_last_runtime(struct conf *c)
{
	size_t i = c->n_runtimes - 1, n = 0;
	char **names;

	while (c->runtimes_dropped != NULL && c->runtimes_dropped[n] != NULL)
		n++;
	names = realloc(c->runtimes_dropped, (n + 2) * sizeof(*names));
	if (names == NULL)
		return ST_NOMEM;
	names[n] = c->runtimes[i].name;
	names[n + 1] = NULL;
	c->runtimes_dropped = names;
	log_info("runtime %s is not offered: %s is not there",
	    c->runtimes[i].name, c->runtimes[i].command[0]);
	for (size_t k = 0; k < conf_table_n; k++) {
		if (conf_table_keys[k].section != CONF_TABLE_RUNTIME)
			continue;
		conf_value_free(&c->runtimes[i], &conf_table_keys[k]);
		memset(&c->origins->at[k][i], 0, sizeof(c->origins->at[k][i]));
	}
	c->runtimes[i].name = NULL;
	c->n_runtimes = i;
	return ST_OK;
}

/* The settings of one folder below runtimes_dir, if it has some. The folders
 * of all runtimes are shipped; whoever has not installed an interpreter, and
 * asks for nothing of it in the file, means to go without. */
static enum status
load_folder(struct conf *c, const char *name, struct fault *f)
{
	struct loading l = {
		.conf = c, .source = CONF_TABLE_FOLDER, .folder = true
	};
	OWN_FREE char *path = NULL;
	size_t before = c->n_runtimes;
	enum status st;

	if (asprintf(&path, "%s/%s/runtime.conf", c->runtimes_dir, name) < 0) {
		path = NULL;
		return ST_NOMEM;
	}
	if (access(path, F_OK) != 0)
		return ST_OK;
	st = instance(&l.runtime, c, CONF_TABLE_RUNTIME, name, f);
	if (st == ST_OK)
		st = load_file(&l, path, f);
	if (st == ST_OK && c->n_runtimes > before &&
	    !program_there(&c->runtimes[l.runtime]))
		st = drop_last_runtime(c);
	return st;
}

enum status
conf_load_folders(struct conf *c, struct fault *f)
{
	const struct conf_table_key *k =
	    conf_table_key(CONF_TABLE_SANDBOX, "runtimes_dir");
	struct dirent **list = NULL;
	enum status st = ST_OK;
	int n;

	n = scandir(c->runtimes_dir, &list, NULL, alphasort);
	if (n < 0 && errno == ENOENT &&
	    c->origins->at[k - conf_table_keys][0].source == CONF_TABLE_SHIPPED)
		return ST_OK; /* runtimes of the main file alone */
	if (n < 0)
		return fault_set(f, ST_IO,
		    "[sandbox] runtimes_dir (TOLLBOX_RUNTIMES_DIR): %s: %s",
		    c->runtimes_dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		if (st == ST_OK && list[i]->d_name[0] != '.')
			st = load_folder(c, list[i]->d_name, f);
		free(list[i]);
	}
	free(list);
	return st;
}
