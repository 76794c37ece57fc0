#include "case.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ull << 20)

static const char *const ends[] = { "ok", "error", "signal", "timeout",
	"memory", "output", "network", "denial", "other" };

static const struct limits shipped = { .timeout_ms = 10000,
	.memory_bytes = 256 * MIB,
	.output_bytes = MIB,
	.work_bytes = 64 * MIB };

/* Where the reader stands. */
struct reader {
	const char *path;
	FILE *f;
	int line;
	char *text; /* of getline() */
	size_t room;
	struct case_file *c;
	struct case_step now; /* the settings for the next program */
};

__attribute__((noreturn)) static void
broken(const struct reader *r, const char *why)
{
	fprintf(stderr, "%s:%d: %s\n", r->path, r->line, why);
	exit(2);
}

static void *
need(const struct reader *r, void *p)
{
	if (p == NULL)
		broken(r, "no memory");
	return p;
}

/* The next line without its end; false at the end of the file. */
static bool
next(struct reader *r)
{
	ssize_t n = getline(&r->text, &r->room, r->f);

	if (n < 0)
		return false;
	if (n > 0 && r->text[n - 1] == '\n')
		r->text[n - 1] = '\0';
	r->line++;
	return true;
}

/* A number with K, M or G behind it. */
static uint64_t
number(const struct reader *r, const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (end == s)
		broken(r, "a number is missing");
	if (*end == 'K')
		n <<= 10;
	else if (*end == 'M')
		n <<= 20;
	else if (*end == 'G')
		n <<= 30;
	else if (*end != '\0')
		broken(r, "not a number");
	return n;
}

/* What stands behind the key and its sign in word, or NULL. */
static const char *
value(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 ? word + n : NULL;
}

static void
limits_line(struct reader *r, char *rest)
{
	struct limits *l = &r->now.limits;
	const char *v;
	char *word;

	*l = shipped;
	while ((word = strsep(&rest, " ")) != NULL) {
		if ((v = value(word, "time=")) != NULL)
			l->timeout_ms = number(r, v);
		else if ((v = value(word, "memory=")) != NULL)
			l->memory_bytes = number(r, v);
		else if ((v = value(word, "output=")) != NULL)
			l->output_bytes = number(r, v);
		else if ((v = value(word, "work=")) != NULL)
			l->work_bytes = number(r, v);
		else if (*word != '\0')
			broken(r, "no such limit");
	}
}

static unsigned
ends_named(const struct reader *r, char *words)
{
	unsigned set = 0, e;
	char *word;

	while ((word = strsep(&words, "|")) != NULL) {
		for (e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
			if (strcmp(word, ends[e]) == 0)
				break;
		}
		if (e == sizeof(ends) / sizeof(ends[0]))
			broken(r, "no such end");
		set |= 1u << e;
	}
	return set;
}

static void
want_line(struct reader *r, char *rest)
{
	struct case_want *w = &r->now.want;
	const char *v;
	char *word = strsep(&rest, " ");

	memset(w, 0, sizeof(*w));
	w->ends = ends_named(r, word);
	while ((word = strsep(&rest, " ")) != NULL) {
		if ((v = value(word, "exit=")) != NULL) {
			w->has_exit = true;
			w->exit =
			    strcmp(v, "{i}") == 0 ? -1 : (long)number(r, v);
		} else if ((v = value(word, "signal=")) != NULL)
			w->signal = (long)number(r, v);
		else if ((v = value(word, "ms<")) != NULL)
			w->ms_below = (long)number(r, v);
		else if ((v = value(word, "cpu<")) != NULL)
			w->cpu_below = (long)number(r, v);
		else if ((v = value(word, "cpu>")) != NULL)
			w->cpu_above = (long)number(r, v);
		else if ((v = value(word, "bytes=")) != NULL) {
			w->has_bytes = true;
			w->bytes = (long)number(r, v);
		} else if (strcmp(word, "distinct") == 0)
			w->distinct = true;
		else if (strcmp(word, "let-go") == 0)
			w->let_go = true;
		else if (*word != '\0')
			broken(r, "no such wish");
	}
}

/* \n and \t are what they say; all else is left to the pattern. */
static char *
pattern(const struct reader *r, const char *rest)
{
	char *out = need(r, strdup(rest)), *to = out;

	for (const char *s = rest; *s != '\0'; s++) {
		if (s[0] == '\\' && (s[1] == 'n' || s[1] == 't'))
			*to++ = *++s == 'n' ? '\n' : '\t';
		else
			*to++ = *s;
	}
	*to = '\0';
	return out;
}

static void
set_stdin(struct reader *r, const char *text, size_t len)
{
	char *data = need(r, malloc(len + 1));

	if (text != NULL)
		memcpy(data, text, len);
	else
		memset(data, 'i', len);
	data[len] = '\0';
	r->now.stdin_data = data;
	r->now.stdin_len = len;
}

