#include "base/json_unique.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/json_scan.h"
#include "base/own.h"
#include "base/utf8.h"

/* Bytes of a name that a message repeats. */
#define NAME_SHOWN 100

/* Names of an object that are sorted without an allocation. */
#define FEW_NAMES 32

/* A walk over a whole tree in the order of the text. */
struct walk {
	const struct cJSON *v;			   /* where it stands */
	const struct cJSON *open[JSON_SCAN_DEPTH]; /* the containers around */
	size_t depth;
};

/* Go on; false at the end. */
static bool
walk_next(struct walk *w)
{
	const struct cJSON *next = json_first(w->v);

	if (next != NULL)
		w->open[w->depth++] = w->v;
	else
		next = json_next(w->v);
	while (next == NULL && w->depth > 0)
		next = json_next(w->open[--w->depth]);
	w->v = next;
	return next != NULL;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name that obj holds twice, or NULL. ST_OK or ST_NOMEM. */
static enum status
repeated_name(const char **out, const struct cJSON *obj)
{
	const char *few[FEW_NAMES], **names = few;
	OWN_FREE const char **many = NULL;
	size_t n = json_count(obj), i = 0;
	const struct cJSON *m;

	*out = NULL;
	if (n > FEW_NAMES) {
		many = malloc(n * sizeof(*many));
		if (many == NULL)
			return ST_NOMEM;
		names = many;
	}
	for (m = json_first(obj); m != NULL; m = json_next(m))
		names[i++] = json_name(m);
	qsort(names, n, sizeof(*names), compare_names);
	for (i = 1; i < n && *out == NULL; i++) {
		if (strcmp(names[i - 1], names[i]) == 0)
			*out = names[i];
	}
	return ST_OK;
}

/* The second member of obj that has this name, or NULL. */
static const struct cJSON *
second_member(const struct cJSON *obj, const char *name)
{
	const struct cJSON *m = json_next(json_get(obj, name));

	while (m != NULL && strcmp(json_name(m), name) != 0)
		m = json_next(m);
	return m;
}

static void
tell(struct fault *f, const struct cJSON *root, const struct cJSON *obj,
    const char *name, const char *text, size_t len)
{
	const struct cJSON *m = second_member(obj, name);
	struct walk w = { .v = root };
	size_t before = 0, shown = strnlen(name, NAME_SHOWN);
	enum status kept = f->st;

	/* The tree knows no places: count, and ask the scanner. */
	while (w.v != m) {
		before += json_name(w.v) != NULL;
		if (!walk_next(&w))
			break;
	}
	if (name[shown] != '\0')
		shown -= utf8_incomplete(name, shown);
	fault_set(f, ST_FORMAT, "duplicate member \"%.*s\" at byte %zu",
	    (int)shown, name, json_scan_member(text, len, before));
	f->st = kept;
}

enum status
json_unique(
    const struct cJSON *root, const char *text, size_t len, struct fault *f)
{
	struct walk w = { .v = root };
	enum status st = ST_BUG;
	const char *name;

	do {
		if (!json_is_object(w.v))
			continue;
		st = repeated_name(&name, w.v);
		if (st != ST_OK)
			return st;
		if (name == NULL)
			continue;
		if (f != NULL)
			tell(f, root, w.v, name, text, len);
		return ST_FORMAT;
	} while (walk_next(&w));
	return ST_OK;
}
