#include "pay/fetch_redirect.h"

#include <curl/curl.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

static void
own_curlu(CURLU **u)
{
	curl_url_cleanup(*u);
}

static void
own_curl_str(char **s)
{
	curl_free(*s);
}

#define OWN_CURLU __attribute__((cleanup(own_curlu)))
#define OWN_CURL_STR __attribute__((cleanup(own_curl_str)))

/* Where a URL leads. */
struct origin {
	char *scheme, *host, *port;
};

static void
origin_free(struct origin *o)
{
	curl_free(o->scheme);
	curl_free(o->host);
	curl_free(o->port);
}

#define OWN_ORIGIN __attribute__((cleanup(origin_free)))

/* False for what is no URL we would go to: another scheme, a user name. */
static bool
origin_of(struct origin *o, const char *url)
{
	OWN_CURLU CURLU *u = curl_url();
	OWN_CURL_STR char *user = NULL;

	if (u == NULL || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_SCHEME, &o->scheme, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_HOST, &o->host, 0) != CURLUE_OK ||
	    curl_url_get(u, CURLUPART_PORT, &o->port, CURLU_DEFAULT_PORT) !=
		CURLUE_OK)
		return false;
	if (curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_OK)
		return false;
	return strcmp(o->scheme, "https") == 0 ||
	       strcmp(o->scheme, "http") == 0;
}

bool
fetch_redirect_ok(const char *from, const char *to, bool *away)
{
	OWN_ORIGIN struct origin a = { 0 }, b = { 0 };
	bool same_host;

	if (!origin_of(&a, from) || !origin_of(&b, to))
		return false;
	same_host = strcasecmp(a.host, b.host) == 0;
	if (strcmp(b.scheme, "http") == 0 &&
	    (strcmp(a.scheme, "http") != 0 || !same_host))
		return false;
	/* Once away it stays so: a way back may be an attacker's, too. */
	if (!same_host || strcmp(a.scheme, b.scheme) != 0 ||
	    strcmp(a.port, b.port) != 0)
		*away = true;
	return true;
}