static void
file_line(struct reader *r, char *rest)
{
	char *name = strsep(&rest, " ");

	r->now.file = need(r, strdup(name));
	r->now.file_len = number(r, rest == NULL ? "" : rest);
}

static void
cold_line(struct reader *r, char *rest)
{
	char *pattern = strsep(&rest, " ");

	r->now.cold = *pattern == '\0' ? NULL : need(r, strdup(pattern));
	r->now.cold_always = rest != NULL && strcmp(rest, "always") == 0;
}

static void
repeat_line(struct reader *r, char *rest)
{
	char *n = strsep(&rest, " ");

	r->now.repeat = (long)number(r, n);
	r->now.together = rest == NULL ? 1 : (long)number(r, rest);
}

/* A program, up to its ---. */
static void
run_line(struct reader *r, char *rest)
{
	struct case_step *s;
	char *runtime = strsep(&rest, " ");
	size_t len = 0;
	FILE *f;

	if (r->c->n_steps == CASE_STEPS)
		broken(r, "too many programs");
	s = &r->c->steps[r->c->n_steps++];
	*s = r->now;
	s->line = r->line;
	s->beside = rest != NULL && strcmp(rest, "beside") == 0;
	(void)snprintf(s->runtime, sizeof(s->runtime), "%s", runtime);
	f = need(r, open_memstream(&s->source, &len));
	for (;;) {
		if (!next(r))
			broken(r, "a program without its ---");
		if (strcmp(r->text, "---") == 0)
			break;
		fprintf(f, "%s\n", r->text);
	}
	fclose(f);
}

static void
line(struct reader *r)
{
	char *rest = need(r, strdup(r->text)), *all = rest;
	char *key = strsep(&rest, " ");

	if (rest == NULL)
		rest = strchr(key, '\0');
	if (*key == '\0' || *key == '#')
		;
	else if (strcmp(key, "title") == 0)
		r->c->title = need(r, strdup(rest));
	else if (strcmp(key, "alone") == 0)
		r->c->alone = true;
	else if (strcmp(key, "holds-without") == 0) {
		if (strstr(rest, "cgroup") != NULL)
			r->c->holds_without |= CASE_CGROUP;
		if (strstr(rest, "rlimits") != NULL)
			r->c->holds_without |= CASE_RLIMITS;
	} else if (strcmp(key, "limits") == 0)
		limits_line(r, rest);
	else if (strcmp(key, "stdin") == 0)
		set_stdin(r, rest, strlen(rest));
	else if (strcmp(key, "stdin-bytes") == 0)
		set_stdin(r, NULL, number(r, rest));
	else if (strcmp(key, "file") == 0)
		file_line(r, rest);
	else if (strcmp(key, "cold") == 0)
		cold_line(r, rest);
	else if (strcmp(key, "repeat") == 0)
		repeat_line(r, rest);
	else if (strcmp(key, "want") == 0)
		want_line(r, rest);
	else if (strcmp(key, "out") == 0)
		r->now.want.out = pattern(r, rest);
	else if (strcmp(key, "err") == 0)
		r->now.want.err = pattern(r, rest);
	else if (strcmp(key, "text") == 0)
		r->now.want.text = pattern(r, rest);
	else if (strcmp(key, "run") == 0)
		run_line(r, rest);
	else
		broken(r, "no such word");
	free(all);
}

struct case_file *
case_read(const char *path)
{
	struct reader r = { .path = path,
		.f = fopen(path, "r"),
		.now = { .limits = shipped, .repeat = 1, .together = 1 } };
	char *copy, *base, *dot;

	if (r.f == NULL)
		broken(&r, "cannot be read");
	r.c = need(&r, calloc(1, sizeof(*r.c)));
	copy = need(&r, strdup(path));
	base = basename(copy);
	dot = strrchr(base, '.');
	if (dot != NULL)
		*dot = '\0';
	(void)snprintf(r.c->name, sizeof(r.c->name), "%s%s",
	    *base >= '0' && *base <= '9' ? "fault-" : "", base);
	while (next(&r))
		line(&r);
	if (r.c->title == NULL || r.c->n_steps == 0)
		broken(&r, "no title, or no program");
	free(copy);
	free(r.text);
	fclose(r.f);
	return r.c;
}

const char *
case_ends(char out[80], unsigned set)
{
	size_t len = 0;

	out[0] = '\0';
	for (unsigned e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
		if ((set & 1u << e) != 0)
			len += (size_t)snprintf(out + len, 80 - len, "%s%s",
			    len > 0 ? "|" : "", ends[e]);
	}
	return out;
}
