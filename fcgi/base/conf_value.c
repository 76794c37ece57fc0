#include "base/conf_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_form.h"
#include "base/utf8.h"

#define BLANKS " \t"

static const char *const verify_names[CONF_VERIFY_MAX] = {
	[CONF_VERIFY_LOCAL] = "local",
	[CONF_VERIFY_FACILITATOR] = "facilitator",
	[CONF_VERIFY_BOTH] = "both",
};

static void *
place(void *section, const struct conf_table_key *k)
{
	return (char *)section + k->at;
}

static const void *
place_const(const void *section, const struct conf_table_key *k)
{
	return (const char *)section + k->at;
}

void
conf_value_free_words(char **words)
{
	for (size_t i = 0; words != NULL && words[i] != NULL; i++)
		free(words[i]);
	free(words);
}

/* Room for n words and the NULL behind them. */
static char **
words_new(size_t n)
{
	return calloc(n + 1, sizeof(char *));
}

static enum status
set_text(char **at, const struct conf_table_key *k, const char *text,
    struct fault *f)
{
	const char *wrong = k->form != NULL ? k->form(text) : NULL;
	char *copy;

	if (text[0] == '\0' && (k->flags & CONF_TABLE_EMPTY) == 0)
		return fault_set(f, ST_FORMAT, "must not be empty");
	if (wrong != NULL)
		return fault_set(f, ST_FORMAT, "%s", wrong);
	copy = strdup(text);
	if (copy == NULL)
		return ST_NOMEM;
	/* "https://host/" and "https://host" are one site. */
	if (k->form == conf_form_url)
		for (size_t n = strlen(copy); n > 0 && copy[n - 1] == '/'; n--)
			copy[n - 1] = '\0';
	free(*at);
	*at = copy;
	return ST_OK;
}

/* Fill words, which has room for CONF_WORDS. */
static enum status
split(char **words, const struct conf_table_key *k, const char *text,
    struct fault *f)
{
	size_t n = 0;

	for (text += strspn(text, BLANKS); *text != '\0';
	     text += strspn(text, BLANKS)) {
		size_t len = strcspn(text, BLANKS);
		const char *wrong;

		if (n == CONF_WORDS)
			return fault_set(f, ST_FORMAT,
			    "must be at most %d words", CONF_WORDS);
		words[n] = strndup(text, len);
		if (words[n] == NULL)
			return ST_NOMEM;
		wrong = k->form != NULL ? k->form(words[n]) : NULL;
		if (wrong != NULL)
			return fault_set(
			    f, ST_FORMAT, "word \"%.64s\" %s", words[n], wrong);
		n++;
		text += len;
	}
	return n > 0 ? ST_OK : fault_set(f, ST_FORMAT, "must not be empty");
}

static enum status
set_words(char ***at, const struct conf_table_key *k, const char *text,
    struct fault *f)
{
	char **words = words_new(CONF_WORDS);
	enum status st;

	if (words == NULL)
		return ST_NOMEM;
	st = split(words, k, text, f);
	if (st != ST_OK) {
		conf_value_free_words(words);
		return st;
	}
	conf_value_free_words(*at);
	*at = words;
	return ST_OK;
}

/* 67108864 as "64M", 1500 as "1500". */
static void
put_bytes(struct buf *out, uint64_t v)
{
	static const char unit[] = { '\0', 'K', 'M', 'G' };
	size_t u = 0;

	while (u < 3 && v != 0 && v % 1024 == 0) {
		v /= 1024;
		u++;
	}
	buf_addf(out, "%" PRIu64, v);
	if (u > 0)
		buf_addc(out, unit[u]);
}

static enum status
out_of_range(const struct conf_table_key *k, struct fault *f)
{
	struct buf b;
	enum status st;

	buf_init(&b, 256);
	buf_adds(&b, "must be a whole number from ");
	if (k->type == CONF_TABLE_BYTES) {
		put_bytes(&b, k->min);
		buf_adds(&b, " to ");
		put_bytes(&b, k->max);
		buf_adds(&b, " bytes, K, M or G behind it for units");
	} else {
		buf_addf(&b, "%" PRIu64 " to %" PRIu64, k->min, k->max);
	}
	if (k->flags & CONF_TABLE_AUTO)
		buf_adds(&b, ", or 0 to take it from the host");
	st = fault_set(f, ST_FORMAT, "%s", buf_cstr(&b));
	buf_free(&b);
	return st;
}

static enum status
set_number(uint64_t *at, const struct conf_table_key *k, const char *text,
    struct fault *f)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end = NULL;
	uint64_t v;

	/* strtoull() would take blanks and signs. */
	if (text[0] < '0' || text[0] > '9')
		return out_of_range(k, f);
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno != 0)
		return out_of_range(k, f);
	if (k->type == CONF_TABLE_BYTES && *end != '\0') {
		unit = strchr(units, *end);
		if (unit == NULL || end[1] != '\0' ||
		    v > UINT64_MAX >> (10 * (unit - units + 1)))
			return out_of_range(k, f);
		v <<= 10 * (unit - units + 1);
	} else if (*end != '\0') {
		return out_of_range(k, f);
	}
	if ((v < k->min || v > k->max) &&
	    !(v == 0 && (k->flags & CONF_TABLE_AUTO)))
		return out_of_range(k, f);
	*at = v;
	return ST_OK;
}

static enum status
set_verify(enum conf_verify *at, const char *text, struct fault *f)
{
	for (int i = 0; i < CONF_VERIFY_MAX; i++) {
		if (strcmp(verify_names[i], text) != 0)
			continue;
		*at = (enum conf_verify)i;
		return ST_OK;
	}
	return fault_set(f, ST_FORMAT, "must be local, facilitator or both");
}

