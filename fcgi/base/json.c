#include "base/json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_scan.h"
#include "base/json_unique.h"
#include "base/own.h"
#include "base/utf8.h"

/* Stands for NUL in the text that cJSON sees and the strings it makes, which
 * end at the first NUL. No well-formed UTF-8 holds this byte. */
#define NUL_MARK 0xff

#define UINT_MOST 9007199254740992.0 /* 2^53 */

/* A copy of text with each escape \u0000 made NUL_MARK. The text has passed
 * json_scan(), so that a backslash never is the last byte. */
static char *
mark_nuls(size_t *out_len, const char *text, size_t len)
{
	static const char escape[] = "\\u0000";
	const size_t n = sizeof(escape) - 1;
	char *copy = malloc(len);
	size_t at = 0, to = 0;

	if (copy == NULL)
		return NULL;
	while (at < len) {
		if (text[at] != '\\') {
			copy[to++] = text[at++];
		} else if (len - at >= n && memcmp(text + at, escape, n) == 0) {
			copy[to++] = (char)NUL_MARK;
			at += n;
		} else {
			/* Both bytes, lest the second of "\\" begin one. */
			copy[to++] = text[at++];
			copy[to++] = text[at++];
		}
	}
	*out_len = to;
	return copy;
}

enum status
json_parse(struct cJSON **out, const char *text, size_t len,
    const struct json_caps *caps, struct fault *f)
{
	OWN_FREE char *marked = NULL;
	enum status st = ST_BUG;
	struct cJSON *v;
	size_t n = len;
	bool nul;

	*out = NULL;
	st = json_scan(&nul, text, len, caps, f);
	if (st != ST_OK)
		return st;
	if (nul) {
		marked = mark_nuls(&n, text, len);
		if (marked == NULL)
			return ST_NOMEM;
	}
	/* It can only fail for want of memory: the text is flawless. */
	v = cJSON_ParseWithLengthOpts(nul ? marked : text, n, NULL, 0);
	if (v == NULL)
		return ST_NOMEM;
	st = json_unique(v, text, len, f);
	if (st != ST_OK) {
		json_free(v);
		return st;
	}
	*out = v;
	return ST_OK;
}

void
json_free(struct cJSON *v)
{
	cJSON_Delete(v);
}

bool
json_is_object(const struct cJSON *v)
{
	return cJSON_IsObject(v);
}

bool
json_is_array(const struct cJSON *v)
{
	return cJSON_IsArray(v);
}

bool
json_is_string(const struct cJSON *v)
{
	return cJSON_IsString(v);
}

bool
json_is_number(const struct cJSON *v)
{
	return cJSON_IsNumber(v);
}

bool
json_is_bool(const struct cJSON *v)
{
	return cJSON_IsBool(v);
}

bool
json_is_true(const struct cJSON *v)
{
	return cJSON_IsTrue(v);
}

bool
json_is_null(const struct cJSON *v)
{
	return cJSON_IsNull(v);
}

const struct cJSON *
json_get(const struct cJSON *obj, const char *name)
{
	const struct cJSON *m = NULL;

	if (json_is_object(obj))
		m = obj->child;
	while (m != NULL && strcmp(m->string, name) != 0)
		m = m->next;
	return m;
}

const struct cJSON *
json_first(const struct cJSON *v)
{
	return v == NULL ? NULL : v->child;
}

const struct cJSON *
json_next(const struct cJSON *v)
{
	return v == NULL ? NULL : v->next;
}

const char *
json_name(const struct cJSON *v)
{
	return v == NULL ? NULL : v->string;
}

size_t
json_count(const struct cJSON *v)
{
	size_t n = 0;

	for (v = json_first(v); v != NULL; v = v->next)
		n++;
	return n;
}

const char *
json_string(const struct cJSON *v)
{
	if (!json_is_string(v) || strchr(v->valuestring, NUL_MARK) != NULL)
		return NULL;
	return v->valuestring;
}

