#include "base/jcs.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "base/own.h"
#include "base/utf8.h"

/* Decimal digits that tell any two doubles apart. */
#define DIGITS_MOST 17

/* json_name() shows a NUL so. */
#define NUL_MARK 0xff

#define ITEM_BYTES sizeof(const struct cJSON *)

/* ---- numbers ---- */

/* Add one to the last digit of "d.ddde+xx"; false if it is all nines. */
static bool
bump(char *text)
{
	for (char *p = strchr(text, 'e') - 1; p >= text; p--) {
		if (*p == '.')
			continue;
		if (*p != '9') {
			(*p)++;
			return true;
		}
		*p = '0';
	}
	return false;
}

/*
 * The fewest decimal digits that read back as d (positive, finite), without
 * zeros at their end, and n of d = 0.DIGITS * 10^n.
 *
 * The nearest decimal of a length may fail to read back where the next one
 * above does: under a power of two the doubles stand twice as close as above.
 */
static void
shortest(char digits[DIGITS_MOST + 1], int *n, double d)
{
	char text[40];
	size_t k = 0;

	for (int more = 0; more < DIGITS_MOST; more++) {
		snprintf(text, sizeof(text), "%.*e", more, d);
		if (strtod(text, NULL) == d ||
		    (bump(text) && strtod(text, NULL) == d))
			break;
	}
	for (const char *p = text; *p != 'e'; p++) {
		if (*p != '.')
			digits[k++] = *p;
	}
	while (k > 1 && digits[k - 1] == '0')
		k--;
	digits[k] = '\0';
	*n = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
}

/* ECMAScript's Number::toString; n and k are its names. */
void
jcs_number(struct buf *out, double d)
{
	char digits[DIGITS_MOST + 1];
	int n, k;

	if (d < 0) {
		buf_addc(out, '-');
		d = -d;
	}
	if (d == 0) {
		buf_addc(out, '0');
		return;
	}
	shortest(digits, &n, d);
	k = (int)strlen(digits);
	if (k <= n && n <= 21) {
		buf_addf(out, "%s%.*s", digits, n - k, "00000000000000000000");
	} else if (n > 0 && n < k) {
		buf_addf(out, "%.*s.%s", n, digits, digits + n);
	} else if (n > -6 && n <= 0) {
		buf_addf(out, "0.%.*s%s", -n, "00000", digits);
	} else {
		buf_addc(out, digits[0]);
		if (k > 1)
			buf_addf(out, ".%s", digits + 1);
		buf_addf(out, "e%+d", n - 1);
	}
}

/* ---- names ---- */

/* The code point at *s, moved on, as a number that orders as its UTF-16 form
 * does: a surrogate pair comes before U+E000. */
static uint32_t
utf16_order(const char **s)
{
	uint32_t cp;
	size_t n = utf8_next(&cp, *s, strnlen(*s, 4));

	if (n == 0) {
		cp = 0; /* NUL_MARK: there is no other ill-formed byte */
		n = 1;
	}
	*s += n;
	if (cp < 0x10000)
		return cp << 16;
	return (0xd800 + ((cp - 0x10000) >> 10)) << 16 | (cp & 0x3ff);
}

static int
compare_members(const void *a, const void *b)
{
	const char *x = json_name(*(const struct cJSON *const *)a);
	const char *y = json_name(*(const struct cJSON *const *)b);
	uint32_t i, j;

	while (*x != '\0' && *y != '\0') {
		i = utf16_order(&x);
		j = utf16_order(&y);
		if (i != j)
			return i < j ? -1 : 1;
	}
	return (*x != '\0') - (*y != '\0');
}

static void
put_name(struct buf *out, const char *name)
{
	size_t len = strlen(name);
	OWN_FREE char *copy = NULL;

	if (strchr(name, NUL_MARK) == NULL) {
		json_put_bytes(out, name, len);
		return;
	}
	copy = strdup(name);
	if (copy == NULL) {
		out->st = ST_NOMEM;
		return;
	}
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)copy[i] == NUL_MARK)
			copy[i] = '\0';
	}
	json_put_bytes(out, copy, len);
}

/* ---- values ---- */

/* A container that is being written. */
struct frame {
	const struct cJSON **items; /* in the order of writing */
	size_t n;
	size_t done;
	bool object;
};

/* Begin v, leaving out its member `without` (NULL: none); if memory fails it is
 * written empty into the failed out. */
static void
frame_open(struct frame *f, struct buf *out, const struct cJSON *v,
    const char *without)
{
	size_t i = 0;

	*f = (struct frame){ .n = json_count(v), .object = json_is_object(v) };
	buf_addc(out, f->object ? '{' : '[');
	if (f->n == 0)
		return;
	f->items = calloc(f->n, ITEM_BYTES);
	if (f->items == NULL) {
		out->st = ST_NOMEM;
		f->n = 0;
		return;
	}
	for (v = json_first(v); v != NULL; v = json_next(v))
		if (without == NULL || strcmp(json_name(v), without) != 0)
			f->items[i++] = v;
	f->n = i;
	if (f->object)
		qsort(f->items, f->n, ITEM_BYTES, compare_members);
}

static void
frame_close(struct frame *f, struct buf *out)
{
	buf_addc(out, f->object ? '}' : ']');
	free(f->items);
}

/* The next item's comma and name, and the item itself. */
static const struct cJSON *
frame_next(struct frame *f, struct buf *out)
{
	const struct cJSON *v = f->items[f->done++];

	if (f->done > 1)
		buf_addc(out, ',');
	if (f->object) {
		put_name(out, json_name(v));
		buf_addc(out, ':');
	}
	return v;
}

static void
put_string(struct buf *out, const struct cJSON *v)
{
	OWN_FREE char *bytes = NULL;
	enum status st = ST_BUG;
	size_t len;

	if (json_string(v) != NULL) {
		json_put_string(out, json_string(v));
		return;
	}
	st = json_bytes(&bytes, &len, v);
	if (st != ST_OK)
		out->st = st;
	else
		json_put_bytes(out, bytes, len);
}

static void
put_scalar(struct buf *out, const struct cJSON *v)
{
	double d;

	if (json_is_string(v))
		put_string(out, v);
	else if (json_double(&d, v) == ST_OK)
		jcs_number(out, d);
	else if (json_is_bool(v))
		buf_adds(out, json_is_true(v) ? "true" : "false");
	else
		buf_adds(out, "null");
}

static void
put_value(struct buf *out, const struct cJSON *v, const char *without)
{
	struct frame frames[JSON_SCAN_DEPTH]; /* json_parse()'s limit */
	size_t depth = 0;

	for (;;) {
		if (json_is_object(v) || json_is_array(v))
			frame_open(&frames[depth++], out, v, without);
		else
			put_scalar(out, v);
		without = NULL; /* only the outermost object's */
		while (
		    depth > 0 && frames[depth - 1].done == frames[depth - 1].n)
			frame_close(&frames[--depth], out);
		if (depth == 0)
			break;
		v = frame_next(&frames[depth - 1], out);
	}
}

void
jcs_write(struct buf *out, const struct cJSON *v)
{
	put_value(out, v, NULL);
}

void
jcs_write_without(struct buf *out, const struct cJSON *obj, const char *name)
{
	put_value(out, obj, name);
}

enum status
jcs_sha256(char out[65], const void *data, size_t len)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];

	if (SHA256(data, len, digest) == NULL)
		return ST_BUG;
	hex_encode(out, digest, sizeof(digest));
	return ST_OK;
}
