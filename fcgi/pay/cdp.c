#include "pay/cdp.h"

#include <inttypes.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"

#define SEED 32
#define ED25519_SECRET 64 /* seed and public key */
#define ES256_NUMBER 32	  /* bytes of r and of s */
#define SIGNATURE 128	  /* room for any of ours */
#define ID_CHARS 256

struct cdp {
	char *id;
	EVP_PKEY *key;
	bool edwards;
};

/* ---- the key ---- */

static enum status
wrong(struct fault *f, const char *what)
{
	return fault_set(f, ST_FORMAT, "%s", what);
}

/* A key that has a passphrase must not ask for it at a terminal. */
static int
no_passphrase(char *out, int size, int writing, void *ctx)
{
	(void)out;
	(void)size;
	(void)writing;
	(void)ctx;
	return -1;
}

static enum status
read_pem(struct cdp *c, const char *pem, struct fault *f)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	char group[32] = "";
	size_t len = 0;

	if (bio == NULL)
		return ST_NOMEM;
	c->key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	BIO_free(bio);
	if (c->key == NULL)
		return wrong(f, "privateKey holds no PEM key without a "
				"passphrase");
	if (EVP_PKEY_get_group_name(c->key, group, sizeof(group), &len) != 1 ||
	    strcmp(group, "prime256v1") != 0)
		return wrong(f, "privateKey is a PEM key of another kind than "
				"EC P-256");
	return ST_OK;
}

static enum status
read_seed(struct cdp *c, const struct buf *secret, struct fault *f)
{
	uint8_t public[SEED];
	size_t len = sizeof(public);

	if (secret->len != ED25519_SECRET)
		return wrong(f, "privateKey is neither base64 of 64 bytes nor "
				"PEM");
	c->key = EVP_PKEY_new_raw_private_key(
	    EVP_PKEY_ED25519, NULL, secret->data, SEED);
	if (c->key == NULL)
		return ST_NOMEM;
	/* Halves of two keys would sign what nobody accepts. */
	if (EVP_PKEY_get_raw_public_key(c->key, public, &len) != 1 ||
	    len != SEED || memcmp(public, secret->data + SEED, SEED) != 0)
		return wrong(f, "the two halves of privateKey do not belong "
				"together");
	c->edwards = true;
	return ST_OK;
}

static enum status
read_secret(struct cdp *c, const char *text, struct fault *f)
{
	struct buf secret;
	enum status st;

	if (strstr(text, "-----BEGIN") != NULL)
		return read_pem(c, text, f);
	buf_init(&secret, CDP_KEY_BYTES);
	st = hex_unbase64(&secret, text, strlen(text));
	if (st == ST_OK)
		st = read_seed(c, &secret, f);
	else if (st == ST_FORMAT)
		st = wrong(f, "privateKey is neither base64 of 64 bytes nor "
			      "PEM");
	if (secret.data != NULL)
		explicit_bzero(secret.data, secret.cap);
	buf_free(&secret);
	return st;
}

static const char *
member(const struct cJSON *obj, const char *name)
{
	const struct cJSON *v = json_get(obj, name);

	return v == NULL ? NULL : json_string(v);
}

