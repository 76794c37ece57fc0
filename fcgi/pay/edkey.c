#include "pay/edkey.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

struct edkey {
	EVP_PKEY *pair;
	bool secret; /* the private half is there */
	uint8_t public[EDKEY_PUBLIC];
	char id[EDKEY_ID];
};

/* ---- make, read, write ---- */

/* RFC 7638: SHA-256 of the members that make the key, in their order. */
static enum status
thumbprint(char id[EDKEY_ID], const uint8_t public[EDKEY_PUBLIC])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	OWN_BUF struct buf text;
	OWN_BUF struct buf b;

	buf_init(&text, 128);
	buf_init(&b, EDKEY_ID);
	buf_adds(&text, "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"");
	hex_base64url(&text, public, EDKEY_PUBLIC);
	buf_adds(&text, "\"}");
	if (buf_status(&text) != ST_OK)
		return buf_status(&text);
	if (SHA256(text.data, text.len, hash) == NULL)
		return ST_BUG;
	hex_base64url(&b, hash, sizeof(hash));
	if (buf_status(&b) != ST_OK || b.len != EDKEY_ID - 1)
		return ST_NOMEM;
	memcpy(id, b.data, EDKEY_ID);
	return ST_OK;
}

/* Takes pair over, also on failure. */
static enum status
wrap(struct edkey **out, EVP_PKEY *pair, bool secret)
{
	struct edkey *k = NULL;
	size_t len = EDKEY_PUBLIC;
	enum status st = ST_FORMAT;

	*out = NULL;
	if (EVP_PKEY_get_base_id(pair) != EVP_PKEY_ED25519) {
		EVP_PKEY_free(pair);
		return ST_FORMAT;
	}
	k = calloc(1, sizeof(*k));
	if (k == NULL) {
		EVP_PKEY_free(pair);
		return ST_NOMEM;
	}
	k->pair = pair;
	k->secret = secret;
	if (EVP_PKEY_get_raw_public_key(pair, k->public, &len) == 1 &&
	    len == EDKEY_PUBLIC)
		st = thumbprint(k->id, k->public);
	if (st != ST_OK) {
		edkey_close(k);
		return st;
	}
	*out = k;
	return ST_OK;
}

enum status
edkey_make(struct edkey **out)
{
	EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");

	*out = NULL;
	return pair == NULL ? ST_NOMEM : wrap(out, pair, true);
}

/* libcrypto's own would ask the terminal. */
static int
no_password(char *to, int size, int writing, void *ctx)
{
	(void)to;
	(void)size;
	(void)writing;
	(void)ctx;
	return -1;
}

enum status
edkey_read(struct edkey **out, const char *pem, size_t len)
{
	bool secret = memmem(pem, len, "PRIVATE KEY", 11) != NULL;
	EVP_PKEY *pair = NULL;
	BIO *bio = NULL;

	*out = NULL;
	if (len > EDKEY_PEM)
		return ST_FORMAT;
	bio = BIO_new_mem_buf(pem, (int)len);
	if (bio == NULL)
		return ST_NOMEM;
	pair = secret ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL)
		      : PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
	BIO_free(bio);
	return pair == NULL ? ST_FORMAT : wrap(out, pair, secret);
}

void
edkey_close(struct edkey *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->pair);
	free(k);
}

static void
put_pem(struct buf *out, const struct edkey *k, bool secret)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long len = 0;
	int ok = 0;

	if (bio != NULL && secret)
		ok = PEM_write_bio_PrivateKey(
		    bio, k->pair, NULL, NULL, 0, NULL, NULL);
	else if (bio != NULL)
		ok = PEM_write_bio_PUBKEY(bio, k->pair);
	if (ok == 1)
		len = BIO_get_mem_data(bio, &text);
	if (len > 0)
		buf_add(out, text, (size_t)len);
	else
		out->st = ST_NOMEM;
	BIO_free(bio); /* wipes what it held */
}

void
edkey_put_private(struct buf *out, const struct edkey *k)
{
	if (k->secret)
		put_pem(out, k, true);
	else
		out->st = ST_BUG;
}

void
edkey_put_public(struct buf *out, const struct edkey *k)
{
	put_pem(out, k, false);
}

const uint8_t *
edkey_public(const struct edkey *k)
{
	return k->public;
}

const char *
edkey_id(const struct edkey *k)
{
	return k->id;
}

/* ---- sign and check ---- */

enum status
edkey_sign(uint8_t sig[EDKEY_SIGNATURE], const struct edkey *k,
    const void *data, size_t len)
{
	EVP_MD_CTX *ctx = NULL;
	size_t n = EDKEY_SIGNATURE;
	bool ok = false;

	if (!k->secret)
		return ST_BUG;
	ctx = EVP_MD_CTX_new();
	ok = ctx != NULL &&
	     EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->pair) == 1 &&
	     EVP_DigestSign(ctx, sig, &n, data, len) == 1 &&
	     n == EDKEY_SIGNATURE;
	EVP_MD_CTX_free(ctx);
	return ok ? ST_OK : ST_BUG;
}

bool
edkey_signed(const uint8_t public[EDKEY_PUBLIC], const void *data, size_t len,
    const uint8_t sig[EDKEY_SIGNATURE])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(
	    EVP_PKEY_ED25519, NULL, public, EDKEY_PUBLIC);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ok = key != NULL && ctx != NULL &&
		  EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
		  EVP_DigestVerify(ctx, sig, EDKEY_SIGNATURE, data, len) == 1;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return ok;
}