enum status
conf_value_set(void *section, const struct conf_table_key *k, const char *text,
    struct fault *f)
{
	void *at = place(section, k);

	if (strlen(text) > CONF_VALUE_BYTES)
		return fault_set(
		    f, ST_FORMAT, "must be at most %d bytes", CONF_VALUE_BYTES);
	if (!utf8_valid(text, strlen(text)))
		return fault_set(f, ST_FORMAT, "must be UTF-8");
	for (const char *p = text; *p != '\0'; p++)
		if ((*p > 0 && *p < ' ' && *p != '\t') || *p == 127)
			return fault_set(
			    f, ST_FORMAT, "must not hold control characters");
	switch (k->type) {
	case CONF_TABLE_TEXT:
		return set_text(at, k, text, f);
	case CONF_TABLE_WORDS:
		return set_words(at, k, text, f);
	case CONF_TABLE_NUMBER:
	case CONF_TABLE_BYTES:
		return set_number(at, k, text, f);
	case CONF_TABLE_PRICE:
		if (conf_price(at, text) != ST_OK)
			return fault_set(f, ST_FORMAT,
			    "must be a price like $0.001: at most six "
			    "decimals, above 0, at most $1000000");
		return ST_OK;
	case CONF_TABLE_VERIFY:
		return set_verify(at, text, f);
	}
	return ST_BUG;
}

/* 1000 millionths as "$0.001". */
static void
put_price(struct buf *out, uint64_t micros)
{
	unsigned rest = (unsigned)(micros % 1000000);
	int decimals = 6;

	buf_addf(out, "$%" PRIu64, micros / 1000000);
	if (rest == 0)
		return;
	for (; rest % 10 == 0; rest /= 10)
		decimals--;
	buf_addf(out, ".%0*u", decimals, rest);
}

void
conf_value_put(
    struct buf *out, const void *section, const struct conf_table_key *k)
{
	const void *at = place_const(section, k);
	char *const *words;

	if (!conf_value_there(section, k))
		return;
	switch (k->type) {
	case CONF_TABLE_TEXT:
		buf_adds(out, *(char *const *)at);
		break;
	case CONF_TABLE_WORDS:
		words = *(char **const *)at;
		for (size_t i = 0; words[i] != NULL; i++) {
			if (i > 0)
				buf_addc(out, ' ');
			buf_adds(out, words[i]);
		}
		break;
	case CONF_TABLE_NUMBER:
		buf_addf(out, "%" PRIu64, *(const uint64_t *)at);
		break;
	case CONF_TABLE_BYTES:
		put_bytes(out, *(const uint64_t *)at);
		break;
	case CONF_TABLE_PRICE:
		put_price(out, *(const uint64_t *)at);
		break;
	case CONF_TABLE_VERIFY:
		buf_adds(out, verify_names[*(const enum conf_verify *)at]);
		break;
	}
}

bool
conf_value_there(const void *section, const struct conf_table_key *k)
{
	const void *at = place_const(section, k);

	switch (k->type) {
	case CONF_TABLE_TEXT:
	case CONF_TABLE_WORDS:
		return *(void *const *)at != NULL;
	case CONF_TABLE_PRICE:
		return *(const uint64_t *)at != 0;
	case CONF_TABLE_NUMBER:
	case CONF_TABLE_BYTES:
	case CONF_TABLE_VERIFY:
		break;
	}
	return true;
}

static enum status
copy_words(char ***to, char *const *from)
{
	size_t n = 0;
	char **words;

	while (from[n] != NULL)
		n++;
	words = words_new(n);
	if (words == NULL)
		return ST_NOMEM;
	for (size_t i = 0; i < n; i++) {
		words[i] = strdup(from[i]);
		if (words[i] == NULL) {
			conf_value_free_words(words);
			return ST_NOMEM;
		}
	}
	*to = words;
	return ST_OK;
}

enum status
conf_value_copy(void *to, const void *from, const struct conf_table_key *k)
{
	const void *in = place_const(from, k);
	void *out = place(to, k);
	char *copy;

	if (!conf_value_there(from, k))
		return ST_OK;
	switch (k->type) {
	case CONF_TABLE_TEXT:
		copy = strdup(*(char *const *)in);
		if (copy == NULL)
			return ST_NOMEM;
		*(char **)out = copy;
		return ST_OK;
	case CONF_TABLE_WORDS:
		return copy_words(out, *(char **const *)in);
	case CONF_TABLE_NUMBER:
	case CONF_TABLE_BYTES:
	case CONF_TABLE_PRICE:
		*(uint64_t *)out = *(const uint64_t *)in;
		return ST_OK;
	case CONF_TABLE_VERIFY:
		*(enum conf_verify *)out = *(const enum conf_verify *)in;
		return ST_OK;
	}
	return ST_BUG;
}

void
conf_value_free(void *section, const struct conf_table_key *k)
{
	void *at = place(section, k);
	char *text;

	switch (k->type) {
	case CONF_TABLE_TEXT:
		text = *(char **)at;
		if (text != NULL && (k->flags & CONF_TABLE_SECRET))
			explicit_bzero(text, strlen(text));
		free(text);
		*(char **)at = NULL;
		break;
	case CONF_TABLE_WORDS:
		conf_value_free_words(*(char ***)at);
		*(char ***)at = NULL;
		break;
	case CONF_TABLE_NUMBER:
	case CONF_TABLE_BYTES:
	case CONF_TABLE_PRICE:
	case CONF_TABLE_VERIFY:
		break;
	}
}
