#include "pay/facilitator_kinds.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/jcs.h"
#include "base/json.h"

#define SCHEME 32
#define NETWORK 64

struct kind {
	int version;
	char scheme[SCHEME];
	char network[NETWORK];
	bool offered;
	char *extras[FACILITATOR_KINDS_EXTRAS];
	size_t n_extras;
	const char *extra; /* of extras, the one in use, or NULL */
};

struct facilitator_kinds {
	pthread_mutex_t lock;
	bool known;
	struct kind kinds[FACILITATOR_KINDS];
	size_t n;
};

enum status
facilitator_kinds_open(struct facilitator_kinds **out)
{
	struct facilitator_kinds *k = calloc(1, sizeof(*k));

	*out = NULL;
	if (k == NULL)
		return ST_NOMEM;
	if (pthread_mutex_init(&k->lock, NULL) != 0) {
		free(k);
		return ST_NOMEM;
	}
	*out = k;
	return ST_OK;
}

void
facilitator_kinds_close(struct facilitator_kinds *k)
{
	if (k == NULL)
		return;
	for (size_t i = 0; i < k->n; i++)
		for (size_t e = 0; e < k->kinds[i].n_extras; e++)
			free(k->kinds[i].extras[e]);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static struct kind *
find(struct facilitator_kinds *k, int version, const char *scheme,
    const char *network)
{
	for (size_t i = 0; i < k->n; i++) {
		struct kind *one = &k->kinds[i];

		if (one->version == version &&
		    strcmp(one->scheme, scheme) == 0 &&
		    strcmp(one->network, network) == 0)
			return one;
	}
	return NULL;
}

/* Room for a new kind: none, when all is taken by what offers were made of. */
static struct kind *
add(struct facilitator_kinds *k)
{
	if (k->n < FACILITATOR_KINDS)
		return &k->kinds[k->n++];
	for (size_t i = 0; i < k->n; i++)
		if (!k->kinds[i].offered && k->kinds[i].n_extras == 0)
			return &k->kinds[i];
	return NULL;
}

static const char *
text_of(const struct cJSON *obj, const char *name, size_t room)
{
	const struct cJSON *v = json_get(obj, name);
	const char *s = v != NULL ? json_string(v) : NULL;

	return s != NULL && s[0] != '\0' && strlen(s) < room ? s : NULL;
}

/* Does the facilitator say anywhere that it signs with this? */
static bool
signs_with(const struct cJSON *signers, const char *who)
{
	const struct cJSON *list, *s;

	for (list = json_first(signers); list != NULL; list = json_next(list)) {
		if (!json_is_array(list))
			continue;
		for (s = json_first(list); s != NULL; s = json_next(s)) {
			const char *text = json_string(s);

			if (text != NULL && strcmp(text, who) == 0)
				return true;
		}
	}
	return false;
}

/* Does the value in use still hold beside an answer that tells another? */
static bool
still_good(const struct kind *one, const struct cJSON *signers)
{
	static const struct json_caps caps = { .depth = 8, .values = 256 };
	OWN_JSON struct cJSON *old = NULL;
	const struct cJSON *m;
	OWN_BUF struct buf b;
	bool any = false;

	buf_init(&b, FACILITATOR_KINDS_EXTRA + 8);
	if (one->extra == NULL || signers == NULL || !json_is_object(signers))
		return false;
	buf_addf(&b, "{%s}", one->extra);
	if (json_parse(&old, buf_cstr(&b), b.len, &caps, NULL) != ST_OK)
		return false;
	for (m = json_first(old); m != NULL; m = json_next(m)) {
		const char *text = json_string(m);

		if (text == NULL || !signs_with(signers, text))
			return false;
		any = true;
	}
	return any;
}

/* The members of a kind's extra as text. Name and version of the token are the
 * settings' to say, and what is not ASCII is no key or address. False: there
 * is nothing to carry. */
static bool
members_text(struct buf *out, const struct cJSON *extra)
{
	const struct cJSON *m;

	if (extra == NULL || !json_is_object(extra))
		return false;
	for (m = json_first(extra); m != NULL; m = json_next(m)) {
		if (strcmp(json_name(m), "name") == 0 ||
		    strcmp(json_name(m), "version") == 0)
			continue;
		json_sep(out);
		json_put_string(out, json_name(m));
		buf_addc(out, ':');
		jcs_write(out, m);
	}
	for (size_t i = 0; i < out->len; i++)
		if (out->data[i] >= 0x7f)
			return false;
	return out->len > 0 && buf_status(out) == ST_OK;
}

static enum status
set_extra(
    struct kind *one, const struct cJSON *extra, const struct cJSON *signers)
{
	OWN_BUF struct buf b;

	buf_init(&b, FACILITATOR_KINDS_EXTRA);
	if (!members_text(&b, extra)) {
		one->extra = NULL;
		return ST_OK;
	}
	if (still_good(one, signers))
		return ST_OK;
	for (size_t i = 0; i < one->n_extras; i++) {
		if (strcmp(one->extras[i], buf_cstr(&b)) != 0)
			continue;
		one->extra = one->extras[i];
		return ST_OK;
	}
	/* One that makes up a new one each time keeps its eighth. */
	if (one->n_extras == FACILITATOR_KINDS_EXTRAS)
		return ST_OK;
	one->extras[one->n_extras] = buf_take(&b, NULL);
	if (one->extras[one->n_extras] == NULL)
		return ST_NOMEM;
	one->extra = one->extras[one->n_extras++];
	return ST_OK;
}

static enum status
take_kind(struct facilitator_kinds *k, const struct cJSON *v,
    const struct cJSON *signers)
{
	const struct cJSON *number = NULL;
	const char *scheme, *network;
	struct kind *one;
	uint64_t version;

	/* An element that is no kind is of no use, and no harm. */
	if (!json_is_object(v))
		return ST_OK;
	number = json_get(v, "x402Version");
	scheme = text_of(v, "scheme", SCHEME);
	network = text_of(v, "network", NETWORK);
	if (number == NULL || json_uint(&version, number) != ST_OK ||
	    (version != 1 && version != 2) || scheme == NULL || network == NULL)
		return ST_OK;
	one = find(k, (int)version, scheme, network);
	if (one == NULL) {
		one = add(k);
		if (one == NULL)
			return ST_OK;
		one->version = (int)version;
		memcpy(one->scheme, scheme, strlen(scheme) + 1);
		memcpy(one->network, network, strlen(network) + 1);
	}
	one->offered = true;
	return set_extra(one, json_get(v, "extra"), signers);
}

enum status
facilitator_kinds_take(
    struct facilitator_kinds *k, const struct facilitator_reply *r)
{
	OWN_JSON struct cJSON *obj = NULL;
	const struct cJSON *kinds = NULL, *v = NULL;
	enum status st = ST_OK;

	if (r->http < 200 || r->http > 299)
		return ST_FORMAT;
	obj = facilitator_answer_object(r);
	kinds = obj != NULL ? json_get(obj, "kinds") : NULL;
	if (kinds == NULL || !json_is_array(kinds))
		return ST_FORMAT;
	pthread_mutex_lock(&k->lock);
	for (size_t i = 0; i < k->n; i++)
		k->kinds[i].offered = false;
	for (v = json_first(kinds); v != NULL && st == ST_OK; v = json_next(v))
		st = take_kind(k, v, json_get(obj, "signers"));
	k->known = true;
	pthread_mutex_unlock(&k->lock);
	return st;
}

bool
facilitator_kinds_known(struct facilitator_kinds *k)
{
	bool known;

	pthread_mutex_lock(&k->lock);
	known = k->known;
	pthread_mutex_unlock(&k->lock);
	return known;
}

bool
facilitator_kinds_offer(struct facilitator_kinds *k, int version,
    const char *scheme, const char *network, const char **extra)
{
	const struct kind *one;
	bool offered;

	pthread_mutex_lock(&k->lock);
	one = find(k, version, scheme, network);
	offered = one != NULL && one->offered;
	if (extra != NULL)
		*extra = offered ? one->extra : NULL;
	pthread_mutex_unlock(&k->lock);
	return offered;
}

const char *
facilitator_kinds_extra(struct facilitator_kinds *k, int version,
    const char *scheme, const char *network, size_t i)
{
	const struct kind *one;
	const char *extra = NULL;

	pthread_mutex_lock(&k->lock);
	one = find(k, version, scheme, network);
	if (one != NULL && i < one->n_extras)
		extra = one->extras[i];
	pthread_mutex_unlock(&k->lock);
	return extra;
}