static enum status
read_file(struct cdp *c, const struct cJSON *obj, struct fault *f)
{
	const char *secret = member(obj, "privateKey");
	const char *id = member(obj, "id");

	if (id == NULL)
		id = member(obj, "name");
	if (id == NULL || id[0] == '\0' || strlen(id) > ID_CHARS)
		return wrong(f, "the key's id (or name) is missing");
	for (const char *p = id; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~')
			return wrong(f, "the key's id must be visible ASCII");
	if (secret == NULL)
		return wrong(f, "privateKey is missing");
	c->id = strdup(id);
	if (c->id == NULL)
		return ST_NOMEM;
	return read_secret(c, secret, f);
}

/* The tree holds the key, too. */
static void
wipe(const struct cJSON *obj)
{
	const struct cJSON *v = json_get(obj, "privateKey");
	const char *s = v == NULL ? NULL : json_string(v);
	/* The tree is ours to write, though its readers give it as const. */
	char *own = s == NULL ? NULL : strchr(s, s[0]);

	if (own != NULL)
		explicit_bzero(own, strlen(own));
}

enum status
cdp_open(struct cdp **out, const char *text, size_t len, struct fault *f)
{
	static const struct json_caps caps = { .depth = 8, .values = 64 };
	OWN_JSON struct cJSON *obj = NULL;
	struct cdp *c = NULL;
	enum status st;

	*out = NULL;
	if (json_parse(&obj, text, len, &caps, NULL) != ST_OK ||
	    !json_is_object(obj))
		return wrong(f, "it must be the JSON file that CDP's portal "
				"hands out");
	c = calloc(1, sizeof(*c));
	st = c == NULL ? ST_NOMEM : read_file(c, obj, f);
	wipe(obj);
	if (st == ST_OK)
		*out = c;
	else
		cdp_close(c);
	return st;
}

void
cdp_close(struct cdp *c)
{
	if (c == NULL)
		return;
	EVP_PKEY_free(c->key);
	free(c->id);
	free(c);
}

/* ---- tokens ---- */

/* JOSE wants r and s side by side, libcrypto gives ASN.1. */
static bool
raw_signature(uint8_t out[SIGNATURE], size_t *len)
{
	const unsigned char *der = out;
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)*len);
	bool ok;

	if (sig == NULL)
		return false;
	ok = BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, ES256_NUMBER) ==
		 ES256_NUMBER &&
	     BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + ES256_NUMBER,
		 ES256_NUMBER) == ES256_NUMBER;
	ECDSA_SIG_free(sig);
	*len = 2 * (size_t)ES256_NUMBER;
	return ok;
}

static bool
sign(uint8_t out[SIGNATURE], size_t *len, const struct cdp *c,
    const struct buf *data)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok;

	*len = SIGNATURE;
	ok = ctx != NULL &&
	     EVP_DigestSignInit(ctx, NULL, c->edwards ? NULL : EVP_sha256(),
		 NULL, c->key) == 1 &&
	     EVP_DigestSign(ctx, out, len, data->data, data->len) == 1;
	EVP_MD_CTX_free(ctx);
	return ok && (c->edwards || raw_signature(out, len));
}

static enum status
put_head(struct buf *out, const struct cdp *c)
{
	uint8_t nonce[16];
	char text[2 * sizeof(nonce) + 1];

	if (RAND_bytes(nonce, sizeof(nonce)) != 1)
		return ST_BUG;
	hex_encode(text, nonce, sizeof(nonce));
	buf_addf(
	    out, "{\"alg\":\"%s\",\"kid\":", c->edwards ? "EdDSA" : "ES256");
	json_put_string(out, c->id);
	buf_addf(out, ",\"typ\":\"JWT\",\"nonce\":\"%s\"}", text);
	return ST_OK;
}

static void
put_claims(struct buf *out, const struct cdp *c, const char *method,
    const char *place, uint64_t now)
{
	buf_adds(out, "{\"sub\":");
	json_put_string(out, c->id);
	buf_addf(out,
	    ",\"iss\":\"cdp\",\"nbf\":%" PRIu64 ",\"iat\":%" PRIu64
	    ",\"exp\":%" PRIu64 ",\"uris\":[",
	    now, now, now + CDP_TOKEN_S);
	/* The place is of a URL, which has no quotes. */
	buf_addf(out, "\"%s %s\"]}", method, place);
}

enum status
cdp_token(struct buf *out, const struct cdp *c, const char *method,
    const char *place, uint64_t now)
{
	OWN_BUF struct buf head, claims, token;
	uint8_t signature[SIGNATURE];
	size_t len = 0;
	enum status st;

	buf_init(&head, CDP_TOKEN_BYTES / 4);
	buf_init(&claims, CDP_TOKEN_BYTES / 2);
	buf_init(&token, CDP_TOKEN_BYTES);
	st = put_head(&head, c);
	put_claims(&claims, c, method, place, now);
	if (st == ST_OK)
		st = buf_status(&head);
	if (st == ST_OK)
		st = buf_status(&claims);
	if (st != ST_OK)
		return st;
	hex_base64url(&token, head.data, head.len);
	buf_addc(&token, '.');
	hex_base64url(&token, claims.data, claims.len);
	st = buf_status(&token);
	if (st != ST_OK)
		return st;
	if (!sign(signature, &len, c, &token))
		return ST_BUG;
	buf_add(out, token.data, token.len);
	buf_addc(out, '.');
	hex_base64url(out, signature, len);
	return buf_status(out);
}
