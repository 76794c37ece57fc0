#include "pay/fetch_headers.h"

#include <curl/curl.h>
#include <string.h>

#define PLACE_BYTES 2048 /* host and path of a URL */
#define TOKEN_BYTES 8192

/* A line end would let the file write further headers; a name without value
 * would make curl leave the header out. */
bool
fetch_headers_line(const char *s)
{
	const char *colon = strchr(s, ':');
	size_t i;

	for (i = 0; s[i] != '\0'; i++)
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return false;
	return colon != NULL && colon != s &&
	       strspn(colon + 1, " ") < strlen(colon + 1);
}

static bool
add(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = curl_slist_append(*list, line);

	if (more == NULL)
		return false;
	*list = more;
	return true;
}

static enum status
add_token(struct curl_slist **out, const struct fetch_server *s,
    const char *method, const char *url)
{
	const char *at = strstr(url, "://");
	OWN_BUF struct buf place;
	struct buf line;
	enum status st = ST_BUG;

	buf_init(&place, PLACE_BYTES);
	buf_init(&line, TOKEN_BYTES);
	if (at == NULL)
		return ST_BUG;
	buf_add(&place, at + 3, strcspn(at + 3, "?#"));
	st = buf_status(&place);
	buf_adds(&line, "Authorization: Bearer ");
	if (st == ST_OK)
		st = s->token(&line, s->token_ctx, method, buf_cstr(&place));
	if (st == ST_OK && !add(out, buf_cstr(&line)))
		st = ST_NOMEM;
	if (line.data != NULL)
		explicit_bzero(line.data, line.cap);
	buf_free(&line);
	return st;
}

enum status
fetch_headers_make(struct curl_slist **out, const struct fetch_server *s,
    const char *method, const char *url, bool away)
{
	*out = NULL;
	if (!add(out, "Content-Type: application/json") ||
	    !add(out, "Accept: application/json") ||
	    /* Or curl waits a second for a 100 that few servers send. */
	    !add(out, "Expect:"))
		return ST_NOMEM;
	if (away)
		return ST_OK;
	if (s->header != NULL && !add(out, s->header))
		return ST_NOMEM;
	return s->token == NULL ? ST_OK : add_token(out, s, method, url);
}

void
fetch_headers_wipe(struct curl_slist *list)
{
	struct curl_slist *l = NULL;

	for (l = list; l != NULL; l = l->next)
		explicit_bzero(l->data, strlen(l->data));
	curl_slist_free_all(list);
}
