#include "web/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOPS 32 /* of X-Forwarded-For that are looked at */

enum status
address_proxies_parse(struct address_proxies *out, char *const *words)
{
	size_t n = 0;

	*out = (struct address_proxies){ .n = 0 };
	while (words != NULL && words[n] != NULL)
		n++;
	if (n == 0)
		return ST_OK;
	out->list = calloc(n, sizeof(out->list[0]));
	if (out->list == NULL)
		return ST_NOMEM;
	for (size_t i = 0; i < n; i++) {
		if (cidr_parse(&out->list[i], words[i]) == ST_OK)
			continue;
		address_proxies_free(out);
		return ST_FORMAT;
	}
	out->n = n;
	return ST_OK;
}

void
address_proxies_free(struct address_proxies *p)
{
	free(p->list);
	*p = (struct address_proxies){ .n = 0 };
}

static bool
trusted(const struct address_proxies *p, const struct cidr *a)
{
	for (size_t i = 0; i < p->n; i++)
		if (cidr_has(&p->list[i], a))
			return true;
	return false;
}

/* The last address of a comma-separated list of *len characters, which is cut
 * off it. False: there is none, or it is no address. */
static bool
last_of(struct cidr *out, const char *list, size_t *len)
{
	char text[ADDRESS_TEXT];
	size_t end = *len, begin;

	while (end > 0 && (list[end - 1] == ' ' || list[end - 1] == '\t'))
		end--;
	begin = end;
	while (begin > 0 && list[begin - 1] != ',')
		begin--;
	*len = begin > 0 ? begin - 1 : 0;
	while (begin < end && (list[begin] == ' ' || list[begin] == '\t'))
		begin++;
	if (begin == end || end - begin >= sizeof(text))
		return false;
	memcpy(text, list + begin, end - begin);
	text[end - begin] = '\0';
	return strchr(text, '/') == NULL && cidr_parse(out, text) == ST_OK;
}

static bool
loopback(const struct cidr *a)
{
	static const struct cidr v4 = {
		{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127 }, 104
	};
	static const struct cidr v6 = { { [15] = 1 }, 128 };

	return cidr_has(&v4, a) || cidr_has(&v6, a);
}

static void
put_name(char out[ADDRESS_TEXT], const struct cidr *a)
{
	struct cidr net = *a;
	char text[INET6_ADDRSTRLEN] = "";

	if (cidr_ipv4(a)) {
		inet_ntop(AF_INET, a->b + 12, text, sizeof(text));
		snprintf(out, ADDRESS_TEXT, "%s", text);
		return;
	}
	memset(net.b + 8, 0, 8);
	inet_ntop(AF_INET6, net.b, text, sizeof(text));
	snprintf(out, ADDRESS_TEXT, "%s/64", text);
}

bool
address_of(char out[ADDRESS_TEXT], const char *remote, const char *forwarded,
    const struct address_proxies *p)
{
	size_t len = forwarded == NULL ? 0 : strlen(forwarded);
	struct cidr at, before;

	snprintf(out, ADDRESS_TEXT, "unknown");
	if (cidr_parse(&at, remote) != ST_OK)
		return strncmp(remote, "unix:", 5) != 0;
	for (int hop = 0; hop < HOPS && len > 0 && trusted(p, &at); hop++) {
		if (!last_of(&before, forwarded, &len))
			break;
		at = before;
	}
	put_name(out, &at);
	return !loopback(&at);
}