enum status
json_bytes(char **out, size_t *len, const struct cJSON *v)
{
	size_t n;

	*out = NULL;
	*len = 0;
	if (!json_is_string(v))
		return ST_FORMAT;
	n = strlen(v->valuestring);
	*out = malloc(n + 1);
	if (*out == NULL)
		return ST_NOMEM;
	for (size_t i = 0; i <= n; i++) {
		(*out)[i] = v->valuestring[i];
		if ((unsigned char)(*out)[i] == NUL_MARK)
			(*out)[i] = '\0';
	}
	*len = n;
	return ST_OK;
}

size_t
json_length(const struct cJSON *v)
{
	return json_is_string(v) ? strlen(v->valuestring) : 0;
}

size_t
json_points(const struct cJSON *v)
{
	size_t n = 0;

	if (!json_is_string(v))
		return 0;
	/* Each begins with a byte that is no continuation; so does NUL_MARK. */
	for (const char *p = v->valuestring; *p != '\0'; p++)
		n += ((unsigned char)*p & 0xc0) != 0x80;
	return n;
}

enum status
json_double(double *out, const struct cJSON *v)
{
	if (!json_is_number(v))
		return ST_FORMAT;
	*out = v->valuedouble;
	return ST_OK;
}

enum status
json_uint(uint64_t *out, const struct cJSON *v)
{
	double d;

	if (json_double(&d, v) != ST_OK || d < 0 || d > UINT_MOST ||
	    d != floor(d))
		return ST_FORMAT;
	*out = (uint64_t)d;
	return ST_OK;
}

/* ---- writing ---- */

/* The two-character escape of c, or NULL. */
static const char *
short_escape(unsigned char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

/* One character that cannot stand in a string as it is. */
static void
put_escape(struct buf *out, unsigned char c)
{
	const char *escape = short_escape(c);

	if (escape != NULL)
		buf_adds(out, escape);
	else
		buf_addf(out, "\\u%04x", c);
}

static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c != '"' && c != '\\';
}

void
json_put_bytes(struct buf *out, const void *s, size_t len)
{
	const unsigned char *p = s;
	size_t start = 0;

	buf_addc(out, '"');
	for (size_t at = 0; at < len; at++) {
		if (is_plain(p[at]))
			continue;
		buf_add(out, p + start, at - start);
		put_escape(out, p[at]);
		start = at + 1;
	}
	if (start < len)
		buf_add(out, p + start, len - start);
	buf_addc(out, '"');
}

void
json_put_string(struct buf *out, const char *s)
{
	json_put_bytes(out, s, strlen(s));
}

void
json_put_ascii(struct buf *out, const char *s)
{
	size_t len = strlen(s), at = 0, n;
	uint32_t cp;

	buf_addc(out, '"');
	while (at < len) {
		n = utf8_next(&cp, s + at, len - at);
		at += n > 0 ? n : 1;
		if (cp >= 0x10000)
			buf_addf(out, "\\u%04" PRIx32 "\\u%04" PRIx32,
			    0xd800 + ((cp - 0x10000) >> 10),
			    0xdc00 + (cp & 0x3ff));
		else if (cp >= 0x80)
			buf_addf(out, "\\u%04" PRIx32, cp);
		else if (is_plain((unsigned char)cp))
			buf_addc(out, (char)cp);
		else
			put_escape(out, (unsigned char)cp);
	}
	buf_addc(out, '"');
}

void
json_put_tenths(struct buf *out, uint64_t tenths)
{
	buf_addf(out, "%" PRIu64, tenths / 10);
	if (tenths % 10 != 0)
		buf_addf(out, ".%" PRIu64, tenths % 10);
}

void
json_sep(struct buf *out)
{
	int last = out->len > 0 ? out->data[out->len - 1] : '[';

	if (last != '{' && last != '[' && last != ':')
		buf_addc(out, ',');
}

void
json_key(struct buf *out, const char *name)
{
	json_sep(out);
	json_put_string(out, name);
	buf_addc(out, ':');
}

void
json_member_string(struct buf *out, const char *name, const char *s)
{
	json_key(out, name);
	json_put_string(out, s);
}

void
json_member_uint(struct buf *out, const char *name, uint64_t n)
{
	json_key(out, name);
	buf_addf(out, "%" PRIu64, n);
}
