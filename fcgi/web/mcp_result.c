#include "web/mcp_result.h"

#include <string.h>
#include <strings.h>

#include "base/hex.h"
#include "base/json.h"

#define META_BYTES (64u << 10)

/* A header's value in the lines that http_header() wrote; "" if it is not
 * there. */
static const char *
find_header(const struct buf *headers, const char *name, size_t *len)
{
	const char *line = buf_cstr(headers);
	size_t n = strlen(name);

	while (*line != '\0') {
		size_t end = strcspn(line, "\r");

		if (end > n + 1 && line[n] == ':' &&
		    strncasecmp(line, name, n) == 0) {
			*len = end - n - 2;
			return line + n + 2;
		}
		line += end;
		line += strspn(line, "\r\n");
	}
	*len = 0;
	return "";
}

/* The JSON that a header holds in base64; empty if there is none. */
static void
read_header(struct buf *out, const struct http_reply *http, const char *name)
{
	size_t len = 0;
	const char *value = find_header(&http->headers, name, &len);

	buf_init(out, META_BYTES);
	if (len > 0 && hex_unbase64(out, value, len) != ST_OK)
		buf_clear(out);
}

/* The string member `name` of a text that our own result_put() wrote, its
 * quotes and escapes as they stand; NULL: it is not there. */
static const char *
find_string(const char *json, const char *name, size_t *len)
{
	const char *p = strstr(json, name);
	const char *end;

	if (p == NULL || p[strlen(name)] != '"')
		return NULL;
	p += strlen(name);
	for (end = p + 1; *end != '"'; end++) {
		if (*end == '\\')
			end++;
		if (*end == '\0')
			return NULL;
	}
	*len = (size_t)(end + 1 - p);
	return p;
}

static void
put_text(struct buf *out, const char *string, size_t len)
{
	json_sep(out);
	buf_adds(out, "{\"type\":\"text\",\"text\":");
	buf_add(out, string, len);
	buf_addc(out, '}');
}

/* What the program wrote, and how it ended if that was not well: a model that
 * sees only this knows what happened. */
static void
put_content(struct buf *out, const char *json)
{
	static const char done[] =
	    "\"The program completed and wrote nothing to stdout.\"";
	bool completed = strncmp(json, "{\"outcome\":\"completed\"", 22) == 0;
	size_t n = 0, len;
	const char *p, *error;

	/* result_put() writes stdout, stderr, then error; within a string no
	 * quote stands by itself. */
	p = find_string(json, "\"stdout\":", &n);
	if (p == NULL)
		return;
	if (n > 2)
		put_text(out, p, n);
	else if (completed)
		put_text(out, done, sizeof(done) - 1);
	if (completed)
		return;
	p = find_string(p + n, "\"stderr\":", &len);
	if (p == NULL)
		return;
	if (len > 2)
		put_text(out, p, len);
	error = strstr(p + len, "\"error\":{");
	if (error != NULL)
		p = find_string(error, "\"message\":", &len);
	if (error != NULL && p != NULL)
		put_text(out, p, len);
}

static void
put_run(struct buf *out, const struct http_reply *http)
{
	OWN_BUF struct buf paid;

	read_header(&paid, http, "PAYMENT-RESPONSE");
	if (paid.len == 0) {
		buf_free(&paid);
		read_header(&paid, http, "X-PAYMENT-RESPONSE");
	}
	buf_adds(out, "{\"content\":[");
	put_content(out, buf_cstr(&http->body));
	buf_adds(out, "],\"structuredContent\":");
	buf_add(out, http->body.data, http->body.len);
	buf_adds(out, ",\"isError\":false");
	if (paid.len > 0) {
		buf_adds(out, ",\"_meta\":{\"x402/payment-response\":");
		buf_add(out, paid.data, paid.len);
		buf_addc(out, '}');
	}
	buf_addc(out, '}');
}

/* json as structure and as text. */
static void
put_both(struct buf *out, const char *json, size_t len)
{
	buf_adds(out, "{\"content\":[{\"type\":\"text\",\"text\":");
	json_put_bytes(out, json, len);
	buf_adds(out, "}],\"structuredContent\":");
	buf_add(out, json, len);
}

/* Our own word for why it was refused, which PaymentRequired has no member
 * for. */
static void
put_details(struct buf *out, const struct buf *v1)
{
	static const char name[] = "\"details\":";
	const char *text = buf_cstr(v1);
	const char *last = NULL;

	for (const char *p = text; (p = strstr(p, name)) != NULL; p++)
		last = p + sizeof(name) - 1;
	/* It is the last member of the body. */
	if (last == NULL || v1->len == 0)
		return;
	json_key(out, "_meta");
	buf_adds(out, "{\"tollbox/error\":");
	buf_add(out, last, v1->len - 1 - (size_t)(last - text));
	buf_addc(out, '}');
}

static void
put_required(struct buf *out, const struct http_reply *http, bool v1)
{
	OWN_BUF struct buf v2;

	read_header(&v2, http, "PAYMENT-REQUIRED");
	if (v1 || v2.len == 0)
		put_both(out, buf_cstr(&http->body), http->body.len);
	else
		put_both(out, buf_cstr(&v2), v2.len);
	buf_adds(out, ",\"isError\":true");
	put_details(out, &http->body);
	buf_addc(out, '}');
}

void
mcp_result_put_run(struct buf *out, const struct http_reply *http, bool v1)
{
	if (http->status == 402)
		put_required(out, http, v1);
	else if (http->status == 200)
		put_run(out, http);
	else
		mcp_result_put_free(out, http);
}

void
mcp_result_put_free(struct buf *out, const struct http_reply *http)
{
	put_both(out, buf_cstr(&http->body), http->body.len);
	buf_addf(
	    out, ",\"isError\":%s}", http->status == 200 ? "false" : "true");
}

size_t
mcp_result_most(const struct http_reply *http)
{
	return 3 * http->body.len + (size_t)4 * META_BYTES;
}
